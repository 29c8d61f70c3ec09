"""The stores' own fixtures, for tests of what runs in their transactions."""

from tests.contract.conftest import (
    database,
    postgres,
    postgres_database,
    postgres_template,
    sqlite_database,
    sqlite_template,
    store,
)

__all__ = [
    "database",
    "postgres",
    "postgres_database",
    "postgres_template",
    "sqlite_database",
    "sqlite_template",
    "store",
]
