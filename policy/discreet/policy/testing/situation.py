"""What a file of tests says of the index, for a question that is asked outside of its cases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.policy.facts import Facts, LedgerFacts, Micros, RecordFacts, Ref
from discreet.policy.model.load import TEST_KIND, empty_values, kind_of, validated
from discreet.policy.problems import Code, PolicyProblem, PolicyProblems, problem
from discreet.policy.request import Segment
from discreet.policy.snapshot import Snapshot
from discreet.policy.testing.kinds import PolicyTest
from discreet.policy.testing.state import EPOCH, KEY, NOW_SEQ, grants_of, records_of, standing_of
from discreet.policy.yaml import read


@dataclass(frozen=True, slots=True)
class Situation:
    """The index and the clock of a file of tests."""

    test: PolicyTest
    records: dict[Ref, RecordFacts]

    @property
    def now(self) -> Micros:
        """The clock."""
        return Micros(self.test.now)

    def facts(self, principal_id: str) -> Facts:
        """Returns what a decision for a principal is given. The ledger is empty: see `released`."""
        return Facts(
            epoch=EPOCH,
            seq=NOW_SEQ,
            records=self.records,
            current={ref.record_id: record for ref, record in self.records.items() if record.current},
            grants=grants_of(self.test, principal_id),
            receipt_keys=(KEY,),
            standing=standing_of(self.test),
        )

    def released(
        self,
        ledger_id: str,
        segment: Segment,
        *,
        principal_id: str,
        session_id: str,
        needs: tuple[bool, bool] = (False, False),
        above: Iterable[Ref] = (),
    ) -> LedgerFacts:
        """Returns the ledger entry of a segment that was committed; `needs`: numbers, advice.

        `above`: what the entries rest on that it was made from.
        """
        direct = [Ref(binding.record_id, binding.version) for binding in segment.bindings]
        behind = [root for ref in direct if ref in self.records for root in self.records[ref].roots]
        return LedgerFacts(
            ledger_id=ledger_id,
            principal_id=principal_id,
            session_id=session_id,
            answer_id="",
            segment_id=segment.id,
            segment_digest=segment.digest,
            grounding=segment.grounding,
            segment=b"",
            roots=tuple(dict.fromkeys((*direct, *behind, *above))),
            seq=NOW_SEQ,
            committed_at=self.now,
            store_by=self.now,
            need_numbers=needs[0],
            need_advice=needs[1],
        )


def situation_of(file: str, data: bytes, snapshot: Snapshot) -> Situation:
    """Returns the situation of a file that holds one PolicyTest; its cases are not looked at. Raises PolicyProblems."""
    documents, found = read(file, data)
    problems: list[PolicyProblem] = list(found)
    tests: list[PolicyTest] = []
    for document in documents:
        problems += empty_values(document)
        kind = kind_of(document, problems)
        if kind == TEST_KIND:
            tests += [placed.value for placed in validated(problems, document, (), PolicyTest)]
        elif kind is not None:
            what = f"a {kind} where the facts of a PolicyTest are wanted"
            problems.append(problem(document.place("kind"), what, "name a file of tests", Code.FILE))
    if len(documents) > 1:
        where = documents[1].root.place
        problems.append(
            problem(where, "a second document: facts come from one PolicyTest", "split the file", Code.FILE)
        )
    if problems:
        raise PolicyProblems(problems)
    return Situation(tests[0], records_of(tests[0], snapshot))
