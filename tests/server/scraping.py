"""A scrape as a monitoring system makes it, over plain HTTP. Knows no server but its address."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True, slots=True)
class Scrape:
    """What was exposed: the text, and each series by its name and the values of its labels, in the order of labels."""

    text: str

    @property
    def families(self) -> dict[str, str]:
        """The type of each family; counters under the name of their series."""
        found = text_string_to_metric_families(self.text)
        return {one.name + ("_total" if one.type == "counter" else ""): one.type for one in found}

    @property
    def series(self) -> dict[tuple[str, ...], float]:
        """The value of each series."""
        samples = [sample for one in text_string_to_metric_families(self.text) for sample in one.samples]
        return {(one.name.removeprefix("discreet_"), *_values(one.labels)): one.value for one in samples}

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The names of the labels of each family that has series."""
        found = {}
        for one in text_string_to_metric_families(self.text):
            name = one.name + ("_total" if one.type == "counter" else "")
            for sample in one.samples:
                found[name] = tuple(sorted(label for label in sample.labels if label != "le"))
        return found


def _values(labels: dict[str, str]) -> list[str]:
    return [labels[name] for name in sorted(labels)]


async def request(address: str, data: bytes) -> bytes:
    """The answer to bytes, whole, until the other side closes."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionResetError:
        return b""  # closed before all of it was read
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def scrape(address: str) -> Scrape:
    """What /metrics says now."""
    answer = await request(address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n"), head
    assert f"Content-Length: {len(body)}".encode() in head
    return Scrape(body.decode())
