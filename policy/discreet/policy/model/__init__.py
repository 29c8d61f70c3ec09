"""What policy files may say: their kinds as models, and files read into them with every problem placed."""

from discreet.policy.model.kinds import (
    Definitions,
    DisclosurePolicy,
    Embargo,
    Environment,
    Owners,
    PolicySet,
    RetentionPolicy,
    RuleItem,
    SourceItem,
    SourceList,
    Texts,
)
from discreet.policy.model.load import Loaded, load
from discreet.policy.model.placed import Placed

__all__ = [
    "Definitions",
    "DisclosurePolicy",
    "Embargo",
    "Environment",
    "Loaded",
    "Owners",
    "Placed",
    "PolicySet",
    "RetentionPolicy",
    "RuleItem",
    "SourceItem",
    "SourceList",
    "Texts",
    "load",
]
