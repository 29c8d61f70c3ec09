"""The texts that readers see where a policy says nothing else: one a reason, in English and Simplified Chinese.

Readers who fail on tenant, existence or scope see one text whatever the cause (F11): these causes share it.
Every text passes the lint that policies' own texts must pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from discreet.policy.words import Reason

TEXT_CHARS_MAX: Final = 600

_EN: Final = {
    Reason.NOT_AVAILABLE: "This part of the answer is not available.",
    Reason.RETENTION_REVOKED: "This content was withdrawn for good and is no longer shown.",
    Reason.LEGAL_HOLD: "This content is under a legal hold and is not shown.",
    Reason.SUSPENDED: "This content is suspended and is not shown for the time being.",
    Reason.FROZEN: "Disclosure of this content is frozen; it is not shown for the time being.",
    Reason.TOMBSTONED: "This content was withdrawn earlier and is not taken in again.",
    Reason.NO_BINDING: "This part does not name what it rests on, so it is not shown.",
    Reason.UNTRUSTED_SOURCE: "This part rests on a source that is not approved, so it is not shown.",
    Reason.COLLECTOR_NOT_ENTITLED: "This part rests on a record that was not registered by its source's collector.",
    Reason.VERSION_MISMATCH: "This part rests on another version than the registered one, so it is not shown.",
    Reason.SUPERSEDED: "This part rests on a version that has been replaced, so it is not shown.",
    Reason.CONTENT_MISMATCH: "What this part rests on differs from the registered content, so it is not shown.",
    Reason.POLICY_REVISION_CHANGED: "The policy changed after this part was read. Please ask again.",
    Reason.AUTH_REVISION_CHANGED: "The reader's permissions changed after this part was read. Please ask again.",
    Reason.ASSESSMENT_EXPIRED: "The assessment of this content has run out; it is hidden until it is assessed again.",
    Reason.DOCUMENT_UNREACHABLE: "The original of this content cannot be reached; it is not shown for the time being.",
    Reason.ELIGIBILITY_UNKNOWN: "It is not known whether this content may be shown, so it is not shown.",
    Reason.NOT_RETRIEVED: "This part rests on content that was not retrieved in this session, so it is not shown.",
    Reason.PARENT_UNUSABLE: "This part was made from another part that may not be shown.",
    Reason.STALE: (
        "There is no fresh trusted evidence for this part. No assertion about the current state was made. "
        "An explicit retry is possible."
    ),
    Reason.FRESHNESS_UNKNOWN: "It is not known how old the evidence for this part is, so nothing is asserted.",
    Reason.EVIDENCE_MISSING: "There is no evidence for this part, so nothing is asserted.",
    Reason.BASIS_MISMATCH: "The evidence is counted in another way than the question asks for, so nothing is asserted.",
    Reason.INCOMPLETE: "The evidence for this part is incomplete, so none of it is used.",
    Reason.NO_TRUSTED_FACT: "There is no trusted fact for this part, so no number is given.",
    Reason.UNSUPPORTED_NUMBER: "A number in this part is not supported by a trusted fact, so it is not shown.",
    Reason.CITATION_MISSING: "An assertion in this part has no citation, so it is not shown.",
    Reason.POLICY_RULE: "The disclosure policy does not allow this part to be shown.",
    Reason.POLICY_ERROR: "The disclosure policy could not be evaluated for this part, so it is not shown.",
    Reason.POLICY_STALE: "The disclosure policy could not be renewed in time; nothing is shown for the time being.",
    Reason.COST_EXCEEDED: "Deciding on this part would have taken too long, so it is not shown.",
    Reason.AUDIT_UNAVAILABLE: "The decision on this part could not be recorded, so it is not shown. Please try later.",
    Reason.DEPENDENCY_UNAVAILABLE: "A service that is needed to decide cannot be reached. Please try again later.",
}
_ZH_HANS: Final = {
    Reason.NOT_AVAILABLE: "这部分内容无法提供。",
    Reason.RETENTION_REVOKED: "该内容已被永久撤回，不再展示。",
    Reason.LEGAL_HOLD: "该内容处于法律保全之中，不予展示。",
    Reason.SUSPENDED: "该内容已暂停使用，暂不展示。",
    Reason.FROZEN: "该内容的披露已被冻结，暂不展示。",
    Reason.TOMBSTONED: "该内容此前已被撤回，不再收录。",
    Reason.NO_BINDING: "这部分内容没有说明其依据，不予展示。",
    Reason.UNTRUSTED_SOURCE: "这部分内容所依据的来源未获批准，不予展示。",
    Reason.COLLECTOR_NOT_ENTITLED: "这部分内容所依据的记录并非由该来源的采集方登记，不予展示。",
    Reason.VERSION_MISMATCH: "这部分内容所依据的版本与登记的版本不一致，不予展示。",
    Reason.SUPERSEDED: "这部分内容所依据的版本已被替换，不予展示。",
    Reason.CONTENT_MISMATCH: "这部分内容的依据与登记的内容不符，不予展示。",
    Reason.POLICY_REVISION_CHANGED: "读取这部分内容之后策略已有变更，请重新提问。",
    Reason.AUTH_REVISION_CHANGED: "读取这部分内容之后读者的权限已有变更，请重新提问。",
    Reason.ASSESSMENT_EXPIRED: "该内容的评估已过期，重新评估之前不予展示。",
    Reason.DOCUMENT_UNREACHABLE: "该内容的原件无法访问，暂不展示。",
    Reason.ELIGIBILITY_UNKNOWN: "无法确认该内容是否可以展示，不予展示。",
    Reason.NOT_RETRIEVED: "这部分内容所依据的材料并非在本次会话中取得，不予展示。",
    Reason.PARENT_UNUSABLE: "这部分内容由另一段不可展示的内容得出，不予展示。",
    Reason.STALE: "这部分内容没有新鲜的可信证据。未对当前状态作出任何断言。可以明确要求重试。",
    Reason.FRESHNESS_UNKNOWN: "无法确认这部分内容的证据有多久，因此不作任何断言。",
    Reason.EVIDENCE_MISSING: "这部分内容没有证据，因此不作任何断言。",
    Reason.BASIS_MISMATCH: "证据的统计口径与问题所问的不同，因此不作任何断言。",
    Reason.INCOMPLETE: "这部分内容的证据不完整，因此整体不予采用。",
    Reason.NO_TRUSTED_FACT: "这部分内容没有可信的事实，因此不给出任何数字。",
    Reason.UNSUPPORTED_NUMBER: "这部分内容中有数字缺少可信事实的支持，不予展示。",
    Reason.CITATION_MISSING: "这部分内容中有断言缺少引用，不予展示。",
    Reason.POLICY_RULE: "披露策略不允许展示这部分内容。",
    Reason.POLICY_ERROR: "无法对这部分内容执行披露策略，不予展示。",
    Reason.POLICY_STALE: "披露策略未能及时更新，暂不展示任何内容。",
    Reason.COST_EXCEEDED: "对这部分内容作出判断所需的时间过长，不予展示。",
    Reason.AUDIT_UNAVAILABLE: "无法记录对这部分内容的判断，不予展示，请稍后重试。",
    Reason.DEPENDENCY_UNAVAILABLE: "无法连接作出判断所需的服务，请稍后重试。",
}

OVERRIDABLE: Final = frozenset(reason.short for reason in _EN)
"""The template ids of reasons that a policy may reword; the causes behind NOT_AVAILABLE are told as that alone."""


def _alike(texts: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the texts with that of NOT_AVAILABLE under every cause that readers may not tell apart (F11)."""
    hidden = {reason.short: texts[Reason.NOT_AVAILABLE.short] for reason in Reason if reason.looks_unavailable}
    return MappingProxyType({**texts, **hidden})


BUILTIN: Final[Mapping[str, Mapping[str, str]]] = {
    locale: _alike({reason.short: text for reason, text in texts.items()})
    for locale, texts in (("en", _EN), ("zh-Hans", _ZH_HANS))
}
"""Locale, then template id, which is a reason's short name: every reason but NONE."""


def reader_texts(locale: str, own: Mapping[str, str]) -> Mapping[str, str]:
    """Returns all texts of a locale by template id: the built-in ones, reworded or joined by a policy's `own`."""
    return _alike({**BUILTIN[locale], **own})
