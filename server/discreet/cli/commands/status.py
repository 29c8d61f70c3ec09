"""`discreet status`: whether a server answers, and how it stands."""

import click

from discreet.cli.errors import Unreachable
from discreet.cli.settings import current, shared_options


@click.command(epilog="\b\nExample:\n  discreet status -o json")
@shared_options
def status() -> None:
    """Show the server, the policy revision in force, and what is degraded. Exit code 5 where nothing can be allowed."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import print_pairs, print_tree
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
            ("store", found.store), ("audit of checks", found.audit_mode), ("state", found.token),
            ("server", f"{info.version}, API level {info.api_level}, instance {found.instance}"),
            ("asked as", f"{info.caller_name} ({info.caller_role})"), ("started at", tree["started_at"]),
        ])  # fmt: skip
    if not found.ready:
        raise Unreachable("the server is up but not ready: nothing is allowed", "see the problems above")
