"""The acts about policy: a commit that withholds reaches both sidecars, is compared and replayed, and taken back."""

from discreet.v1.server_pb2 import Acknowledgement
from docs.examples.fleet.asking import PAY, TRAVEL, Expected, ask_both, expect_line, run, token_of, until
from docs.examples.fleet.stage import Stage

REVIEW = """\
apiVersion: discreet/v1
kind: DisclosurePolicy
name: review
rules:
  - id: under-review
    effect: WITHHOLD
    moments: [RETRIEVE, PUBLISH, REPLAY]
    sources: [handbook]
    when: document.attributes.topic == "TOPIC"
    custom-reason: UNDER_REVIEW
"""
WITHHELD = "POLICY_RULE (UNDER_REVIEW)"


def review(topic: str) -> dict[str, str]:
    """The file of a commit that withholds a topic while it is under review."""
    return {"review.yaml": REVIEW.replace("TOPIC", topic)}


def withhold_everywhere(stage: Stage) -> None:
    """A commit is published and waited for: from then on no sidecar answers under the revision before."""
    teller = stage.teller
    teller.act("2  A commit that withholds, in force everywhere", "Who publishes waits until nobody answers as before.")
    stage.commits["review"] = commit = stage.repository.push("Pay is under review", review(PAY))
    teller.did("dora", f"pushes a commit: what the handbook says about pay is under review ({commit[:12]})")
    said = run(stage, stage.a, "policy", "publish", "--repo", stage.repository.url, "--ref", "main", "--wait")
    expect_line(stage, said, "the publication", rf"revision 2 is in force: commit {commit[:12]} .* 2 tests passed")
    expect_line(stage, said, "the wait", "no server answers under the state before: 2 seen")
    _who_acknowledged(stage, token_of(said))
    ask_both(stage, 2, Expected(PAY, "WITHHOLD", WITHHELD), Expected(TRAVEL, "ALLOW"))


def _who_acknowledged(stage: Stage, token: str) -> None:
    servers = stage.b.waited_for(token).servers
    said = {one.instance: Acknowledgement.Name(one.acknowledgement).removeprefix("ACKNOWLEDGEMENT_") for one in servers}
    stage.teller.say("  Acknowledged by: " + ", ".join(f"{name} ({how.lower()})" for name, how in said.items()))
    stage.teller.expect("who acknowledged it", str({"sidecar-a": "GIVEN", "sidecar-b": "GIVEN"}), str(said))


def say_what_it_changed(stage: Stage) -> None:
    """What the commit means, by its rules, and what it would have done to the decisions on record."""
    stage.teller.act("3  What that commit changed", "In meaning, and for whoever asked before.")
    work = str(stage.repository.work)
    said = run(stage, stage.a, "policy", "diff", "HEAD~1..HEAD", "-C", work)
    expect_line(stage, said, "the difference", "1 change of meaning: 1 tightens")
    against = ("--against", "HEAD", "--repo", work, "--db", stage.postgres.url)
    said = run(stage, stage.b, "policy", "replay", *against, "--jobs", "1")
    counted = "decisions 8: 0 newly allowed, 2 newly withheld, 6 unchanged, 0 not replayable"
    expect_line(stage, said, "the replay", counted)


def take_it_back(stage: Stage) -> None:
    """A rollback pins out what it leaves: the follower is told of the same tip, and does not publish it again."""
    teller, commit = stage.teller, stage.commits["review"]
    teller.act(
        "4  Back, and pinned", "The earlier set comes into force as a new revision; what it leaves is pinned out."
    )
    why = ("--reason", "nobody had agreed to it")
    said = run(stage, stage.b, "policy", "rollback", "1", *why, "--wait")
    first = stage.commits["first"][:12]
    pinned = rf"revision 3 is in force: that of revision 1, {first}; {commit[:12]} is pinned out"
    expect_line(stage, said, "the rollback", pinned)
    expect_line(stage, said, "the wait", "no server answers under the state before: 2 seen")
    ask_both(stage, 3, Expected(PAY, "ALLOW"), Expected(TRAVEL, "ALLOW"))
    _told_again(stage)
    said = run(stage, stage.b, "policy", "revisions")
    expect_line(stage, said, "what is pinned out", rf"pinned out .*{commit[:12]}")
    said = run(stage, stage.b, "policy", "unpin", commit[:12], "--reason", "now they have")
    expect_line(stage, said, "the unpinning", rf"unpinned: {commit[:12]}")
    teller.expect("the webhook's answer", "202", str(stage.a.look()))
    teller.did("sidecar-a", "is told to look again: the pin alone had kept the tip out")
    found = until(stage.a.status, lambda status: status.policy.commit == commit)
    teller.expect("the revision in force", f"4 {commit}", f"{found.policy.number} {found.policy.commit}")
    ask_both(stage, 4, Expected(PAY, "WITHHOLD", WITHHELD), Expected(TRAVEL, "ALLOW"))


def _told_again(stage: Stage) -> None:
    commit = stage.commits["review"]
    stage.teller.expect("the webhook's answer", "202", str(stage.a.look()))
    stage.teller.did("sidecar-a", f"is told to look at the repository, whose tip is still {commit[:12]}")
    found = until(stage.a.status, lambda status: bool(status.policy_pinned))
    told = f"{found.policy.number} {found.policy_pinned}, refused {found.policy_error_commit or 'nothing'}"
    stage.teller.expect("what sidecar-a makes of it", f"3 {commit}, refused nothing", told)
    stage.teller.say(f"  sidecar-a: {found.policy_pinned[:12]} is pinned out; revision {found.policy.number} stays.")
