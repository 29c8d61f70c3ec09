"""A whole decision in process, inputs converted: Discreet's core against cedarpy and regopy on an equal policy.

Equal means: the source is listed, reader and record share a scope, version and digest are those of the index, the
assessment
has not run out, retention is active, and the record was approved; with 100 rules, of which one decides. Discreet
parses the
request's bytes, decides over two bindings, and gives the reply's bytes; the peers get one resource.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from discreet.policy import codec
from discreet.policy.compile import compile_set
from discreet.policy.decide import decide
from discreet.policy.facts import Caller, Facts, GrantFacts, Micros, PrincipalGrants, RecordFacts
from discreet.policy.words import RecordKind, Role
from tests.bench import scenario
from tests.bench.load import Missing
from tests.bench.report import Row

ROUNDS = 7
_NOW = Micros(1_780_000_000_000_000)
_CALLER = Caller("agent", Role.AGENT, None)


def measure() -> list[Row]:
    """One row a peer that is there; the other is named by Missing where none is."""
    asked = scenario.questions(1, 64)
    rows, missing = [], []
    for name, peer in (("cedarpy", _cedar), ("regopy", _rego)):
        try:
            other = peer()
        except ImportError:
            missing.append(name)
            continue
        rows.append(_row(name, _own(), other, asked))
    if not rows:
        raise Missing(" and ".join(missing))
    return rows


Decide = Callable[[scenario.Question], bool]


def _row(name: str, own: Decide, other: Decide, asked: list[scenario.Question]) -> Row:
    for question in asked:
        if not own(question) == other(question) == question.right[0]:
            raise AssertionError(f"{name} and Discreet do not agree on a question")
    mine, theirs = [], []
    for _ in range(ROUNDS):
        mine.append(_microseconds(own, asked, 20))
        theirs.append(_microseconds(other, asked, 1))
    ratios = [b / a for a, b in zip(mine, theirs, strict=True)]
    return Row(
        name=f"a whole decision in process, {scenario.RULES} rules, against {name}",
        own=f"{median(mine):,.1f} us",
        peer=f"{median(theirs):,.1f} us",
        ratio=f"{median(ratios):.1f} times faster ({min(ratios):.1f} to {max(ratios):.1f})",
        note=f"{ROUNDS} interleaved rounds over {len(asked)} questions, all answers compared; "
        "two bindings against one resource",
    )


def _microseconds(decide_one: Decide, asked: list[scenario.Question], repeats: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(repeats):
        for question in asked:
            decide_one(question)
    return (time.perf_counter_ns() - start) / 1000 / repeats / len(asked)


def _own() -> Decide:
    files = {name: text.encode() for name, text in scenario.policy_files().items()}
    snapshot = compile_set(files, commit="", number=1, dirty=True)
    records = {record.ref: record for record in map(_record, scenario.docs())}
    grants = PrincipalGrants(tuple(GrantFacts(scope, 1, 1, Micros(0)) for scope in scenario.READER_SCOPES), 1)
    facts = Facts("00" * 16, 1, records, {ref.record_id: record for ref, record in records.items()}, grants)
    bodies: dict[int, bytes] = {}

    def ask(question: scenario.Question) -> bool:
        body = bodies.get(id(question)) or bodies.setdefault(
            id(question), scenario.check_request(question).SerializeToString()
        )
        parsed = codec.parse_check(body)
        decided = decide(snapshot, facts, _CALLER, _NOW, parsed.request)
        reply = codec.Reply(parsed.request, "request", "token", snapshot, "bench", ["decision"])
        return bool(codec.encode_check(decided, reply)) and decided.results[0].verdict.short == "ALLOW"

    return ask


def _record(doc: scenario.Doc) -> RecordFacts:
    return RecordFacts(
        doc.record_id,
        scenario.VERSION,
        1,
        RecordKind.DOCUMENT,
        doc.digest,
        doc.label,
        "collector",
        Micros(0),
        current=True,
        scopes=tuple(scenario.RECORD_SCOPES),
        attributes={"review_state": "approved", "export_ok": True},
        assessment_expires_at=Micros(1_893_456_000_000_000),
    )


def _facts(question: scenario.Question) -> dict[str, object]:
    """What the peers are told of the segment: the worse of its two records."""
    worst = next((doc for doc in question.pairs[0] if doc.label not in scenario.LISTED), question.pairs[0][0])
    return {
        "source_label": worst.label,
        "source_scopes": scenario.RECORD_SCOPES,
        "binding_version": scenario.VERSION,
        "index_version": scenario.VERSION,
        "binding_sha256": worst.digest,
        "index_sha256": worst.digest,
        "assessment_expires": 1_893_456_000,
        "retention_state": "active",
        "review_state": "approved",
        "allowed_labels": scenario.LISTED,
        "scopes": scenario.READER_SCOPES,
        "now": _NOW // 1_000_000,
    }


def _cedar() -> Decide:
    import cedarpy

    deciding = (
        'permit(principal, action == Action::"retrieve", resource) when { '
        "context.allowed_labels.contains(context.source_label) && context.scopes.containsAny(context.source_scopes) && "
        "context.binding_version == context.index_version && context.binding_sha256 == context.index_sha256 && "
        'context.assessment_expires > context.now && context.retention_state == "active" && '
        'context.review_state == "approved" };'
    )
    others = "".join(
        f'permit(principal, action == Action::"retrieve", resource) when {{ context.review_state == "never-{i}" }};'
        for i in range(scenario.RULES - 1)
    )
    policies = cedarpy.PolicySet.from_str(deciding + others)
    entities = cedarpy.Entities.from_json_str("[]")

    def ask(question: scenario.Question) -> bool:
        request = {
            "principal": {"type": "User", "id": question.reader},
            "action": 'Action::"retrieve"',
            "resource": 'Segment::"seg-0"',
            "context": _facts(question),
        }
        return bool(cedarpy.is_authorized(request, policies, entities).allowed)

    return ask


def _rego() -> Decide:
    import regopy

    deciding = (
        "allow if {\n  some label in input.allowed_labels\n  label == input.source_label\n"
        "  some scope in input.scopes\n  scope in input.source_scopes\n"
        "  input.binding_version == input.index_version\n  input.binding_sha256 == input.index_sha256\n"
        '  input.assessment_expires > input.now\n  input.retention_state == "active"\n'
        '  input.review_state == "approved"\n}\n'
    )
    others = "".join(f'allow if {{ input.review_state == "never-{i}" }}\n' for i in range(scenario.RULES - 1))
    engine = regopy.Interpreter()
    engine.add_module("segment", f"package segment\n\nimport rego.v1\n\ndefault allow := false\n\n{deciding}{others}")

    bundle = engine.build(None, ["segment/allow"])

    def ask(question: scenario.Question) -> bool:
        engine.set_input(_facts(question))
        return bool(engine.query_bundle_entrypoint(bundle, "segment/allow").results[0].expressions[0])

    return ask
