"""A spool by itself, on real files: what is durable when, what happens to the file, and who may have it."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit

import pytest

from discreet.server.errors import SpoolRefused
from discreet.server.ports_spool import SpoolError
from discreet.server.spool import Spool
from discreet.server.spool.appending import BLOCK_ROWS_MAX, FILE_BYTES_MAX
from discreet.server.spool.spool import WAITING_BYTES_MAX
from tests.contract.making import audit
from tests.server.spool.files import EPOCH, TurnedClock, files_in, held_in, spool_on
from tests.server.support import CALL_S

MIB = 1024 * 1024


async def opened(state: Path, *, mb_max: int = 256) -> Spool:
    """An open spool."""
    spool, _ = spool_on(state, mb_max=mb_max)
    spool.open([EPOCH], wanted=True)
    return spool


async def left(spool: Spool) -> None:
    """Ends a spool without draining it."""
    await spool.end()
    spool.close()


async def drained(spool: Spool) -> list[bytes]:
    """The bodies of all rows that wait, which wait no more."""
    found: list[bytes] = []
    while (batch := await spool.batch()) is not None:
        found += [row.body for row in batch.records]
        spool.drained(batch.file, batch.first + len(batch.records))
    return found


def ours(path: Path) -> int:
    """The descriptor of this process that leads to a file."""
    return next(int(link.name) for link in Path("/proc/self/fd").iterdir() if link.exists() and link.samefile(path))


async def test_a_row_is_on_the_disk_before_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F7, AUD-07: written, then fdatasync'ed, then told: never told with the disk behind."""
    seen: list[int] = []
    sync = os.fdatasync

    def watched(handle: int) -> None:
        sync(handle)
        seen.append(os.fstat(handle).st_size)

    monkeypatch.setattr(os, "fdatasync", watched)
    spool = await opened(tmp_path)
    for number in range(5):
        await spool.append(audit(body=b"row %d" % number))
        assert seen[-1] == files_in(tmp_path)[0].stat().st_size
        assert [row.body for row in held_in(tmp_path)][-1] == b"row %d" % number
    await left(spool)


async def test_rows_that_wait_together_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F7: a few syncs for very many rows, and the event loop turns meanwhile."""
    syncs: list[int] = []
    sync = os.fdatasync

    def watched(handle: int) -> None:
        syncs.append(handle)
        sync(handle)

    monkeypatch.setattr(os, "fdatasync", watched)
    spool = await opened(tmp_path)
    rows = [audit(body=b"%d" % number) for number in range(4 * BLOCK_ROWS_MAX)]
    await asyncio.gather(*map(spool.append, rows))
    assert 4 <= len(syncs) <= 8
    assert [row.body for row in held_in(tmp_path)] == [row.body for row in rows]
    assert spool.state.rows == len(rows)
    assert await drained(spool) == [row.body for row in rows]
    assert spool.state[:3] == (0, 0, 0)
    await left(spool)
    assert files_in(tmp_path) == []


async def test_what_is_left_is_taken_over(tmp_path: Path) -> None:
    """AUD-01: rows that were not drained wait for the next start, whatever was cut off behind them."""
    spool = await opened(tmp_path)
    await spool.append(audit(body=b"one"))
    await spool.append(audit(body=b"two"))
    await left(spool)
    with files_in(tmp_path)[0].open("ab") as file:
        file.write(b"DSP1 a block that was never whole")
    again = await opened(tmp_path)
    await again.append(audit(body=b"three"))
    assert again.state.rows == 3
    assert await drained(again) == [b"one", b"two", b"three"]
    await left(again)
    assert files_in(tmp_path) == []


async def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """AUD-01: damage is never passed over: the start names the file and the place, and nothing is taken away."""
    spool = await opened(tmp_path)
    for name in (b"one", b"two"):
        await spool.append(audit(body=name))
    await left(spool)
    path = files_in(tmp_path)[0]
    data = bytearray(path.read_bytes())
    data[data.index(b"one")] ^= 1
    path.write_bytes(data)
    again, _ = spool_on(tmp_path)
    with pytest.raises(SpoolRefused, match=r"\.spool: is damaged at byte 0, behind 0 whole .*; restore the file"):
        again.open([EPOCH], wanted=False)
    assert path.read_bytes() == data
    again.close()


async def test_a_second_process_is_refused_and_named(tmp_path: Path) -> None:
    """F7: two servers on one spool; the first goes on, and when it ends the other may have it."""
    spool = await opened(tmp_path)
    other, _ = spool_on(tmp_path)
    with pytest.raises(SpoolRefused, match=f"another server has this spool: process {os.getpid()} on .*--state"):
        other.open([EPOCH], wanted=True)
    other.close()
    late, log = spool_on(tmp_path)
    late.open([EPOCH], wanted=False)
    with pytest.raises(SpoolError, match="another server has this spool: process"):
        await late.append(audit())
    assert "another server has this spool" in late.problems()[0]
    assert "takes no rows" in log.getvalue()
    await spool.append(audit(body=b"first"))
    await drained(spool)
    await left(spool)
    await late.append(audit(body=b"then"))
    assert late.problems() == []
    assert await drained(late) == [b"then"]
    await left(late)


def deleted(path: Path) -> Callable[[], None]:
    """Takes the file away."""
    path.unlink()
    return lambda: None


def replaced(path: Path) -> Callable[[], None]:
    """Puts a copy in its place."""
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)
    return lambda: None


def shortened(path: Path) -> Callable[[], None]:
    """Cuts it."""
    os.truncate(path, path.stat().st_size // 2)
    return lambda: None


def read_only(path: Path) -> Callable[[], None]:
    """Makes the handle one that can only read, as on a disk that became read-only."""
    handle = os.open(path, os.O_RDONLY)
    os.dup2(handle, ours(path))
    os.close(handle)
    return lambda: None


def full(path: Path) -> Callable[[], None]:
    """No file of this process can grow beyond what this one has now."""
    before = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (path.stat().st_size + 10, before[1]))
    return lambda: setrlimit(RLIMIT_FSIZE, before)


@pytest.mark.parametrize("fault", [deleted, replaced, shortened, read_only, full])
async def test_what_happens_to_the_file_is_noticed_and_got_over(
    tmp_path: Path, fault: Callable[[Path], Callable[[], None]]
) -> None:
    """F7, AUD-07: the row is refused, none that was told is lost by it, and a new file takes the next ones."""
    spool = await opened(tmp_path)
    await spool.append(audit(body=b"before"))
    mend = fault(files_in(tmp_path)[0])
    try:
        with pytest.raises(SpoolError, match="cannot be written"):
            await spool.append(audit(body=b"during" * 1_000))
        assert "cannot be written" in spool.problems()[0]
    finally:
        mend()
    await spool.append(audit(body=b"after"))
    assert spool.problems() == []
    lost = fault is shortened
    assert await drained(spool) == ([b"after"] if lost else [b"before", b"after"])
    assert spool.state.lost == lost
    assert bool(spool.problems()) == lost
    await left(spool)
    assert bool(files_in(tmp_path)) == (lost or fault is replaced)


async def test_damage_under_a_running_server_is_counted_and_left_behind(tmp_path: Path) -> None:
    """F7: the rows from there on are said to be lost, the next ones go elsewhere, and a start finds the file."""
    spool = await opened(tmp_path)
    for name in (b"one", b"two", b"three"):
        await spool.append(audit(body=name))
    (path,) = files_in(tmp_path)
    data = bytearray(path.read_bytes())
    data[data.index(b"two")] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    assert await drained(spool) == [b"one"]
    assert spool.state.lost == 2
    await spool.append(audit(body=b"four"))
    assert await drained(spool) == [b"four"]
    assert spool.problems() == ["audit spool: 2 rows that were recorded cannot be read back"]
    await left(spool)
    assert files_in(tmp_path) == [path]
    again, _ = spool_on(tmp_path)
    with pytest.raises(SpoolRefused, match=r"is damaged at byte .* behind 1 whole block\(s\)"):
        again.open([EPOCH], wanted=True)
    again.close()


async def test_a_disk_that_fails_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F7: after an fdatasync that failed nobody knows what is on the disk: the file is never written again."""
    spool = await opened(tmp_path)
    await spool.append(audit(body=b"before"))
    (first,) = files_in(tmp_path)
    sync = os.fdatasync

    def failing(handle: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", failing)
    with pytest.raises(SpoolError, match="cannot be written: Input/output error"):
        await spool.append(audit(body=b"during"))
    size = first.stat().st_size
    monkeypatch.setattr(os, "fdatasync", sync)
    await spool.append(audit(body=b"after"))
    assert (len(files_in(tmp_path)), first.stat().st_size) == (2, size)
    assert await drained(spool) == [b"before", b"after"]
    await left(spool)


async def test_a_full_spool_refuses_instead_of_growing(tmp_path: Path) -> None:
    """AUD-02: a bound on what is not drained; past it each row is refused at once, and draining makes room."""
    spool = await opened(tmp_path, mb_max=1)
    row = audit(body=bytes(MIB // 8))
    told = await asyncio.gather(*(spool.append(row) for _ in range(20)), return_exceptions=True)
    assert next(str(one) for one in told if one is not None).startswith("the audit spool is full")
    assert told.count(None) == 7
    assert (spool.state.rows, spool.state.bytes < MIB) == (7, True)
    assert "is full, with 7 rows" in spool.problems()[0]
    assert sum(path.stat().st_size for path in files_in(tmp_path)) < MIB
    assert len(await drained(spool)) == 7
    assert spool.problems() == []
    await spool.append(row)
    await left(spool)


async def test_a_slow_disk_keeps_neither_the_loop_nor_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AUD-02: with a sync that does not end calls go on being served, and what may wait for it is bounded."""
    spool = await opened(tmp_path)
    sync, ends = os.fdatasync, threading.Event()

    def slow(handle: int) -> None:
        assert ends.wait(60)
        sync(handle)

    monkeypatch.setattr(os, "fdatasync", slow)
    row = audit(body=bytes(MIB))
    waiting = [asyncio.create_task(spool.append(row)) for _ in range(WAITING_BYTES_MAX // MIB + 10)]
    done, _ = await asyncio.wait(waiting, timeout=CALL_S, return_when=asyncio.FIRST_COMPLETED)
    assert done
    assert all("is slow" in str(one.exception()) for one in done)
    ends.set()
    told = await asyncio.gather(*waiting, return_exceptions=True)
    assert told.count(None) == WAITING_BYTES_MAX // MIB - 1
    await spool.append(row)
    await left(spool)


async def test_files_are_bounded_and_go_once_they_are_drained(tmp_path: Path) -> None:
    """F7: a file that is full is followed by another one; each stays for as long as it holds what is not drained."""
    spool = await opened(tmp_path)
    for _ in range(3 * 5):
        await spool.append(audit(body=bytes(FILE_BYTES_MAX // 5)))
    assert len(files_in(tmp_path)) == 3
    first = await spool.batch()
    assert first is not None
    spool.drained(first.file, 4)
    assert len(files_in(tmp_path)) == 3
    spool.drained(first.file, 5)
    assert len(files_in(tmp_path)) == 2
    await left(spool)


async def test_how_long_the_oldest_has_waited(tmp_path: Path) -> None:
    """F7: by the clock of this machine, over a restart as well."""
    clock = TurnedClock()
    spool, _ = spool_on(tmp_path, clock=clock)
    spool.open([EPOCH], wanted=True)
    await spool.append(audit())
    clock.at += 5_000_000
    await spool.append(audit())
    assert spool.state.oldest_ms == 5_000
    await left(spool)
    again, log = spool_on(tmp_path, clock=clock)
    again.open([EPOCH], wanted=False)
    clock.at += 1_000_000
    assert again.state[:3] == (2, again.state.bytes, 6_000)
    assert "rows that an earlier server left" in log.getvalue()
    await left(again)


async def test_rows_of_another_database_stay_where_they_are(tmp_path: Path) -> None:
    """F7: what was spooled for one database never comes into another; those that it stands in for are taken over."""
    spool = await opened(tmp_path)
    await spool.append(audit(body=b"one"))
    await left(spool)
    other, _ = spool_on(tmp_path)
    other.open(["a" * 32], wanted=True)
    assert await drained(other) == []
    await left(other)
    heir, _ = spool_on(tmp_path)
    heir.open(["a" * 32, EPOCH], wanted=True)
    assert await drained(heir) == [b"one"]
    await left(heir)
    assert files_in(tmp_path) == []
