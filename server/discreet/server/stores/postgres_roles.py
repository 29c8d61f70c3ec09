"""The roles of least right that a PostgreSQL store works under (A13). Must know nothing of calls.

Roles belong to the whole server, rights on tables to each database. The login owns the tables and may take on roles.
"""

import sqlalchemy as sa

from discreet.server.ports import StoreError
from discreet.server.stores import tables
from discreet.server.stores.metadata import metadata
from discreet.server.stores.postgres_connect import Kind, cause

ROLES = tuple(kind for kind in Kind if kind is not Kind.OWNER)


def make_roles(connection: sa.Connection) -> None:
    """Makes the roles that are missing and lets the login take them on, or says what an administrator has to run."""
    login = str(connection.execute(sa.text("SELECT quote_ident(current_user)")).scalar_one())
    for kind in ROLES:
        known = connection.execute(
            sa.text("SELECT 1 FROM pg_roles WHERE rolname = :name"), {"name": kind.value}
        ).first()
        if known is None:
            _try(connection, f"CREATE ROLE {kind.value} NOLOGIN", login)
        may = sa.text("SELECT pg_has_role(current_user, :name, 'SET')")
        if not connection.execute(may, {"name": kind.value}).scalar_one():
            _try(connection, f"GRANT {kind.value} TO {login}", login)


def grants(schema: str) -> list[str]:
    """The SQL by which the owner of the tables gives each role what it may do, and nothing else."""
    place = '"' + schema.replace('"', '""') + '"'
    names = ", ".join(kind.value for kind in ROLES)
    made = [f"GRANT USAGE ON SCHEMA {place} TO {names}"]
    made.append(f"GRANT SELECT ON {', '.join(f'{place}.{name}' for name in metadata.tables)} TO {names}")
    for kind, inserts, updates in (
        (Kind.RECORDER, tables.RECORDING_INSERTS, tables.RECORDING_UPDATES),
        (Kind.INDEXER, tables.INDEX_INSERTS, tables.INDEX_UPDATES),
    ):
        made.append(f"GRANT INSERT ON {', '.join(f'{place}.{name}' for name in sorted(inserts))} TO {kind.value}")
        for name, columns in updates.items():
            made.append(f"GRANT UPDATE ({', '.join(columns)}) ON {place}.{name} TO {kind.value}")
    return made


def script(login: str) -> str:
    """What an administrator runs once a server, where the login may not make roles."""
    names = ", ".join(kind.value for kind in ROLES)
    return "\n".join([*(f"CREATE ROLE {kind.value} NOLOGIN;" for kind in ROLES), f"GRANT {names} TO {login};"])


def _try(connection: sa.Connection, statement: str, login: str) -> None:
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(statement)
    except sa.exc.DBAPIError as error:
        if getattr(error.orig, "sqlstate", "") in {"42710", "23505"}:  # another database of the server was quicker
            return
        raise StoreError(
            f"the login {login} may not make the roles of least right ({cause(error)});"
            f" give it CREATEROLE, or have an administrator run:\n{script(login)}"
        ) from None
