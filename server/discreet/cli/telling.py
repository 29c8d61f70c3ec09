"""What the commands that change something have in common: times as messages, and one line that says what is so now."""

from typing import TYPE_CHECKING

from discreet.cli.settings import Settings

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from google.protobuf.timestamp_pb2 import Timestamp


def timestamp(value: str) -> "Timestamp":
    """RFC 3339, or a span back or ahead of now, as a message. Raises InputError."""
    import time

    from google.protobuf.timestamp_pb2 import Timestamp

    from discreet.cli.times import parse_moment_of_time

    found = Timestamp()
    found.FromMicroseconds(parse_moment_of_time(value, time.time_ns() // 1_000))
    return found


def at(time: "Timestamp") -> str:
    """A time in one cell of a table."""
    from discreet.cli.times import format_micros

    return format_micros(time.ToMicroseconds())


def say(said: str, token: str) -> None:
    """One line with the token of the state after it."""
    from discreet.cli.printing import console as terminal
    from discreet.cli.printing import text

    terminal().print(text(said), text(f"(token {token})", "dim"), soft_wrap=True)


def tell(settings: Settings, said: str, answer: "Message") -> None:
    """The answer whole, or one line with its token; where it waits for a second person, that and how to approve it."""
    from discreet.cli.printing import note, print_tree
    from discreet.cli.shapes import to_tree

    if settings.output != "pretty":
        print_tree(settings, to_tree(answer))
        return
    approval_id = getattr(answer, "approval_id", "")
    if approval_id:
        said = f"nothing was done yet; another operator must approve {approval_id}"
    say(said, getattr(answer, "token", ""))
    if approval_id:
        note(f"as another operator: discreet approve {approval_id} --reason '...'")
