"""The names in tests: records, principals, commits. One that nothing has is an error at its place, never a default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from discreet.policy.model.load import Placed
from discreet.policy.problems import Code, PolicyProblem, did_you_mean, problem, quoted
from discreet.policy.testing.expectations import UNREGISTERED
from discreet.policy.testing.kinds import BoundItem, CaseItem, NamedItem, PolicyTest, PrincipalItem, QuestionItem
from discreet.policy.testing.steps import ActStep, AskStep
from discreet.policy.yaml import Document, Path

OWN_WORDS: Final = frozenset({"own", "none"})
Records = dict[str, set[str]]
Called = dict[str, set[str]]
"""By kind (hold, freeze, order, holder) the names that steps have given."""
Steps = Sequence[tuple[str, Placed[ActStep] | Placed[AskStep]]]


def name_problems(
    document: Document, test: PolicyTest, cases: Sequence[Placed[CaseItem]], sequences: Iterable[Steps]
) -> Iterator[PolicyProblem]:
    """Yields the names that a test uses and nothing has, and those that are given twice."""
    records: Records = {}
    for item in test.records:
        records.setdefault(item.record_id, set()).add(item.version)
    principals = [item.id for item in test.principals]
    for at, name in enumerate(principals):
        if name in principals[:at]:
            place = document.place("principals", at, "id")
            yield problem(place, f"the principal {quoted(name)} is declared twice", "keep one", Code.DUPLICATE)
    for at, grant in enumerate(test.grants):
        yield from _principal(grant.principal, principals, document, ("grants", at, "principal"))
    for case in cases:
        yield from _whose(case.value.principal, principals, case)
        yield from _bound_twice(case.value.bindings, case, "bindings")
        for at, bound in enumerate(case.value.bindings):
            if not _meant(bound, case.value):
                yield from _record(bound, records, case, ("bindings", at))
    for at, hold in enumerate(test.holds):
        if hold.record is not None:
            yield from _record(hold.record, records, Placed(hold, document, ("holds", at)), ("record",))
    for steps in sequences:
        yield from _sequence(steps, records, principals, [item.called for item in test.holds])


def _bound_twice(bindings: Sequence[BoundItem], placed: Placed[object], key: str) -> Iterator[PolicyProblem]:
    """Yields the bindings that stand twice: a request names each place in a record once."""
    seen: set[tuple[str, str | None, str]] = set()
    for at, bound in enumerate(bindings):
        named = bound.record_id, bound.version, bound.locator
        if named in seen:
            what = f"the binding to {quoted(bound.record_id)} stands twice"
            yield problem(placed.place(key, at), what, "keep one, or give each a locator", Code.DUPLICATE)
        seen.add(named)


def _meant(bound: BoundItem, asked: QuestionItem) -> bool:
    """True where the author says that the test does not hold the record: in the binding, or by the cause expected."""
    return bound.unregistered or (asked.expect is not None and asked.expect.reason in UNREGISTERED)


def _record(item: NamedItem, records: Records, placed: Placed[object], where: Path) -> Iterator[PolicyProblem]:
    place = placed.place(*where)
    if item.record_id not in records:
        hint = did_you_mean(item.record_id, records) or "add it to records"
        if isinstance(item, BoundItem):
            hint += " (where that is meant: unregistered: true)"
        yield problem(place, f"no record {quoted(item.record_id)} in this test", hint, Code.UNKNOWN_NAME)
    elif item.version is not None and item.version not in records[item.record_id]:
        versions = ", ".join(sorted(records[item.record_id]))
        what = f"no version {quoted(item.version)} of {quoted(item.record_id)} in this test"
        yield problem(place, what, f"it has {versions}", Code.UNKNOWN_NAME)


def _whose(item: PrincipalItem, known: list[str], placed: Placed[object]) -> Iterator[PolicyProblem]:
    if item.model_fields_set == {"id"}:
        yield from _principal(item.id, known, placed.document, (*placed.path, "principal"))


def _principal(name: str, known: list[str], document: Document, where: Path) -> Iterator[PolicyProblem]:
    if known and name not in known:
        hint = did_you_mean(name, known) or "declare it under principals"
        yield problem(document.place(*where), f"no principal {quoted(name)} is declared", hint, Code.UNKNOWN_NAME)


def _sequence(steps: Steps, initial: Records, principals: list[str], held: list[str]) -> Iterator[PolicyProblem]:
    records = {record_id: set(versions) for record_id, versions in initial.items()}
    commits: set[str] = set()
    reads: set[str] = set()
    called: Called = {"hold": set(held), "freeze": set(), "order": set(), "holder": set()}
    for verb, placed in steps:
        step = placed.value
        if isinstance(step, ActStep):
            yield from _acted(verb, step, placed, records, principals)
            yield from _called(verb, step, placed, called)
            continue
        if step.principal is not None:
            yield from _whose(step.principal, principals, placed)
        yield from _bound_twice(step.bindings, placed, verb)
        for at, bound in enumerate(step.bindings):
            if not _meant(bound, step):
                yield from _record(bound, records, placed, (verb, at))
        recalled = [] if step.recalled is None else [(step.recalled, (verb,))]
        for named, where in [*recalled, *((name, ("parents", at)) for at, name in enumerate(step.parents))]:
            if named not in commits:
                hint = did_you_mean(named, commits) or "commit it in a step before, under this name"
                yield problem(placed.place(*where), f"no commit {quoted(named)}", hint, Code.UNKNOWN_NAME)
        if step.receipts not in OWN_WORDS and step.receipts not in reads:
            hint = did_you_mean(step.receipts, [*OWN_WORDS, *reads])
            yield problem(placed.place("receipts"), f"no retrieve {quoted(step.receipts)}", hint, Code.UNKNOWN_NAME)
        if step.name is not None:
            names = commits if verb == "commit" else reads
            if step.name in commits | reads | OWN_WORDS:
                what = f"the name {quoted(step.name)} is taken"
                yield problem(placed.place("as"), what, "name it apart", Code.DUPLICATE)
            names.add(step.name)


def _acted(
    verb: str,
    step: ActStep,
    placed: Placed[object],
    records: Records,
    principals: list[str],
) -> Iterator[PolicyProblem]:
    for item, where in records_of_step(verb, step):
        yield from _record(item, records, placed, where)
    if step.put is not None:
        records.setdefault(step.put.record.record_id, set()).add(step.put.record.version)
    whom = step.grant or step.withdraw
    if whom is not None:
        yield from _principal(whom.principal, principals, placed.document, (*placed.path, verb, "principal"))


def _called(verb: str, step: ActStep, placed: Placed[object], known: Called) -> Iterator[PolicyProblem]:
    """Yields the holds, freezes, orders and holders that a step names and no step before it made."""
    for kind, made in (("hold", step.place_hold), ("freeze", step.freeze), ("order", step.revoke)):
        if made is not None:
            known[kind].add(made.called)
    if step.register_holder is not None:
        known["holder"].add(step.register_holder.holder)
    of = step.acknowledge or step.purge_order
    names: list[tuple[str, str | None, Path]] = [
        ("hold", step.lift_hold, (verb,)),
        ("freeze", step.unfreeze, (verb,)),
        ("order", of.order if of is not None else None, (verb, "order")),
        ("holder", of.holder if of is not None else None, (verb, "holder")),
    ]
    for kind, name, where in names:
        if name is not None and name not in known[kind]:
            hint = did_you_mean(name, known[kind]) or _MADE[kind]
            yield problem(placed.place(*where), f"no {kind} {quoted(name)}", hint, Code.UNKNOWN_NAME)


_MADE: Final = {
    "hold": "place it in a step before, or under `holds`",
    "freeze": "freeze in a step before",
    "order": "revoke in a step before; its order has the name that the revoke says in `as`, or that of what it is of",
    "holder": "register it in a step before",
}


def records_of_step(verb: str, step: ActStep) -> Iterator[tuple[NamedItem, Path]]:
    """Yields the records that a step names with the way to them."""
    value = getattr(step, verb.replace("-", "_"))
    if isinstance(value, NamedItem):
        yield value, (verb,)
    elif value is not None and isinstance(getattr(value, "record", None), NamedItem):
        yield value.record, (verb, "record")
        if getattr(value, "by", None) is not None:
            yield value.by, (verb, "by")
