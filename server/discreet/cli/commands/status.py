"""`discreet status`: whether a server answers, and how it stands."""

from typing import TYPE_CHECKING

import click

from discreet.cli.errors import Unreachable
from discreet.cli.settings import current, shared_options

if TYPE_CHECKING:
    from discreet.v1.server_pb2 import GetStatusResponse, ServerState

_SERVERS = ("server", "state", "policy", "environment", "policy lag", "heard of", "lease", "problem")


@click.command(epilog="\b\nExample:\n  discreet status -o json")
@shared_options
def status() -> None:
    """Show the server, the policy revision in force, and what is degraded. Exit code 5 where nothing can be allowed."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import print_pairs, print_table, print_tree
    from discreet.cli.shapes import to_tree
    from discreet.v1.server_pb2 import GetServerInfoRequest, GetStatusRequest
    from discreet.v1.server_pb2_grpc import ServerServiceStub

    with connect(settings, "operator") as line:
        stub = ServerServiceStub(line.channel)
        found = line.call(stub.GetStatus, GetStatusRequest())
        info = line.call(stub.GetServerInfo, GetServerInfoRequest())
    if settings.output != "pretty":
        print_tree(settings, {**to_tree(found), "server": to_tree(info)})
    else:
        from discreet.cli.results import revision_words

        tree = to_tree(found)
        print_pairs([
            ("ready", found.ready), ("problems", "; ".join(found.problems)), ("policy", revision_words(found.policy)),
            ("policy checked at", tree["policy_checked_at"]), ("policy lag", f"{found.policy_lag_ms} ms"),
            ("refused commit", found.policy_error_commit), ("refused because", found.policy_error),
            ("pinned out", found.policy_pinned), ("redis", _redis_words(found.cache, found.cache_silent_ms)),
            ("store", found.store), ("audit of checks", found.audit_mode), ("audit spool", _spool_words(found)),
            ("state", found.token),
            ("server", f"{info.version}, API level {info.api_level}, instance {found.instance}"),
            ("asked as", f"{info.caller_name} ({info.caller_role})"), ("started at", tree["started_at"]),
        ])  # fmt: skip
        print_table("", _SERVERS, [_row(server) for server in found.servers])
    if not found.ready:
        raise Unreachable("the server is up but not ready: nothing is allowed", "see the problems above")


def _spool_words(found: "GetStatusResponse") -> str:
    """What waits on the server's disk; nothing where nothing does."""
    words = []
    if found.audit_spool_rows:
        size, age_s = found.audit_spool_bytes, found.audit_spool_oldest_ms / 1_000
        words.append(f"{found.audit_spool_rows} rows ({size} bytes) wait, the oldest for {age_s:.1f} s")
    if found.audit_spool_lost_rows:
        words.append(f"{found.audit_spool_lost_rows} rows cannot be read back")
    return "; ".join(words)


def _redis_words(state: str, silent_ms: int) -> str:
    return f"{state}; silent for {silent_ms} ms" if silent_ms else state


def _row(server: "ServerState") -> tuple[str, ...]:
    """A server in one row. What fell silent without a word is told from what ended."""
    import time

    from discreet.cli.results import revision_words

    state = "live" if server.live else "ended" if server.ended else "silent"
    heard_ms = max(0, time.time_ns() // 1_000_000 - server.seen_at.ToMilliseconds())
    policy = revision_words(server.policy) if server.policy.number else "none"
    times = f"{server.policy_lag_ms} ms", f"{heard_ms / 1_000:.1f} s ago", f"{server.lease_ms / 1_000:g} s"
    return server.instance, state, policy, server.environment, *times, server.problem
