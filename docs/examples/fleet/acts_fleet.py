"""The acts about the fleet: two sidecars with one authority, and a Redis that is asked for nothing but speed."""

from discreet.cli.demo.index_work import Office
from discreet.v1.server_pb2 import GetStatusResponse
from docs.examples.fleet.acts_policy import WITHHELD, review
from docs.examples.fleet.asking import (
    CANTEEN,
    PAY,
    TENANT,
    TRAVEL,
    Expected,
    ask,
    ask_both,
    digest_of,
    expect_line,
    run,
    until,
)
from docs.examples.fleet.sidecar import Sidecar
from docs.examples.fleet.stage import Stage

LOADS = 'discreet_policy_loads_total{layer="%s"}'
LIES = "discreet_cache_lies_total"


def start_two(stage: Stage) -> None:
    """One sidecar publishes the first commit; the other takes it over from Redis. Both allow."""
    teller = stage.teller
    teller.act("1  Two sidecars, one PostgreSQL, one Redis", "The first follows a Git repository, the second nothing.")
    stage.commits["first"] = commit = stage.repository.push_first()
    teller.did("dora", f"pushes a first policy set ({commit[:12]})")
    stage.a.start()
    _says(stage, stage.a, "is ready")
    stage.digests["first"] = digest = stage.a.status().policy.digest
    teller.expect("Redis has a copy", "True", str(until(lambda: stage.valkey.holds(digest), bool)))
    stage.b.start()
    _says(stage, stage.b, "is ready")
    _found_by(stage, cache=1, store=0)
    _fill_the_index(stage)
    ask_both(stage, 1, Expected(PAY, "ALLOW"), Expected(TRAVEL, "ALLOW"))


def _says(stage: Stage, sidecar: Sidecar, what: str) -> None:
    found = sidecar.status()
    stage.teller.did(sidecar.name, f"{what}: {found.store}, redis {found.cache}, policy revision {found.policy.number}")


def _found_by(stage: Stage, *, cache: int, store: int) -> None:
    """What sidecar B's metrics say of where it found revisions."""
    found = {layer: stage.b.metric(LOADS % layer) for layer in ("cache", "store")}
    stage.teller.say(f"  sidecar-b took its revision over: {found['cache']} from Redis, {found['store']} from SQL.")
    stage.teller.expect("where sidecar-b found it", str({"cache": cache, "store": store}), str(found))


def _fill_the_index(stage: Stage) -> None:
    office = Office(stage.a.settings, TENANT)
    topics = (PAY, TRAVEL, CANTEEN)
    try:
        created = sum(office.register_line({
            "record_id": f"handbook/{topic}", "version": "1", "digest": digest_of(topic), "source_label": "handbook",
            "scopes": ["public"], "attributes": {"topic": topic}, "assessment_expires_at": "2099-12-31T00:00:00Z",
        }) for topic in topics)  # fmt: skip
    finally:
        office.close()
    stage.teller.expect("chapters registered", str(len(topics)), str(created))
    stage.teller.did("collector", "registers three chapters of the handbook at sidecar-a: " + ", ".join(topics))


def revoke_at_one(stage: Stage) -> None:
    """A revocation made at one sidecar holds at the other as soon as the command returns."""
    stage.teller.act(
        "5  Revoked at one sidecar, gone at the other",
        "Facts are in no Redis: each answer rests on a read of the database that began after the question.",
    )
    ask_both(stage, 4, Expected(TRAVEL, "ALLOW"), Expected(CANTEEN, "ALLOW"))
    why = ("--reason", "withdrawn", "--ticket", "LEGAL-7", "--yes")
    said = run(stage, stage.a, "index", "revoke", "handbook/travel", "1", *why, "--wait")
    expect_line(stage, said, "the revocation", "handbook/travel 1: revoked for good")
    expect_line(stage, said, "the wait", "no server answers under the state before: 2 seen")
    gone = Expected(TRAVEL, "PURGE", "RETENTION_REVOKED")
    ask(stage, (stage.b, stage.a), 4, gone, Expected(CANTEEN, "ALLOW"))


def let_redis_down(stage: Stage) -> None:
    """Redis forgets, lies, and dies; every answer stays right, and a new commit comes into force on both."""
    teller, here = stage.teller, stage.a.status().policy
    teller.act("6  Redis forgets, lies, and dies", "It holds copies; what SQL names decides what is believed.")
    first = stage.commits["first"][:12]
    stage.valkey.flush_and_lie(here.digest, stage.digests["first"])
    teller.did(
        "somebody", f"flushes Redis, and puts the set of {first}, well formed, under the key of the one in force"
    )
    stage.b.stop()
    stage.b.start()
    _says(stage, stage.b, "is started again on that")
    lies = stage.b.metric(LIES)
    teller.say(f"  sidecar-b did not believe it; lies that it counted: {lies}.")
    teller.expect("lies that sidecar-b counted", "1", str(lies))
    _found_by(stage, cache=0, store=1)
    ask_both(stage, 4, Expected(PAY, "WITHHOLD", WITHHELD), Expected(CANTEEN, "ALLOW"))
    stage.valkey.kill()
    teller.did("somebody", "kills Redis")
    for sidecar in stage.sidecars:
        found = until(sidecar.status, lambda status: status.cache == "down")
        teller.say(f"  {sidecar.name}: redis {found.cache}, ready {'yes' if found.ready else 'no'}")
        teller.expect(
            f"how {sidecar.name} stands", "redis down, ready True", f"redis {found.cache}, ready {found.ready}"
        )
    ask_both(stage, 4, Expected(PAY, "WITHHOLD", WITHHELD), Expected(CANTEEN, "ALLOW"))
    _commit_without_redis(stage)


def _commit_without_redis(stage: Stage) -> None:
    commit = stage.repository.push("Pay is settled, the canteen under review", review(CANTEEN))
    stage.teller.did("dora", f"pushes a commit: pay is settled, the canteen is under review ({commit[:12]})")
    stage.teller.expect("the webhook's answer", "202", str(stage.a.look()))
    found = until(stage.a.status, lambda status: status.policy.commit == commit)
    stage.teller.expect("the revision in force", f"5 {commit}", f"{found.policy.number} {found.policy.commit}")
    ask_both(stage, 5, Expected(PAY, "ALLOW"), Expected(CANTEEN, "WITHHOLD", WITHHELD))


def show_the_fleet(stage: Stage) -> None:
    """Any sidecar shows all of them."""
    stage.teller.act("7  The fleet, as any sidecar shows it")
    found = until(stage.a.status, _all_at_the_last)
    told = sorted((one.instance, one.live, one.policy.number) for one in found.servers)
    stage.teller.expect("the fleet", str([("sidecar-a", True, 5), ("sidecar-b", True, 5)]), str(told))
    said = run(stage, stage.b, "status")
    for what in ("ready yes", "redis down", "sidecar-a live 5", "sidecar-b live 5"):
        expect_line(stage, said, "the status", what)


def _all_at_the_last(status: GetStatusResponse) -> bool:
    return all(one.policy.number == 5 for one in status.servers if one.live)
