"""Which method is whose, and which tenant: one table, refusals on record."""

from __future__ import annotations

import dataclasses

import pytest
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2  # type: ignore[import-untyped] # ships no types
from grpc_reflection.v1alpha import reflection_pb2  # type: ignore[import-untyped] # ships no types

from discreet.policy.facts import Caller
from discreet.policy.words import Role
from discreet.server.errors import Denied
from discreet.server.identity.access import METHODS, require_method
from discreet.server.identity.callers import ONE_DEVELOPER, Identity
from discreet.v1 import (
    audit_pb2,
    authority_pb2,
    common_pb2,
    disclosure_pb2,
    index_pb2,
    policy_pb2,
    purge_pb2,
    server_pb2,
)
from tests.server.support import TENANT, PolicyRepo, Running, audit_rows, check, config_of, document, in_process

FILES = (
    disclosure_pb2,
    index_pb2,
    authority_pb2,
    purge_pb2,
    policy_pb2,
    audit_pb2,
    server_pb2,
    health_pb2,
    reflection_pb2,
)


def described() -> dict[str, type]:
    """Every method of every service that is served, with its request."""
    return {
        f"/{service.full_name}/{method.name}": GetMessageClass(method.input_type)
        for file in FILES
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }


def test_every_method_of_every_service_is_in_the_table_and_no_other() -> None:
    """A13: a method that nobody thought about is nobody's; the table and the descriptors agree."""
    assert set(METHODS) == set(described())
    assert all(METHODS.values())


def test_every_method_of_ours_is_served(running: Running) -> None:
    """What the API describes is answered by something."""
    methods = running.server.methods
    assert methods is not None
    ours = {name for name in METHODS if name.startswith("/discreet.")}
    assert set(methods.unary) | set(methods.streams) == ours


def test_the_question_path_can_change_nothing() -> None:
    """A13: what an agent may call reads, checks and commits.

    Nothing of the index, the grants or the policy is its to change.
    """
    agents = {name for name, roles in METHODS.items() if Role.AGENT in roles and name.startswith("/discreet.")}
    assert {name.split("/")[1] for name in agents} == {"discreet.v1.DisclosureService", "discreet.v1.ServerService"}


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("method", sorted(name for name in METHODS if name.startswith("/discreet.")))
async def test_a_method_is_refused_to_every_role_it_is_not_for(role: Role, method: str) -> None:
    """The table decides, whoever asks."""
    caller = Caller("x", role, None)
    if role in METHODS[method]:
        require_method(caller, method)
    else:
        with pytest.raises(Denied, match="is for "):
            require_method(caller, method)


async def test_a_refused_method_is_permission_denied_and_on_record(running: Running) -> None:
    """A13, A16.

    An agent that tries to revoke is refused before its message is read, and the audit says who tried what.
    """
    request = index_pb2.RevokeRetentionRequest(tenant=TENANT)
    error = await running.lines.agent.refused(request)
    assert (error.code().name, error.details()) == (
        "PERMISSION_DENIED",
        "RevokeRetention is for operator; this listener's identity is agent",
    )
    last = audit_rows(running.server.config.db)[-1]
    assert (last.act, last.caller.name, last.change.method) == (audit_pb2.AUDIT_ACT_REFUSED, "agent", "RevokeRetention")
    assert last.request_id


async def test_an_unknown_method_is_unimplemented(running: Running) -> None:
    """A method that is no one's does not exist."""
    error = await running.lines.agent.refused(("DisclosureService/Render", b""))
    assert error.code().name == "UNIMPLEMENTED"


async def test_tenants_bound_what_an_identity_can_name(place: object, repo: PolicyRepo) -> None:
    """One tenant may be left out; more than one must be named; one outside the entitlement is refused and on record."""
    identities = (
        Identity("one", Role.AGENT, ("acme",)),
        Identity("two", Role.AGENT, ("acme", "bolt")),
        Identity("collector", Role.COLLECTOR, None),
        Identity("auditor", Role.AUDITOR, ("acme",)),
    )
    async with in_process(
        dataclasses.replace(config_of(repo.path.parent, repo.path), identities=identities)
    ) as running:
        await running.lines.collector.put(document())
        unnamed, foreign = check(tenant=""), check(tenant="bolt")
        answered = await running.lines["one"].check(unnamed)
        assert answered.results[0].verdict == common_pb2.VERDICT_ALLOW
        error = await running.lines["two"].refused(unnamed)
        assert (error.code().name, (error.details() or "").split(":")[0]) == ("INVALID_ARGUMENT", "tenant")
        assert (await running.lines["one"].refused(foreign)).code().name == "PERMISSION_DENIED"
        assert audit_rows(running.server.config.db)[-1].act == audit_pb2.AUDIT_ACT_REFUSED
        other = await running.lines["two"].check(foreign)
        assert other.results[0].reason == common_pb2.REASON_NOT_AVAILABLE
        await running.lines.collector.put(document(), tenant="bolt")
        assert {row.tenant for row in await running.lines.auditor.decisions()} == {"acme"}


def test_the_default_is_one_identity_a_role() -> None:
    """Zero configuration serves one developer: an identity for every role, of every tenant."""
    assert [(one.name, one.role) for one in ONE_DEVELOPER] == [(role.short, role) for role in Role]
    assert all(one.tenants is None for one in ONE_DEVELOPER)


async def test_info_says_who_the_caller_is(running: Running) -> None:
    """A client learns its identity and the API's level."""
    info = await running.lines.auditor.call(server_pb2.GetServerInfoRequest())
    assert isinstance(info, server_pb2.GetServerInfoResponse)
    assert (info.caller_name, info.caller_role, list(info.tenants)) == ("auditor", "auditor", ["*"])
    assert info.api_level >= 1
    assert info.version
