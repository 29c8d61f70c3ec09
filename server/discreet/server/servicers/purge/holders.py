"""RegisterHolder, RemoveHolder, ListHolders: who keeps copies, of what, and where items are posted to."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from discreet.policy.codec import Malformed
from discreet.policy.facts import Micros
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import HolderKind, Role
from discreet.server.auditing import Change
from discreet.server.calls import Call
from discreet.server.config import LOOPBACK
from discreet.server.errors import Denied, NotFound
from discreet.server.identity.callers import Identity
from discreet.server.ports import Work
from discreet.server.ports_authority import HolderRow
from discreet.server.servicers import fields
from discreet.server.servicers.index.messages import token_of
from discreet.server.servicers.index.transacting import Transacting
from discreet.server.servicers.purge.messages import holder_message, kind_of
from discreet.server.servicers.purge.tide import Tide
from discreet.v1 import purge_pb2 as pb

LABELS_MAX: Final = 256
URL_BYTES_MAX: Final = 1_024
SECRET_BYTES: Final = 32
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,47}", re.ASCII)
_URL: Final = re.compile(r"[!-~]+", re.ASCII)


class Holders:
    """Answers the methods on holders of PurgeService."""

    def __init__(self, transacting: Transacting, identities: Sequence[Identity], tide: Tide) -> None:
        self._transacting = transacting
        self._identities = identities
        self._tide = tide

    async def register(self, call: Call, request: pb.RegisterHolderRequest) -> pb.RegisterHolderResponse:
        """Registers a holder, or changes what it keeps; nothing is written where it stands so."""
        tenant = fields.tenant(call, request.tenant)
        wanted = self._wanted(call, tenant, request)

        def work(index: Work, _snapshot: Snapshot | None) -> pb.RegisterHolderResponse:
            return self._register(index, call, tenant, wanted)

        response = await self._transacting.change(call, work)
        self._tide.news()
        return response

    def _register(self, index: Work, call: Call, tenant: str, wanted: HolderRow) -> pb.RegisterHolderResponse:
        standing = {row.holder: row for row in index.purges.holders(tenant)}.get(wanted.holder)
        kept = standing is not None and standing.webhook_url == wanted.webhook_url
        told = secrets.token_bytes(SECRET_BYTES) if wanted.webhook_url and not kept else None
        secret = standing.webhook_secret if standing is not None and kept else told
        row = wanted._replace(at=index.now, webhook_secret=secret)
        if standing is None or standing._replace(at=row.at) != row:
            index.purges.write_holder(tenant, row, call.caller.name, "")
            self._transacting.audit(index, call, tenant, [Change(call.name, detail=_said(row))])
        added = index.purges.add_parts(tenant, row)
        return pb.RegisterHolderResponse(
            token=token_of(index.head), webhook_secret=told.hex() if told is not None else "", open_items=added
        )

    def _wanted(self, call: Call, tenant: str, request: pb.RegisterHolderRequest) -> HolderRow:
        """What is asked for, checked. Raises Malformed, Denied."""
        if call.caller.role is Role.HOLDER:
            _require_own(call, tenant, request)
        name = request.holder or (call.caller.name if call.caller.role is Role.HOLDER else "")
        if not _NAME.fullmatch(name):
            raise Malformed("holder", "is no identity's name", "give one that matches [a-z0-9][a-z0-9._-]{0,47}")
        kind = kind_of(request.kind)
        labels = _labels(kind, request.source_labels)
        url = checked_url(request.webhook_url)
        named = any(one.name == name for one in self._identities)
        if (named or not url) and not self._is_known(name, tenant):
            raise Malformed(
                "holder",
                "is no identity of the role holder that is entitled to the tenant",
                "declare it in the server's configuration, or give a webhook_url and a name that is nobody's",
            )
        return HolderRow(name, kind, labels, url, None, Micros(0))

    def _is_known(self, name: str, tenant: str) -> bool:
        return any(
            one.name == name and one.role is Role.HOLDER and one.caller().may_reach(tenant) for one in self._identities
        )

    async def remove(self, call: Call, request: pb.RemoveHolderRequest) -> pb.RemoveHolderResponse:
        """Ends a registration; none of the holder's open items is closed by it."""
        tenant, reason = fields.tenant(call, request.tenant), fields.reason(request.reason)
        if not _NAME.fullmatch(request.holder):
            raise Malformed("holder", "is no identity's name", "give that of a registered holder")

        def work(index: Work, _snapshot: Snapshot | None) -> pb.RemoveHolderResponse:
            row = {row.holder: row for row in index.purges.holders(tenant)}.get(request.holder)
            if row is None:
                raise NotFound("holder: none of that name is registered for this tenant")
            gone = row._replace(removed=True, at=index.now, webhook_secret=None)
            index.purges.write_holder(tenant, gone, call.caller.name, reason)
            still = index.purges.open_items(tenant, row.holder)
            detail = f"holder {row.holder} removed; {still} of its items stay open"
            self._transacting.audit(index, call, tenant, [Change(call.name, reason=reason, detail=detail)])
            return pb.RemoveHolderResponse(token=token_of(index.head), open_items=still)

        return await self._transacting.change(call, work)

    async def list_holders(self, call: Call, request: pb.ListHoldersRequest) -> pb.ListHoldersResponse:
        """The holders of a tenant, in the order of their names."""
        tenant = fields.tenant(call, request.tenant)
        rows, still, posts = await self._transacting.read(
            call,
            self._transacting.store.look(
                lambda look: (
                    look.holders(tenant, removed=request.removed),
                    look.purges.open_items(tenant),
                    look.purges.posting(tenant),
                )
            ),
        )
        listed = [holder_message(row, still.get(row.holder, 0), posts.get(row.holder, (0, ""))) for row in rows]
        return pb.ListHoldersResponse(holders=listed)


def _require_own(call: Call, tenant: str, request: pb.RegisterHolderRequest) -> None:
    """What a holder may not ask for: to be another one, or to be posted to."""
    if request.holder not in ("", call.caller.name):
        raise Denied("holder: a holder registers itself; ask an operator for another", tenant=tenant)
    if request.webhook_url:
        raise Denied("webhook_url: only an operator says where items are posted to", tenant=tenant)


def _labels(kind: HolderKind, given: Sequence[str]) -> tuple[str, ...]:
    if kind is HolderKind.SEGMENT_STORE and given:
        raise Malformed("source_labels", "cannot be given here", "only a DOCUMENT_STORE keeps sources")
    fields.count("source_labels", len(given), 0, LABELS_MAX)
    for place, label in enumerate(given):
        fields.label(label, f"source_labels[{place}]")
    fields.distinct("source_labels", given)
    return tuple(sorted(given))


def checked_url(text: str) -> str:
    """An address that may be posted to; empty where there is none. Raises Malformed, without the address in it."""
    if not text:
        return ""
    hint = "give https://HOST/PATH, or http on 127.0.0.1, [::1] or localhost"
    if len(text) > URL_BYTES_MAX or not _URL.fullmatch(text):
        raise Malformed("webhook_url", "is too long, or holds more than printable ASCII", hint)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Malformed("webhook_url", "is no address", hint) from None
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise Malformed("webhook_url", "holds a user, a password or a fragment", "posts are signed instead")
    host = parts.hostname or ""
    local = (f"[{host}]" if ":" in host else host) in LOOPBACK
    if not host or port == 0 or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise Malformed("webhook_url", "is none that items may be posted to", hint)
    return text


def _said(row: HolderRow) -> str:
    """A registration in words for the audit: where posts go is not told, since an address may hold a secret."""
    keeps = ", ".join(row.labels[:8]) + (", ..." if len(row.labels) > 8 else "") if row.labels else "all sources"
    keeps = f" of {keeps}" if row.kind is HolderKind.DOCUMENT_STORE else ""
    return f"holder {row.holder}: {row.kind.short}{keeps}{', posted to' if row.webhook_url else ''}"
