"""Retrieval receipts: proof that a record version was allowed at RETRIEVE to this principal in this session."""

import base64
import hashlib
import hmac
from collections.abc import Iterable

from discreet.policy.facts import ReceiptKey
from discreet.policy.request import Binding, Request

RECEIPT_CHARS_MAX = 128


def message(parts: Iterable[str]) -> bytes:
    """The parts, each with its length before it: no two different lists give the same bytes (REV-08)."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded)


def _mac(key: ReceiptKey, request: Request, binding: Binding) -> str:
    parts = (
        "receipt-v1",
        request.tenant,
        request.session_id,
        request.principal.id,
        binding.record_id,
        binding.version,
        binding.digest,
    )
    digest = hmac.new(key.secret, message(parts), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def issue(keys: tuple[ReceiptKey, ...], request: Request, binding: Binding) -> str:
    """A receipt under the newest key; empty where there is none."""
    return f"{keys[-1].key_id}.{_mac(keys[-1], request, binding)}" if keys else ""


def holds(keys: tuple[ReceiptKey, ...], request: Request, binding: Binding) -> bool:
    """True where the binding's receipt is of one of the keys, and of exactly this session, principal and version."""
    key_id, _, mac = binding.receipt.partition(".")
    return any(
        key.key_id == key_id and hmac.compare_digest(mac.encode(), _mac(key, request, binding).encode()) for key in keys
    )
