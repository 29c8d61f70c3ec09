"""Appends many rows fast, over either database: a large revoke writes some for each version while all commits wait.

SQLAlchemy goes through every value of every row, which takes longer than the database does. The rows are the same.
"""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from discreet.server.stores.metadata import metadata

MANY = 100
"""Rows from which on it pays."""
AT_ONCE = 5_000
"""Rows of one statement on PostgreSQL: a few MB."""
_POSTGRESQL = postgresql.dialect()  # type: ignore[no-untyped-call] # SQLAlchemy gives it no types


def insert_many(connection: sa.Connection, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Appends rows that name the same columns each."""
    names = tuple(rows[0])
    if connection.dialect.name == "sqlite":
        values = ", ".join("?" for _ in names)
        text = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"  # noqa: S608 - names of our own tables
        connection.exec_driver_sql(text, [tuple([row[name] for name in names]) for row in rows])
        return
    columns = metadata.tables[table].columns
    types = [str(columns[name].type.compile(_POSTGRESQL)).partition(" COLLATE ")[0] for name in names]
    lists = ", ".join(f"%s::{kind}[]" for kind in types)
    text = f"INSERT INTO {table} ({', '.join(names)}) SELECT * FROM unnest({lists})"  # noqa: S608 - names of our own tables
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        connection.exec_driver_sql(text, tuple([row[name] for row in some] for name in names))
