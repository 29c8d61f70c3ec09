"""A policy set from its files: compiled whole or not at all, with every problem of every file named at once.

The order of files, of keys and of rules has no meaning: two sets that differ in it alone decide alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from discreet.policy import schema
from discreet.policy.bundle import FILES_MAX, SET_BYTES_MAX, bundle_digest, looks_like_policy, policy_files
from discreet.policy.cel import CelError, Condition
from discreet.policy.facts import Micros
from discreet.policy.model import Loaded, Placed, PolicySet, RuleItem, SourceItem, load
from discreet.policy.model.parameters import SET_FILE, Given
from discreet.policy.naming import condition_problem, vocabulary_of
from discreet.policy.owners import owner_problems, owners_of, patterns_of
from discreet.policy.problems import Code, Place, PolicyProblem, PolicyProblems, problem
from discreet.policy.references import reference_problems
from discreet.policy.rule_index import rule_index
from discreet.policy.snapshot import Requires, Retention, Rule, Snapshot, Source
from discreet.policy.texts_builtin import reader_texts
from discreet.policy.texts_lint import normal_text
from discreet.policy.vocabulary import Seen, Vocabulary, compile_with
from discreet.policy.words import LOCALES, Grounding


def compile_set(
    files: Mapping[str, bytes],
    *,
    commit: str,
    number: int,
    dirty: bool,
    environment: str = "",
    given: Placed[Given] | None = None,
) -> Snapshot:
    """Returns the compiled policy revision of a folder's files. Raises PolicyProblems with all that is wrong.

    `files` maps paths below the folder, with `/`, to contents; what is no policy file is ignored. `environment` names
    one of those that the set declares; a set that declares any is compiled for one of them. `given` are values of
    parameters that stand over that environment's.
    """
    loaded, rules = load_set(files, environment, given=given)
    if loaded.problems:
        raise PolicyProblems(loaded.problems)
    snapshot = _snapshot(loaded, rules, commit=commit, number=number, dirty=dirty)
    return replace(snapshot, digest=bundle_digest(files, environment), environment=environment)


def load_set(
    files: Mapping[str, bytes], environment: str = "", seen: Seen | None = None, given: Placed[Given] | None = None
) -> tuple[Loaded, list[Rule]]:
    """Returns the documents of a folder with all their problems noted, and the rules that compiled.

    `seen` is for who loads the same files in several environments: what was compiled for one is not compiled again.
    """
    wrong_files = _file_problems(files)
    if any(found.code is Code.LIMIT for found in wrong_files):
        return Loaded(problems=wrong_files), []
    loaded = load(policy_files(files), environment, given)
    loaded.problems += wrong_files
    loaded.problems += reference_problems(loaded)
    loaded.problems += owner_problems(loaded)
    return loaded, _Rules(loaded, Seen() if seen is None else seen).compiled()


def environments_of(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Returns the names of the environments that a folder declares, sorted; one empty name where it declares none."""
    if _file_problems(files):
        return ("",)
    loaded = load({path: data for path, data in policy_files(files).items() if b"Environment" in data})
    return tuple(sorted({placed.value.name for placed in loaded.environments})) or ("",)


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


class _Rules:
    """The rules of a set in the making: with its vocabulary and owners, and its problems noted as they are met."""

    def __init__(self, loaded: Loaded, seen: Seen) -> None:
        self._loaded = loaded
        self._seen = seen
        self._vocabulary: Vocabulary = vocabulary_of(loaded, loaded.problems)
        self._patterns = patterns_of(loaded)
        self._owners: dict[str, tuple[str, ...]] = {}

    def compiled(self) -> list[Rule]:
        """Returns the rules whose conditions are right."""
        return [rule for placed in self._loaded.rules if (rule := self._rule(placed)) is not None]

    def _rule(self, placed: Placed[RuleItem]) -> Rule | None:
        item = placed.value
        try:
            when = self._condition(item)
        except CelError as error:
            hint = ""
            if item.grounding is Grounding.UNBOUND:
                hint = "a rule for UNBOUND segments sees request, principal, segment and now"
            found = condition_problem(placed.document, (*placed.path, "when"), error, hint)
            self._loaded.problems.append(found)
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
            from_us=None if item.from_ is None else Micros(item.from_),
            until_us=None if item.until is None else Micros(item.until),
            observe=item.mode == "observe",
            owners=self._owners_of(place.file),
        )

    def _condition(self, item: RuleItem) -> Condition | None:
        if item.when is None:
            return None
        return compile_with(item.when, schema.schema_for(item.grounding), self._vocabulary, self._seen)

    def _owners_of(self, file: str) -> tuple[str, ...]:
        if file not in self._owners:
            self._owners[file] = owners_of(self._patterns, file)
        return self._owners[file]


def _snapshot(loaded: Loaded, rules: list[Rule], *, commit: str, number: int, dirty: bool) -> Snapshot:
    chosen: PolicySet = loaded.sets[0].value
    return Snapshot(
        name=chosen.name,
        number=number,
        commit=commit,
        digest="",
        dirty=dirty,
        sources={placed.value.label: _source(placed.value) for placed in loaded.sources},
        rules=rule_index(rules),
        texts={locale: reader_texts(locale, _own_texts(loaded, locale)) for locale in LOCALES},
        requires=_requires(loaded),
        claimed_scopes_from=_claimed_from(loaded),
        audit_checks=chosen.audit.checks,
        masked_attributes=frozenset(chosen.audit.mask),
        policy_max_age_us=chosen.policy_max_age,
        read_max_staleness_us=chosen.read_max_staleness,
        use_within_ms=chosen.use_within // 1000,
        store_within_us=chosen.store_within,
        retention=_retention(loaded),
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


def _retention(loaded: Loaded) -> Retention:
    if not loaded.retention:
        return Retention()
    item = loaded.retention[0].value
    return Retention(item.dry_run_above, item.purge_within, item.recheck_after)


def _claimed_from(loaded: Loaded) -> frozenset[str]:
    named = (placed.value.principal_scopes for placed in loaded.policies)
    return frozenset(name for scopes in named if scopes is not None for name in scopes.claimed_from)
