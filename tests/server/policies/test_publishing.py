"""PolicyService: a set is published whole or not at all, by those who may, and on record."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from discreet.policy.token import decode
from discreet.policy.words import Role
from discreet.server.identity.callers import Identity
from discreet.server.policies import tree
from discreet.server.servicers.policies.inputs import FILES_BYTES_MAX
from discreet.v1 import audit_pb2, policy_pb2
from tests.server.policies.revisions import (
    BAD,
    FAILING_TEST,
    LISTED,
    a_set,
    asked,
    beat,
    commit_of,
    listed,
    publish,
    published,
    rolled_back,
)
from tests.server.support import (
    POLICY,
    PolicyRepo,
    Running,
    audit_rows,
    binding,
    check,
    config_of,
    document,
    in_process,
    segment,
    verdicts,
)

RULES_WITH_NOTES = POLICY["rules.yaml"].replace("sums, mixed]", "sums, mixed, notes]")


async def test_a_published_set_decides_the_next_question(running: Running) -> None:
    """E3, F2: commit, digest and number are those of the answer; what is in force decides at once."""
    await running.lines.collector.put(document("notes/plan", source_label="notes"))
    files = {**POLICY, "sources.yaml": LISTED, "rules.yaml": RULES_WITH_NOTES}
    answer = await published(running, asked(files, commit=commit_of("x"), expected_number=1))
    assert (answer.revision.number, answer.revision.commit, answer.published) == (2, commit_of("x"), True)
    checked = await running.lines.agent.check(check(segment("s1", binding("notes/plan"))))
    assert (verdicts(checked), checked.policy) == ([("ALLOW", "NONE")], answer.revision)
    token = decode(answer.token)
    assert token is not None
    assert token.policy_revision == 2


async def test_a_publication_is_on_record_with_who_and_what(running: Running) -> None:
    """A14: caller, method, commit and digest are in the audit; of credentials in the address nothing is left."""
    origin = policy_pb2.PolicyOrigin(
        source="https://user:tok3n-AB@git.example/p.git?k=tok3n-AB",
        ref="refs/heads/main",
        author="A <a@b>",
        subject="s",
    )
    answer = await published(running, publish("x", 1, origin=origin))
    row = audit_rows(running.server.config.db)[-1]
    assert (row.caller.name, row.caller.role, row.change.method) == ("publisher", "publisher", "PublishRevision")
    assert row.change.detail == f"revision 2, commit {commit_of('x')}, digest {answer.revision.digest}"
    assert row.change.seq == decode(answer.token).seq
    (newest,) = (await listed(running, page_size=1)).revisions
    assert (newest.origin.publisher, newest.origin.source) == ("publisher", "https://git.example/p.git")
    assert (newest.origin.ref, newest.origin.author, newest.origin.subject) == ("refs/heads/main", "A <a@b>", "s")
    assert "tok3n" not in running.log.getvalue() + str(audit_rows(running.server.config.db))


@pytest.mark.parametrize(
    "files, lines",
    [
        ({"rules.yaml": BAD, "sources.yaml": "x"}, ["rules.yaml:6:5: ", "sources.yaml:1:1: "]),
        ({"rules_test.yaml": FAILING_TEST}, ['rules_test.yaml:6:5: test "says the wrong thing" fails']),
        ({"rules.yaml": RULES_WITH_NOTES.replace("notes", "gossip")}, ["rules.yaml:8:"]),
        ({"discreet.yaml": "\x00"}, ["discreet.yaml:1:"]),
    ],
)
async def test_a_set_with_problems_is_refused_with_every_one(
    running: Running, files: dict[str, str], lines: list[str]
) -> None:
    """F2, GIT-11: compile errors, failing tests, half of a change of two files: file and line, nothing is written."""
    before = await running.server.store.head()
    error = await running.lines["publisher"].refused(asked({**POLICY, **files}, expected_number=1))
    told = (error.details() or "").split("\n")
    assert error.code().name == "INVALID_ARGUMENT"
    assert [line for line in lines if not any(one.startswith(line) for one in told)] == []
    assert (await running.server.store.head()).seq == before.seq


async def test_very_many_problems_are_told_as_far_as_a_status_can_carry(running: Running) -> None:
    """F2: the first of them in the order of their places, and how many more there are; the call is not dropped."""
    rules = "".join(f"  - id: 规则-{n}\n    efect: ALLOW\n" for n in range(400))
    bad = f"apiVersion: discreet/v1\nkind: DisclosurePolicy\nname: rules\nrules:\n{rules}"
    error = await running.lines["publisher"].refused(asked({**POLICY, "rules.yaml": bad}, expected_number=1))
    told = (error.details() or "").split("\n")
    assert error.code().name == "INVALID_ARGUMENT"
    assert told[0].startswith("rules.yaml:5:")
    assert told[-1].startswith("and ")
    assert int(told[-1].split()[1]) + len(told) - 1 >= 400


async def test_the_tests_of_a_set_are_run_and_counted(running: Running) -> None:
    """F12: a set comes into force only with its own tests passed; a change of tests alone is the same digest."""
    passing = FAILING_TEST.replace("kind: chatter", "kind: small-talk")
    answer = await published(running, asked({**POLICY, "rules_test.yaml": passing}, expected_number=1, commit="c" * 40))
    assert (answer.tests, answer.published) == (1, True)
    held = (await running.lines.operator.status()).policy
    assert held == answer.revision


async def test_a_dry_run_says_what_would_be_and_writes_nothing(running: Running) -> None:
    """F8: compiled, tested and compared like the publication itself; the order does not move, nor does the audit."""
    before, rows = await running.server.store.head(), len(audit_rows(running.server.config.db))
    answer = await published(running, publish("x", 1, dry_run=True))
    assert (answer.revision.number, answer.revision.commit, answer.published) == (2, commit_of("x"), True)
    after = await running.server.store.head()
    assert after._replace(now=before.now) == before
    assert len(audit_rows(running.server.config.db)) == rows
    token = decode(answer.token)
    assert token is not None
    assert (token.seq, token.policy_revision) == (before.seq, 1)
    error = await running.lines["publisher"].refused(publish("x", 7, dry_run=True))
    assert error.code().name == "FAILED_PRECONDITION"
    assert (await running.lines.operator.status()).policy.number == 1


async def test_another_revision_meanwhile_a_pin_and_an_old_server_refuse(running: Running) -> None:
    """F1, F2: each says what stands against it and what to do."""
    line = running.lines["publisher"]
    stale = await line.refused(publish("x", 7))
    assert (stale.code().name, stale.details()) == (
        "FAILED_PRECONDITION",
        "expected_number: revision 1 is in force, not 7; look at the revisions, then read the ref again",
    )
    await published(running, publish("x", 1))
    await rolled_back(running, 1)
    pinned = await line.refused(publish("x", 3))
    assert pinned.code().name == "FAILED_PRECONDITION"
    assert f"{commit_of('x')} is pinned out since operator rolled it back (it withholds too much)" in (
        pinned.details() or ""
    )
    assert await running.server.store.beat(beat("old", engine=0))
    old = await line.refused(publish("y", 3))
    assert (old.code().name, "these servers lack: old" in (old.details() or "")) == ("FAILED_PRECONDITION", True)
    assert (await running.lines.operator.status()).policy.number == 3


async def test_what_is_in_force_already_is_answered_and_not_written(running: Running) -> None:
    """F2: a call whose answer was lost is repeated without harm, whatever it expected."""
    first = await published(running, publish("x", 1))
    again = await published(running, publish("x", 1))
    assert (again.revision, again.published, again.token) == (first.revision, False, first.token)


@pytest.mark.parametrize(
    "files, field",
    [
        ({"/etc/a.yaml": ""}, "files[0].path"),
        ({"a//b.yaml": ""}, "files[0].path"),
        ({"../a.yaml": ""}, "files[0].path"),
        ({"a/./b.yaml": ""}, "files[0].path"),
        ({"a\\b.yaml": ""}, "files[0].path"),
        ({"a/b.yaml/": ""}, "files[0].path"),
        ({"a\u2009b.yaml": ""}, "files[0].path"),
        ({".hidden/a.yaml": ""}, "files[0].path"),
        ({"a.yaml": "", "README.md": ""}, "files[1].path"),
        ({"a.yaml/b.yaml": "", "a.yaml": ""}, "files[0].path"),
        ({"d/" * (tree.DEPTH_MAX + 1) + "a.yaml": ""}, "files[0].path"),
        ({"p" * 1_020 + ".yaml": ""}, "files[0].path"),
        ({"a.yaml": "x" * (tree.FILE_BYTES_MAX + 1)}, "files[0].content"),
        ({f"{n}.yaml": "x" * (FILES_BYTES_MAX // 4 + 1) for n in range(4)}, "files"),
        ({f"{n}.yaml": "" for n in range(tree.FILES_MAX + 1)}, "files"),
    ],
)
async def test_files_that_no_commit_may_hold_are_refused(running: Running, files: dict[str, str], field: str) -> None:
    """F2: paths out of the set, hidden and foreign files, and one past each limit, by the path of the field."""
    error = await running.lines["publisher"].refused(asked(files))
    assert (error.code().name, (error.details() or "").split(":")[0]) == ("INVALID_ARGUMENT", field)


async def test_each_limit_itself_is_taken(running: Running) -> None:
    """F2: as many files, as deep, as large together, as long a path as is allowed: it is compiled."""
    most = {f"{n}.yaml": "" for n in range(tree.FILES_MAX - 2)}
    most |= {"d/" * tree.DEPTH_MAX + "a.yaml": "", "p" * 1_019 + ".yaml": ""}
    large = {f"{n}.yaml": "#" * (FILES_BYTES_MAX // 4) for n in range(4)}
    for files in (most, large, {"a.yaml": "#" * tree.FILE_BYTES_MAX}):
        error = await running.lines["publisher"].refused(asked(files))
        assert (error.code().name, (error.details() or "").startswith("files")) == ("INVALID_ARGUMENT", False)
        assert ".yaml:1:" in (error.details() or "")


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"origin": policy_pb2.PolicyOrigin(publisher="me")}, "origin.publisher"),
        ({"commit": "", "origin": policy_pb2.PolicyOrigin(author="me")}, "origin.author"),
        ({"commit": "", "origin": policy_pb2.PolicyOrigin(subject="me")}, "origin.subject"),
        ({"commit": "C" * 40}, "commit"),
        ({"commit": "c" * 39}, "commit"),
        ({"expected_number": (1 << 64) - 1}, "expected_number"),
    ],
)
async def test_fields_that_contradict_are_refused(running: Running, changes: dict[str, Any], field: str) -> None:
    """A16: nobody publishes in another's name; a commit's author needs a commit; ids are of one spelling."""
    error = await running.lines["publisher"].refused(publish("x", **changes))
    assert (error.code().name, (error.details() or "").split(":")[0]) == ("INVALID_ARGUMENT", field)


async def test_policies_are_for_identities_of_every_tenant(place: Path, repo: PolicyRepo) -> None:
    """A13: whoever is entitled to some tenants can neither change nor list what holds for all, on record."""
    some = (Identity("ci", Role.PUBLISHER, ("acme",)), Identity("agent", Role.AGENT, None))
    async with in_process(dataclasses.replace(config_of(place, repo.path), identities=some)) as running:
        requests = (
            publish("x", 1),
            policy_pb2.RollbackRevisionRequest(number=1, reason="why"),
            policy_pb2.UnpinRevisionRequest(reason="why"),
            policy_pb2.ListRevisionsRequest(),
        )
        for request in requests:
            error = await running.lines["ci"].refused(request)
            assert error.code().name == "PERMISSION_DENIED"
            last = audit_rows(running.server.config.db)[-1]
            assert (last.act, last.caller.name) == (audit_pb2.AUDIT_ACT_REFUSED, "ci")


async def test_files_of_no_commit_are_marked_dirty(running: Running) -> None:
    """F2: without a commit the revision says that nothing in Git stands behind it."""
    answer = await published(running, asked(a_set("x"), expected_number=1))
    assert (answer.revision.commit, answer.revision.dirty, answer.revision.number) == ("", True, 2)
