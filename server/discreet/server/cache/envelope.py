"""What is kept under a bundle's key: the bundle behind a head that names it, so that a wrong reply shows at once."""

from __future__ import annotations

from typing import Final

MAGIC: Final = b"discreet bundle 1\n"
BUNDLE_BYTES_MAX: Final = 2 * 1024 * 1024
"""A larger bundle is not kept, and not read: SQL has it. So much is read well within the bound of an exchange."""
HEAD_BYTES: Final = len(MAGIC) + 64 + 8
READ_BYTES_MAX: Final = HEAD_BYTES + BUNDLE_BYTES_MAX + 1
"""So much is asked for: one byte more than there can be."""


def sealed(digest: str, bundle: bytes) -> bytes | None:
    """The value to keep; None for a bundle that is too large, or a digest that is none."""
    if len(bundle) > BUNDLE_BYTES_MAX or len(digest) != 64 or not digest.isascii():
        return None
    return MAGIC + digest.encode() + len(bundle).to_bytes(8, "big") + bundle


def opened(digest: str, value: bytes) -> bytes | None:
    """The bundle in a value that is of this version, names this digest and is whole; None for any other."""
    bundle = value[HEAD_BYTES:]
    return bundle if len(bundle) <= BUNDLE_BYTES_MAX and sealed(digest, bundle) == value else None
