"""Fixed texts for a reader where the sidecar gave none: it is down, silent, or answered what no client may trust.

They are chosen by reason and locale and never composed. None calls what is not shown the latest or the current state,
and none offers an older figure in its place. Texts of the policy come with the answers and are not known here.
"""

from discreet.client.words import Reason

LOCALES = ("en", "zh-Hans")

_TEXTS = {
    ("en", Reason.DEPENDENCY_UNAVAILABLE): (
        "This part is not shown: whether it may be shown could not be checked. Nothing was put in its place. "
        "You may ask again."
    ),
    (
        "zh-Hans",
        Reason.DEPENDENCY_UNAVAILABLE,
    ): "此部分未予显示：未能核实是否可以显示，也没有用其他内容代替。您可以主动再次提问。",
    ("en", Reason.NOT_AVAILABLE): "This is not available.",
    ("zh-Hans", Reason.NOT_AVAILABLE): "此内容不可用。",
}


def fixed_text(reason: Reason, locale: str) -> str:
    """The built-in text for a reason in a locale; a reason without one gets that of DEPENDENCY_UNAVAILABLE.

    An unknown locale cannot be reported at this point and gets English.
    """
    chosen = locale if locale in LOCALES else LOCALES[0]
    return _TEXTS.get((chosen, reason)) or _TEXTS[chosen, Reason.DEPENDENCY_UNAVAILABLE]
