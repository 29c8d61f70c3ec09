"""A policy set from its files: compiled whole or not at all, with every problem of every file named at once.

The order of files, of keys and of rules has no meaning: two sets that differ in it alone decide alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.policy import schema
from discreet.policy.bundle import FILES_MAX, SET_BYTES_MAX, bundle_digest, looks_like_policy, policy_files
from discreet.policy.cel import CelError, Condition, compile_condition
from discreet.policy.model import Loaded, Placed, PolicySet, RuleItem, SourceItem, load
from discreet.policy.problems import Code, Place, PolicyProblem, PolicyProblems, problem
from discreet.policy.references import SET_FILE, reference_problems
from discreet.policy.rule_index import rule_index
from discreet.policy.snapshot import Requires, Rule, Snapshot, Source
from discreet.policy.texts_builtin import reader_texts
from discreet.policy.texts_lint import normal_text
from discreet.policy.words import LOCALES, Grounding
from discreet.policy.yaml import Scalar, source_offset


def compile_set(files: Mapping[str, bytes], *, commit: str, number: int, dirty: bool) -> Snapshot:
    """Returns the compiled policy revision of a folder's files. Raises PolicyProblems with all that is wrong.

    `files` maps paths below the folder, with `/`, to contents; what is no policy file is ignored.
    """
    loaded, rules = load_set(files)
    if loaded.problems:
        raise PolicyProblems(loaded.problems)
    return _snapshot(loaded, rules, bundle_digest(files), commit=commit, number=number, dirty=dirty)


def load_set(files: Mapping[str, bytes]) -> tuple[Loaded, list[Rule]]:
    """Returns the documents of a folder with all their problems noted, and the rules that compiled."""
    wrong_files = _file_problems(files)
    if any(found.code is Code.LIMIT for found in wrong_files):
        return Loaded(problems=wrong_files), []
    loaded = load(policy_files(files))
    loaded.problems += wrong_files
    loaded.problems += reference_problems(loaded)
    rules = [rule for placed in loaded.rules if (rule := _rule(placed, loaded.problems)) is not None]
    return loaded, rules


def _file_problems(files: Mapping[str, bytes]) -> list[PolicyProblem]:
    if len(files) > FILES_MAX:
        return [problem(Place(SET_FILE), f"the folder has more than {FILES_MAX} files", "split it", Code.LIMIT)]
    if sum(map(len, files.values())) > SET_BYTES_MAX:
        return [problem(Place(SET_FILE), f"the folder has more than {SET_BYTES_MAX} bytes", "split it", Code.LIMIT)]
    hint = "write its suffix in lower case: .yaml or .yml"
    return [
        problem(Place(path), "the file would be ignored for its name", hint, Code.FILE)
        for path in sorted(files)
        if looks_like_policy(path)
    ]


def _rule(placed: Placed[RuleItem], problems: list[PolicyProblem]) -> Rule | None:
    item = placed.value
    try:
        when = _condition(placed)
    except CelError as error:
        problems.append(_condition_problem(placed, error))
        return None
    place = placed.place()
    return Rule(
        id=item.id,
        effect=item.effect,
        moments=frozenset(item.moments),
        sources=None if item.sources is None else frozenset(item.sources),
        kinds=None if item.kinds is None else frozenset(item.kinds),
        grounding=item.grounding,
        when=when,
        custom_reason=item.custom_reason,
        text=item.text,
        advice=item.advice,
        place=f"{place.file}:{place.line}",
    )


def _condition(placed: Placed[RuleItem]) -> Condition | None:
    text = placed.value.when
    return None if text is None else compile_condition(text, schema.schema_for(placed.value.grounding))


def _condition_problem(placed: Placed[RuleItem], error: CelError) -> PolicyProblem:
    source, node = placed.document.source, placed.document.node((*placed.path, "when"))
    place = node.place
    if isinstance(node, Scalar):
        place = source.place_at(source_offset(source.text, node, error.offset))
    hint = error.hint
    if not hint and placed.value.grounding is Grounding.UNBOUND:
        hint = "a rule for UNBOUND segments sees request, principal, segment and now"
    return problem(place, f"condition: {error.message}", hint, Code.CONDITION)


def _snapshot(loaded: Loaded, rules: list[Rule], digest: str, *, commit: str, number: int, dirty: bool) -> Snapshot:
    chosen: PolicySet = loaded.sets[0].value
    return Snapshot(
        name=chosen.name,
        number=number,
        commit=commit,
        digest=digest,
        dirty=dirty,
        sources={placed.value.label: _source(placed.value) for placed in loaded.sources},
        rules=rule_index(rules),
        texts={locale: reader_texts(locale, _own_texts(loaded, locale)) for locale in LOCALES},
        requires=_requires(loaded),
        claimed_scopes_from=_claimed_from(loaded),
        audit_checks=chosen.audit.checks,
        policy_max_age_us=chosen.policy_max_age,
        use_within_ms=chosen.use_within // 1000,
        store_within_us=chosen.store_within,
    )


def _source(item: SourceItem) -> Source:
    return Source(
        label=item.label,
        title=item.title,
        duty=item.duty,
        collectors=frozenset(item.collectors),
        max_age_us=item.max_age,
        listed=item.listed,
        case_sensitive_ids=item.record_ids == "case-sensitive",
    )


def _own_texts(loaded: Loaded, locale: str) -> dict[str, str]:
    mine = (placed.value.texts for placed in loaded.texts if placed.value.locale == locale)
    return {key: normal_text(text) for texts in mine for key, text in texts.items()}


def _requires(loaded: Loaded) -> Requires:
    """Returns what any of the files requires: demands add up."""
    asked = [placed.value.requires for placed in loaded.policies]
    return Requires(
        retrieved_in_session=any(item.retrieved_in_session for item in asked),
        same_policy_revision=any(item.same_policy_revision for item in asked),
        same_grant_revision=any(item.same_grant_revision for item in asked),
    )


def _claimed_from(loaded: Loaded) -> frozenset[str]:
    named = (placed.value.principal_scopes for placed in loaded.policies)
    return frozenset(name for scopes in named if scopes is not None for name in scopes.claimed_from)
