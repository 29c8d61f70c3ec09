"""Evidence over the wire: what its record says of time and basis decides, hides, and shows again once it is mended."""

from __future__ import annotations

import time
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.v1 import common_pb2, disclosure_pb2, index_pb2
from tests.server.support import Running, binding, check, commit, commit_verdicts, digest, document, segment, verdicts

ALLOWED = [("ALLOW", "NONE")]


def _figure(**changes: Any) -> index_pb2.EvidenceInput:
    """A closing price of an hour ago; a change of None takes the field away."""
    said: dict[str, Any] = {
        "record_id": "prices/acme",
        "version": "1",
        "digest": digest("prices/acme@1"),
        "source_label": "prices",
        "scopes": ["public"],
        "as_of": Timestamp(seconds=int(time.time()) - 3_600),
        "basis": "closing price",
        "origin": index_pb2.ORIGIN_COLLECTED,
        "own_source": True,
        "assessment_expires_at": Timestamp(seconds=4_000_000_000),
        "fields": {"value": common_pb2.Value(double_value=12.5)},
    }
    return index_pb2.EvidenceInput(**{name: value for name, value in (said | changes).items() if value is not None})


def _claiming(**claim: Any) -> disclosure_pb2.Segment:
    return segment("s1", binding("prices/acme"), claim=disclosure_pb2.Claim(**claim))


STATES = [
    ({"as_of": Timestamp(seconds=1_700_000_000)}, "STALE"),
    ({"as_of": None}, "FRESHNESS_UNKNOWN"),
    ({"basis": ""}, "BASIS_MISMATCH"),
    ({"basis": "opening price"}, "BASIS_MISMATCH"),
]


@pytest.mark.parametrize("worse, reason", STATES, ids=["old", "without a time", "no basis", "another basis"])
async def test_evidence_that_gets_worse_hides_and_shows_again(
    running: Running, worse: dict[str, Any], reason: str
) -> None:
    """B8, A3: at every moment it only hides and deletes nothing: mended, the stored segment shows again."""
    lines, claiming = running.lines, _claiming(basis="closing price")
    await lines.collector.evidence(_figure())
    made = await lines.agent.commit(commit(claiming))
    assert commit_verdicts(made) == ALLOWED
    asked = [
        check(claiming, moment=common_pb2.MOMENT_RETRIEVE),
        check(claiming),
        check(ledger_ids=[made.results[0].ledger_id]),
    ]
    await lines.collector.evidence(_figure(**worse))
    assert [verdicts(await lines.agent.check(one)) for one in asked] == [[("WITHHOLD", reason)]] * 3
    await lines.collector.evidence(_figure())
    assert [verdicts(await lines.agent.check(one)) for one in asked] == [ALLOWED] * 3


async def test_old_evidence_speaks_of_its_own_period(running: Running) -> None:
    """A3: STALE about now, and good about the day that it was taken on."""
    then = 1_700_000_000
    await running.lines.collector.evidence(_figure(as_of=Timestamp(seconds=then)))
    about = disclosure_pb2.Claim(basis="closing price").about
    about.start.FromSeconds(then - 3_600)
    about.end.FromSeconds(then + 3_600)
    now, day = _claiming(basis="closing price"), _claiming(basis="closing price", about=about)
    assert [verdicts(await running.lines.agent.check(check(one))) for one in (now, day)] == [
        [("WITHHOLD", "STALE")],
        ALLOWED,
    ]


async def test_a_missing_field_makes_the_whole_unavailable_and_is_named(running: Running) -> None:
    """A4, A17: INCOMPLETE, with the names of what is missing and no numbers."""
    await running.lines.collector.evidence(_figure())
    answer = await running.lines.agent.check(check(_claiming(basis="closing price", required_fields=["value", "unit"])))
    assert verdicts(answer) == [("WITHHOLD", "INCOMPLETE")]
    output = answer.results[0].output
    assert (list(output.gap.missing_fields), output.WhichOneof("form")) == (["unit"], "disclosure")


@pytest.mark.parametrize("need, wanted", [(False, ALLOWED), (True, [("WITHHOLD", "NO_TRUSTED_FACT")])])
async def test_needing_numbers_changes_the_outcome(
    running: Running, *, need: bool, wanted: list[tuple[str, str]]
) -> None:
    """A15: a document may be shown, and gives no number; `numbers` stays empty either way."""
    await running.lines.collector.put(document(as_of=Timestamp(seconds=int(time.time()) - 60), basis="as written"))
    question = check(moment=common_pb2.MOMENT_RETRIEVE)
    question.need_numbers = need
    answer = await running.lines.agent.check(question)
    assert verdicts(answer) == wanted
    assert not answer.results[0].output.numbers.ListFields()
