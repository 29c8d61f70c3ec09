"""What the operator asks of the server.

One frozen value, from the command line and the optional `discreet-server.yaml`.

    identities:
      - {name: newsroom, role: agent, tenants: [acme]}
      - {name: feeds, role: collector, tenants: "*"}
    listen: {newsroom: "127.0.0.1:7411"}
    policy: /srv/policies
    ref: refs/heads/main
    db: /var/lib/discreet/discreet.db
    socket-dir: /run/discreet
    state-dir: /var/lib/discreet

Errors name the file, line and key, never the value: a value may be a password.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.policy.words import Role
from discreet.policy.yaml import Document, plain, read
from discreet.server.cache.address import parse_redis, require_prefix
from discreet.server.errors import ConfigRefused
from discreet.server.identity.callers import ONE_DEVELOPER, Identity, checked

MESSAGE_BYTES_MAX = 4 * 1024 * 1024
"""The largest message that the server receives.

A larger one is RESOURCE_EXHAUSTED, which a client reads as WITHHOLD.
"""


PUBLISHED = "published"
"""As the policy: follow no ref, serve what was published to the database. A directory of that name: `./published`."""
LOOPBACK = frozenset({"127.0.0.1", "[::1]", "localhost"})
BY_TWO = frozenset({"revoke", "lift-hold", "lift-tombstone"})
"""Changes that may be made to need two operators."""


@dataclass(frozen=True, slots=True)
class TcpListen:
    """A loopback listener that stands for one identity. Port 0: one that is free."""

    identity: str
    host: str
    port: int


def default_socket_dir() -> Path:
    """Where the sockets lie unless told otherwise: the user's runtime directory, which is private to the user."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Path(platformdirs.user_runtime_dir("discreet"))


def default_state_dir() -> Path:
    """Where the server keeps clones of policy repositories, and the highest state that it saw of each database."""
    return Path(platformdirs.user_state_dir("discreet"))


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Everything that `serve` needs to know."""

    policy: str
    """A directory, inside a Git repository or not, or the URL of one; "published": what the database holds."""
    ref: str = ""
    """A full ref, a short one that is not ambiguous, or a commit. Empty: HEAD."""
    dirty: bool = False
    """Serve the files of the directory as they are instead of those of a commit."""
    policy_path: str = ""
    """With a URL: the directory of the policy set within the repository."""
    environment: str = ""
    """The environment of the policy set whose parameters hold here. Empty: the set declares none."""
    db: str = "discreet.db"
    identities: tuple[Identity, ...] = ONE_DEVELOPER
    listen: tuple[TcpListen, ...] = ()
    socket_dir: Path = field(default_factory=default_socket_dir)
    state_dir: Path = field(default_factory=default_state_dir)
    instance: str = ""
    """Names this process in answers and audit. Empty: a random one."""
    poll_s: float = 1.0
    """How often the policy's source is read."""
    grace_s: float = 10.0
    """How long calls that are under way may take to finish once the server is told to stop."""
    drain_s: float = 0.2
    """How long the server goes on accepting after health says NOT_SERVING, so that routing can notice."""
    lease_s: float = 5.0
    """How long after its read of the state an answer may leave this process; who waits for a change waits so long."""
    store_timeout_s: float = 5.0
    """How long a call waits for the store where its own deadline is later or missing."""
    spool_mb_max: int = 256
    """Audit rows on this machine's disk that are not in the database yet, in MiB; with more, checks are withheld."""
    calls_max: int = 1_000
    """Calls under way on one listener; more are RESOURCE_EXHAUSTED."""
    log_format: str = "console"
    log_level: str = "info"
    metrics: tuple[str, int] | None = None
    """Host and port of `GET /metrics`, port 0 for a free one; None: not served."""

    policy_webhook: tuple[str, int] | None = None
    """Host and port of a listener whose POSTs have the policy's source read at once; None: not served."""
    policy_webhook_secret_file: Path | None = None
    """A file with the secret that signs them; None: anybody of this machine may."""

    redis: str = field(default="", repr=False)
    """URL of a Redis that holds copies of policy revisions and carries the bell; empty: none. May hold a password."""
    redis_prefix: str = ""
    """Stands before every key, for a Redis that is shared."""
    approve_by_two: frozenset[str] = frozenset()
    """Changes that another operator must approve: of "revoke", "lift-hold", "lift-tombstone"."""

    def __post_init__(self) -> None:
        checked(self.identities)
        unknown = sorted(self.approve_by_two - BY_TWO)
        if unknown:
            raise ConfigRefused(f"approve-by-two: no such change; there are: {', '.join(sorted(BY_TWO))}")
        names = {identity.name for identity in self.identities}
        for listener in self.listen:
            if listener.identity not in names:
                known = ", ".join(sorted(names))
                raise ConfigRefused(f"listen: no identity of that name; there are: {known}")
        if self.redis:
            parse_redis(self.redis)
        require_prefix(self.redis_prefix)
        if not self.policy:
            raise ConfigRefused("policy: is empty; name a directory or the URL of a Git repository")
        self._check_following()
        if not 0.05 <= self.poll_s <= 3_600:
            raise ConfigRefused("poll interval: must be 0.05 to 3,600 seconds")
        if not 1 <= self.lease_s <= 60:
            raise ConfigRefused("lease: must be 1 to 60 seconds")
        if not 1 <= self.spool_mb_max <= 1_048_576:
            raise ConfigRefused("spool: must be 1 to 1,048,576 MiB")
        if not 0 <= self.grace_s <= 600 or not 0 <= self.drain_s <= 60:
            raise ConfigRefused("grace: must be 0 to 600 seconds, drain 0 to 60")

    def _check_following(self) -> None:
        """What says how to follow a ref is wrong where none is followed."""
        if self.policy_webhook_secret_file is not None and self.policy_webhook is None:
            raise ConfigRefused("policy-webhook-secret-file: is set without policy-webhook; say where to listen")
        if self.policy != PUBLISHED:
            return
        given = {
            "ref": self.ref,
            "policy-path": self.policy_path,
            "dirty": self.dirty,
            "policy-webhook": self.policy_webhook,
        }
        for name in (name for name, value in given.items() if value):
            raise ConfigRefused(f"{name}: is set, and policy {PUBLISHED} follows no ref; leave one of them out")


def parse_listen(text: str) -> TcpListen:
    """`IDENTITY=127.0.0.1:PORT` as a listener. ConfigRefused for anything but loopback: other addresses need TLS."""
    identity, equals, address = text.partition("=")
    host, _, port = address.rpartition(":")
    if not equals or not identity:
        raise ConfigRefused("listen: must be IDENTITY=127.0.0.1:PORT; TCP has no identity of its own, so one is named")
    if host not in LOOPBACK:
        raise ConfigRefused("listen: only 127.0.0.1, [::1] and localhost are served without TLS")
    return TcpListen(identity, *_place("listen", host, port))


def parse_metrics(text: str, *, public: bool) -> tuple[str, int]:
    """`127.0.0.1:PORT` as host and port. ConfigRefused for anything but loopback, unless that is meant."""
    host, _, port = text.rpartition(":")
    if not host:
        raise ConfigRefused("metrics: must be HOST:PORT, for example 127.0.0.1:9464")
    if host not in LOOPBACK and not public:
        raise ConfigRefused(
            "metrics: only 127.0.0.1, [::1] and localhost, since whoever reaches the port can read them; "
            "--metrics-public serves other addresses, too"
        )
    return _place("metrics", host, port)


def parse_webhook(text: str) -> tuple[str, int]:
    """`127.0.0.1:PORT` as host and port. ConfigRefused for anything but loopback: beyond it, use a proxy."""
    host, _, port = text.rpartition(":")
    if host not in LOOPBACK:
        raise ConfigRefused("policy-webhook: must be 127.0.0.1:PORT, [::1]:PORT or localhost:PORT; use a proxy beyond")
    return _place("policy-webhook", host, port)


def parse_by_two(text: str) -> frozenset[str]:
    """`revoke,lift-hold` as the changes that need two operators."""
    return frozenset(word.strip() for word in text.split(",") if word.strip())


def _place(what: str, host: str, port: str) -> tuple[str, int]:
    if not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise ConfigRefused(f"{what}: the port must be 0 to 65535; 0 takes a free one")
    return ("127.0.0.1" if host == "localhost" else host), int(port)


class _IdentityModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    name: str
    role: str
    tenants: tuple[str, ...] | Literal["*"]


class _FileModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    identities: tuple[_IdentityModel, ...] | None = None
    listen: dict[str, str] | None = None
    policy: str | None = None
    ref: str | None = None
    dirty: bool | None = None
    policy_path: str | None = Field(None, alias="policy-path")
    policy_webhook: str | None = Field(None, alias="policy-webhook")
    policy_webhook_secret_file: str | None = Field(None, alias="policy-webhook-secret-file")
    environment: str | None = None
    db: str | None = None
    socket_dir: str | None = Field(None, alias="socket-dir")
    state_dir: str | None = Field(None, alias="state-dir")
    instance: str | None = None
    poll_s: float | None = Field(None, alias="poll-s")
    grace_s: float | None = Field(None, alias="grace-s")
    drain_s: float | None = Field(None, alias="drain-s")
    lease_s: float | None = Field(None, alias="lease-s")
    store_timeout_s: float | None = Field(None, alias="store-timeout-s")
    spool_mb_max: int | None = Field(None, alias="spool-mb-max")
    calls_max: int | None = Field(None, alias="calls-max")
    log_format: Literal["console", "json"] | None = Field(None, alias="log-format")
    log_level: Literal["debug", "info", "warning", "error"] | None = Field(None, alias="log-level")
    metrics: str | None = None
    metrics_public: bool = Field(False, alias="metrics-public")
    approve_by_two: tuple[str, ...] | None = Field(None, alias="approve-by-two")
    redis: str | None = None
    redis_prefix: str | None = Field(None, alias="redis-prefix")


def load_config(file: Path | None, given: Mapping[str, object]) -> ServerConfig:
    """The configuration of a file with what was given on the command line over it.

    `given` has ServerConfig's field names; None: not given.
    """
    settings = _from_file(file) if file is not None else {}
    settings.update({name: value for name, value in given.items() if value is not None})
    if "policy" not in settings:
        raise ConfigRefused("policy: not given; name a directory or the URL of a Git repository")
    known = {f.name for f in fields(ServerConfig)}
    return ServerConfig(**{name: value for name, value in settings.items() if name in known})  # type: ignore[arg-type] # checked by the file's model or the command line


def _from_file(file: Path) -> dict[str, object]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigRefused(f"{file}: cannot be read: {error.strerror}") from None
    documents, problems = read(file.name, data)
    if problems or len(documents) != 1:
        found = "\n".join(map(str, problems)) or f"{file.name}:1:1: one document is wanted"
        raise ConfigRefused(found)
    try:
        model = _FileModel.model_validate(plain(documents[0].root))
    except ValidationError as error:
        raise ConfigRefused("\n".join(_said(documents[0], error))) from None
    return _settings(model, file.parent)


def _said(document: Document, error: ValidationError) -> list[str]:
    """Each error with its place; pydantic's message names types, and the input is left out (OBS-03)."""
    lines = []
    for found in error.errors(include_input=False, include_context=False, include_url=False):
        path = found["loc"]
        where = ".".join(str(step) for step in path)
        lines.append(f"{document.place(*path)}: {where}: {found['msg']}")
    return lines


def _settings(model: _FileModel, base: Path) -> dict[str, object]:
    given = {name: getattr(model, name) for name in type(model).model_fields}
    settings: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    for name in ("socket_dir", "state_dir", "policy_webhook_secret_file"):
        if name in settings:
            settings[name] = base / str(settings[name])
    if model.metrics is not None:
        settings["metrics"] = parse_metrics(model.metrics, public=model.metrics_public)
    if model.policy_webhook is not None:
        settings["policy_webhook"] = parse_webhook(model.policy_webhook)
    if model.approve_by_two is not None:
        settings["approve_by_two"] = frozenset(model.approve_by_two)
    if model.identities is not None:
        settings["identities"] = tuple(_identity(place, one) for place, one in enumerate(model.identities))
    if model.listen is not None:
        settings["listen"] = tuple(parse_listen(f"{name}={address}") for name, address in model.listen.items())
    return settings


def _identity(place: int, model: _IdentityModel) -> Identity:
    roles = {role.short: role for role in Role}
    if model.role not in roles:
        raise ConfigRefused(f"identities[{place}].role: must be one of {', '.join(sorted(roles))}")
    return Identity(model.name, roles[model.role], None if model.tenants == "*" else tuple(model.tenants))
