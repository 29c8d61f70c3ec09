"""Opens a PostgreSQL store: checks the server, its durability, schema and roles. Must know nothing of calls."""

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

_DURABLE = ("fsync", "full_page_writes")


def alchemy(address: Address, kind: Kind, pool_size: int = 0) -> sa.Engine:
    """SQLAlchemy's face of connections of one kind; without a size each is opened anew."""
    pool: dict[str, object] = {"poolclass": NullPool}
    if pool_size:
        pool = {"pool_size": pool_size, "max_overflow": 0, "pool_pre_ping": True}
    return sa.create_engine(
        "postgresql+psycopg://", creator=lambda: connect_sync(address, kind), hide_parameters=True, **pool
    )


def open_database(address: Address) -> tuple[Address, list[Chain]]:
    """Brings the schema up to date and enrols this store's writers. Raises StoreError saying what is wrong."""
    engine = alchemy(address, Kind.OWNER)
    try:
        with engine.begin() as connection:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": OPENING_LOCK})
            _check_server(connection, address)
            bound_to = str(connection.execute(sa.text(BOUND_TO)).scalar_one())
            schema = str(connection.execute(sa.text("SELECT current_schema()")).scalar_one())
            now = Micros(connection.execute(NOW).scalar_one())
            make_roles(connection)
            if prepare(connection, bound_to=bound_to, now=now):
                for statement in grants(schema):
                    connection.exec_driver_sql(statement)
            _, belongs_to = read_head(connection, now, hold=True)
            if belongs_to != bound_to:
                raise StoreError(
                    f"{address.shown} is a copy: its epoch belongs to {belongs_to}, this server is {bound_to}"
                    " (a failover or a restored backup); nothing is decided on it;"
                    " `discreet db adopt` is for this and is not served yet"
                )
            return replace(address, schema=schema, bound_to=bound_to), enrol(connection, LANES, now)
    except psycopg.Error as error:
        raise StoreError(f"{address.shown} cannot be reached: {plain(error)}") from None
    except sa.exc.DBAPIError as error:
        raise StoreError(f"{address.shown} cannot be opened: {cause(error)}") from None
    finally:
        engine.dispose()


def _check_server(connection: sa.Connection, address: Address) -> None:
    def show(name: str) -> str:
        return str(connection.execute(sa.text(f"SHOW {name}")).scalar_one())

    if int(show("server_version_num")) < VERSION_MIN:
        raise StoreError(f"{address.shown} is PostgreSQL {show('server_version')}; 16 or newer is needed")
    if show("server_encoding") != "UTF8":
        raise StoreError(f"{address.shown} is encoded in {show('server_encoding')}; create it with ENCODING 'UTF8'")
    if connection.execute(sa.text("SELECT pg_is_in_recovery()")).scalar_one():
        raise StoreError(f"{address.shown} is a standby; decisions are made on the primary alone")
    for name in _DURABLE:
        if show(name) != "on":
            raise StoreError(
                f"{address.shown} has {name} = {show(name)}: what is recorded would not be durable; turn it on"
            )
    standbys = connection.execute(
        sa.text("SELECT count(*) FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup'")
    ).scalar_one()
    if standbys and not show("synchronous_standby_names"):
        raise StoreError(
            f"{address.shown} has {standbys} standby(s) that may lag: a failover would lose commits;"
            " set synchronous_standby_names"
        )
