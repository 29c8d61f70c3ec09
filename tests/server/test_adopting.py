"""A database that an operator adopted: which servers take it, what is refused from then on, and what is on record."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from discreet.policy.facts import Micros
from discreet.server.errors import StoreRefused
from discreet.server.ports import Adoption, Head
from discreet.server.reading.high_water import UNREADABLE, HighWater
from discreet.v1 import audit_pb2, index_pb2
from tests.server.cli.command import Outcome, discreet
from tests.server.support import TENANT, PolicyRepo, check, config_of, document, in_process, ref, verdicts

ONE, TWO, THREE, FOUR = ("1" * 32, "2" * 32, "3" * 32, "4" * 32)
WHY = ("--reason", "disk lost, backup of Sunday", "--actor", "ana")


def _head(epoch: str, seq: int) -> Head:
    return Head(epoch, seq, seq, 1, Micros(0))


def _adoption(epoch: str, previous: str, found_seq: int, **accepted: int) -> Adoption:
    """`accepted`: e1 to e4, each up to a number."""
    epochs = {"e1": ONE, "e2": TWO, "e3": THREE, "e4": FOUR}
    given = tuple((epochs[name], seq) for name, seq in accepted.items())
    return Adoption(epoch, previous, found_seq, given, Micros(0), "ana", "why")


def _refusal(state: Path, head: Head, *adoptions: Adoption) -> str:
    with pytest.raises(StoreRefused) as refused:
        HighWater(state).admit(head, adoptions)
    return str(refused.value)


def _adopt(db: str, state: Path, *more: str) -> Outcome:
    return discreet("db", "adopt", "--db", db, "--state", str(state), *WHY, *more)


def _restore(backup: Path, db: str) -> None:
    for left in Path(db).parent.glob(f"{Path(db).name}*"):
        left.unlink()
    shutil.copy(backup, db)


def test_an_adoption_opens_what_it_accepts_and_closes_what_it_replaces(tmp_path: Path) -> None:
    """F1: a server takes a new epoch where the adoption covers its mark; the old database is refused from then on."""
    HighWater(tmp_path).admit(_head(ONE, 100))
    assert "not in place of all" in _refusal(tmp_path, _head(TWO, 60), _adoption(TWO, ONE, 60, e1=99))
    HighWater(tmp_path).admit(_head(TWO, 60), [_adoption(TWO, ONE, 60, e1=100)])
    for seq in (60, 100, 10_000):
        assert "was replaced" in _refusal(tmp_path, _head(ONE, seq))
    HighWater(tmp_path).admit(_head(TWO, 61), [_adoption(TWO, ONE, 60, e1=100)])
    assert "went back" in _refusal(tmp_path, _head(TWO, 60), _adoption(TWO, ONE, 60, e1=100))


def test_a_second_restored_backup_needs_an_adoption_of_its_own(tmp_path: Path) -> None:
    """F1: one that knows nothing of what came after the first adoption is refused, whatever it accepted of before."""
    HighWater(tmp_path).admit(_head(ONE, 100))
    HighWater(tmp_path).admit(_head(TWO, 60), [_adoption(TWO, ONE, 60, e1=100)])
    HighWater(tmp_path).admit(_head(TWO, 200))
    for accepted in ({"e1": 100}, {"e1": UNREADABLE}, {"e1": 100, "e2": 199}):
        assert "not in place of all" in _refusal(tmp_path, _head(THREE, 50), _adoption(THREE, ONE, 50, **accepted))
    water = HighWater(tmp_path)
    assert water.seen(_head(ONE, 50), []) == {ONE: 100, TWO: 200}
    assert water.ahead(_head(ONE, 50), []) == {ONE: 100, TWO: 200}
    water.admit(_head(THREE, 50), [_adoption(THREE, ONE, 50, e1=100, e2=200)])
    assert "was replaced" in _refusal(tmp_path, _head(TWO, 300))
    HighWater(tmp_path).admit(_head(THREE, 51))


def test_adoptions_in_a_row_are_followed_by_a_server_that_missed_some(tmp_path: Path) -> None:
    """F1: what every adoption on the way accepted counts; what this server alone saw must be among it."""
    HighWater(tmp_path).admit(_head(ONE, 100))
    first, second = _adoption(TWO, ONE, 60, e1=100), _adoption(THREE, TWO, 80, e2=90)
    HighWater(tmp_path).admit(_head(THREE, 80), [second, first])
    assert HighWater(tmp_path).read(ONE) == (100, THREE)
    assert "was replaced" in _refusal(tmp_path, _head(ONE, 100))


def test_a_database_that_was_never_seen_is_taken_whatever_its_adoptions(tmp_path: Path) -> None:
    """A server on a new machine has no mark to compare; other databases of its directory are not concerned."""
    HighWater(tmp_path).admit(_head(FOUR, 5))
    HighWater(tmp_path).admit(_head(TWO, 60), [_adoption(TWO, ONE, 60, e1=100)])
    HighWater(tmp_path).admit(_head(FOUR, 5))


def test_a_crash_between_the_links_and_the_mark_opens_nothing(tmp_path: Path) -> None:
    """F1: the old database is refused first; then the new one is admitted again, and a sibling is still compared."""
    HighWater(tmp_path).admit(_head(ONE, 100))
    (tmp_path / "high-water" / ONE).write_text(f"100\nreplaced by {TWO}\n")
    assert "was replaced" in _refusal(tmp_path, _head(ONE, 100))
    assert "not in place of all" in _refusal(tmp_path, _head(THREE, 50), _adoption(THREE, ONE, 50, e1=50))
    HighWater(tmp_path).admit(_head(TWO, 60), [_adoption(TWO, ONE, 60, e1=100)])
    HighWater(tmp_path).admit(_head(TWO, 60))


def test_a_damaged_mark_is_accepted_only_by_who_was_told_of_it(tmp_path: Path) -> None:
    """A12: it counts as higher than any number, before an adoption and after it."""
    HighWater(tmp_path).admit(_head(ONE, 100))
    (tmp_path / "high-water" / ONE).write_text("?")
    assert "is damaged" in _refusal(tmp_path, _head(ONE, 100))
    assert "not in place of all" in _refusal(tmp_path, _head(TWO, 60), _adoption(TWO, ONE, 60, e1=10**9))
    water = HighWater(tmp_path)
    assert water.ahead(_head(ONE, 100), []) == {ONE: UNREADABLE}
    water.admit(_head(TWO, 60), [_adoption(TWO, ONE, 60, e1=UNREADABLE)])
    assert "was replaced" in _refusal(tmp_path, _head(ONE, 100))


@pytest.mark.parametrize("epoch", ["", "..", "../../x", "E" * 32, "e" * 31])
def test_an_epoch_that_is_none_names_no_file(tmp_path: Path, epoch: str) -> None:
    """What comes from a database is not trusted with the names of files."""
    assert "no epoch" in _refusal(tmp_path, _head(epoch, 1))
    assert "no epoch" in _refusal(tmp_path, _head(TWO, 1), Adoption(TWO, ONE, 1, ((epoch, 9),), Micros(0), "", ""))


async def test_after_an_adoption_old_tokens_are_refused_and_the_audit_says_what_was_lost(
    place: Path, repo: PolicyRepo
) -> None:
    """F1, B6: a new epoch; FAILED_PRECONDITION for tokens of before; who, why, from which event to which."""
    config, backup, state = config_of(place, repo.path), place / "backup.db", place / "state"
    async with in_process(config) as running:
        token = (await running.lines.collector.put(document())).token
        made = discreet("db", "backup", "--db", config.db, str(backup))
        assert made.code == 0, made.err
        revoke = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
        await running.lines.operator.call(revoke)
        busy = _adopt(config.db, state)
        assert (busy.code, "another server has this database open" in busy.err) == (5, True)
    _restore(backup, config.db)
    told = _adopt(config.db, state, "-o", "json").tree
    assert (told["found_seq"], told["actor"], told["moved"]) == (2, "ana", False)
    assert told["lost_up_to"] == {told["previous_epoch"]: 4}
    async with in_process(config) as running:
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
        error = await running.lines.agent.refused(check(min_token=token))
        assert error.code().name == "FAILED_PRECONDITION"
        (adoption,) = await running.server.store.adoptions()
        assert (adoption.actor, adoption.reason, adoption.found_seq) == ("ana", WHY[1], 2)
        assert adoption.accepted == ((told["previous_epoch"], 4),)
    row = _adoption_row(config.db, adoption.epoch)
    assert (row.change.method, row.change.reason, row.caller.name) == ("AdoptDatabase", WHY[1], "ana")
    assert json.loads(row.change.detail)["accepted"] == {adoption.previous: 4}
    looked = discreet("db", "check", "--db", config.db, "--state", str(state), "-o", "json")
    assert (looked.code, looked.tree["faults"], len(looked.tree["adoptions"])) == (0, [], 1)


def _adoption_row(db: str, epoch: str) -> audit_pb2.AuditRow:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(db)) as raw:
        ((body,),) = raw.execute("SELECT body FROM audit_row WHERE request_id = ?", [f"adopt:{epoch}"]).fetchall()
    return audit_pb2.AuditRow.FromString(body)


async def test_a_backup_that_was_adopted_once_is_not_taken_a_second_time(place: Path, repo: PolicyRepo) -> None:
    """F1: restored again it lacks what was revoked under the new epoch; and a copy of the adopted one went back."""
    config, backup, state = config_of(place, repo.path), place / "backup.db", place / "state"
    async with in_process(config) as running:
        await running.lines.collector.put(document())
    assert discreet("db", "backup", "--db", config.db, str(backup)).code == 0
    async with in_process(config) as running:
        await running.lines.collector.put(document("handbook/other"))
    _restore(backup, config.db)
    assert _adopt(config.db, state).code == 0
    shutil.copy(config.db, place / "adopted.db")
    revoke = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
    async with in_process(config) as running:
        await running.lines.operator.call(revoke)
    for again, words in ((backup, "was replaced"), (place / "adopted.db", "went back")):
        _restore(again, config.db)
        with pytest.raises(StoreRefused, match=words):
            async with in_process(config):
                pass
    _restore(backup, config.db)
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    nothing = _adopt(config.db, elsewhere)
    assert (nothing.code, "nothing to adopt" in nothing.err) == (5, True)
    adopted = _adopt(config.db, state, "-o", "json").tree
    assert len(adopted["lost_up_to"]) == 2
    async with in_process(config) as running:
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]


async def test_an_adoption_needs_cause_and_reason(place: Path, repo: PolicyRepo) -> None:
    """Every adoption ends all tokens: without cause it is refused, and so is one that says nothing."""
    config, state = config_of(place, repo.path), place / "state"
    async with in_process(config):
        pass
    refused = _adopt(config.db, state)
    assert (refused.code, "nothing to adopt" in refused.err) == (5, True)
    assert discreet("db", "adopt", "--db", config.db).code == 2
    assert discreet("db", "adopt", "--db", config.db, "--reason", " ").code == 5
    assert discreet("db", "adopt", "--db", str(place / "none.db"), *WHY).code == 5
    assert not (place / "none.db").exists()
    assert discreet("db", "adopt", "--db", config.db, "--state", str(place / "none"), *WHY).code == 2
