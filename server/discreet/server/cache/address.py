"""Where Redis is: a URL, taken apart here and nowhere else, since whatever shows it must leave the password out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from discreet.server.errors import ConfigRefused

PORT: Final = 6379
DATABASE_MAX: Final = 1_000_000
_FORMS: Final = "redis://HOST:PORT/DATABASE, rediss://HOST:PORT/DATABASE for TLS, or unix:///PATH"
_HOST: Final = re.compile(r"[A-Za-z0-9._:-]{1,253}")
_PREFIX: Final = re.compile(r"[A-Za-z0-9._-]{0,64}")


@dataclass(frozen=True, slots=True)
class Address:
    """A database of a Redis server, and how to get in. `path`: a Unix socket, in place of host and port."""

    host: str = ""
    port: int = PORT
    path: str = ""
    database: int = 0
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    tls: bool = False
    ca_file: str = ""
    """Certificates that are trusted, as a PEM file; empty: those of the system."""

    @property
    def shown(self) -> str:
        """The address without user and password."""
        if self.path:
            return f"unix://{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"redis{'s' if self.tls else ''}://{host}:{self.port}/{self.database}"


def parse_redis(url: str) -> Address:
    """The address. ConfigRefused says what is wrong, and repeats nothing of the URL: it may hold a password."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConfigRefused(f"redis: is no URL; it must be {_FORMS}") from None
    if parts.scheme not in ("redis", "rediss", "unix") or parts.fragment:
        raise ConfigRefused(f"redis: must be {_FORMS}; a password with /, ?, # or @ in it is percent-encoded")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if parts.scheme == "unix":
        return Address(
            path=_path(parts.path, parts.hostname), database=_of_unix(parts.query), user=user, password=password
        )
    return Address(
        host=_host(parts.hostname),
        port=PORT if port is None else _port(port),
        database=_database(parts.path.removeprefix("/")),
        user=user,
        password=password,
        tls=parts.scheme == "rediss",
        ca_file=_ca_file(parts.query, tls=parts.scheme == "rediss"),
    )


def require_prefix(prefix: str) -> None:
    """ConfigRefused for a prefix of keys that could not be told from what stands behind it."""
    if not _PREFIX.fullmatch(prefix):
        raise ConfigRefused("redis-prefix: must be at most 64 letters, digits, dots, hyphens and underscores")


def _host(host: str | None) -> str:
    if host is None or not _HOST.fullmatch(host):
        raise ConfigRefused(f"redis: names no host; it must be {_FORMS}")
    return host


def _port(port: int) -> int:
    if port == 0:
        raise ConfigRefused("redis: the port must be 1 to 65535")
    return port


def _path(path: str, host: str | None) -> str:
    if host or not path.startswith("/") or path == "/":
        raise ConfigRefused("redis: a Unix socket is named by its full path, as unix:///run/redis.sock")
    return unquote(path)


def _database(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and int(text[:8]) <= DATABASE_MAX and len(text) <= 8):
        raise ConfigRefused("redis: the database must be a number, as in redis://HOST:PORT/0")
    return int(text)


def _of_unix(query: str) -> int:
    settings = _settings(query, "db")
    return _database(settings.get("db", ""))


def _ca_file(query: str, *, tls: bool) -> str:
    return _settings(query, *(("ca-file",) if tls else ())).get("ca-file", "")


def _settings(query: str, *known: str) -> dict[str, str]:
    """The settings behind the `?`: a closed set, since what a library reads from there could undo any bound."""
    pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=8) if query.count("&") < 8 else [("", "")]
    if any(name not in known for name, _ in pairs) or len({name for name, _ in pairs}) != len(pairs):
        there = "rediss:// takes ca-file, unix:// takes db, redis:// none"
        raise ConfigRefused(f"redis: an unknown or repeated setting behind the question mark; {there}")
    return dict(pairs)
