"""One repository, several environments: parameters are declared, given, and found again in the digest."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import yaml

from discreet.policy.bundle import BadBundle, bundle, bundle_digest, contents_of, files_of
from discreet.policy.compile import compile_set, environments_of
from discreet.policy.problems import PolicyProblems
from discreet.policy.snapshot import Snapshot
from discreet.policy.yaml import plain, read
from tests.policy.sets.sets import SET, SOURCES, a_set, problems, rules

PARAMETERS = """\
parameters:
  age: {type: duration, default: 36h}
  portal: {type: list}
  drafts: {type: boolean, default: false}
  tier: {type: text, default: low, values: [low, high]}
  limit: {type: integer, default: 5}
"""
BY_PARAMETER = SOURCES.replace("max-age: 36h", "max-age: {parameter: age}").replace(
    "listed: false", "listed: {parameter: drafts}"
)
RULES = rules(
    "{id: r, effect: ALLOW, moments: [PUBLISH], sources: [notes, equity-desk, drafts],"
    " when: segment.kind == parameters.tier && size(segment.id) < parameters.limit"
    " && now - document.recorded_at < parameters.age && !(principal.id in parameters.portal)}"
).replace("rules:\n", "principal-scopes: {claimed-from: {parameter: portal}}\nrules:\n")


def environment(name: str, given: str) -> str:
    """Returns an Environment; `given` begins in column 14 of line 4."""
    return f"apiVersion: discreet/v1\nkind: Environment\nname: {name}\nparameters: {{{given}}}\n"


def an_estate(test: str = "portal: [demo]", production: str = "portal: [portal], age: 2h") -> dict[str, bytes]:
    """Returns a set that is served in two environments."""
    return a_set(
        discreet=SET + PARAMETERS,
        sources=BY_PARAMETER,
        rules=RULES,
        test=environment("test", test),
        production=environment("production", production),
    )


def served(files: dict[str, bytes], name: str) -> Snapshot:
    """Returns the set compiled for an environment."""
    return compile_set(files, commit="c" * 40, number=7, dirty=False, environment=name)


def told(files: dict[str, bytes], name: str) -> list[str]:
    """Returns why a set is not compiled for an environment."""
    with pytest.raises(PolicyProblems) as raised:
        served(files, name)
    return [str(found) for found in raised.value.problems]


def test_each_environment_has_its_own_values() -> None:
    """E1: durations, flags and lists come from the environment, or from the default where it gives none."""
    files = an_estate(test="portal: [demo], drafts: true, tier: high, limit: 9")
    test, production = served(files, "test"), served(files, "production")
    assert (test.environment, production.environment) == ("test", "production")
    assert test.sources["equity-desk"].max_age_us == 36 * 3_600_000_000
    assert production.sources["equity-desk"].max_age_us == 2 * 3_600_000_000
    assert (test.sources["drafts"].listed, production.sources["drafts"].listed) == (True, False)
    assert test.claimed_scopes_from == {"demo"}
    assert production.claimed_scopes_from == {"portal"}
    found = {name: served(files, name).rules.by_source for name in ("test", "production")}
    conditions = {
        name: {r.when.equalities for s in sets.values() for r in s.plain if r.when} for name, sets in found.items()
    }
    assert conditions == {"test": {(("segment.kind", "high"),)}, "production": {(("segment.kind", "low"),)}}


def test_a_revision_says_which_environment_it_is() -> None:
    """E1: the bundle names the environment, so the same files in another are another revision."""
    files = an_estate()
    digests = {served(files, name).digest for name in ("test", "production")}
    assert len(digests) == 2
    assert digests == {bundle_digest(files, name) for name in ("test", "production")}
    data = bundle(files, "test")
    assert contents_of(data) == (files_of(bundle(files)), "test")
    for broken in (data[:-1], data.replace(b"test", b"text", 1)[:30], b"discreet-bundle/3\n" + data[18:]):
        with pytest.raises(BadBundle):
            contents_of(broken)


def test_a_set_without_environments_is_as_it_was() -> None:
    """E1: parameters with defaults need no environment, and the bundle of such a set has the first form."""
    files = a_set(discreet=SET + PARAMETERS.replace("list}", "list, default: [demo]}"), sources=BY_PARAMETER)
    assert environments_of(files) == ("",)
    assert problems(files) == []
    assert bundle(files).startswith(b"discreet-bundle/1\n")
    assert environments_of(an_estate()) == ("production", "test")


def test_an_environment_is_chosen_and_exists() -> None:
    """F12: a set written for environments is not served with whatever its defaults are."""
    assert told(an_estate(), "") == [
        "discreet.yaml:1:1: the set is written for environments, and none was chosen; choose one of production, test"
    ]
    assert told(an_estate(), "prodution") == [
        'discreet.yaml:1:1: the set has no environment "prodution"; did you mean "production"?'
    ]
    assert told(a_set(), "production") == [
        'discreet.yaml:1:1: the set has no environment "production"; write an Environment of that name'
    ]


MISTAKES = {
    "undeclared": ("portal: [a], agee: 2h", '4:27: no parameter "agee"; did you mean "age"?'),
    "missing": (
        "age: 2h",
        '3:7: the environment "test" gives the parameter "portal" no value; '
        "add it, or give it a default at discreet.yaml:6:11",
    ),
    "no list": (
        "portal: demo",
        '4:22: portal must be a list of texts, not "demo"; it is declared at discreet.yaml:6:11',
    ),
    "no duration": (
        "portal: [a], age: 2 hours",
        '4:32: age must be a duration, not "2 hours"; it is declared at discreet.yaml:5:8',
    ),
    "no boolean": (
        'portal: [a], drafts: "true"',
        '4:35: drafts must be true or false, not "true"; it is declared at discreet.yaml:7:11',
    ),
    "no integer": (
        "portal: [a], limit: 1.5",
        "4:34: limit must be a whole number, not a number; it is declared at discreet.yaml:9:10",
    ),
    "not among the values": (
        "portal: [a], tier: middle",
        "4:33: tier is none of the parameter's `values`; it is declared at discreet.yaml:8:9",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_value_that_does_not_fit_is_told_whichever_environment_is_chosen(mistake: str) -> None:
    """E1, YML-02: check looks at all environments, and none is served while another is wrong."""
    given, line = MISTAKES[mistake]
    files = an_estate(test=given)
    assert problems(files) == [f"test.yaml:{line}"]
    assert told(files, "production") == [f"test.yaml:{line}"]


DECLARATIONS = {
    "no type": ("a: {default: 1}", '5:6: the key "type" is missing'),
    "another type": (
        "a: {type: number}",
        '5:13: type cannot be "number"; one of boolean, duration, integer, list, text',
    ),
    "a default of another type": ("a: {type: integer, default: x}", '5:31: default must be a whole number, not "x"'),
    "a default that is none of the values": (
        "a: {type: text, default: x, values: [z]}",
        "5:28: default is none of the parameter's `values`",
    ),
    "no values": (
        "a: {type: text, default: x, values: []}",
        "5:39: the list is empty; name at least one, or leave the key out",
    ),
    "a name that cannot be written": (
        "max-age: {type: integer, default: 1}",
        '5:3: "max-age" is no name; write [a-z][a-z0-9_]{0,63}, for example trading_desks',
    ),
    "no value at all": (
        "a: {type: text}",
        '5:3: the parameter "a" has no value; give it a default, or write an Environment that gives it one',
    ),
}


@pytest.mark.parametrize("mistake", DECLARATIONS)
def test_a_mistake_in_a_declaration_is_told(mistake: str) -> None:
    """E1, YML-08: parameters are typed, and so are their defaults."""
    declared, line = DECLARATIONS[mistake]
    assert problems(a_set(discreet=f"{SET}parameters:\n  {declared}\n")) == [f"discreet.yaml:{line}"]


def test_a_parameter_that_does_not_fit_its_place_is_told() -> None:
    """E1: a parameter stands where one of its type may, and has to exist."""
    declared = SET + "parameters: {age: {type: duration, default: 1h}, who: {type: text, default: x}}\n"
    source = "{parameter: %s}"
    for name, line in (
        ("who", 'the parameter "who" is text; this must be a duration'),
        ("ages", 'no parameter "ages"; did you mean "age"?'),
    ):
        files = a_set(discreet=declared, sources=SOURCES.replace("36h", source % name))
        assert problems(files) == [f"sources.yaml:5:93: {line}"]
    files = a_set(discreet=declared, sources=SOURCES.replace("36h", "{param: age}"))
    assert problems(files) == [
        "sources.yaml:5:93: max-age must be a duration, not a mapping; or write {parameter: name}"
    ]


def test_conditions_are_checked_with_the_values_of_every_environment() -> None:
    """E1: what is wrong under the values of one environment alone is a problem of the set."""
    line = (
        "{id: r, effect: ALLOW, moments: [PUBLISH], sources: [notes], when: duration(parameters.tier) > duration('1s')}"
    )
    declared = SET + PARAMETERS.replace("low, values: [low, high]", "1s")
    changed = {"rules.yaml": rules(line).encode(), "discreet.yaml": declared.encode()}
    assert problems(an_estate() | changed) == []
    assert problems(an_estate(test="portal: [demo], tier: high") | changed) == [
        "rules.yaml:5:81: condition: duration(): not a duration; write 1h30m or 10s"
    ]


def test_the_order_of_documents_and_keys_has_no_meaning() -> None:
    """E1: definitions, environments, owners and embargoes in any order of files, documents and keys are one set."""
    files = guide_set()
    plain = {name: kept(files, name) for name in ("production", "rehearsal")}
    for seed in range(20):
        shuffled = arranged(files, random.Random(seed))
        assert {name: kept(shuffled, name) for name in plain} == plain, f"seed {seed}"


def guide_set() -> dict[str, bytes]:
    """Returns the set of the guide, without its tests."""
    guide = (Path(__file__).parents[3] / "docs" / "policies.md").read_text("utf-8")
    found = re.findall(r"```yaml\n# (\S+)\n(.*?)```", guide, re.DOTALL)
    return {name: text.encode() for name, text in found if not name.endswith("_test.yaml")}


def kept(files: dict[str, bytes], name: str) -> str:
    """Returns all that decisions use of a set, without the places of rules."""
    snapshot = served(files, name)
    rules = {
        rule.id: (rule.effect, rule.from_us, rule.until_us, rule.observe, rule.owners, rule.when and rule.when.digest)
        for sets in (snapshot.rules.by_source, snapshot.rules.any_source, snapshot.rules.by_kind)
        for found in sets.values()
        for rule in found.plain
    }
    sources = {label: (s.max_age_us, s.listed, sorted(s.collectors)) for label, s in sorted(snapshot.sources.items())}
    return repr((sorted(rules.items()), sources, sorted(snapshot.claimed_scopes_from)))


def arranged(files: dict[str, bytes], order: random.Random) -> dict[str, bytes]:
    """Returns the documents of a set in other files, each with its keys and items in another order."""
    documents = [plain(document.root) for name in files for document in read(name, files[name])[0]]
    order.shuffle(documents)
    found: dict[str, bytes] = {}
    for number, document in enumerate(documents):
        assert isinstance(document, dict)
        name = "discreet.yaml" if document["kind"] == "PolicySet" else f"{order.random()}-{number}.yaml"
        found[name] = yaml.dump(_mixed(document, order), sort_keys=False, allow_unicode=True).encode()
    return found


def _mixed(value: object, order: random.Random) -> object:
    if isinstance(value, dict):
        return {key: _mixed(value[key], order) for key in order.sample(list(value), len(value))}
    if isinstance(value, tuple):
        items = [_mixed(item, order) for item in value]
        return order.sample(items, len(items)) if any(isinstance(item, dict) for item in items) else items
    return value
