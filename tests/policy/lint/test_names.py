"""Names that nothing uses are warned of; those that something uses are not."""

from __future__ import annotations

from tests.policy.sets.sets import SET, SOURCES, a_set, rules, warnings

WORDS = """\
apiVersion: discreet/v1
kind: Definitions
name: words
constants:
  used: 1
  unused: 2
  of_parameter: {parameter: limit}
conditions:
  asked: document.version == string(constants.used) && constants.of_parameter > 0
  not_asked: document.current
"""
PARAMETERS = """\
parameters:
  limit: {type: integer, default: 1}
  age: {type: duration, default: 36h}
  shown: {type: text, default: x}
  idle: {type: text, default: x}
"""


def test_names_that_nothing_uses_are_warned_of() -> None:
    """E1: a constant, a condition or a parameter that no rule rests on is most likely left over."""
    when = "conditions.asked || document.basis == parameters.shown"
    asking = f"{{id: r, effect: ALLOW, moments: [PUBLISH], sources: [notes, equity-desk], when: {when}}}"
    sources = SOURCES.replace("36h", "{parameter: age}")
    files = a_set(discreet=SET + PARAMETERS, sources=sources, words=WORDS, rules=rules(asking))
    assert warnings(files) == [
        'discreet.yaml:8:3: nothing depends on the parameter "idle"; use it or remove it',
        "words.yaml:6:3: no condition uses constants.unused; use it or remove it",
        "words.yaml:10:3: no condition uses conditions.not_asked; use it or remove it",
    ]
