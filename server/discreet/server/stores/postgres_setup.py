"""Opens a PostgreSQL store: checks the server, its durability, schema and roles. Must know nothing of calls."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from discreet.policy.facts import Micros
from discreet.server.ports import StoreError
from discreet.server.stores.chain import Chain
from discreet.server.stores.postgres_connect import BOUND_TO, Address, Kind, cause, connect_sync, plain
from discreet.server.stores.postgres_roles import grants, make_roles
from discreet.server.stores.queries import read_head
from discreet.server.stores.schema import prepare
from discreet.server.stores.writers import enrol

LANES = 3
"""Chains of one store: commits, audit rows of their own, index changes. They run side by side."""
VERSION_MIN = 160_000
OPENING_LOCK = 0x64697363_72656574
"""The advisory lock under which a database is created or upgraded: "discreet" in ASCII."""
NOW = sa.text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")

DURABLE = ("fsync", "full_page_writes")
STANDBYS = sa.text(
    "SELECT sync_state FROM pg_stat_replication"
    " WHERE state IS DISTINCT FROM 'backup' AND application_name IS DISTINCT FROM 'pg_basebackup'"
)
"""What follows this server, but for a copy that is being made. A login without pg_monitor sees rows without a state."""


def alchemy(address: Address, kind: Kind, pool_size: int = 0) -> sa.Engine:
    """SQLAlchemy's face of connections of one kind; without a size each is opened anew."""
    pool: dict[str, object] = {"poolclass": NullPool}
    if pool_size:
        pool = {"pool_size": pool_size, "max_overflow": 0, "pool_pre_ping": True}
    return sa.create_engine(
        "postgresql+psycopg://", creator=lambda: connect_sync(address, kind), hide_parameters=True, **pool
    )


def open_database(address: Address) -> tuple[Address, list[Chain]]:
    """Creates the schema where there is none and enrols the writers. Raises StoreError saying what is wrong."""
    with owning(address) as (connection, now):
        make_roles(connection)
        bound_to, schema = place(connection)
        if prepare(connection, bound_to=bound_to, now=now):
            give_rights(connection, schema)
        _, belongs_to = read_head(connection, now, hold=True)
        if belongs_to != bound_to:
            raise StoreError(
                f"{address.shown} is a copy: its epoch belongs to {belongs_to}, this server is {bound_to}"
                " (a failover or a restored backup), so that a revoke may be missing; where it is meant, run"
                " `discreet db adopt`"
            )
        return replace(address, schema=schema, bound_to=bound_to), enrol(connection, LANES, now)


@contextmanager
def owning(address: Address) -> Iterator[tuple[sa.Connection, Micros]]:
    """A transaction with the login's own rights, alone among those that open or keep the database, and its clock.

    Committed at the end. Raises StoreError where the server is not fit to keep what is recorded on it.
    """
    engine = alchemy(address, Kind.OWNER)
    try:
        with engine.begin() as connection:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": OPENING_LOCK})
            if faults := server_faults(connection):
                raise StoreError(f"{address.shown} {faults[0]}")
            yield connection, Micros(connection.execute(NOW).scalar_one())
    except psycopg.Error as error:
        raise StoreError(f"{address.shown} cannot be reached: {plain(error)}") from None
    except sa.exc.DBAPIError as error:
        raise StoreError(f"{address.shown} cannot be opened: {cause(error)}") from None
    finally:
        engine.dispose()


def place(connection: sa.Connection) -> tuple[str, str]:
    """Which database this is (system and timeline), and the schema in which its tables are."""
    bound_to = connection.execute(sa.text(BOUND_TO)).scalar_one()
    return str(bound_to), str(connection.execute(sa.text("SELECT current_schema()")).scalar_one())


def give_rights(connection: sa.Connection, schema: str) -> None:
    """Gives each role its rights on the tables as they are now."""
    for statement in grants(schema):
        connection.exec_driver_sql(statement)


def setting(connection: sa.Connection, name: str) -> str:
    """A setting as it holds for this connection."""
    return str(connection.execute(sa.text(f"SHOW {name}")).scalar_one())


def server_faults(connection: sa.Connection) -> list[str]:
    """What stands against keeping an authority on this server, each with what would be right."""
    if int(setting(connection, "server_version_num")) < VERSION_MIN:
        return [f"is PostgreSQL {setting(connection, 'server_version')}; 16 or newer is needed"]
    if connection.execute(sa.text("SELECT pg_is_in_recovery()")).scalar_one():
        return ["is a standby; decisions are made on the primary alone: name that one, or all of them in one address"]
    faults = [
        f"has {name} = {found}: what is recorded would not be durable; turn it on"
        for name in DURABLE
        if (found := setting(connection, name)) != "on"
    ]
    encoding = setting(connection, "server_encoding")
    if encoding != "UTF8":
        faults.append(f"is encoded in {encoding}; create it with ENCODING 'UTF8'")
    return [*faults, *_standby_faults(connection)]


def _standby_faults(connection: sa.Connection) -> list[str]:
    """A failover loses no commit only where each waits for a standby; and none comes back where there is none."""
    found = connection.execute(STANDBYS).all()
    named = setting(connection, "synchronous_standby_names")
    if found and not named:
        return [
            f"has {len(found)} standby(s) that may lag: a failover would lose commits; set synchronous_standby_names"
        ]
    known = [state for (state,) in found if state is not None]
    if named and len(known) == len(found) and not {"sync", "quorum"}.intersection(known):
        return [
            "has synchronous_standby_names set, and none of these standbys is connected: every commit would wait;"
            " start one, or clear the setting"
        ]
    return []
