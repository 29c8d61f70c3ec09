"""The load generator: a lean C++ program on libnghttp2, built on demand, one thread, loopback only."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

BUILD = Path("build/bench")
SOURCE = Path(__file__).with_name("gload.cpp")


class Missing(Exception):
    """Something that a measurement needs is not on this machine; the text names it."""


@dataclass(frozen=True, slots=True)
class Load:
    """What one run gave: requests a second, latencies and server CPU in microseconds."""

    rps: float
    p50_us: float
    p99_us: float
    server_us: float
    errors: int


def generator() -> Path:
    """The built load generator. Raises Missing naming g++ or libnghttp2-dev."""
    binary = BUILD / "gload"
    if binary.exists() and binary.stat().st_mtime >= SOURCE.stat().st_mtime:
        return binary
    if shutil.which("g++") is None:
        raise Missing("g++")
    BUILD.mkdir(parents=True, exist_ok=True)
    built = subprocess.run(
        ["g++", "-O2", "-std=c++17", str(SOURCE), "-lnghttp2", "-o", str(binary)],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        raise Missing("libnghttp2-dev (the load generator did not build)")
    return binary


def body_file(name: str, messages: Iterable[bytes]) -> Path:
    """The messages as a series of gRPC frames, in a file."""
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / f"{name}.bin"
    path.write_bytes(b"".join(b"\0" + struct.pack(">I", len(m)) + m for m in messages))
    return path


def run(
    target: str,
    method: str,
    bodies: Path,
    *,
    concurrency: int,
    pids: Sequence[int],
    seconds: float = 2.0,
    most: int = 5_000_000,
) -> Load:
    """One run of unary calls with a fixed concurrency, after a short warm-up, of `most` calls at the most.

    Errors are counted in the result, never hidden.
    """
    connections = min(concurrency, 8)
    command = [str(generator()), "-t", target, "-p", method, "-b", str(bodies), "-c", str(connections)]
    command += ["-m", str(max(1, concurrency // connections)), "-d", str(seconds), "-w", "0.5", "-n", str(most)]
    command += ["--pids", ",".join(map(str, pids))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30, check=True)
    found = json.loads(done.stdout)
    return Load(found["rps"], found["p50_us"], found["p99_us"], found["srv_us"], int(found["errs"]))
