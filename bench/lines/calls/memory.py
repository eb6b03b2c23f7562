"""Bytes of Redis memory for a message: record, place, indexes."""

from __future__ import annotations

from collections.abc import Callable

from bench.harness import BODY, used_memory
from bench.lines.calls.depth import correl_id
from bench.lines.calls.single_calls import SOURCE
from bench.rows import Row
from bench.site import Site, persistent
from sharedq.mqi.constants import PutOption
from sharedq.mqi.structures import MQMD

LIMIT = 550
#: Bytes of a record that are not data, if the descriptor is the default one; and a score as those of messages are.
RECORD_FRONT, SCORE = 30, 1 << 51


def measure(site: Site) -> list[Row]:
    """Persistent messages of 256 bytes, without and with a CorrelId; a stream's entries for comparison."""
    count = site.effort.stored

    def stream() -> None:
        site.streams.renew(SOURCE)
        for _ in range(0, count, 100):
            site.streams.add_many(SOURCE, [BODY] * 100)

    stream_bytes = _growth(site, stream) / count
    plain = _of_messages(site, lambda _: persistent())
    indexed = _of_messages(site, lambda number: MQMD(persistence=1, correl_id=correl_id(number)))
    bare = _growth(site, lambda: _store(site, count)) / count
    return [
        _row("memory of a message", plain, stream_bytes, LIMIT),
        _row("memory of a message, and its CorrelId", indexed, stream_bytes, LIMIT),
        _row("memory of a record in a hash, and a place in a sorted set", bare, stream_bytes, None),
    ]


def _store(site: Site, count: int) -> None:
    """Only what a message cannot do without: its record by its number, and its place on a queue."""
    with site.client.pipeline(transaction=False) as pipeline:
        for number in range(count):
            pipeline.hset("bare:records", str(number), BODY + bytes(RECORD_FRONT))
            pipeline.zadd("bare:places", {str(number): SCORE + number})
            if number % 1000 == 0:
                pipeline.execute()
        pipeline.execute()


def _row(name: str, value: float, stream_bytes: float, limit: float | None) -> Row:
    return Row(name, value, "B", floor=limit, is_limit=True, ours=f"{value:.0f} B", theirs=f"{stream_bytes:.0f} B")


def _of_messages(site: Site, descriptor: Callable[[int], MQMD]) -> float:
    """Bytes of one of many messages; the first of them bring the scripts and the connection to the server."""
    queue, count = site.open_new(site.connect()), site.effort.stored

    def put(first: int, end: int) -> None:
        for at in range(first, end, 100):
            messages = [(descriptor(number), BODY) for number in range(at + 1, at + 101)]
            queue.put_many(messages, options=PutOption.NO_SYNCPOINT)

    put(0, 100)
    return _growth(site, lambda: put(100, 100 + count)) / count


def _growth(site: Site, act: Callable[[], None]) -> int:
    before = used_memory(site.client)
    act()
    return used_memory(site.client) - before
