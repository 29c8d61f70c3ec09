"""Creates and upgrades the schema, and refuses one that it does not know. Must know nothing of calls.

The caller holds the lock and the transaction; what is done here lands or is rolled back with it.
"""

import secrets
from pathlib import Path

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.server.ports import StoreError
from discreet.server.stores import tables

SCHEMA = "0001"
"""The schema that this code reads and writes: the last migration."""
OLDER: frozenset[str] = frozenset()
"""Schemas that the migrations can upgrade."""
RECEIPT_KEY_LIFE_US = 90 * 86_400_000_000
"""A store that is opened with an older key than this signs with a new one from then on."""
MIGRATIONS = Path(__file__).parent / "migrations"


def prepare(connection: sa.Connection, *, bound_to: str, now: Micros) -> bool:
    """Brings the schema up to date and writes the first rows of a new database; True where it changed anything.

    Raises StoreError for a newer schema, and for a database that belongs to something else.
    """
    found = _found(connection)
    if found == SCHEMA:
        _rotate_receipt_key(connection, now)
        return False
    if found is not None and found not in OLDER:
        raise StoreError(
            f"the database has schema {found}, this server knows {SCHEMA}: a newer Discreet has opened it; run that one"
        )
    _migrate(connection)
    if found is None:
        _first_rows(connection, bound_to, now)
    return True


def _found(connection: sa.Connection) -> str | None:
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
