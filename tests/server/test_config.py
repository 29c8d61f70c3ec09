"""What the operator may ask for, and how a wrong file is said to be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.policy.words import Role
from discreet.server.config import ServerConfig, load_config, parse_listen
from discreet.server.errors import ConfigRefused
from discreet.server.identity.callers import ONE_DEVELOPER, Identity

FILE = """identities:
  - {name: newsroom, role: agent, tenants: [acme]}
  - {name: feeds, role: collector, tenants: "*"}
listen: {newsroom: "127.0.0.1:7411"}
policy: /srv/policies
socket-dir: run
poll-s: 2.5
"""


def written(place: Path, text: str) -> Path:
    """The text as a configuration file."""
    file = place / "discreet-server.yaml"
    file.write_text(text)
    return file


def test_a_file_is_read_and_what_is_given_wins(place: Path) -> None:
    """Options on the command line stand over the file; paths are relative to the file."""
    config = load_config(written(place, FILE), {"policy": "/other", "db": None})
    assert config.identities == (Identity("newsroom", Role.AGENT, ("acme",)), Identity("feeds", Role.COLLECTOR, None))
    assert (config.policy, config.db, config.socket_dir, config.poll_s) == ("/other", "discreet.db", place / "run", 2.5)
    assert config.listen[0].port == 7411


def test_nothing_but_a_policy_is_needed() -> None:
    """Zero configuration."""
    assert load_config(None, {"policy": "/p"}).identities == ONE_DEVELOPER


@pytest.mark.parametrize(
    "text, said",
    [
        ("policy: /p\npolcy: /q\n", ":2:"),
        ("policy: [s3cret-value]\n", "policy"),
        ("policy: /p\nidentities:\n  - {name: a, role: king, tenants: [acme]}\n", "identities[0].role"),
        ("policy: /p\nidentities:\n  - {name: a, role: agent}\n", "identities.0.tenants"),
        ("policy: /p\nidentities:\n  - {name: A b, role: agent, tenants: '*'}\n", "identities[0].name"),
        ("policy: /p\nidentities: []\n", "identities"),
        ("policy: /p\nidentities:\n  - {name: a, role: agent, tenants: []}\n", "tenants"),
        ("policy: /p\nidentities:\n  - {name: a, role: agent, tenants: [Acme]}\n", "tenants"),
        ("policy: /p\npolicy: /q\n", ":2:1"),
        ("policy: /p\nlisten: {nobody: '127.0.0.1:1'}\n", "no identity of that name"),
        ("policy: /p\ndb: postgresql://u:s3cret-value@h/d\npoll-s: s3cret-value\n", "poll-s"),
        ("db: x\n", "policy: not given"),
        ("", "1:1"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place_and_without_its_values(place: Path, text: str, said: str) -> None:
    """OBS-03: errors name the key and the type; what a value holds may be a password."""
    with pytest.raises(ConfigRefused) as caught:
        load_config(written(place, text), {})
    assert said in str(caught.value)
    assert "s3cret-value" not in str(caught.value)


def test_two_identities_of_one_name_are_refused() -> None:
    """Two sockets cannot lie at one path."""
    twice = (Identity("a", Role.AGENT), Identity("a", Role.OPERATOR))
    with pytest.raises(ConfigRefused, match="declared twice"):
        ServerConfig(policy="/p", identities=twice)


@pytest.mark.parametrize(
    "text",
    [
        "agent",
        "agent=",
        "=127.0.0.1:1",
        "agent=0.0.0.0:1",
        "agent=example.org:1",
        "agent=127.0.0.1:x",
        "agent=127.0.0.1:70000",
    ],
)
def test_only_loopback_ports_that_name_an_identity_are_listened_on(text: str) -> None:
    """TCP has no identity, and anything but loopback needs TLS."""
    with pytest.raises(ConfigRefused, match="listen"):
        parse_listen(text)


def test_loopback_addresses_are_taken() -> None:
    """Names and both families."""
    assert [parse_listen(f"a={host}:0").host for host in ("127.0.0.1", "localhost", "[::1]")] == [
        "127.0.0.1",
        "127.0.0.1",
        "[::1]",
    ]


@pytest.mark.parametrize("change", [{"poll_s": 0.0}, {"grace_s": -1.0}, {"drain_s": 61.0}, {"policy": ""}])
def test_limits_of_the_configuration(change: dict[str, Any]) -> None:
    """Out of range is refused before anything starts."""
    with pytest.raises(ConfigRefused):
        ServerConfig(**{"policy": "/p", **change})
