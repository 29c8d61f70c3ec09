"""What may be scraped of a server: counts and states, of closed sets alone; and how it is served."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import prometheus_client
import pytest

from discreet.policy import token
from discreet.server.metrics import CallCounts, Gathered, Metrics
from discreet.server.metrics.collecting import SOURCE_SERIES_MAX
from discreet.server.ports import StoreError
from discreet.server.stores import open_store
from discreet.v1 import audit_pb2, common_pb2, disclosure_pb2, index_pb2, purge_pb2
from tests.server.faults import FaultyStore
from tests.server.purge.orders import IDENTITIES, SEGMENTS, registered
from tests.server.scraping import scrape
from tests.server.support import (
    POLICY,
    TENANT,
    PolicyRepo,
    Running,
    binding,
    check,
    commit,
    config_of,
    document,
    eventually,
    in_process,
    ref,
    segment,
)

SERIES_MAX = 500
ROOT = Path(__file__).parents[2]
RETRIEVE = common_pb2.MOMENT_RETRIEVE


@pytest.fixture
async def measured(place: Path, repo: PolicyRepo) -> AsyncIterator[Running]:
    """A server in this process that serves metrics."""
    async with in_process(config_of(place, repo.path, metrics=("127.0.0.1", 0), identities=IDENTITIES)) as server:
        yield server


async def series(running: Running) -> dict[tuple[str, ...], float]:
    """What a server exposes now."""
    return (await scrape(running.server.metrics_address)).series


async def used(running: Running) -> None:
    """Every kind of label is given once: calls that go well and ill, verdicts, a stream."""
    lines = running.lines
    await lines.collector.put(document())
    await lines.agent.check(check())
    await lines.agent.commit(commit())
    await lines.agent.refused(server_request())
    await lines.operator.status()
    stream: grpc.aio.StreamStreamMultiCallable[bytes, bytes]
    stream = lines.agent.channel.stream_stream("/discreet.v1.DisclosureService/CheckStream")
    frames = stream()
    await frames.write(disclosure_pb2.CheckStreamRequest(frame_id=1, check=check()).SerializeToString())
    await frames.done_writing()
    assert [frame async for frame in frames]


def server_request() -> audit_pb2.QueryDecisionsRequest:
    """A call that an agent may not make."""
    return audit_pb2.QueryDecisionsRequest()


async def test_each_series_is_described_and_nothing_else_is_exposed(measured: Running) -> None:
    """The document lists every series with its type and labels, and is held to what is really exposed."""
    await used(measured)
    await ordered(measured)
    found = await scrape(measured.server.metrics_address)
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE)
    assert {name: kind for name, kind, _ in rows} == found.families
    described = {name: tuple(sorted(re.findall(r"`(\w+)`", labels))) for name, _, labels in rows}
    assert {name: described[name] for name in found.labels} == found.labels
    assert set(found.labels) == set(described)
    assert found.series["build_info", str(server_version(found.text))] == 1


async def ordered(running: Running) -> None:
    """A holder that is asked to purge, and has not answered."""
    await registered(running.lines["threads"], purge_pb2.RegisterHolderRequest(tenant=TENANT, kind=SEGMENTS))
    revoke = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
    await running.lines.operator.call(revoke)
    assert running.server.methods is not None
    await running.server.methods.purging.noticing.look()


def server_version(text: str) -> str:
    """The version that the text tells."""
    told = re.search(r'discreet_build_info\{version="([^"]+)"\} 1', text)
    assert told is not None
    return told[1]


async def test_calls_and_verdicts_are_counted(measured: Running) -> None:
    """Each call once by method and status, each segment once by moment, verdict and reason; times in buckets."""
    await used(measured)
    found = await series(measured)
    assert found["calls_total", "OK", "DisclosureService/Check"] == 1
    assert found["calls_total", "OK", "DisclosureService/CheckStream"] == 1
    assert found["calls_total", "PERMISSION_DENIED", "AuditService/QueryDecisions"] == 1
    assert found["streams_total", "OK"] == 1
    assert found["verdicts_total", "PUBLISH", "NONE", "ALLOW"] == 3
    assert found["call_seconds_count", "DisclosureService/Check"] == 1
    assert found["call_seconds_count", "other"] == 3
    assert found["call_seconds_bucket", "+Inf", "DisclosureService/Check"] == 1
    assert found["calls_under_way",] == 0
    await measured.lines.agent.commit(commit())
    await measured.lines.agent.refused(commit(segment(kind="other")))
    found = await series(measured)
    assert found["verdicts_total", "PUBLISH", "NONE", "ALLOW"] == 4
    assert found["calls_total", "OK", "DisclosureService/Commit"] == 2
    assert found["calls_total", "ALREADY_EXISTS", "DisclosureService/Commit"] == 1


async def test_a_call_that_is_given_up_is_counted_as_cancelled(place: Path, repo: PolicyRepo) -> None:
    """Whoever leaves is counted too, and is no longer under way."""
    store = FaultyStore(open_store(str(place / "discreet.db")))
    async with in_process(config_of(place, repo.path, metrics=("127.0.0.1", 0)), store=store) as running:
        store.held["record"] = asyncio.Event()
        asked = asyncio.create_task(running.lines.agent.check(check()))
        await eventually(lambda: _is(running, ("calls_under_way",), 1))
        asked.cancel()
        await eventually(lambda: _is(running, ("calls_total", "CANCELLED", "DisclosureService/Check"), 1))
        store.held["record"].set()
        assert (await series(running))["calls_under_way",] == 0


async def _is(running: Running, key: tuple[str, ...], value: float) -> bool:
    return (await series(running)).get(key) == value


async def test_ids_are_no_labels(measured: Running) -> None:
    """OBS-05: 10,000 principals, sessions, records, segments and answers later there are as many series as before."""
    await used(measured)
    await measured.lines.agent.check(check(segment("s0", binding("none"))))
    before = await series(measured)
    for batch in range(100):
        asked = [segment(f"s{batch}-{n}", binding(f"r{batch}-{n}")) for n in range(100)]
        await measured.lines.agent.check(check(*asked, principal=f"p{batch}", session_id=f"session-{batch}"))
    after = await series(measured)
    assert after["verdicts_total", "PUBLISH", "NOT_AVAILABLE", "WITHHOLD"] == 10_001
    assert after.keys() == before.keys()
    assert len(after) < SERIES_MAX


async def test_no_cause_is_told_that_readers_are_not_told(measured: Running) -> None:
    """F11: who scrapes before and after a question cannot tell a document that is missing from one that is denied."""
    await measured.lines.collector.put(document("handbook/board", scopes=["board"]))

    async def told(record_id: str) -> dict[tuple[str, ...], float]:
        before = await series(measured)
        await measured.lines.agent.check(check(segment("s", binding(record_id)), moment=RETRIEVE))
        after = await series(measured)
        grown = {key: value - before.get(key, 0) for key, value in after.items() if key[0] == "verdicts_total"}
        return {key: value for key, value in grown.items() if value}

    assert await told("handbook/board") == await told("handbook/none")
    text = (await scrape(measured.server.metrics_address)).text
    assert "SCOPE" not in text
    assert "UNKNOWN" not in text


async def test_no_content_is_told(measured: Running) -> None:
    """OBS-03, GIT-04: neither what a bad request holds nor where the policy comes from is in a metric."""
    bad = check(
        segment("ssn 123-45-6789", binding("tok3n-AB", claimed_label="tok3n-AB ssn")), principal="ana\n123-45-6789"
    )
    await measured.lines.agent.refused(bad)
    await measured.lines.agent.check(check(segment("ssn 123-45-6789", binding("tok3n-AB"))))
    text = (await scrape(measured.server.metrics_address)).text
    for secret in ("123-45-6789", "tok3n-AB", "ana", str(measured.server.config.policy), "acme"):
        assert secret not in text


async def test_a_refused_commit_is_told_until_it_is_mended(measured: Running, repo: PolicyRepo) -> None:
    """YML-12: metrics say that a commit is refused and how many were; status and log name it, each of two alike."""
    assert (await series(measured))["policy_revision",] == 1
    for number in (1, 2):
        bad = repo.commit({"rules.yaml": "kind: [", "note.txt": str(number)})
        await eventually(lambda: _is(measured, ("policy_refused_commits_total", "problems"), number))  # noqa: B023 - awaited before the next
        assert (await measured.lines.operator.status()).policy_error_commit == bad
        assert bad in measured.log.getvalue()
    found = await series(measured)
    assert (found["policy_refused_commit",], found["policy_revision",], found["serving",]) == (1, 1, 1)
    repo.commit({"rules.yaml": POLICY["rules.yaml"], "note.txt": "3"})
    await eventually(lambda: _is(measured, ("policy_refused_commit",), 0))
    await eventually(lambda: _is(measured, ("policy_revision",), 2))
    assert (await series(measured))["policy_refused_commits_total", "problems"] == 2


async def test_each_cause_of_a_refused_commit_is_counted_apart(measured: Running, repo: PolicyRepo) -> None:
    """YML-12: the set's problems, its failing tests, files that cannot be a set."""
    failing = """apiVersion: discreet/v1
kind: PolicyTest
name: fails
now: 2026-01-05T09:00:00Z
cases:
  - {name: wrong, moment: PUBLISH, principal: ana, kind: small-talk, grounding: UNBOUND,
     expect: {verdict: WITHHOLD, reason: POLICY_RULE}}
"""
    repo.commit({"a_test.yaml": failing})
    await eventually(lambda: _is(measured, ("policy_refused_commits_total", "tests"), 1))
    (repo.path / "a_test.yaml").unlink()
    (repo.path / "link.yaml").symlink_to("rules.yaml")
    repo.commit({})
    await eventually(lambda: _is(measured, ("policy_refused_commits_total", "files"), 1))
    found = await series(measured)
    assert found["policy_refused_commits_total", "problems"] == found["policy_refused_commits_total", "ref"] == 0


async def test_a_source_that_is_gone_is_told_and_the_lag_grows(measured: Running, repo: PolicyRepo) -> None:
    """F1: no metric stands still while updates fail."""
    shutil.move(repo.path, repo.path.with_name("away"))
    await eventually(lambda: _is(measured, ("policy_source_unreachable",), 1))
    first = (await series(measured))["policy_lag_seconds",]

    async def grown() -> bool:
        return (await series(measured))["policy_lag_seconds",] > first

    await eventually(grown)
    shutil.move(repo.path.with_name("away"), repo.path)
    await eventually(lambda: _is(measured, ("policy_source_unreachable",), 0))


async def test_a_store_that_is_silent_is_told(place: Path, repo: PolicyRepo) -> None:
    """A12, F7: what was withheld for the store's or the audit's sake is counted, and health is told."""
    store = FaultyStore(open_store(str(place / "discreet.db")))
    async with in_process(config_of(place, repo.path, metrics=("127.0.0.1", 0)), store=store) as running:
        assert (await series(running))["store_answers",] == 1
        store.broken["record"] = StoreError("full")
        await running.lines.agent.check(check())
        await running.lines.agent.refused(audit_pb2.QueryDecisionsRequest())
        store.broken["head"] = StoreError("gone")
        await running.lines.agent.check(check())
        await eventually(lambda: _is(running, ("store_answers",), 0))
        await eventually(lambda: _is(running, ("serving",), 0))
        found = await series(running)
        assert found["audit_failures_total",] == found["store_failures_total",] == 1
        assert found["refusals_unrecorded_total",] == 1
        assert found["verdicts_total", "PUBLISH", "AUDIT_UNAVAILABLE", "WITHHOLD"] == 1
        assert found["verdicts_total", "PUBLISH", "DEPENDENCY_UNAVAILABLE", "WITHHOLD"] == 1


async def test_the_index_seq_follows_the_order(measured: Running) -> None:
    """The highest number seen, as tokens name it."""
    await measured.lines.collector.put(document())
    told = await measured.lines.agent.check(check())
    assert (await series(measured))["index_seq",] == token.decode(told.token).seq


async def test_servers_share_no_metrics(place: Path, repo: PolicyRepo, measured: Running) -> None:
    """Each has a registry of its own; the process's own registry stays as it was."""
    (place / "b").mkdir()
    async with in_process(config_of(place / "b", repo.path, metrics=("127.0.0.1", 0))) as other:
        await used(measured)
        assert ("calls_total", "OK", "DisclosureService/Check") not in await series(other)
    assert b"discreet" not in prometheus_client.generate_latest()


async def test_a_part_brings_series_of_its_own() -> None:
    """A source is asked at each scrape; counters are told from gauges by their names."""
    metrics, depth = Metrics(CallCounts()), [1.0]
    metrics.add_source(
        lambda: [
            Gathered("orders", "Open orders.", {"state": "OPEN"}, depth[0]),
            Gathered("seen_total", "Seen.", {}, 2),
        ]
    )
    depth[0] = 7
    text = (await metrics.text()).decode()
    assert '# TYPE discreet_orders gauge\ndiscreet_orders{state="OPEN"} 7.0\n' in text
    assert "# TYPE discreet_seen_total counter\ndiscreet_seen_total 2.0\n" in text


async def test_a_source_cannot_flood_a_scrape() -> None:
    """OBS-05: at the bound all series are told, one past it is left out, and that is told."""
    metrics, count = Metrics(CallCounts()), [SOURCE_SERIES_MAX]
    metrics.add_source(lambda: [Gathered("x", "X.", {"n": str(n)}, 1) for n in range(count[0])])
    at = (await metrics.text()).decode()
    assert at.count("discreet_x{") == SOURCE_SERIES_MAX
    assert "discreet_series_left_out 0.0" in at
    count[0] += 1
    past = (await metrics.text()).decode()
    assert past.count("discreet_x{") == SOURCE_SERIES_MAX
    assert "discreet_series_left_out 1.0" in past
