"""Names that other implementations of the language offer as extensions and this one does not, for the sake of errors.

An author who tries one is told that it is known and left out, not that it might be a slip of the pen.
"""

from __future__ import annotations

from typing import Final

#: The extension and its functions, methods and macros. Names that mean something here are not among them.
EXTENSIONS: Final[dict[str, tuple[str, ...]]] = {
    "strings": (
        "charAt", "format", "indexOf", "join", "lastIndexOf", "lowerAscii", "quote", "replace", "reverse", "split",
        "substring", "trim", "upperAscii",
    ),
    "lists": ("distinct", "first", "flatten", "last", "range", "slice", "sort", "sortBy"),
    "sets": ("contains", "equivalent", "intersects"),
    "math": (
        "abs", "bitAnd", "bitNot", "bitOr", "bitShiftLeft", "bitShiftRight", "bitXor", "ceil", "floor", "greatest",
        "isFinite", "isInf", "isNaN", "least", "round", "sign", "sqrt", "trunc",
    ),
    "two-variable macros": ("existsOne", "transformList", "transformMap", "transformMapEntry"),
    "bindings": ("bind", "block", "index"),
    "optionals": ("hasValue", "none", "of", "ofNonZeroValue", "optFlatMap", "optMap", "or", "orValue", "unwrapOpt"),
    "encoders": ("decode", "encode"),
    "protocol buffers": ("getExt", "hasExt"),
    "regular expressions": ("capture", "captureN", "extract", "extractAll", "find", "findAll"),
    "networks": ("cidr", "ip", "isCIDR", "isIP", "isURL", "url"),
    "Kubernetes": ("isQuantity", "isSemver", "quantity", "semver"),
}  # fmt: skip
_OF: Final = {name: extension for extension, names in EXTENSIONS.items() for name in names}


def absent_hint(name: str) -> str:
    """Returns which extension a name belongs to, or nothing for a name of none."""
    return f'it belongs to the extension "{_OF[name]}", which is not offered' if name in _OF else ""
