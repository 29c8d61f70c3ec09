"""A PostgreSQL database as its operator has it: alone, or read beside servers. Must not know what is done with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

import psycopg
import sqlalchemy as sa

from discreet.server.ports import StoreError
from discreet.server.stores import tables
from discreet.server.stores.keeping.acts import Held
from discreet.server.stores.keeping.report import Report
from discreet.server.stores.metadata import metadata
from discreet.server.stores.postgres_connect import Kind, cause, parse_address, plain
from discreet.server.stores.postgres_roles import ROLES, make_roles
from discreet.server.stores.postgres_setup import DURABLE, alchemy, give_rights, owning, place, server_faults, setting

UNTIMED = ("statement_timeout", "idle_in_transaction_session_timeout")
"""Limits of calls, which an operator's act on a large database outlasts. That on waiting for locks stays."""
SETTLED_S = 3
"""A server that withholds since the database changed comes and goes within this time; one that serves stays."""
_OTHERS = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'discreet'"
    " AND pid <> pg_backend_pid() AND backend_start < clock_timestamp() - make_interval(secs => :settled)"
)
_INSERTS = sa.text(
    "SELECT r.role, c.relname, p.may FROM unnest(CAST(:roles AS text[])) AS r(role) CROSS JOIN pg_class c"
    " CROSS JOIN unnest(ARRAY['INSERT', 'DELETE', 'TRUNCATE', 'TRIGGER']) AS p(may)"
    " WHERE c.relnamespace = to_regnamespace(quote_ident(:schema)) AND c.relname = ANY(:tables)"
    " AND has_table_privilege(r.role, c.oid, p.may)"
)
_UPDATES = sa.text(
    "SELECT r.role, c.relname, a.attname FROM unnest(CAST(:roles AS text[])) AS r(role) CROSS JOIN pg_class c"
    " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
    " WHERE c.relnamespace = to_regnamespace(quote_ident(:schema)) AND c.relname = ANY(:tables)"
    " AND has_column_privilege(r.role, c.oid, a.attnum, 'UPDATE')"
)
_HUNG = sa.text(
    "SELECT 'trigger', t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
    " WHERE NOT t.tgisinternal AND c.relname = ANY(:tables) UNION ALL"
    " SELECT 'rule', w.rulename FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class WHERE c.relname = ANY(:tables)"
)


Right = tuple[str, str, str]
"""A role, a table, what the role may do to it."""


@contextmanager
def held_server(url: str) -> Iterator[Held]:
    """The database while nobody serves it, in a transaction that is committed at the end."""
    address = parse_address(url)
    with owning(address) as (connection, now):
        for name in UNTIMED:
            connection.exec_driver_sql(f"SET LOCAL {name} = 0")
        if others := connection.execute(_OTHERS, {"settled": SETTLED_S}).scalar_one():
            raise StoreError(f"servers have {others} connections to {address.shown} open: stop them first")
        bound_to, schema = place(connection)

        def rights() -> None:
            make_roles(connection)
            give_rights(connection, schema)

        yield Held(connection, now, address.shown, bound_to, rights)


@contextmanager
def read_server(url: str) -> Iterator[tuple[sa.Connection, Report]]:
    """The database in one read, whoever writes beside it, with what is to be said of the server itself."""
    address = parse_address(url)
    engine = alchemy(address, Kind.OWNER)
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            for name in UNTIMED:
                connection.exec_driver_sql(f"SET LOCAL {name} = 0")
            bound_to, schema = place(connection)
            report = Report(
                "postgresql", address.shown, f"PostgreSQL {setting(connection, 'server_version')}", bound_to
            )
            _look_at_server(connection, report, schema)
            yield connection, report
    except psycopg.Error as error:
        raise StoreError(f"{address.shown} cannot be reached: {plain(error)}") from None
    except sa.exc.DBAPIError as error:
        raise StoreError(f"{address.shown} cannot be read: {cause(error)}") from None
    finally:
        engine.dispose()


def _look_at_server(connection: sa.Connection, report: Report, schema: str) -> None:
    shown = (*DURABLE, "synchronous_commit", "synchronous_standby_names", "data_checksums")
    report.durability = {name: setting(connection, name) for name in shown}
    for fault in server_faults(connection):
        what, _, remedy = fault.partition("; ")
        report.fault(f"the server {what}", remedy)
    known = list(metadata.tables)
    for kind, name in connection.execute(_HUNG, {"tables": known}):
        report.fault(f"there is a {kind} that is not Discreet's: {name}", "drop it: it could change what is recorded")


def look_at_rights(connection: sa.Connection, report: Report) -> None:
    """Adds rights that a role has too many or too few: nothing that is recorded may be altered (A13)."""
    _, schema = place(connection)
    roles = [kind.value for kind in ROLES]
    there = set(connection.execute(sa.text("SELECT rolname FROM pg_roles")).scalars())
    if missing := [role for role in roles if role not in there]:
        report.fault(f"roles are missing: {', '.join(missing)}", "start a server once: it makes them")
        return
    asked = {"roles": roles, "schema": schema, "tables": list(metadata.tables)}
    found: set[Right] = {(role, table, may) for role, table, may in connection.execute(_INSERTS, asked)}
    found |= {(role, table, f"UPDATE {column}") for role, table, column in connection.execute(_UPDATES, asked)}
    wanted = _wanted()
    for role, table, those in _by_table(found - wanted):
        kinds = ", ".join(dict.fromkeys(may.partition(" ")[0] for may in those))
        report.fault(
            f"{role} may {', '.join(those)} on {table}, and must not",
            f"run: REVOKE {kinds} ON {table} FROM {role}, PUBLIC;"
            " and then `discreet db upgrade`, which grants what is right",
        )
    for role, table, those in _by_table(wanted - found):
        report.fault(
            f"{role} may not {', '.join(those)} on {table}, and must", "run `discreet db upgrade`: it grants it"
        )


def _by_table(rights: set[Right]) -> Iterator[tuple[str, str, list[str]]]:
    for (role, table), those in groupby(sorted(rights), lambda right: right[:2]):
        yield role, table, [may for _, _, may in those]


def _wanted() -> set[Right]:
    wanted = set()
    for kind, inserts, updates in (
        (Kind.RECORDER, tables.RECORDING_INSERTS, tables.RECORDING_UPDATES),
        (Kind.INDEXER, tables.INDEX_INSERTS, tables.INDEX_UPDATES),
    ):
        wanted |= {(kind.value, name, "INSERT") for name in inserts}
        wanted |= {(kind.value, name, f"UPDATE {column}") for name, columns in updates.items() for column in columns}
    return wanted
