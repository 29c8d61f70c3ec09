"""One index transaction over either database: the port `Work` in SQLAlchemy Core. Must not open connections.

The caller began the transaction, holds the authority row and commits; `discreet.server.ports.Work` is the contract.
"""

from collections.abc import Iterator, Mapping, Sequence

import sqlalchemy as sa

from discreet.policy.facts import GrantFacts, Micros, PrincipalGrants, RecordFacts, Ref
from discreet.server.ports import AuditRecord, ChangeKind, Head
from discreet.server.ports_authority import AuthorityWork, PurgeWork
from discreet.server.ports_policy import PolicyWork
from discreet.server.stores import tables
from discreet.server.stores.authority_work import SqlAuthority
from discreet.server.stores.chain import Chain
from discreet.server.stores.policies import SqlPolicies
from discreet.server.stores.purge_work import SqlPurges
from discreet.server.stores.queries import BY_REF, CURRENT, principal_grants
from discreet.server.stores.rows import RECORD_COLUMNS, canonical, record_facts, record_row
from discreet.server.stores.transaction import Transaction, parts

_latest = tables.record_latest.c
_revision = tables.record_revision.c
_grants = tables.grant_event.c
_UPSERT_LATEST = sa.text(
    "INSERT INTO record_latest (tenant, record_id, version, revision, is_current, source_label, skeleton)"
    " VALUES (:tenant, :record_id, :version, :revision, :is_current, :source_label, :skeleton)"
    " ON CONFLICT (tenant, record_id, version) DO UPDATE SET revision = excluded.revision,"
    " is_current = excluded.is_current, source_label = excluded.source_label, skeleton = excluded.skeleton"
)
_BUILT = sa.text(
    "INSERT INTO record_root (tenant, root_id, root_version, record_id, version)"
    " VALUES (:tenant, :root_id, :root_version, :record_id, :version) ON CONFLICT DO NOTHING"
)
_DEMOTE = (
    sa.update(tables.record_latest)
    .where(
        _latest.tenant == sa.bindparam("in_tenant"),
        _latest.record_id == sa.bindparam("of_record"),
        _latest.version == sa.bindparam("of_version"),
    )
    .values(revision=sa.bindparam("to_revision"), is_current=False)
)
_KEPT = ["tenant", *(name for name in RECORD_COLUMNS if name not in {"revision", "is_current", "step"})]
_DEMOTED = sa.insert(tables.record_revision).from_select(
    [*_KEPT, "revision", "is_current", "step"],
    sa.select(
        *(_revision[name] for name in _KEPT),
        sa.bindparam("to_revision", type_=sa.BigInteger),
        sa.bindparam("not_current", type_=sa.Boolean),
        sa.bindparam("by_step", type_=sa.Text),
    ).where(
        _revision.tenant == sa.bindparam("in_tenant"),
        _revision.record_id == sa.bindparam("of_record"),
        _revision.version == sa.bindparam("of_version"),
        _revision.revision == sa.bindparam("of_revision"),
    ),
)
"""The revision that a version gets when another one becomes current."""


class SqlWork:
    """Reads the present and appends to it, numbering each event."""

    def __init__(self, connection: sa.Connection, head: Head, chain: Chain) -> None:
        self._connection = connection
        self._on = Transaction(connection, head, chain)
        self._by_ref = BY_REF[connection.dialect.name]
        self._authority = SqlAuthority(self._on)
        self._purges = SqlPurges(self._on)
        self._policies = SqlPolicies(self._on)

    @property
    def now(self) -> Micros:
        """The database's clock."""
        return self._on.head.now

    @property
    def head(self) -> Head:
        """The authority row as it will be after the events so far."""
        return self._on.head

    @property
    def authority(self) -> AuthorityWork:
        """Standing facts, tombstones, approvals."""
        return self._authority

    @property
    def purges(self) -> PurgeWork:
        """Holders and purge orders."""
        return self._purges

    @property
    def policies(self) -> PolicyWork:
        """Policy revisions, pins, servers."""
        return self._policies

    def record(self, tenant: str, ref: Ref) -> RecordFacts | None:
        """The latest revision of a record version."""
        return self.records(tenant, [ref]).get(ref)

    def current(self, tenant: str, record_id: str) -> RecordFacts | None:
        """The latest revision of the record's current version."""
        return self.currents(tenant, [record_id]).get(record_id)

    def records(self, tenant: str, refs: Sequence[Ref]) -> Mapping[Ref, RecordFacts]:
        """The latest revisions of many record versions."""
        found = {}
        for part in parts(dict.fromkeys(refs)):
            for row in self._connection.execute(self._by_ref, {"tenant": tenant, "refs": canonical(part)}):
                facts = record_facts(row)
                found[facts.ref] = facts
        return found

    def currents(self, tenant: str, record_ids: Sequence[str]) -> Mapping[str, RecordFacts]:
        """The current versions of many record ids."""
        found = {}
        for part in parts(dict.fromkeys(record_ids)):
            wanted = CURRENT.where(_latest.tenant == tenant, _latest.record_id.in_(part))
            for row in self._connection.execute(wanted):
                found[row[0]] = record_facts(row)
        return found

    def lookalike(self, tenant: str, label: str, record_id: str, skeleton: str) -> str | None:
        """Another record id of the same source with the same skeleton, if there is one."""
        wanted = sa.select(_latest.record_id).where(
            _latest.tenant == tenant,
            _latest.source_label == label,
            _latest.skeleton == skeleton,
            _latest.record_id != record_id,
        )
        return self._connection.execute(wanted.order_by(_latest.record_id).limit(1)).scalar()

    def write_records(self, tenant: str, records: Sequence[tuple[RecordFacts, str]]) -> int:
        """Appends revisions with their id's skeleton; see the port. A version that stands twice gets two revisions."""
        for batch in _without_repeats(records):
            self._write_batch(tenant, batch)
        return self._on.head.seq

    def _write_batch(self, tenant: str, batch: Sequence[tuple[RecordFacts, str]]) -> None:
        seqs = {record_id: self._on.fact() for record_id in dict.fromkeys(record.record_id for record, _ in batch)}
        self._on.changed(ChangeKind.RECORD, tenant, seqs)
        takers = {record.record_id: record for record, _ in batch if record.current}
        self._demote(tenant, takers, {record.ref for record, _ in batch}, seqs)
        revisions, latest = [], []
        for record, skeleton in batch:
            row = record_row(tenant, record, seqs[record.record_id])
            row["is_current"] = record.record_id in takers and takers[record.record_id].version == record.version
            revisions.append(row)
            latest.append(row | {"skeleton": skeleton})
        self._on.insert("record_revision", revisions)
        latest.sort(key=lambda row: bool(row["is_current"]))
        names = ("tenant", "record_id", "version", "revision", "is_current", "source_label", "skeleton")
        self._connection.execute(_UPSERT_LATEST, [{name: row[name] for name in names} for row in latest])
        built = [(record, root) for record, _ in batch if not record.revision for root in record.roots]
        if built:
            self._connection.execute(_BUILT, [_built_row(tenant, record, root) for record, root in built])

    def _demote(
        self, tenant: str, takers: Mapping[str, RecordFacts], rewritten: set[Ref], seqs: Mapping[str, int]
    ) -> None:
        """Ends what is current where another version takes over, but for what is rewritten in the batch anyway."""
        rows = []
        for part in parts(takers):
            wanted = sa.select(_latest.record_id, _latest.version, _latest.revision).where(
                _latest.tenant == tenant, _latest.record_id.in_(part), _latest.is_current
            )
            for record_id, version, revision in self._connection.execute(wanted):
                if version != takers[record_id].version and Ref(record_id, version) not in rewritten:
                    of = {"in_tenant": tenant, "of_record": record_id, "of_version": version, "of_revision": revision}
                    rows.append({**of, "to_revision": seqs[record_id], "by_step": takers[record_id].step})
        if rows:
            self._connection.execute(_DEMOTED, [row | {"not_current": False} for row in rows])
            named = ("in_tenant", "of_record", "of_version", "to_revision")
            self._connection.execute(_DEMOTE, [{name: row[name] for name in named} for row in rows])

    def grants(self, tenant: str, principal_id: str) -> PrincipalGrants:
        """The principal's grants that are not withdrawn."""
        return principal_grants(self._connection, tenant, principal_id)

    def generation(self, tenant: str, principal_id: str, scope: str) -> int:
        """How many grants were ever given under this key."""
        wanted = sa.select(sa.func.coalesce(sa.func.max(_grants.generation), 0)).where(
            _grants.tenant == tenant, _grants.principal_id == principal_id, _grants.scope == scope
        )
        return int(self._connection.execute(wanted).scalar_one())

    def write_grant(self, tenant: str, principal_id: str, grant: GrantFacts) -> int:
        """Appends a grant; returns its seq."""
        seq = self._on.fact()
        self._on.changed(ChangeKind.GRANTS, tenant, {principal_id: seq})
        row = _grant_row(tenant, principal_id, grant.scope, grant.generation)
        valid = {"not_before": grant.not_before, "expires_at": grant.expires_at}
        self._on.insert("grant_event", [row | valid | {"withdrawn": False, "seq": seq, "at": self.now}])
        return seq

    def withdraw(self, tenant: str, principal_id: str, scope: str) -> int:
        """Ends all standing grants of the key; returns how many."""
        standing = [grant for grant in self.grants(tenant, principal_id).grants if grant.scope == scope]
        if not standing:
            return 0
        seq = self._on.fact()
        self._on.changed(ChangeKind.GRANTS, tenant, {principal_id: seq})
        end = {"withdrawn": True, "seq": seq, "at": self.now, "not_before": self.now, "expires_at": None}
        self._on.insert(
            "grant_event", [_grant_row(tenant, principal_id, scope, grant.generation) | end for grant in standing]
        )
        return len(standing)

    def audit(self, record: AuditRecord) -> None:
        """Adds an audit row to this transaction."""
        self._on.audit(record)

    def finish(self) -> bytes | None:
        """Writes the authority row and the audit link; returns the link's hash, or None where there is no row."""
        return self._on.finish()


def _built_row(tenant: str, record: RecordFacts, root: Ref) -> dict[str, str]:
    mine = {"tenant": tenant, "record_id": record.record_id, "version": record.version}
    return {**mine, "root_id": root.record_id, "root_version": root.version}


def _grant_row(tenant: str, principal_id: str, scope: str, generation: int) -> dict[str, object]:
    return {"tenant": tenant, "principal_id": principal_id, "scope": scope, "generation": generation}


def _without_repeats(records: Sequence[tuple[RecordFacts, str]]) -> Iterator[list[tuple[RecordFacts, str]]]:
    """The records in batches of which none names a version twice: normally one."""
    batch: dict[Ref, tuple[RecordFacts, str]] = {}
    for record in records:
        if record[0].ref in batch:
            yield list(batch.values())
            batch = {}
        batch[record[0].ref] = record
    if batch:
        yield list(batch.values())
