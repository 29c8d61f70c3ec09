"""What policy files may say: their kinds as models, and files read into them with every problem placed."""

from discreet.policy.model.kinds import DisclosurePolicy, PolicySet, RuleItem, SourceItem, SourceList, Texts
from discreet.policy.model.load import Loaded, Placed, load

__all__ = [
    "DisclosurePolicy",
    "Loaded",
    "Placed",
    "PolicySet",
    "RuleItem",
    "SourceItem",
    "SourceList",
    "Texts",
    "load",
]
