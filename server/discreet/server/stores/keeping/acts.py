"""Acts of an operator on a database: upgrade and adopt, written once over both kinds. Must know nothing of calls."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.server.ports import Adoption, Head, StoreError
from discreet.server.stores import is_postgres, schema
from discreet.server.stores.adoptions import adopt, read_adoptions
from discreet.server.stores.queries import read_head

REASON_CHARS_MAX = 1_000


class Marks(NamedTuple):
    """What a server's marks say of a database.

    `said`: why it would be refused; empty: it would not. `seen`: the marks that an adoption stands in for, by epoch.
    `ahead`: those that the database is behind.
    """

    said: str
    seen: Mapping[str, int]
    ahead: Mapping[str, int]


Compare = Callable[[Head, list[Adoption]], Marks]


@dataclass(frozen=True, slots=True)
class Held:
    """A database that nobody else serves or keeps, in a transaction. `give_rights`: to each role what it may do."""

    connection: sa.Connection
    now: Micros
    shown: str
    bound_to: str
    give_rights: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Adopted:
    """What an adoption came to. `lost`: the marks that the database was behind, by epoch."""

    adoption: Adoption
    shown: str
    lost: Mapping[str, int]
    moved: bool
    """The epoch belonged to another system or timeline."""


@contextmanager
def held(url: str) -> Iterator[Held]:
    """The database alone, in a transaction that is committed at the end. Raises StoreError where somebody serves it."""
    if is_postgres(url):
        from discreet.server.stores.keeping.postgres import held_server

        with held_server(url) as found:
            yield found
    else:
        from discreet.server.stores.keeping.sqlite import held_file

        with held_file(url) as found:
            yield found


def upgrade_database(url: str) -> tuple[str, str]:
    """Brings schema and rights up to date, whole or not at all; the schema before and after. Raises StoreError."""
    with held(url) as database:
        before, after = schema.upgrade(database.connection)
        database.give_rights()
        return before, after


def adopt_database(url: str, compare: Compare, *, actor: str, reason: str) -> Adopted:
    """Gives a database that may have lost something a new epoch, where something speaks for it. Raises StoreError."""
    if not reason.strip() or len(reason) > REASON_CHARS_MAX or not reason.isprintable():
        raise StoreError(f"the reason must be 1 to {REASON_CHARS_MAX} printable characters")
    with held(url) as database:
        connection = database.connection
        found = schema.found_schema(connection)
        if found != schema.SCHEMA:
            raise StoreError(f"the database has schema {found}, not {schema.SCHEMA}: run `discreet db upgrade` first")
        head, belongs_to = read_head(connection, database.now, hold=True)
        marks = compare(head, read_adoptions(connection))
        moved = belongs_to != database.bound_to
        if not marks.said and not moved:
            raise StoreError(
                f"{database.shown} is at {head.seq} of the epoch that belongs to it, and no mark in the state directory"
                " is ahead of it: there is nothing to adopt. If a server refuses it, name that server's --state"
            )
        bound_to, now = database.bound_to, database.now
        given = adopt(connection, bound_to=bound_to, now=now, seen=marks.seen, actor=actor, reason=reason)
        return Adopted(given, database.shown, marks.ahead, moved)
