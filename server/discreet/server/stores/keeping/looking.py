"""Looks a database over without changing anything: `discreet db check`. Must know no command line."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa

from discreet.server.clock import SystemClock
from discreet.server.ports import StoreError
from discreet.server.stores import is_postgres, schema
from discreet.server.stores.adoptions import read_adoptions
from discreet.server.stores.keeping.acts import Compare
from discreet.server.stores.keeping.finding import FINDINGS_MAX, ExportedHead, Verified
from discreet.server.stores.keeping.links import look_at_links, verify
from discreet.server.stores.keeping.report import Report
from discreet.server.stores.keeping.rows import look_at_rows
from discreet.server.stores.metadata import metadata
from discreet.server.stores.queries import read_head

KNOWN = frozenset({*metadata.tables, "alembic_version"})


def look_over(url: str, compare: Compare | None = None) -> Report:
    """The database as it is. Raises StoreError only where it cannot be read at all."""
    with _read(url) as (connection, report):
        try:
            report.schema = schema.found_schema(connection)
        except StoreError as error:
            what, _, remedy = str(error).partition("; ")
            report.fault(what, remedy)
            return report
        if not _look_at_schema(report):
            return report
        _look_at_tables(connection, report)
        report.head, belongs_to = read_head(connection, SystemClock().wall())
        report.adoptions = read_adoptions(connection)
        if belongs_to != report.bound_to:
            report.fault(
                f"the epoch belongs to {belongs_to}, and this is {report.bound_to}: a failover, or a restored backup",
                "where it is meant, run `discreet db adopt`",
            )
        if compare is not None and (marks := compare(report.head, report.adoptions)).said:
            what, _, remedy = marks.said.partition("; ")
            report.fault(what, remedy)
        look_at_rows(connection, report, report.head)
        look_at_links(connection, report)
        if is_postgres(url):
            from discreet.server.stores.keeping.postgres import look_at_rights

            look_at_rights(connection, report)
        return report


def verify_chain(url: str, exported: Sequence[ExportedHead] = ()) -> Verified:
    """The audit chain of the database, whole. Raises StoreError where it cannot be read, or has another schema."""
    with _read(url) as (connection, report):
        report.schema = schema.found_schema(connection)
        if not _look_at_schema(report):
            raise StoreError(str(report.faults[-1]))
        done = Verified(report.shown)
        for finding in verify(connection, exported, done):
            done.count += 1
            if len(done.findings) < FINDINGS_MAX:
                done.findings.append(finding)
        return done


@contextmanager
def _read(url: str) -> Iterator[tuple[sa.Connection, Report]]:
    if is_postgres(url):
        from discreet.server.stores.keeping.postgres import read_server

        with read_server(url) as found:
            yield found
    else:
        from discreet.server.stores.keeping.sqlite import existing, read_file

        with read_file(existing(url)) as found:
            yield found


def _look_at_schema(report: Report) -> bool:
    """True where the code knows the schema as it is."""
    if report.schema is None:
        report.fault("the database is empty", "`discreet serve` creates its tables")
    elif report.schema in schema.OLDER:
        report.fault(f"the schema is {report.schema}, not {schema.SCHEMA}", "run `discreet db upgrade`")
    elif report.schema != schema.SCHEMA:
        report.fault(
            f"the schema is {report.schema}, this Discreet knows {schema.SCHEMA}", "run the Discreet that made it"
        )
    return report.schema == schema.SCHEMA


def _look_at_tables(connection: sa.Connection, report: Report) -> None:
    there = set(sa.inspect(connection).get_table_names())
    for name in sorted(there - KNOWN):
        report.fault(f"there is a table that is not Discreet's: {name}", "give it a database of its own")
    for name in sorted(KNOWN - there):
        report.fault(f"the table {name} is missing", "restore a backup, and adopt it")
