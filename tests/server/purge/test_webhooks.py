"""Items that are posted to a holder: signed, claimed by one server, and with every failure visible."""

from __future__ import annotations

import hashlib
import hmac
import ssl
import subprocess
from pathlib import Path

import pytest

from discreet.server.servicers.purge.webhook import RESPONSE_BYTES_MAX
from discreet.v1 import purge_pb2 as pb
from tests.server.purge.hooking import Answer, Hook, hooked, purged
from tests.server.purge.orders import DOCUMENTS, Outcome, Scene, registered
from tests.server.support import TENANT, eventually


async def hook_holder(stage: Scene, hook: Hook) -> str:
    """The secret of a document store that is posted to."""
    asked = pb.RegisterHolderRequest(tenant=TENANT, holder="hook", kind=DOCUMENTS, webhook_url=hook.address + "/purge")
    return (await registered(stage.line("operator"), asked)).webhook_secret


async def holder(stage: Scene) -> pb.Holder:
    """The holder as it stands."""
    told = await stage.line("operator").call(pb.ListHoldersRequest(tenant=TENANT))
    assert isinstance(told, pb.ListHoldersResponse)
    return told.holders[0]


async def test_a_post_is_signed_and_its_answer_taken_down(stage: Scene) -> None:
    """F3: what is posted can be told from a forgery; the answers in the response count as the holder's own."""
    with hooked(purged) as hook:
        secret = await hook_holder(stage, hook)
        order = await stage.revoke()

        async def done() -> bool:
            return (await stage.orders())[0].done

        await eventually(done)
    ((signature, body),) = hook.posts
    at, mac = (part.split("=", 1)[1] for part in signature.split(","))
    assert hmac.compare_digest(
        mac, hmac.new(bytes.fromhex(secret), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    )
    assert hook.items() == [(order, 2)]
    assert secret not in stage.running.log.getvalue()


async def test_what_a_post_leaves_open_is_answered_later_and_not_posted_again(stage: Scene) -> None:
    """F3: 202 and no answers: the holder answers when it is ready, over the other way."""
    with hooked(lambda _: (202, b"")) as hook:
        await hook_holder(stage, hook)
        order = await stage.revoke()
        await eventually(lambda: _so(bool(hook.posts)))
        other = await stage.revoke("handbook/other")
        await eventually(lambda: _so(len(hook.posts) == 2))
        assert hook.items() == [(order, 2), (other, 1)]
        assert set((await stage.states(order)).values()) == {"OPEN"}


async def _so(value: bool) -> bool:
    return value


def _large(_: dict[str, object]) -> Answer:
    return 200, b'{"acks": []}' + b" " * RESPONSE_BYTES_MAX


@pytest.mark.parametrize(
    "answer, failure",
    [
        (lambda _: (500, b"secret words"), "answered HTTP 500"),
        (lambda _: (302, b""), "answered HTTP 302"),
        (lambda _: (200, b"secret words"), "the answer is no AckPurgeRequest in JSON"),
        (lambda _: (200, b'{"acks": [{"item": 1}]}'), "the answer is refused: acks[0].order_id"),
        (_large, f"the answer is larger than {RESPONSE_BYTES_MAX} bytes"),
    ],
)
async def test_a_failed_post_is_visible_and_made_again_after_a_while(
    stage: Scene, answer: object, failure: str
) -> None:
    """RET-01: a store that answers 500 is retried; no redirect is followed, nothing large is read, nothing is shown."""
    with hooked(answer) as hook:  # type: ignore[arg-type] # the answers above
        await hook_holder(stage, hook)
        order = await stage.revoke()

        async def failed() -> bool:
            return (await holder(stage)).post_failures == 1

        await eventually(failed)
        told = await holder(stage)
        assert told.post_failure.startswith(failure)
        assert (len(hook.posts), hook.gets) == (1, 0)
        hook.answer = purged
        stage.later(6)

        async def done() -> bool:
            return (await stage.orders())[0].done

        await eventually(done)
        assert hook.items() == [(order, 2), (order, 2)]
        assert ((await holder(stage)).post_failures, (await holder(stage)).post_failure) == (0, "")
    assert "secret words" not in stage.running.log.getvalue()


async def test_an_address_that_cannot_be_reached_is_told_without_it(stage: Scene) -> None:
    """OBS-03: the failure says what kind it is; the address stands in no log."""
    with hooked(purged) as hook:
        pass
    await hook_holder(stage, hook)
    await stage.revoke()

    async def failed() -> bool:
        return (await holder(stage)).post_failures == 1

    await eventually(failed)
    assert (await holder(stage)).post_failure == "cannot be reached"
    assert hook.address not in stage.running.log.getvalue()


def self_made(place: Path) -> ssl.SSLContext:
    """A certificate that the server made for itself."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "cert", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        cwd=place, check=True, capture_output=True,
    )  # fmt: skip
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(place / "cert", place / "key")
    return tls


async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(stage: Scene, place: Path) -> None:
    """F3: nothing is posted over a line to whoever happens to listen there."""
    tls = self_made(place)
    with hooked(purged, tls) as hook:
        await hook_holder(stage, hook)
        await stage.revoke()

        async def failed() -> bool:
            return (await holder(stage)).post_failures == 1

        await eventually(failed)
        assert (await holder(stage)).post_failure == "the certificate, or the line, cannot be trusted"
        assert hook.posts == []


async def test_a_hold_is_posted_as_a_recall(stage: Scene) -> None:
    """F3: what was posted and came under a hold is recalled the same way."""
    with hooked(lambda _: (202, b"")) as hook:
        await hook_holder(stage, hook)
        order = await stage.revoke()
        await eventually(lambda: _so(len(hook.posts) == 1))
        await stage.hold()
        await eventually(lambda: _so(len(hook.posts) == 2))
        recalled = pb.PurgePost()
        from google.protobuf import json_format

        json_format.Parse(hook.posts[1][1], recalled)
        assert [(one.order_id, one.item) for one in recalled.recalls] == [(order, 2)]
        assert await stage.ack("vectors", order, 2, Outcome.PURGE_OUTCOME_PURGED) == (
            "",
            "there is no such item in this holder's part",
        )
