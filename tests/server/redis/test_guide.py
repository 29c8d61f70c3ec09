"""docs/guides/redis.md is true: what it has people type works, and its names, rights and causes are the real ones."""

from __future__ import annotations

import re
from pathlib import Path

from redis.asyncio import Redis

from discreet.server.cache.keys import Keys
from discreet.server.config import load_config
from discreet.server.ports_cache import CacheState, Trouble
from tests.server.redis.kept import kept
from tests.server.redis.test_command import served
from tests.server.support import PolicyRepo
from tests.valkey_server import ValkeyServer

GUIDE = (Path(__file__).parents[3] / "docs/guides/redis.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The one block of that language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    return str(found)


def test_what_it_tells_to_type_starts_a_server_with_redis(place: Path, repo: PolicyRepo, valkey: ValkeyServer) -> None:
    """E6: the environment as it is set there, and the command that follows."""
    variable, command = block("sh").splitlines()
    name, _, url = variable.removeprefix("export ").partition("=")
    assert command == "discreet serve --policy ./policies"
    assert name == "DISCREET_REDIS"
    cache, log, code = served(place, repo, **{name: url.replace("6379", str(valkey.port))})
    assert (cache, code) == ("up", 0), log


def test_its_file_is_taken(tmp_path: Path) -> None:
    """The keys of the configuration file."""
    file = tmp_path / "discreet-server.yaml"
    file.write_text(block("yaml"))
    config = load_config(file, {})
    assert config.redis.startswith("redis://discreet:PASSWORD@")
    assert config.redis_prefix == "newsdesk"


def test_its_names_and_causes_are_the_real_ones() -> None:
    """Whoever looks in finds what it says, and whoever is told a cause finds what it means."""
    keys = Keys("EPOCH")
    assert re.findall(r"^\| `(discreet:\S+)`", GUIDE, re.MULTILINE) == [keys.bundle("DIGEST"), keys.head, keys.bell]
    causes = GUIDE[GUIDE.index("| cause | is |") :]
    assert re.findall(r"^\| `(\w+)` \|", causes, re.MULTILINE) == [trouble.value for trouble in Trouble]


async def test_its_rights_are_enough(valkey: ValkeyServer, own: Redis) -> None:
    """A user with those rights and no others hears itself, keeps a copy and gets it back."""
    words = block("text").split()
    assert words[:3] == ["ACL", "SETUSER", "discreet"]
    await own.execute_command(*words)  # type: ignore[no-untyped-call] # the words as they stand there
    async with kept(valkey.url.replace("//", "//discreet:PASSWORD@")) as one, kept(valkey.url) as other:
        one.cache.put("0" * 64, b"bundle")
        assert await other.given("0" * 64) == await one.given("0" * 64)
        assert one.cache.state is CacheState.UP
        assert one.cache.counts.troubles[Trouble.DENIED] == 0
