"""The URL of a Redis: what is taken, what is refused, and that no password of it is ever said."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.server.cache.address import Address, parse_redis
from discreet.server.config import ServerConfig, load_config
from discreet.server.errors import ConfigRefused

SECRET = "hush-hush"


@pytest.mark.parametrize(
    "url, address",
    [
        ("redis://cache.example.org", Address("cache.example.org")),
        ("redis://127.0.0.1:7000/3", Address("127.0.0.1", 7000, database=3)),
        ("redis://[::1]:7000", Address("::1", 7000)),
        ("redis://:pa%40ss@h/0", Address("h", password="pa@ss")),
        ("redis://ana:p@h", Address("h", user="ana", password="p")),
        ("rediss://h:1", Address("h", 1, tls=True)),
        ("rediss://h?ca-file=/etc/ca.pem", Address("h", tls=True, ca_file="/etc/ca.pem")),
        ("unix:///run/redis.sock", Address(path="/run/redis.sock")),
        ("unix:///run/redis.sock?db=4", Address(path="/run/redis.sock", database=4)),
    ],
)
def test_an_address_is_taken_apart(url: str, address: Address) -> None:
    """Host, port, database, TLS, Unix sockets, and a password that is percent-encoded."""
    assert parse_redis(url) == address


@pytest.mark.parametrize(
    "url",
    ["redis://", "http://h", "h:6379", "redis://h/x", "redis://h/-1", "redis://h/99999999999", "redis://h:0",
     "redis://h:99999", "redis://h/0?protocol=3", "redis://h?socket_timeout=3600", "rediss://h?ssl_cert_reqs=none",
     "rediss://h?ca-file=a&ca-file=b", "redis://h#x", "unix://run/x", "unix:///", "redis://[::1", "redis://h/0/1",
     f"redis://:{SECRET}#{SECRET}@h", "redis://h?" + "a=1&" * 20],
)  # fmt: skip
def test_what_is_no_address_is_refused_without_repeating_it(url: str) -> None:
    """OBS-03: the error says what would be right; settings that a library would read from the URL are none."""
    with pytest.raises(ConfigRefused, match="redis") as refused:
        parse_redis(url)
    assert SECRET not in str(refused.value)


def test_a_password_is_in_no_text_of_address_and_configuration() -> None:
    """OBS-03: neither what is shown of them nor their representation holds it."""
    url = f"redis://ana:{SECRET}@h:7000/2"
    address = parse_redis(url)
    assert address.shown == "redis://h:7000/2"
    assert SECRET not in f"{address!r} {ServerConfig(policy='p', redis=url)!r}"
    assert parse_redis(f"unix://ana:{SECRET}@/run/s").shown == "unix:///run/s"


@pytest.mark.parametrize("prefix", ["a:b", "a" * 65, "ä", "a b", "a\n"])
def test_a_prefix_that_could_be_mistaken_is_refused(prefix: str) -> None:
    """REV-08: a prefix is a plain word."""
    with pytest.raises(ConfigRefused, match="redis-prefix"):
        ServerConfig(policy="p", redis_prefix=prefix)


def test_the_file_names_it_and_options_win(tmp_path: Path) -> None:
    """`redis` and `redis-prefix` are keys of the configuration file."""
    file = tmp_path / "discreet-server.yaml"
    file.write_text("policy: p\nredis: redis://h/1\nredis-prefix: desk\n")
    config = load_config(file, {})
    assert (config.redis, config.redis_prefix) == ("redis://h/1", "desk")
    assert load_config(file, {"redis": "redis://other"}).redis == "redis://other"
    file.write_text(f"policy: p\nredis: ftp://{SECRET}@h\n")
    with pytest.raises(ConfigRefused) as refused:
        load_config(file, {})
    assert SECRET not in str(refused.value)
