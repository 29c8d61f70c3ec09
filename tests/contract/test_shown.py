"""What was reported as shown, on every store: confirmed once, found with whose it is, and by its own tenant alone."""

from discreet.policy.facts import Ref
from discreet.server.ports import Job, Recorded, Store
from discreet.server.ports_authority import Released
from tests.contract.databases import Database
from tests.contract.making import ALICE, TENANT, audit, entry, facts_of, job, put, record, revisions

A = Ref("doc/a", "1")


async def test_entries_are_found_with_whose_they_are_and_whether_they_were_shown(store: Store) -> None:
    """F4, F11: known, unknown and another tenant's ids in one look; a report of what is confirmed changes nothing."""
    await put(store, record())
    bases = revisions(await facts_of(store, A))
    first, second = entry(*bases), entry(*bases)
    await store.record([job(await store.head(), first, second)])
    ids = [first.ledger_id, second.ledger_id, "made-up"]

    async def released(tenant: str = TENANT) -> dict[str, Released]:
        return dict(await store.look(lambda at: at.released(tenant, ids)))

    plain = Released(ALICE, first.key.session_id, confirmed=False)
    assert await released() == {first.ledger_id: plain, second.ledger_id: plain}
    assert await released("globex") == {}
    report = Job(audit(), shown=((TENANT, first.ledger_id),))
    before = await store.head()
    assert [isinstance(one, Recorded) for one in await store.record([report, report])] == [True, True]
    assert await released() == {first.ledger_id: plain._replace(confirmed=True), second.ledger_id: plain}
    after = await store.head()
    assert (after.seq, after.changed_seq) == (before.seq, before.changed_seq)


async def test_a_report_of_another_tenant_confirms_nothing_here(store: Store, database: Database) -> None:
    """DSC-07: an id is confirmed for the tenant that reported it and for no other."""
    await put(store, record())
    bases = revisions(await facts_of(store, A))
    one = entry(*bases)
    await store.record([job(await store.head(), one)])
    await store.record([Job(audit(tenant="globex"), shown=(("globex", one.ledger_id),))])
    found = await store.look(lambda at: at.released(TENANT, [one.ledger_id]))
    assert not found[one.ledger_id].confirmed
    assert database.rows("SELECT tenant FROM ledger_shown") == [("globex",)]
