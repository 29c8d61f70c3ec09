"""What differs between the rules of two sets: by id, and by meaning where the id alone differs.

Where a rule stands, in which file and at which line, is no part of its meaning.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Self

from discreet.policy.cel.nodes import Node
from discreet.policy.cel.tree import digest_of
from discreet.policy.diff import wording
from discreet.policy.diff.changes import Aside, Change, Direction, Kind, Note
from discreet.policy.diff.conditions import compare
from discreet.policy.diff.normal import normal, steps
from discreet.policy.diff.order import Order, of_limits, of_sets, together
from discreet.policy.diff.text import condition_text
from discreet.policy.snapshot import Rule
from discreet.policy.words import Effect, Grounding


class Does(IntEnum):
    """What a rule does to what it fits, from closed to open."""

    WITHHOLDS = 1
    WATCHES = 2
    """In observe mode: nothing."""
    ALLOWS = 3


class Form(NamedTuple):
    """A rule with the normal form of its condition and that form's digest, which are made once."""

    rule: Rule
    when: Node
    digest: str

    @classmethod
    def of(cls, rule: Rule) -> Self:
        """The form of a rule."""
        when = normal(rule.when)
        return cls(rule, when, digest_of(when))

    @property
    def meaning(self) -> Hashable:
        """All that a rule says, but for its name, its place and who answers for it."""
        rule = self.rule
        return (
            rule.effect, rule.moments, rule.sources, rule.kinds, rule.grounding, self.digest, rule.custom_reason,
            rule.text, rule.advice, rule.from_us, rule.until_us, rule.observe,
        )  # fmt: skip


class Pair(NamedTuple):
    """A rule as it was and as it is."""

    was: Form
    becomes: Form

    @property
    def old(self) -> Rule:
        """The rule as it was."""
        return self.was.rule

    @property
    def new(self) -> Rule:
        """The rule as it is."""
        return self.becomes.rule


def does(rule: Rule) -> Does:
    """What a rule does to what it fits."""
    if rule.effect is Effect.ALLOW:
        return Does.ALLOWS
    return Does.WATCHES if rule.observe else Does.WITHHOLDS


def rule_changes(old: Sequence[Rule], new: Sequence[Rule]) -> Iterator[Change | Note]:
    """Every difference between the rules of two sets."""
    before, after = {rule.id: Form.of(rule) for rule in old}, {rule.id: Form.of(rule) for rule in new}
    gone = [before[name] for name in sorted(before.keys() - after.keys())]
    come = [after[name] for name in sorted(after.keys() - before.keys())]
    renamed = list(_renamed(gone, come))
    for pair in renamed:
        yield _change(pair, Kind.RULE_RENAMED, Direction.NEITHER, pair.old.id, pair.new.id)
        yield from _asides(pair)
    others = {name for pair in renamed for name in (pair.old.id, pair.new.id)}
    yield from _alone(gone, others, {form.meaning for form in after.values()}, Kind.RULE_REMOVED)
    yield from _alone(come, others, {form.meaning for form in before.values()}, Kind.RULE_ADDED)
    for name in sorted(before.keys() & after.keys()):
        pair = Pair(before[name], after[name])
        if pair.was.meaning != pair.becomes.meaning:
            yield from _changed(pair)
        yield from _asides(pair)


def _renamed(gone: Sequence[Form], come: Sequence[Form]) -> Iterator[Pair]:
    """The rules that are only called otherwise; of several that mean the same, in the order of their names."""
    waiting: dict[Hashable, list[Form]] = {}
    for form in come:
        waiting.setdefault(form.meaning, []).append(form)
    for form in gone:
        same = waiting.get(form.meaning)
        if same:
            yield Pair(form, same.pop(0))


def _alone(forms: Sequence[Form], others: set[str], there: set[Hashable], kind: Kind) -> Iterator[Change]:
    """Rules that one side alone has. `there`: what rules of the other side mean: one more of them says nothing new."""
    for form in forms:
        rule = form.rule
        if rule.id in others:
            continue
        direction = Direction.NEITHER if form.meaning in there else _ADDED[does(rule)]
        if kind is Kind.RULE_ADDED:
            yield Change(kind, direction, rule.id, "", described(form), "", rule.place)
        else:
            yield Change(kind, direction.opposite, rule.id, described(form), "", rule.place, "")


_ADDED: Final[Mapping[Does, Direction]] = {
    Does.ALLOWS: Direction.LOOSENS,
    Does.WITHHOLDS: Direction.TIGHTENS,
    Does.WATCHES: Direction.NEITHER,
}


def described(form: Form) -> str:
    """All that a rule says, in a line."""
    rule = form.rule
    said = [f"{rule.effect.short} at {wording.moments(rule.moments)}"]
    if rule.grounding is Grounding.UNBOUND:
        said.append("grounding UNBOUND")
    said += [f"sources {wording.listed(rule.sources)}"] if rule.sources is not None else []
    said += [f"kinds {wording.listed(rule.kinds)}"] if rule.kinds is not None else []
    said += [f"when {condition_text(form.when)}"] if rule.when is not None else []
    if rule.from_us is not None or rule.until_us is not None:
        said.append(wording.validity(rule.from_us, rule.until_us))
    said += ["mode observe"] if rule.observe else []
    said += ["advice"] if rule.advice else []
    said += [f"custom-reason {rule.custom_reason}"] if rule.custom_reason else []
    said += [f"text {rule.text}"] if rule.text else []
    return "; ".join(said)


def _changed(pair: Pair) -> Iterator[Change]:
    """Every difference of what a rule says that has the same name on both sides.

    Where what it does is another thing, that says where all its other changes lead, too: a rule that withheld and now
    allows loosens, whatever it fits.
    """
    old, new = pair.old, pair.new
    turned = _turned(pair)
    fits = {order: _leads(pair, order) for order in Order}
    if old.effect is not new.effect:
        yield _change(pair, Kind.RULE_EFFECT, turned, old.effect.short, new.effect.short)
    if old.observe != new.observe:
        modes = {True: "observe", False: "enforce"}
        yield _change(pair, Kind.RULE_MODE, turned, modes[old.observe], modes[new.observe])
    yield from _fitting(pair, fits)
    yield from _told(pair, turned)


def _turned(pair: Pair) -> Direction:
    was, becomes = does(pair.old), does(pair.new)
    return Direction.NEITHER if was == becomes else Direction.LOOSENS if was < becomes else Direction.TIGHTENS


def _leads(pair: Pair, order: Order) -> Direction:
    """Where it leads that what a rule fits now stands so to what it did."""
    if does(pair.old) is not does(pair.new):
        return _turned(pair)
    if does(pair.new) is Does.WATCHES:
        return Direction.NEITHER
    return (order if does(pair.new) is Does.ALLOWS else order.turned).direction


def _fitting(pair: Pair, fits: Mapping[Order, Direction]) -> Iterator[Change]:
    """What a rule fits."""
    old, new = pair.old, pair.new
    if old.moments != new.moments:
        texts = wording.moments(old.moments), wording.moments(new.moments)
        yield _change(pair, Kind.RULE_MOMENTS, fits[of_sets(old.moments, new.moments)], *texts)
    if old.sources != new.sources:
        texts = wording.listed(old.sources), wording.listed(new.sources)
        yield _change(pair, Kind.RULE_SOURCES, fits[of_sets(old.sources, new.sources)], *texts)
    if old.kinds != new.kinds:
        texts = wording.listed(old.kinds), wording.listed(new.kinds)
        yield _change(pair, Kind.RULE_KINDS, fits[of_sets(old.kinds, new.kinds)], *texts)
    if old.grounding is not new.grounding:
        yield _change(pair, Kind.RULE_GROUNDING, fits[Order.OTHER], old.grounding.short, new.grounding.short)
    before, after = pair.was.when, pair.becomes.when
    if pair.was.digest != pair.becomes.digest:
        texts = condition_text(before), condition_text(after)
        yield _change(pair, Kind.RULE_CONDITION, fits[compare(before, after)], *texts)
    if (old.from_us, old.until_us) != (new.from_us, new.until_us):
        texts = wording.validity(old.from_us, old.until_us), wording.validity(new.from_us, new.until_us)
        yield _change(pair, Kind.RULE_VALIDITY, fits[_window(old, new)], *texts)


def _window(old: Rule, new: Rule) -> Order:
    """How the time in which a rule holds stands; a beginning is a limit from below."""
    begins = of_limits(_negative(old.from_us), _negative(new.from_us))
    return together((begins, of_limits(old.until_us, new.until_us)))


def _negative(us: int | None) -> int | None:
    return None if us is None else -us


def _told(pair: Pair, turned: Direction) -> Iterator[Change]:
    """What a rule makes known to readers."""
    old, new = pair.old, pair.new
    if old.advice != new.advice:
        leads = Direction.LOOSENS if new.advice else Direction.TIGHTENS
        direction = leads if turned is Direction.NEITHER else turned
        yield _change(pair, Kind.RULE_ADVICE, direction, wording.truth(old.advice), wording.truth(new.advice))
    if old.custom_reason != new.custom_reason:
        texts = old.custom_reason or "none", new.custom_reason or "none"
        yield _change(pair, Kind.RULE_CUSTOM_REASON, Direction.NEITHER, *texts)
    if old.text != new.text:
        texts = old.text or "that of the reason", new.text or "that of the reason"
        yield _change(pair, Kind.RULE_TEXT, Direction.NEITHER, *texts)


def _asides(pair: Pair) -> Iterator[Note]:
    old, new = pair.old, pair.new
    name = new.id if old.id == new.id else f"{old.id} -> {new.id}"
    if old.owners != new.owners:
        yield Note(Aside.OWNERS, name, wording.listed(old.owners), wording.listed(new.owners))
    before, after = steps(old.when), steps(new.when)
    if before != after and pair.was.digest == pair.becomes.digest:
        yield Note(Aside.STEPS, name, str(before), str(after))


def _change(pair: Pair, kind: Kind, direction: Direction, old: str, new: str) -> Change:
    return Change(kind, direction, pair.new.id, old, new, pair.old.place, pair.new.place)
