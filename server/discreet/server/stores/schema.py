"""Creates the schema, upgrades it when told to, and refuses one that it does not know. Must know nothing of calls.

The caller holds the lock and the transaction; what is done here lands or is rolled back with it.
"""

import secrets
from pathlib import Path

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.server.ports import StoreError
from discreet.server.stores import tables

SCHEMA = "0005"
"""The schema that this code reads and writes: the last migration."""
OLDER: frozenset[str] = frozenset({"0001", "0002", "0003", "0004"})
"""Schemas that the migrations can upgrade."""
RECEIPT_KEY_LIFE_US = 90 * 86_400_000_000
"""A store that is opened with an older key than this signs with a new one from then on."""
MIGRATIONS = Path(__file__).parent / "migrations"


def prepare(connection: sa.Connection, *, bound_to: str, now: Micros) -> bool:
    """Writes schema and first rows into an empty database, rotates keys in one that is known; True where it was empty.

    Raises StoreError for an older schema (upgraded by its operator alone, docs/decisions/0051), for a newer one, and
    for a database that belongs to something else.
    """
    found = found_schema(connection)
    if found is None:
        _migrate(connection)
        _first_rows(connection, bound_to, now)
        return True
    if found in OLDER:
        raise StoreError(
            f"the database has schema {found}, this server needs {SCHEMA}: stop every server on it, back it up,"
            " and run `discreet db upgrade`"
        )
    require_known(found)
    _rotate_receipt_key(connection, now)
    return False


def upgrade(connection: sa.Connection) -> tuple[str, str]:
    """Brings an older schema up to date; which one it was and which it is. Raises StoreError where it cannot."""
    found = found_schema(connection)
    if found is None:
        raise StoreError("the database is empty: there is nothing to upgrade; `discreet serve` creates its tables")
    require_known(found)
    if found != SCHEMA:
        _migrate(connection)
    return found, SCHEMA


def require_known(found: str) -> None:
    """Raises StoreError for a schema that no migration of this code leads to or from."""
    if found != SCHEMA and found not in OLDER:
        raise StoreError(
            f"the database has schema {found}, this server knows {SCHEMA}: a newer Discreet has opened it; run that one"
        )


def found_schema(connection: sa.Connection) -> str | None:
    """The schema of the database; None where it is empty."""
    names = set(sa.inspect(connection).get_table_names())
    if "alembic_version" in names and "authority" in names:
        found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalars().all()
        return ",".join(found) or "without a number"
    if names:
        raise StoreError("the database holds tables that are not Discreet's; give it a database of its own")
    return None


def _migrate(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _first_rows(connection: sa.Connection, bound_to: str, now: Micros) -> None:
    row = {"one": 1, "epoch": secrets.token_hex(16), "bound_to": bound_to}
    connection.execute(sa.insert(tables.authority).values(**row, seq=0, changed_seq=0, policy_revision=0))
    _new_receipt_key(connection, now)


def _rotate_receipt_key(connection: sa.Connection, now: Micros) -> None:
    """Adds a key where the newest is old. The others go on verifying: what was retrieved stays retrieved."""
    newest = connection.execute(sa.select(sa.func.max(tables.receipt_key.c.created_at))).scalar_one()
    if newest is None or now - newest >= RECEIPT_KEY_LIFE_US:
        _new_receipt_key(connection, now)


def _new_receipt_key(connection: sa.Connection, now: Micros) -> None:
    key = {"key_id": secrets.token_hex(8), "secret": secrets.token_bytes(32), "created_at": now}
    connection.execute(sa.insert(tables.receipt_key).values(**key))
