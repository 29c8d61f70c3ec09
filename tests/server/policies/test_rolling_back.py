"""Back to an earlier revision while a server follows the ref: it stays back until the ref moves or the pin is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.server.policies.compile import compile_files
from discreet.server.ports_policy import Origin
from discreet.v1 import policy_pb2, server_pb2
from tests.server.policies.revisions import (
    LISTED,
    a_set,
    commit_of,
    in_force,
    listed,
    publish,
    published,
    rolled_back,
    unpinned,
)
from tests.server.support import (
    POLICY,
    PolicyRepo,
    Running,
    audit_rows,
    check,
    config_of,
    document,
    eventually,
    git,
    in_process,
    verdicts,
)

DELISTED = POLICY["sources.yaml"].replace("{label: handbook,", "{label: handbook, listed: false,")


async def settled_on(running: Running, pinned: str) -> server_pb2.GetStatusResponse:
    """Waits until the follower knows that what the ref points at is pinned out, and has read the ref again since."""
    looked = running.server.policies

    async def holds() -> bool:
        return (await running.lines.operator.status()).policy_pinned == pinned

    await eventually(holds)
    before = looked.following.read_ns

    async def read_again() -> bool:
        return looked.following.read_ns != before

    await eventually(read_again)
    return await running.lines.operator.status()


async def test_a_rollback_stands_against_the_follower_until_the_ref_moves(running: Running, repo: PolicyRepo) -> None:
    """F2: the tip is out on purpose: no error, no lag, no problem; the next commit comes into force by itself."""
    await running.lines.collector.put(document())
    bad = repo.commit({"sources.yaml": DELISTED})
    await in_force(running, bad)
    assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "UNTRUSTED_SOURCE")]
    answer = await rolled_back(running, 1)
    assert (answer.revision.number, answer.pinned) == (3, bad)
    checked = await running.lines.agent.check(check())
    assert (verdicts(checked), checked.policy) == ([("ALLOW", "NONE")], answer.revision)
    status = await settled_on(running, bad)
    assert (status.policy, status.ready) == (answer.revision, True)
    assert (status.policy_error, list(status.problems), status.policy_lag_ms < 5_000) == ("", [], True)
    good = repo.commit({"sources.yaml": LISTED})
    status = await in_force(running, good)
    assert (status.policy_pinned, status.policy.number) == ("", 4)
    assert list((await listed(running)).pins) == []


async def test_a_pin_that_is_taken_away_lets_the_ref_come_back(running: Running, repo: PolicyRepo) -> None:
    """F2: unpinned, the tip comes into force again without a move of the ref, as a new revision."""
    tip = repo.commit({"sources.yaml": LISTED})
    await in_force(running, tip)
    await rolled_back(running, 1)
    await settled_on(running, tip)
    assert await unpinned(running, tip) == [tip]
    status = await in_force(running, tip)
    assert (status.policy.number, status.policy_pinned) == (4, "")


async def test_a_pin_that_is_taken_away_at_once_is_noticed_too(running: Running, repo: PolicyRepo) -> None:
    """F2: though no look at the ref fell between the rollback and the end of its pin."""
    tip = repo.commit({"sources.yaml": LISTED})
    await in_force(running, tip)
    async with running.server.policies._lock:
        row = await running.server.store.policy_row(1)
        assert row is not None
        origin = Origin("olga", rolled_back_to=1, reason="bad")
        await running.server.store.change(lambda work: work.policies.publish(2, row, origin))

    async def is_back() -> bool:
        status = await running.lines.operator.status()
        return (status.policy.number, status.policy.commit) == (4, tip)

    await eventually(is_back)


async def test_a_restart_keeps_to_a_rollback(place: Path, repo: PolicyRepo) -> None:
    """F2: pins are in SQL: a server that starts on a pinned tip serves what was brought back, without an error."""
    async with in_process(config_of(place, repo.path)) as running:
        tip = repo.commit({"sources.yaml": LISTED})
        await in_force(running, tip)
        back = (await rolled_back(running, 1)).revision
    async with in_process(config_of(place, repo.path)) as running:
        status = await settled_on(running, tip)
        assert (status.policy, status.ready, list(status.problems)) == (back, True, [])
        repo.commit({"notes.md": "no policy"})
        newer = git(repo.path, "rev-parse", "HEAD")
        await in_force(running, newer)


async def test_a_set_published_on_purpose_is_not_taken_back_by_a_follower(running: Running, repo: PolicyRepo) -> None:
    """F2: a follower acts where its ref moves; what was published by call meanwhile stays until then."""
    await published(running, publish("hotfix", 1))
    looked = running.server.policies
    reads = {looked.following.read_ns}

    async def three_more() -> bool:
        reads.add(looked.following.read_ns)
        return len(reads) > 3

    await eventually(three_more)
    assert (await running.lines.operator.status()).policy.commit == commit_of("hotfix")
    await in_force(running, repo.commit({"sources.yaml": LISTED}))


async def test_who_rolled_back_and_why_is_on_record(running: Running, repo: PolicyRepo) -> None:
    """A14: revision, commit, digest, what it went back to and what it pinned out; the end of a pin is on record too."""
    first = git(repo.path, "rev-parse", "HEAD")
    answer = await published(running, publish("x", 1))
    back = await rolled_back(running, 1, reason="wrong label")
    await unpinned(running, reason="label mended")
    *_, rollback, ended = (row for row in audit_rows(running.server.config.db) if "Revision" in row.change.method)
    assert (rollback.caller.name, rollback.change.method, rollback.change.reason) == (
        "operator",
        "RollbackRevision",
        "wrong label",
    )
    assert rollback.change.detail == (
        f"revision 3, commit {first}, digest {back.revision.digest}, back to revision 1,"
        f" pins out {answer.revision.commit}"
    )
    assert (ended.change.method, ended.change.reason) == ("UnpinRevision", "label mended")
    assert ended.change.detail == f"ends the pins of {answer.revision.commit}"


async def test_what_cannot_be_rolled_back_is_said(running: Running) -> None:
    """F2: a revision that is not there, the one in force, another in force than the caller saw, a pin that is none."""
    await published(running, publish("x", 1))
    line = running.lines.operator
    wanted = (
        (policy_pb2.RollbackRevisionRequest(number=9, reason="r"), "NOT_FOUND", "number: there is no such revision"),
        (policy_pb2.RollbackRevisionRequest(number=(1 << 64) - 1, reason="r"), "INVALID_ARGUMENT", "number: is too"),
        (
            policy_pb2.RollbackRevisionRequest(number=2, reason="r"),
            "FAILED_PRECONDITION",
            "number: that is the revision in force",
        ),
        (
            policy_pb2.RollbackRevisionRequest(number=1, reason="r", expected_number=1),
            "FAILED_PRECONDITION",
            "expected_number: revision 2 is in force, not 1",
        ),
        (policy_pb2.UnpinRevisionRequest(reason="r"), "NOT_FOUND", "pinned: nothing is pinned out"),
        (policy_pb2.UnpinRevisionRequest(pinned="c" * 40, reason="r"), "NOT_FOUND", "pinned: nothing of the kind"),
    )
    for request, code, begins in wanted:
        error = await line.refused(request)
        assert (error.code().name, (error.details() or "").startswith(begins)) == (code, True), error.details()
    assert (await line.status()).policy.number == 2


async def test_a_revision_that_this_version_does_not_take_is_not_brought_back(running: Running) -> None:
    """F2: what does not compile here is refused before anything is written, with its first problem."""
    made = compile_files({path: text.encode() for path, text in a_set().items()}, commit_of("old"), False)
    row = made.row._replace(bundle=b"discreet-bundle/0\n", digest="0" * 64)
    await running.server.store.change(lambda work: work.policies.publish(1, row, Origin("ci")))
    await running.server.store.change(lambda work: work.policies.publish(2, made.row, Origin("ci")))
    error = await running.lines.operator.refused(policy_pb2.RollbackRevisionRequest(number=2, reason="why"))
    assert error.code().name == "FAILED_PRECONDITION"
    assert (error.details() or "").startswith(
        "number: this version of the server does not take that revision: bundle:1"
    )
    assert (await running.server.store.head()).policy_revision == 3


@pytest.mark.parametrize("size", [1, 2, 3])
async def test_revisions_are_listed_newest_first_page_by_page(running: Running, repo: PolicyRepo, size: int) -> None:
    """E2: who, when, what, in force where; what is pinned out is on every page."""
    await published(running, publish("x", 1))
    await rolled_back(running, 1, reason="bad")
    await in_force(running, git(repo.path, "rev-parse", "HEAD"))
    found: list[policy_pb2.RevisionRecord] = []
    token = ""
    while True:
        page = await listed(running, page_size=size, page_token=token)
        assert (page.number_in_force, [pin.pinned for pin in page.pins]) == (3, [commit_of("x")])
        assert (page.pins[0].actor, page.pins[0].reason) == ("operator", "bad")
        found += page.revisions
        token = page.next_page_token
        if not token:
            break
    told = [(one.revision.number, one.in_force, one.rolled_back_to, one.reason) for one in found]
    assert told == [(3, True, 1, "bad"), (2, False, 0, ""), (1, False, 0, "")]
    newest, second, first = found
    assert [one.origin.publisher for one in found] == ["operator", "publisher", "server"]
    assert (first.origin.subject, first.origin.author) == ("first", "Ana <ana@example.org>")
    assert (newest.origin.subject, newest.origin.source) == ("first", first.origin.source)
    assert first.origin.HasField("committed_at")
    assert not second.origin.HasField("committed_at")
    assert all(one.HasField("published_at") for one in found)


async def test_the_list_says_which_servers_decide_under_a_revision(running: Running) -> None:
    """F1: live servers by instance, each with the revision that it told of last."""

    async def told() -> bool:
        (one,) = (await listed(running)).revisions
        return list(one.servers) == ["test"]

    await eventually(told)
