"""The last acts: the policy changes by a commit, a bad commit changes nothing, and the audit tells what happened."""

import time
from collections.abc import Callable

from discreet.cli.decisions import COLUMNS, decision_row, print_explanation
from discreet.cli.demo.acts_publishing import SESSION_BO
from discreet.cli.demo.acts_reading import NOTE, SESSION_ANA, retrieve
from discreet.cli.demo.play import Play
from discreet.cli.demo.teller import Row
from discreet.cli.errors import Unreachable
from discreet.cli.printing import print_table
from discreet.cli.results import revision_words
from discreet.cli.shapes import word
from discreet.client import Result
from discreet.v1.common_pb2 import Reason
from discreet.v1.server_pb2 import GetStatusResponse

WAIT_S = 20.0
POLL_S = 0.05
NOTES_RULES = """\
apiVersion: discreet/v1
kind: DisclosurePolicy
name: notes
rules:
  - id: notes-for-reading
    effect: ALLOW
    moments: [RETRIEVE]
    sources: [internal-notes]
"""


def change_the_policy(play: Play) -> None:
    """Only a commit lets a source in; a bad commit leaves the old revision in force, and says so."""
    teller, repository = play.teller, play.repository
    teller.act(
        "7  The policy changes by a commit", "The note of the desk is still refused, however often it is asked for:"
    )
    teller.table([Row("the note", _note(play), "WITHHOLD", "UNTRUSTED_SOURCE")])
    sources = repository.read("sources.yaml")
    listed = {"sources.yaml": sources.replace("    listed: false\n", ""), "notes.yaml": NOTES_RULES}
    commit = repository.commit("List internal notes, for reading", listed)
    teller.did("dora", f"commits: list internal-notes, for reading ({commit[:12]})")
    _wait(play, lambda status: status.policy.commit == commit)
    teller.table([Row("the note, once more", _note(play), "ALLOW", "NONE", "a commit let it in, for later decisions")])
    broken = sources.replace("label: peps", "label: Peps")
    bad = repository.commit("Tidy labels", {"sources.yaml": broken})
    teller.did("dora", f"commits a slip ({bad[:12]})")
    status = _wait(play, lambda status: status.policy_error_commit == bad)
    for line in status.policy_error.splitlines()[:3]:
        teller.say(f"    {line}")
    teller.expect("the revision in force after a bad commit", commit, status.policy.commit)
    teller.say(
        f"  Refused whole: revision {revision_words(status.policy)} stays in force, and `discreet status` says why."
    )
    teller.table([Row("the note, after the slip", _note(play), "ALLOW", "NONE", "nothing changed")])
    repository.commit("Mend the slip", listed)


def _note(play: Play) -> Result:
    return retrieve(play, {"note": NOTE}, "ana", SESSION_ANA)["note"]


def _wait(play: Play, wanted: Callable[[GetStatusResponse], bool]) -> GetStatusResponse:
    """The server's status once it is as wanted. Raises Unreachable where it does not become so in time."""
    deadline = time.monotonic() + WAIT_S
    while True:
        status = play.server.status()
        if wanted(status):
            return status
        if time.monotonic() > deadline:
            raise Unreachable("the server did not take up the commit in time", "see `discreet status`")
        time.sleep(POLL_S)


def tell_what_happened(play: Play) -> None:
    """The audit of bo's session, and one decision explained: what the reader was not told."""
    teller = play.teller
    teller.act(
        "8  The audit of what just happened", f"`discreet audit query --session {SESSION_BO}`, as the auditor sees it:"
    )
    found = list(play.office.decisions(SESSION_BO).decisions)
    teller.expect("decisions in bo's session", "10", str(len(found)))
    print_table("", COLUMNS[1:], [decision_row(item)[1:] for item in found])
    denied = [item.decision for item in found if item.decision.segment_id == "batteries"]
    cause = word(Reason.DESCRIPTOR, denied[0].reason) if denied else "no decision"
    teller.expect("the cause that bo was not told", "SCOPE_DENIED", str(cause))
    if denied:
        teller.say("Bo was told NOT_AVAILABLE about PEP 594. `discreet audit explain` gives the cause:")
        print_explanation(play.office.explain(denied[0].decision_id))
