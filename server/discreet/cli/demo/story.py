"""The demo from beginning to end, with real parts throughout; it fails where anything differs."""

import signal
import time

from discreet.cli.demo.acts_policy import change_the_policy, tell_what_happened
from discreet.cli.demo.acts_publishing import publish, replay, revoke_while_writing
from discreet.cli.demo.acts_purging import purge
from discreet.cli.demo.acts_reading import ask_before_reading, fill_the_index
from discreet.cli.demo.play import Play, stage
from discreet.cli.demo.teller import Teller
from discreet.cli.errors import DemoDiffers
from discreet.cli.peps import TENANT

ACTS = (
    fill_the_index,
    ask_before_reading,
    publish,
    revoke_while_writing,
    replay,
    purge,
    change_the_policy,
    tell_what_happened,
)


def tell(keep: bool = False) -> None:
    """Tells the story. Raises DemoDiffers where an answer is not the one that it tells of; always cleans up."""
    started = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that being told to stop cleans up, too
    teller = Teller()
    teller.say(
        "Discreet decides, segment by segment, what an agent may show. All that follows is real: a server process,"
    )
    teller.say("a Git repository of policies, the history of the Python Enhancement Proposals, and an agent's client.")
    with stage(teller) as play:
        for act in ACTS:
            act(play)
        _end(teller, time.monotonic() - started)
        if keep:
            _keep(play)
    if teller.differences:
        raise DemoDiffers(f"{len(teller.differences)} outcomes differ from the story", "see the lines marked DIFFERS")


def _end(teller: Teller, seconds: float) -> None:
    teller.act("How to go on", f"{teller.answers} outcomes compared with the story in {seconds:.0f} s; "
               f"{len(teller.differences)} differ.")  # fmt: skip
    teller.say("  discreet policy init policies && discreet policy test policies")
    teller.say("  discreet serve --policy policies             (its sockets: one for each role)")
    teller.say("  discreet index put documents.yaml            (as the collector)")
    teller.say("  discreet check request.yaml                  (as the agent; add -o json for tools)")
    teller.say("  discreet demo --keep                         (leaves this server running, to look around)")


def _keep(play: Play) -> None:
    teller = play.teller
    teller.act("The server goes on until Ctrl-C. In another terminal:")
    teller.say(f"  export DISCREET_SOCKET_DIR={play.server.sockets} DISCREET_TENANT={TENANT}")
    teller.say("  discreet status")
    teller.say("  discreet index list --record pep-0008 --limit 3")
    teller.say("  discreet audit query --since 10m --verdict PURGE")
    try:
        signal.pause()
    except KeyboardInterrupt:
        teller.say("Stopping.")
