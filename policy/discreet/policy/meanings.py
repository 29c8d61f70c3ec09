"""What each key of a policy file is for, in a sentence: what editors show and the reference prints.

By the model that declares the key; a test holds the table to the models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel

_KIND: Final = {
    "apiVersion": "The form of the document.",
    "kind": "What the document is.",
    "name": "Names the document; unique among those of its kind.",
    "description": "For readers of the file.",
}
_POLICY: Final[Mapping[str, Mapping[str, str]]] = {
    "PolicySet": {
        "audit": "What must be durable before an answer leaves, and what the audit may not hold.",
        "policy-max-age": "Withhold everything once the repository could not be read for so long; `none`: never.",
        "use-within": "How long an ALLOW may be acted on.",
        "store-within": "How long a committed segment may wait to be stored.",
        "parameters": "What differs between environments: name to declaration.",
    },
    "Audit": {
        "checks": "`required`: the row of a check is durable first; `none`: checks leave none, commits always do.",
        "mask": "Attributes of principals whose values no audit row holds, at most 64; left out: none.",
    },
    "ParameterItem": {
        "type": "What its values are.",
        "default": "The value where an environment gives none; left out: each environment gives one.",
        "values": "The only values that it may have; left out: any of its type.",
    },
    "Environment": {"parameters": "The values of declared parameters in this environment."},
    "SourceList": {"sources": "The sources that exist."},
    "SourceItem": {
        "label": "Names the source in records and rules.",
        "title": "Names it for people.",
        "duty": "What it is for, which says what records it takes.",
        "collectors": "The only identities whose records count under the label.",
        "max-age": "How old its data may be for what is asserted; a DATA_CHANNEL must say; `none`: it does not age.",
        "record-ids": "Whether upper and lower case tell record ids apart.",
        "listed": "false: declared and not on the allowlist, so nothing that rests on it is shown.",
    },
    "DisclosurePolicy": {
        "requires": "Demands on every binding at PUBLISH, on top of the gates.",
        "principal-scopes": "Whose word counts for a principal's scopes besides the grants.",
        "rules": "What is allowed and withheld.",
        "empty": "true: that there are no rules is meant.",
    },
    "RequiresItem": {
        "retrieved-in-session": "The binding carries the receipt of a RETRIEVE in this session.",
        "same-policy-revision": "It was read under the policy revision in force.",
        "same-grant-revision": "It was read under the grants that hold now.",
    },
    "PrincipalScopes": {"claimed-from": "Callers whose claim of scopes counts, and is recorded as a claim."},
    "RuleItem": {
        "id": "Unique over all files; stands in answers and audit.",
        "effect": "Whether what fits is allowed or withheld; any WITHHOLD wins.",
        "moments": "When the rule is asked.",
        "sources": "Labels of the record's source; left out: any.",
        "kinds": "Kinds of segments; left out: any.",
        "grounding": "Whether it is for segments that rest on records or for those that rest on none.",
        "when": "A condition; left out: always. One without a value withholds.",
        "custom-reason": "WITHHOLD: a word of your own beside POLICY_RULE.",
        "text": "WITHHOLD: the disclosure text; left out: that of the reason.",
        "advice": "ALLOW: the answer may lean towards advice where the request asks for it.",
        "from": "The rule is not there before this time; left out: it always was.",
        "until": "The rule is no longer there from this time on; left out: it does not end.",
        "mode": "WITHHOLD: `observe` records what the rule would have withheld, and withholds nothing.",
    },
    "Embargo": {
        "until": "The first moment at which it no longer holds.",
        "from": "The first moment at which it holds; left out: it always did.",
        "moments": "When it is asked.",
        "sources": "Labels of the record's source; left out: any, and then there is a condition.",
        "kinds": "Kinds of segments; left out: any.",
        "when": "A condition that narrows it; left out: all records of the sources. One without a value withholds.",
        "custom-reason": "A word of your own beside POLICY_RULE.",
        "text": "The disclosure text; left out: that of the reason.",
    },
    "Texts": {
        "locale": "The language of the texts.",
        "texts": "By reason, which rewords it, or by a name of your own for rules to use.",
    },
    "Definitions": {
        "constants": "Values that conditions use as `constants.name`.",
        "conditions": "Conditions that others use as `conditions.name`.",
    },
    "RetentionPolicy": {
        "dry-run-above": "A revoke of more versions and segments than these names the digest of its dry run.",
        "purge-within": "How long after copies must go a holder's answer is due.",
        "recheck-after": "How long after a holder said `gone` it is asked to look again; left out or `never`: not.",
    },
    "Owners": {"owners": "Folders of the set, `*` for any characters of one name, to the teams that answer for them."},
}
_STATE: Final[Mapping[str, Mapping[str, str]]] = {
    "PolicyTest": {
        "now": "The clock of all cases, and of sequences when they begin.",
        "tenant": "The tenant that records and principals belong to.",
        "environment": "The environment to run in; left out: each that the set declares.",
        "records": "The record versions that the index holds.",
        "grants": "The scopes that principals were given.",
        "principals": "The end users that cases name; left out: any.",
        "cases": "Single decisions; one with a `matrix` stands for many.",
        "sequences": "Decisions one after another on an index that changes.",
    },
    "RefItem": {"record-id": "The record.", "version": "Its version."},
    "NamedItem": {"record-id": "The record.", "version": "Its version; left out: the current one."},
    "RecordItem": {
        "kind": "A document, or a piece of evidence.",
        "source-label": "Its source.",
        "digest": "SHA-256 of its content; left out: one is made up.",
        "collector": "Who registered it; left out: the first collector of its source.",
        "recorded-at": "When it was registered; left out: before `now`.",
        "as-of": "The time that it speaks of; left out: none.",
        "basis": "How its figures are counted.",
        "scopes": "Who may know of it; none: nobody.",
        "attributes": "What its collector wrote of it.",
        "assessment-expires-at": "Until when it is eligible; left out: it was never assessed.",
        "current": "Whether it is the record's current version.",
        "superseded-by": "The version or record that replaces it.",
        "suspended": "Whether an operator suspended it.",
        "unreachable": "Whether its original cannot be reached.",
        "revoked": "The revoke of its retention.",
        "origin": "How a piece of evidence came about.",
        "own-source": "That a piece of evidence was taken from no document.",
        "of": "The document versions that a piece of evidence was taken from.",
        "fields": "The values that a piece of evidence holds.",
        "formula": "How a derived figure was computed.",
        "inputs": "What it was computed from.",
    },
    "RevokedItem": {"at": "When it was revoked.", "purge-not-before": "When copies must go; left out: at once."},
    "GrantItem": {
        "principal": "Who holds it.",
        "scope": "What is held.",
        "not-before": "When it begins; left out: it has begun.",
        "expires-at": "When it ends; left out: it does not.",
    },
    "PrincipalItem": {
        "id": "The end user.",
        "claimed-scopes": "Scopes that the caller claims for it.",
        "attributes": "Attributes that the caller gives it.",
    },
    "BoundItem": {
        "digest": "The digest that the binding names; left out: the record's.",
        "locator": "The place within the record.",
        "claimed-label": "The label that the binding claims.",
        "claimed-as-of": "The time that it claims.",
        "claimed-basis": "The basis that it claims.",
        "unregistered": "That the test does not hold the record is meant.",
    },
    "BindingItem": {"retrieved": "The receipt and token of a RETRIEVE in the session that it carries; left out: none."},
    "PeriodItem": {"start": "The first moment.", "end": "The last moment."},
    "ClaimItem": {
        "basis": "The basis that is asked for.",
        "about": "The time that is asserted about; left out: now.",
        "required-fields": "The fields that must be there.",
    },
}
_ASKED: Final[Mapping[str, Mapping[str, str]]] = {
    "QuestionItem": {
        "locale": "The language of the texts.",
        "need-numbers": "That the answer needs numbers.",
        "need-advice": "That the answer asks for advice.",
        "kind": "The segment's kind.",
        "grounding": "Whether the segment rests on records.",
        "claim": "What the segment asserts; left out: nothing.",
        "policy-age": "How long ago the policy's source was read; left out: just now.",
        "expect": "What the decision must be.",
        "never": "What it must never be: one outcome or several.",
    },
    "CaseItem": {
        "name": "Names the case; unique in its test.",
        "moment": "The moment that is asked about.",
        "principal": "Who wants to read; in short an id.",
        "caller": "Who is on the line.",
        "session": "The session.",
        "now": "The clock of this case; left out: that of the test.",
        "bindings": "What the segment rests on; in short record ids.",
    },
    "Told": {
        "verdict": "ALLOW, WITHHOLD or PURGE.",
        "reason": "The cause; NOT_AVAILABLE: whatever the reader is told so.",
        "rule": "The rule that decided.",
        "custom-reason": "The rule's own word.",
        "gate": "The gate that decided.",
        "text": "The name of the text.",
        "next": "What the reader may do next.",
        "error": "What a condition lacked, as the audit says it.",
        "advice": "Whether the answer may lean towards advice.",
        "observed": "All rules in observe mode that would have withheld.",
    },
    "SequenceItem": {
        "name": "Names the sequence; unique in its test.",
        "principal": "Who asks where a step does not say.",
        "caller": "Who is on the line where a step does not say.",
        "session": "The session where a step does not say.",
        "steps": "What happens, one thing after another; each step has one verb.",
    },
    "AskStep": {
        "retrieve": "Asks at RETRIEVE for these records.",
        "publish": "Asks at PUBLISH for a segment that rests on these.",
        "commit": "Commits such a segment, under the name `as`.",
        "commit-again": "Makes the commit of this name again, as it was.",
        "replay": "Asks at REPLAY for the commit of this name.",
        "as": "The name of a commit, or of a retrieve.",
        "receipts": "Whose receipts the bindings carry: `own`, `none`, or those of the retrieve of this name.",
        "principal": "Who wants to read; left out: as the sequence says.",
        "caller": "Who is on the line; left out: as the sequence says.",
        "session": "The session; left out: as the sequence says.",
    },
    "ActStep": {
        "refused": "That the server refuses the step.",
        "put": "Registers a record version.",
        "suspend": "Suspends a record.",
        "resume": "Ends a suspension.",
        "supersede": "Names what replaces a record.",
        "set-scopes": "Gives a record other scopes.",
        "assess": "Assesses a record.",
        "unreachable": "Marks a record's original as unreachable.",
        "reachable": "Takes that mark back.",
        "revoke": "Revokes the retention of a record; in short its id.",
        "grant": "Gives a principal a scope.",
        "withdraw": "Takes a scope back.",
        "policy": "Brings another revision of the policy into force; in short the name of an environment.",
        "wait": "Lets so much time pass.",
        "at": "Lets time pass until then.",
    },
    "PolicyStep": {
        "environment": "The environment; left out: that of the run.",
        "parameters": "Values of parameters, over those of the environment.",
    },
    "PutStep": {"record": "The record version.", "supersedes": "The version that it replaces."},
    "SupersedeStep": {"record": "What is replaced.", "by": "What replaces it; left out: nothing any more."},
    "ScopesStep": {"record": "The record.", "scopes": "All its scopes from now on."},
    "AssessStep": {"record": "The record.", "expires-at": "Until when it is eligible; left out: it is not any more."},
    "RevokeStep": {
        "record": "The record.",
        "purge-not-before": "When copies must go; left out: at once.",
        "ticket": "The ticket of the revoke.",
    },
    "GrantStep": {
        "principal": "Who is given it.",
        "scope": "What is given.",
        "not-before": "When it begins; left out: at once.",
        "expires-at": "When it ends; left out: it does not.",
    },
    "WithdrawStep": {"principal": "Who loses it.", "scope": "What is lost."},
}
MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {"Kind": _KIND, **_POLICY, **_STATE, **_ASKED}


def meaning_of(model: type[BaseModel], key: str) -> str:
    """Returns what a key of a model is for, as the closest class says that declares it. Raises KeyError."""
    for owner in model.__mro__:
        if key in MEANINGS.get(owner.__name__, {}):
            return MEANINGS[owner.__name__][key]
    raise KeyError(f"{model.__name__}.{key}")
