"""A set with environments: one of them is served, and the revision says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.server.errors import PolicyRefused
from discreet.server.policies.compile import compile_files, compile_row
from discreet.server.policies.tree import files_of_folder
from discreet.server.ports_policy import Origin
from tests.server.support import PolicyRepo, config_of, eventually, in_process

CLAIMS = """\
apiVersion: discreet/v1
kind: DisclosurePolicy
name: claims
empty: true
principal-scopes: {claimed-from: {parameter: portals}}
"""
ENVIRONMENT = "apiVersion: discreet/v1\nkind: Environment\nname: %s\nparameters: {portals: [%s]}\n"


@pytest.fixture
def estate(repo: PolicyRepo) -> PolicyRepo:
    """A set whose trusted callers depend on the environment."""
    with (repo.path / "discreet.yaml").open("a") as declared:
        declared.write("parameters: {portals: {type: list}}\n")
    (repo.path / "claims.yaml").write_text(CLAIMS)
    for name in ("production", "rehearsal"):
        (repo.path / f"{name}.yaml").write_text(ENVIRONMENT % (name, f"{name}-portal"))
    return repo


async def test_a_server_serves_the_environment_that_it_is_told(place: Path, estate: PolicyRepo) -> None:
    """E1: its values hold, its digest is its own, and what is published compiles to the same."""
    digests = set()
    for name in ("production", "rehearsal"):
        async with in_process(config_of(place, estate.path, dirty=True, environment=name)) as running:
            held = running.server.policies.snapshot
            row = await running.server.store.policy_row(0)
            assert held is not None
            assert row is not None
            again = compile_row(row)
            assert held.environment == again.environment == name
            assert held.claimed_scopes_from == again.claimed_scopes_from == {f"{name}-portal"}
            assert held.digest == again.digest
            digests.add(held.digest)
    assert len(digests) == 2


async def test_no_environment_is_served_by_chance(place: Path, estate: PolicyRepo) -> None:
    """F12: a set that is written for environments does not start without one, nor with one that it has not."""
    with pytest.raises(PolicyRefused, match="choose one of production, rehearsal"):
        await in_process(config_of(place, estate.path, dirty=True)).__aenter__()
    with pytest.raises(PolicyRefused, match="did you mean"):
        await in_process(config_of(place, estate.path, dirty=True, environment="prodution")).__aenter__()


async def test_a_server_that_takes_over_another_environment_says_so(place: Path, estate: PolicyRepo) -> None:
    """F2: what SQL says is in force decides; that the servers were told different things stands in the log."""
    async with in_process(config_of(place, estate.path, dirty=True, environment="production")) as running:
        assert "different environments" not in running.log.getvalue()
        row = await running.server.store.policy_row(0)
        assert row is not None
        other = compile_files(files_of_folder(estate.path), "", True, "rehearsal")
        second = row._replace(number=2, digest=other.snapshot.digest, bundle=other.bundle)
        assert await running.server.store.change(lambda index: index.policies.publish(1, second, Origin("server"))) == 2

        async def says_so() -> bool:
            await running.server.policies.at_least(2)
            return "different environments" in running.log.getvalue()

        await eventually(says_so)
        held = running.server.policies.snapshot
        assert held is not None
        assert held.environment == "rehearsal"
