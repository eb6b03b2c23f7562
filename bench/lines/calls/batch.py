"""Fifty messages in one unit of work."""

from __future__ import annotations

from bench.harness import BODY, Contender, compare
from bench.lines.calls.single_calls import SOURCE, fill_stream
from bench.rows import Row, ratio_row
from bench.site import Site, drain, fill, persistent
from bench.streams import Streams
from sharedq.mqi.constants import GetOption, PutOption

BATCH = 50
_GET = int(GetOption.SYNCPOINT)
_PUT_LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)


def measure_put(site: Site) -> list[Row]:
    """Fifty puts and a commit; fifty XADD in one write."""
    connection = site.connect()
    queue = site.open_new(connection)

    def run(count: int) -> None:
        for _ in range(count):
            queue.put_many([(persistent(), BODY) for _ in range(BATCH)], options=_PUT_LATER)
            connection.commit()

    def stream(streams: Streams) -> Contender:
        def run_stream(count: int) -> None:
            for _ in range(count):
                streams.add_many(SOURCE, [BODY] * BATCH)

        return Contender(lambda _: site.streams.renew(SOURCE), run_stream)

    costs = compare(
        {
            "igq": Contender(lambda _: drain(queue), run),
            "streams": stream(site.streams),
            "redis-py": stream(site.plain_streams),
        },
        site.client,
        site.effort,
        messages_each=BATCH,
    )
    return [ratio_row("50 puts in one unit of work", 1.0, costs)]


def measure_get(site: Site) -> list[Row]:
    """Fifty gets and a commit; XREADGROUP COUNT 50, then XACK of them."""
    connection = site.connect()
    queue = site.open_new(connection)

    def run(count: int) -> None:
        # A commit leaves with the next batch, as in a consumer's loop.
        for _ in range(count):
            if len(queue.commit_and_get_many(BATCH, _GET)) != BATCH:
                raise RuntimeError("a batch came short")
        connection.commit()

    def stream(streams: Streams) -> Contender:
        def run_stream(count: int) -> None:
            for _ in range(count):
                messages = streams.read(SOURCE, BATCH)
                streams.acknowledge(SOURCE, [entry for entry, _ in messages])

        return Contender(lambda count: fill_stream(site, count * BATCH), run_stream)

    costs = compare(
        {
            "igq": Contender(lambda count: fill(queue, count * BATCH), run),
            "streams": stream(site.streams),
            "redis-py": stream(site.plain_streams),
        },
        site.client,
        site.effort,
        messages_each=BATCH,
    )
    return [ratio_row("50 gets in one unit of work", 1.5, costs)]
