"""How a channel to the sidecar is opened: its options, and where plain text may go.

Keepalive: one ping in 5.5 minutes and only during calls, since a server that says nothing else ends connections that
are pinged more often than once in 5 minutes. Deadlines, not pings, find a silent server. This module knows no message.
"""

import json
import re

import grpc

# An answer to 1,000 segments with 32 bindings each is larger than gRPC's default of 4 MiB.
RESPONSE_BYTES_MAX = 64 * 1024 * 1024
KEEPALIVE_MS = 330_000
KEEPALIVE_TIMEOUT_MS = 20_000
# A restarted sidecar is found soon.
RECONNECT_MIN_MS = 100
RECONNECT_MAX_MS = 2_000

_LOCAL = re.compile(r"unix:|unix-abstract:|(dns:/{0,3})?localhost:|(ipv4:)?127\.\d+\.\d+\.\d+:|(ipv6:)?\[::1\]:")

# Safe to repeat: a check changes nothing, a commit is known by its natural key, a report said again says the same.
_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [
                {"service": "discreet.v1.DisclosureService", "method": "Check"},
                {"service": "discreet.v1.DisclosureService", "method": "Commit"},
                {"service": "discreet.v1.DisclosureService", "method": "ReportShown"},
                {"service": "discreet.v1.ServerService", "method": "GetServerInfo"},
            ],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.03s",
                "maxBackoff": "0.3s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}

OPTIONS: tuple[tuple[str, str | int], ...] = (
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
    ("grpc.enable_retries", 1),
    ("grpc.max_receive_message_length", RESPONSE_BYTES_MAX),
    ("grpc.keepalive_time_ms", KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 0),
    ("grpc.initial_reconnect_backoff_ms", RECONNECT_MIN_MS),
    ("grpc.max_reconnect_backoff_ms", RECONNECT_MAX_MS),
    # A proxy of the environment has no place between an agent and its sidecar.
    ("grpc.enable_http_proxy", 0),
    # Connections are not shared with channels opened before a fork.
    ("grpc.use_local_subchannel_pool", 1),
)


def checked_target(target: str, credentials: grpc.ChannelCredentials | None) -> str:
    """The target; refuses plain text to anywhere but this machine."""
    if not isinstance(target, str):
        raise TypeError(f"target is {type(target).__name__}; give str, for example unix:/run/discreet/agent.sock")
    if not target:
        raise ValueError("target is empty; give for example unix:/run/discreet/agent.sock")
    if credentials is None and not _LOCAL.match(target):
        raise ValueError(
            "target is neither a Unix socket nor loopback; give credentials, as of grpc.ssl_channel_credentials()"
        )
    return target
