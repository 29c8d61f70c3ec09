"""Conditions: the expression language CEL on native Python values.

Text becomes a tree by cel-python's grammar, behind a guard; the tree is checked against a declared activation and
compiled to closures, which run within a step budget. Nothing here does I/O or knows what the conditions are for.

>>> schema = Schema({"document": Record({"kind": STRING, "attributes": MAP_DYN})})
>>> condition = compile_condition('document.kind == "memo" && document.attributes.desk == "north"', schema)
>>> condition.evaluate({"document": {"kind": "memo", "attributes": {"desk": "north"}}}, Budget())
True
>>> sorted(condition.reads)
['document.attributes.desk', 'document.kind']
"""

from discreet.policy.cel.condition import Condition, Part, compile_condition, condition_from_tree
from discreet.policy.cel.errors import CelError, ConditionFailure, CostExceeded, ErrorCode, EvaluationError
from discreet.policy.cel.limits import DEFAULT, DEFAULT_STEPS, Budget, Limits
from discreet.policy.cel.schema import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST_DYN,
    MAP_DYN,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Optional,
    Record,
    Schema,
    Type,
    list_of,
    map_of,
    optional,
)
from discreet.policy.cel.values import Duration, Timestamp, Uint

__all__ = [
    "BOOL",
    "BYTES",
    "DEFAULT",
    "DEFAULT_STEPS",
    "DOUBLE",
    "DURATION",
    "DYN",
    "INT",
    "LIST_DYN",
    "MAP_DYN",
    "NULL",
    "STRING",
    "TIMESTAMP",
    "UINT",
    "Budget",
    "CelError",
    "Condition",
    "ConditionFailure",
    "CostExceeded",
    "Duration",
    "ErrorCode",
    "EvaluationError",
    "Limits",
    "Optional",
    "Part",
    "Record",
    "Schema",
    "Timestamp",
    "Type",
    "Uint",
    "compile_condition",
    "condition_from_tree",
    "list_of",
    "map_of",
    "optional",
]
