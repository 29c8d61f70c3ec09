"""What a file of tests says of the index, for a question that is asked outside of its cases."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.policy.facts import Facts, Micros, RecordFacts, Ref
from discreet.policy.model.load import TEST_KIND, empty_values, kind_of, validated
from discreet.policy.problems import Code, PolicyProblem, PolicyProblems, problem
from discreet.policy.snapshot import Snapshot
from discreet.policy.testing.kinds import PolicyTest
from discreet.policy.testing.state import EPOCH, KEY, NOW_SEQ, grants_of, records_of
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
        """Returns what a decision for a principal is given. The ledger is empty."""
        return Facts(
            epoch=EPOCH,
            seq=NOW_SEQ,
            records=self.records,
            current={ref.record_id: record for ref, record in self.records.items() if record.current},
            grants=grants_of(self.test, principal_id),
            receipt_keys=(KEY,),
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
