"""Decisions made side by side under policies that come and go: none is another's."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from discreet.policy.compile import compile_set
from discreet.policy.decide import decide
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import Reason, Verdict
from tests.policy.decide.world import World, record, world
from tests.policy.sets.sets import SET, a_set, rules

THREADS: Final = 8
ROUNDS: Final = 2_000
"""Of two checks for each thread, each under its own policy."""
SOURCES: Final = """\
apiVersion: discreet/v1
kind: SourceList
name: sources
sources:
  - {label: wiki, title: Wiki, duty: DOCUMENT_STORE, collectors: [wiki-importer]}
"""


def policy(desk: str) -> Snapshot:
    """Returns a policy that shows one desk its notes, and names the desk where it withholds."""
    condition = f"document.attributes.tags.exists(tag, tag == '{desk}')"
    files = a_set(
        discreet=SET,
        sources=SOURCES,
        rules=rules(
            "{id: open, effect: ALLOW, moments: [PUBLISH], sources: [wiki]}",
            f'{{id: not-{desk}, effect: WITHHOLD, moments: [PUBLISH], sources: [wiki], when: "!{condition}"}}',
        ),
    )
    return compile_set(files, commit="c" * 40, number=7, dirty=False)


def asked(under: Snapshot, of: World) -> tuple[Verdict, Reason, str]:
    """Returns verdict, reason and rule of the only segment."""
    (found,) = decide(under, of.facts, of.caller, of.now, of.request, policy_age_us=0, stored={}).results
    return found.verdict, found.reason, found.rule


def test_no_decision_is_another_s_while_policies_are_loaded() -> None:
    """POL-11, F2: eight threads, two policies each, each check with a verdict of its own, sets loaded all the while."""
    barrier, stop = threading.Barrier(THREADS + 1), threading.Event()

    def ask(number: int) -> list[str]:
        mine, next_one = f"d{number}", f"d{(number + 1) % THREADS}"
        shown, held = policy(mine), policy(next_one)
        notes = world(record(attributes={"tags": ["x", mine]}))
        barrier.wait()
        faults = []
        for _ in range(ROUNDS):
            found = asked(shown, notes), asked(held, notes)
            if found != (
                (Verdict.ALLOW, Reason.NONE, "open"),
                (Verdict.WITHHOLD, Reason.POLICY_RULE, f"not-{next_one}"),
            ):
                faults.append(f"{mine}: {found}")
        return faults

    def load() -> None:
        barrier.wait()
        while not stop.is_set():
            policy("other")

    with ThreadPoolExecutor(THREADS + 1) as pool:
        asking = [pool.submit(ask, number) for number in range(THREADS)]
        loading = pool.submit(load)
        try:
            assert [fault for each in asking for fault in each.result()] == []
        finally:
            stop.set()
        loading.result()
