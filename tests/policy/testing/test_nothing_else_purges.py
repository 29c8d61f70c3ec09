"""Whatever happens in a sequence, nothing is purged without a retention revoke: not by holds, policies or time."""

from __future__ import annotations

import json
import random

from discreet.policy.compile import compile_set
from discreet.policy.testing.load import load_tests
from discreet.policy.testing.play import play
from discreet.policy.testing.revisions import revisions
from discreet.policy.words import Reason, Verdict
from tests.policy.testing.test_as_on_the_server import DEFAULTS, HEAD, POLICY, RECORDS, steps

SEQUENCES = 150
OF_REVOKES = {"revoke", "acknowledge", "purge-order"}


def test_no_sequence_without_a_revoke_purges() -> None:
    """B8, F3: random changes of records, grants, policies, holds, freezes and time hide and show, and never purge."""
    policy = {name: text % "" if "%s" in text else text for name, text in POLICY.items()}
    for name, value in DEFAULTS.items():
        policy["discreet.yaml"] = policy["discreet.yaml"].replace(f"default: {name}", f"default: {json.dumps(value)}")
    files = {name: text.encode() for name, text in policy.items()}
    chance = random.Random("nothing else purges")
    told = [[step for step in steps(chance) if OF_REVOKES.isdisjoint(step)] for _ in range(SEQUENCES)]
    sequences = [{"name": f"s{at}", "principal": "ana", "steps": one} for at, one in enumerate(told)]
    test = json.dumps(HEAD | {"records": RECORDS, "sequences": sequences}).encode()
    (loaded,), problems = load_tests(files | {"a_test.yaml": test})
    assert [str(problem) for problem in problems] == []
    snapshot = compile_set(files, commit="", number=1, dirty=True)
    others, _ = revisions(files, [loaded], "")
    seen = [
        judged.decision
        for sequence in loaded.sequences
        for _, judged in play(loaded.test, snapshot, sequence, others)
        if judged is not None
    ]
    assert Verdict.PURGE not in {one.verdict for one in seen}
    hidden = {one.reason for one in seen}
    assert {Reason.LEGAL_HOLD, Reason.FROZEN, Reason.SUSPENDED, Reason.UNTRUSTED_SOURCE, Reason.NONE} <= hidden
    assert Reason.RETENTION_REVOKED not in hidden
