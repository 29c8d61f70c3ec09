"""The revision in force.

Swapped whole, kept through bad commits, published once, loaded from SQL where another server was first.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from grpc_health.v1 import health_pb2  # type: ignore[import-untyped] # ships no types

from discreet.server.errors import PolicyRefused
from discreet.v1 import common_pb2
from tests.server.policies.revisions import BAD, FAILING_TEST, LISTED, in_force, refused
from tests.server.support import (
    POLICY,
    PolicyRepo,
    Running,
    audit_rows,
    binding,
    check,
    commit,
    commit_verdicts,
    config_of,
    document,
    eventually,
    git,
    in_process,
    make_repo,
    segment,
    spawn,
    verdicts,
)
from tests.server.watching import health

NOTES_TOO = POLICY["rules.yaml"].replace("sums, mixed]", "sums, mixed, notes]")
TWICE = POLICY["rules.yaml"] + "rules: []\n"
BOMB = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9 if n else ['x'] * 9)}]\n" for n in range(9))


async def test_a_commit_comes_into_force_whole_and_opens_later_decisions_only(
    running: Running, repo: PolicyRepo
) -> None:
    """A2, F2, GIT-11: only a commit lets a source in; both files of it come into force as one revision."""
    await running.lines.collector.put(document("notes/plan", source_label="notes"))
    asked = check(segment("s1", binding("notes/plan")))
    before = await running.lines.agent.check(asked)
    assert verdicts(before) == [("WITHHOLD", "UNTRUSTED_SOURCE")]
    newest = repo.commit({"sources.yaml": LISTED, "rules.yaml": NOTES_TOO})
    await in_force(running, newest)
    after = await running.lines.agent.check(asked)
    assert verdicts(after) == [("ALLOW", "NONE")]
    assert (after.policy.number, after.policy.commit) == (before.policy.number + 1, newest)


async def test_no_decision_sees_half_a_commit(running: Running, repo: PolicyRepo) -> None:
    """F2: while commits flip two files together, every answer fits the one revision that it names."""
    await running.lines.collector.put(document("notes/plan", source_label="notes"))
    asked = check(segment("s1", binding("notes/plan")), segment("s2", binding("notes/plan")))
    seen: set[tuple[bool, tuple[tuple[str, str], ...]]] = set()
    opening: set[str] = set()
    stop = asyncio.Event()

    async def ask() -> None:
        while not stop.is_set():
            answer = await running.lines.agent.check(asked)
            seen.add((answer.policy.commit in opening, tuple(verdicts(answer))))

    asking = asyncio.create_task(ask())
    for number in range(3):
        listed = repo.commit({"sources.yaml": LISTED + f"# {number}\n", "rules.yaml": NOTES_TOO})
        opening.add(listed)
        await in_force(running, listed)
        closed = repo.commit(
            {"sources.yaml": POLICY["sources.yaml"] + f"# {number}\n", "rules.yaml": POLICY["rules.yaml"]}
        )
        await in_force(running, closed)
    stop.set()
    await asking
    closed_answer = (("WITHHOLD", "UNTRUSTED_SOURCE"),) * 2
    assert seen <= {(True, (("ALLOW", "NONE"),) * 2), (False, closed_answer)}
    assert (False, closed_answer) in seen


@pytest.mark.parametrize(
    "files, said",
    [
        ({"rules.yaml": BAD, "sources.yaml": LISTED}, "rules.yaml:6:5"),
        (
            {"rules_test.yaml": FAILING_TEST, "sources.yaml": LISTED},
            'rules_test.yaml:6:5: test "says the wrong thing" fails',
        ),
        ({"discreet.yaml": "\x00"}, "discreet.yaml:1:"),
        ({"rules.yaml": TWICE}, "rules.yaml:"),
        ({"sources.yaml": LISTED, "zz.yaml": BOMB}, "zz.yaml:1:"),
    ],
)
async def test_a_bad_commit_leaves_the_old_revision_in_force_and_says_so(
    running: Running, repo: PolicyRepo, files: dict[str, str], said: str
) -> None:
    """YML-12, F2: all or nothing; status and log name file, line and commit; the next good commit comes into force.

    YML-01, YML-06: a key that stands twice and nine levels of nine aliases are bad commits like any other.
    """
    before = (await running.lines.operator.status()).policy
    bad = repo.commit(files)
    status = await refused(running, bad)
    assert status.policy == before
    assert said in status.policy_error
    assert status.ready
    assert any("the newest revision is refused" in problem for problem in status.problems)
    assert bad in running.log.getvalue()
    assert "policy refused" in running.log.getvalue()
    for name in files:
        (repo.path / name).unlink()
    good = repo.commit({**POLICY, "sources.yaml": LISTED})
    await in_force(running, good)
    status = await running.lines.operator.status()
    assert (status.policy_error, status.policy_error_commit, list(status.problems)) == ("", "", [])


async def test_health_says_that_the_newest_policy_is_not_in_force(running: Running, repo: PolicyRepo) -> None:
    """F2: the services stay in service under the old revision.

    `discreet.policy` alone is NOT_SERVING until it is mended.
    """

    def newest(status: int) -> Callable[[], Awaitable[bool]]:
        async def holds() -> bool:
            return await health(running.lines, "discreet.policy") == status

        return holds

    await eventually(newest(health_pb2.HealthCheckResponse.SERVING))
    await refused(running, repo.commit({"rules.yaml": BAD}))
    await eventually(newest(health_pb2.HealthCheckResponse.NOT_SERVING))
    assert await health(running.lines) == health_pb2.HealthCheckResponse.SERVING
    await in_force(running, repo.commit(dict(POLICY) | {"sources.yaml": LISTED}))
    await eventually(newest(health_pb2.HealthCheckResponse.SERVING))


async def test_a_source_that_is_taken_off_the_list_hides_and_shows_again(running: Running, repo: PolicyRepo) -> None:
    """B8, A2.

    Delisting hides at every moment, deletes nothing, and a later listing shows the same stored segment again.
    """
    lines = running.lines
    await lines.collector.put(document())
    ledger_id = (await lines.agent.commit(commit())).results[0].ledger_id
    asked = [check(moment=common_pb2.MOMENT_RETRIEVE), check(), check(ledger_ids=[ledger_id])]
    delisted = POLICY["sources.yaml"].replace("{label: handbook,", "{label: handbook, listed: false,")
    await in_force(running, repo.commit({"sources.yaml": delisted}))
    assert [verdicts(await lines.agent.check(one)) for one in asked] == [[("WITHHOLD", "UNTRUSTED_SOURCE")]] * 3
    await in_force(running, repo.commit({"sources.yaml": POLICY["sources.yaml"] + "# listed again\n"}))
    assert [verdicts(await lines.agent.check(one)) for one in asked] == [[("ALLOW", "NONE")]] * 3


async def test_a_forced_push_is_taken_and_logged(running: Running, repo: PolicyRepo) -> None:
    """GIT-01: the new tip comes into force, and "history rewritten" names both commits."""
    old = repo.commit({"sources.yaml": POLICY["sources.yaml"] + "# one\n"})
    await in_force(running, old)
    (repo.path / "sources.yaml").write_text(POLICY["sources.yaml"] + "# two\n")
    git(repo.path, "commit", "-q", "-a", "--amend", "-m", "amended")
    new = git(repo.path, "rev-parse", "HEAD")
    await in_force(running, new)
    line = next(line for line in running.log.getvalue().splitlines() if "history rewritten" in line)
    assert old in line
    assert new in line


async def test_a_branch_that_vanishes_keeps_the_last_good_revision(place: Path, repo: PolicyRepo) -> None:
    """GIT-12, REV-14.

    Serving goes on, the lag grows from the last reading on, and ends by itself once the ref is back.
    """
    git(repo.path, "branch", "live")
    async with in_process(config_of(place, repo.path, ref="refs/heads/live")) as running:
        before = (await running.lines.operator.status()).policy
        git(repo.path, "branch", "-D", "live")

        async def says_so() -> bool:
            status = await running.lines.operator.status()
            return "no ref refs/heads/live" in status.policy_error and status.policy_lag_ms > 100

        await eventually(says_so)
        status = await running.lines.operator.status()
        assert (status.policy, status.ready) == (before, True)
        git(repo.path, "branch", "live")

        async def is_well() -> bool:
            status = await running.lines.operator.status()
            return not status.problems and status.policy_lag_ms < 1_000

        await eventually(is_well)


async def test_a_policy_that_is_too_old_withholds_until_the_source_is_read_again(place: Path) -> None:
    """REV-14: POLICY_STALE past policy-max-age, and by itself no longer once the unchanged source was read."""
    stale = POLICY["discreet.yaml"] + "policy-max-age: 1s\n"
    repo = make_repo(place / "policy", {**POLICY, "discreet.yaml": stale})
    async with in_process(config_of(place, repo.path, ref="refs/heads/main")) as running:
        await running.lines.collector.put(document())
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
        git(repo.path, "branch", "-m", "main", "elsewhere")

        async def is_stale() -> bool:
            return verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "POLICY_STALE")]

        await eventually(is_stale)
        status = await running.lines.operator.status()
        assert (status.ready, [p for p in status.problems if "policy-max-age" in p] != []) == (False, True)
        git(repo.path, "branch", "-m", "elsewhere", "main")

        async def is_fresh() -> bool:
            return verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]

        await eventually(is_fresh)


async def test_the_same_commit_keeps_its_number_over_a_restart(place: Path, repo: PolicyRepo) -> None:
    """The commit in force is a no-op: nothing is published twice, and the publication is on record once."""
    async with in_process(config_of(place, repo.path)) as running:
        first = (await running.lines.operator.status()).policy
    async with in_process(config_of(place, repo.path)) as running:
        assert (await running.lines.operator.status()).policy == first
        published = [row for row in audit_rows(running.server.config.db) if row.change.method == "PublishPolicy"]
        assert len(published) == 1


async def test_a_start_on_a_bad_set_is_refused_with_all_problems(place: Path) -> None:
    """A start refuses clearly what it cannot serve, every problem at once with its place, and leaves nothing behind."""
    wrong = {
        **POLICY,
        "rules.yaml": BAD,
        "sources.yaml": POLICY["sources.yaml"].replace("duty: DATA_CHANNEL", "duty: PIPE"),
    }
    repo = make_repo(place / "policy", wrong)
    with pytest.raises(PolicyRefused) as caught:
        async with in_process(config_of(place, repo.path)):
            pass
    assert "rules.yaml:6:5" in str(caught.value)
    assert "sources.yaml:6:" in str(caught.value)
    assert not list((place / "s").glob("*.sock"))


async def test_a_start_as_a_process_on_a_bad_set_ends_with_its_exit_code(place: Path) -> None:
    """Exit code 3 means the policy."""
    repo = make_repo(place / "policy", {**POLICY, "rules.yaml": BAD})
    with pytest.raises(AssertionError, match="exit 3: "):
        await spawn(place, repo.path)


async def test_a_restart_on_a_bad_commit_serves_the_revision_in_force(place: Path, repo: PolicyRepo) -> None:
    """F2: a bad file leaves the old revision in force, over a restart too: SQL holds it."""
    async with in_process(config_of(place, repo.path)) as running:
        before = (await running.lines.operator.status()).policy
        await running.lines.collector.put(document())
    bad = repo.commit({"rules.yaml": BAD})
    async with in_process(config_of(place, repo.path)) as running:
        status = await running.lines.operator.status()
        assert (status.policy, status.policy_error_commit, status.ready) == (before, bad, True)
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]


async def test_before_the_first_load_nothing_is_allowed_and_health_says_so(place: Path) -> None:
    """REV-16, GIT-12: NOT_SERVING and DEPENDENCY_UNAVAILABLE while the source cannot be read; it flips once it can."""
    url = f"file://{place / 'later'}"
    async with in_process(config_of(place, url, ref="refs/heads/main")) as running:
        status = await running.lines.operator.status()
        assert not status.ready
        assert "policy: no revision is in force yet" in status.problems
        assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]
        assert commit_verdicts(await running.lines.agent.commit(commit())) == [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]
        repo = make_repo(place / "later")
        await in_force(running, git(repo.path, "rev-parse", "HEAD"))
        await running.lines.collector.put(document())
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]


async def test_a_dirty_folder_is_served_and_marked(place: Path, repo: PolicyRepo) -> None:
    """A folder as it lies there is a revision marked dirty; an edit comes into force without a commit."""
    async with in_process(config_of(place, repo.path, dirty=True)) as running:
        status = await running.lines.operator.status()
        assert (status.policy.commit, status.policy.dirty, status.policy.number) == ("", True, 1)
        (repo.path / "sources.yaml").write_text(LISTED)

        async def is_second() -> bool:
            return (await running.lines.operator.status()).policy.number == 2

        await eventually(is_second)


async def test_a_revision_published_elsewhere_is_taken_from_sql(running: Running, repo: PolicyRepo) -> None:
    """F2: what SQL says is in force is what decides, even where this server's own source has not moved."""
    from discreet.server.policies.compile import compile_files
    from discreet.server.ports_policy import Origin, PolicyRow

    await running.lines.collector.put(document("notes/plan", source_label="notes"))
    files = {**POLICY, "sources.yaml": LISTED, "rules.yaml": NOTES_TOO}
    made = compile_files({name: text.encode() for name, text in files.items()}, "f" * 40, dirty=False)
    row = PolicyRow(2, "f" * 40, made.snapshot.digest, False, made.bundle, running.server.clock.wall())
    assert await running.server.store.change(lambda index: index.policies.publish(1, row, Origin("server"))) == 2
    answer = await running.lines.agent.check(
        check(segment("s1", binding("notes/plan")), moment=common_pb2.MOMENT_RETRIEVE)
    )
    assert (verdicts(answer), answer.policy.number) == ([("ALLOW", "NONE")], 2)


async def test_credentials_of_a_source_are_in_no_log_and_no_status(place: Path) -> None:
    """GIT-04: at the most talkative level, with a source that cannot be reached."""
    url = "https://tok3n-AB:x@127.0.0.1:1/policies.git?key=tok3n-AB"
    async with in_process(config_of(place, url)) as running:
        status = await running.lines.operator.status()
        assert "https://127.0.0.1:1/policies.git@HEAD: cannot be fetched" in status.policy_error
        assert "tok3n-AB" not in str(status)
    assert "policies.git" in running.log.getvalue()
    assert "tok3n-AB" not in running.log.getvalue()


async def test_an_ambiguous_ref_refuses_the_start(place: Path, repo: PolicyRepo) -> None:
    """GIT-08: a setting that means two things is no commit to wait for, whatever SQL holds."""
    async with in_process(config_of(place, repo.path)):
        pass
    git(repo.path, "branch", "live")
    git(repo.path, "tag", "live")
    with pytest.raises(PolicyRefused, match="refs/heads/live or refs/tags/live"):
        async with in_process(config_of(place, repo.path, ref="live")):
            pass


async def test_a_source_that_is_silent_holds_up_neither_start_nor_stop(
    place: Path, repo: PolicyRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REV-16: a remote that accepts and says nothing.

    NOT_SERVING or what SQL holds, and a stop that does not wait for it.
    """
    monkeypatch.setattr("discreet.server.policies.follower.START_WAIT_S", 0.2)
    async with in_process(config_of(place, repo.path)) as running:
        before = (await running.lines.operator.status()).policy
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/p.git"
        async with in_process(config_of(place, url)) as running:
            status = await running.lines.operator.status()
            assert (status.policy, status.ready) == (before, True)
        assert time.monotonic() - began < 10
