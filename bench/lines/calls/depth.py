"""A call at a depth of a million costs what it costs at a thousand."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from bench.harness import BODY, Contender, Cost, compare
from bench.rows import Row, limit_row
from bench.site import Site
from sharedq.api import Queue
from sharedq.mqi.constants import MatchOption, PutOption
from sharedq.mqi.structures import MQMD

SHALLOW = 1_000
LIMIT, LIMIT_US = 1.3, 120.0
_MATCH = int(MatchOption.MATCH_CORREL_ID)


def measure(site: Site) -> list[Row]:
    """Put, get, and get by CorrelId on queues of constant depth."""
    connection = site.connect()
    depths = {"shallow": SHALLOW, "deep": site.effort.deep}
    queues = {name: site.open_new(connection) for name in depths}
    for name, queue in queues.items():
        _fill(queue, depths[name])
    rows = []
    kinds: tuple[tuple[str, Callable[[Queue, int], Contender]], ...] = (
        ("put", _put),
        ("get", _get),
        ("get by CorrelId", _get_by_correl_id),
    )
    for what, contender in kinds:
        contenders = {name: contender(queue, depths[name]) for name, queue in queues.items()}
        costs = compare(contenders, site.client, site.effort)
        rows.append(depth_row(what, depths["deep"], costs))
    return [*rows, Row("get by CorrelId on the deep queue", costs["deep"].us, "us", floor=LIMIT_US, is_limit=True)]


def depth_row(what: str, depth: int, costs: Mapping[str, Cost]) -> Row:
    """The ratio of a call's cost on the deep queue to that on the shallow one."""
    return limit_row(f"{what} at depth {depth:,} : {SHALLOW:,}", LIMIT, costs["deep"], costs["shallow"])


def correl_id(number: int) -> bytes:
    """A CorrelId that no other message has."""
    return number.to_bytes(24, "big")


def _fill(queue: Queue, depth: int) -> None:
    for first in range(1, depth + 1, 100):
        queue.put_many(
            [(_correlated(number), BODY) for number in range(first, min(first + 100, depth + 1))],
            options=PutOption.NO_SYNCPOINT,
        )


def _correlated(number: int) -> MQMD:
    return MQMD(persistence=1, correl_id=correl_id(number))


def _put(queue: Queue, depth: int) -> Contender:
    numbers = iter(range(depth + 1, 1 << 62))
    put_before = [0]

    def prepare(_: int) -> None:
        _take(queue, put_before[0])
        put_before[0] = 0

    def run(count: int) -> None:
        put_before[0] += count
        for _ in range(count):
            queue.put(BODY, _correlated(next(numbers)))

    return Contender(prepare, run)


def _get(queue: Queue, depth: int) -> Contender:
    numbers = iter(range(1 << 62, 1 << 63))

    def prepare(count: int) -> None:
        queue.put_many([(_correlated(next(numbers)), BODY) for _ in range(count)])

    def run(count: int) -> None:
        for _ in range(count):
            queue.get()

    del depth
    return Contender(prepare, run)


def _get_by_correl_id(queue: Queue, depth: int) -> Contender:
    # The messages on the queue are not known by number any more. Put these among them, and get them out of order.
    wanted: list[int] = []
    numbers = iter(range(1 << 64, 1 << 65))
    order = random.Random(depth)

    def prepare(count: int) -> None:
        wanted.extend(next(numbers) for _ in range(count))
        order.shuffle(wanted)
        queue.put_many([(_correlated(number), BODY) for number in sorted(wanted)])

    def run(count: int) -> None:
        for _ in range(count):
            queue.get(match=MQMD(correl_id=correl_id(wanted.pop())), match_options=_MATCH)

    return Contender(prepare, run)


def _take(queue: Queue, count: int) -> None:
    while count > 0:
        count -= len(queue.get_many(min(100, count)))
