"""Bytes of Redis memory for a message: record, place, indexes."""

from __future__ import annotations

from collections.abc import Callable

from bench.harness import BODY, used_memory
from bench.lines.calls.depth import correl_id
from bench.lines.calls.single import SOURCE
from bench.rows import Row
from bench.site import Site, persistent
from sharedq.mqi.constants import PutOption
from sharedq.mqi.structures import MQMD

LIMIT = 550


def measure(site: Site) -> list[Row]:
    """Persistent messages of 256 bytes, without and with a CorrelId; a stream's entries for comparison."""
    count = site.effort.stored

    def stream() -> None:
        site.streams.renew(SOURCE)
        for _ in range(0, count, 100):
            site.streams.add_many(SOURCE, [BODY] * 100)

    stream_bytes = _growth(site, stream) / count
    plain = _growth(site, lambda: _put(site, count, lambda _: persistent())) / count
    indexed = (
        _growth(site, lambda: _put(site, count, lambda number: MQMD(persistence=1, correl_id=correl_id(number))))
        / count
    )
    return [
        _row("memory of a message", plain, stream_bytes, LIMIT),
        _row("memory of a message, and its CorrelId", indexed, stream_bytes, LIMIT),
    ]


def _row(name: str, value: float, stream_bytes: float, limit: float) -> Row:
    return Row(name, value, "B", floor=limit, is_limit=True, ours=f"{value:.0f} B", theirs=f"{stream_bytes:.0f} B")


def _put(site: Site, count: int, descriptor: Callable[[int], MQMD]) -> None:
    queue = site.open_new(site.connect())
    for first in range(0, count, 100):
        queue.put_many(
            [(descriptor(number), BODY) for number in range(first + 1, first + 101)], options=PutOption.NO_SYNCPOINT
        )


def _growth(site: Site, act: Callable[[], None]) -> int:
    before = used_memory(site.client)
    act()
    return used_memory(site.client) - before
