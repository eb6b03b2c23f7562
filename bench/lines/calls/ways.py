"""The ways to put: each script for a common case beside the general one, which would do the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from bench.harness import BODY, Contender, compare
from bench.rows import Row
from bench.site import Site, drain, fill, persistent
from sharedq.calls.unit import put_buffer
from sharedq.mqi.constants import GetOption, PutOption
from sharedq.scripts import put

#: The least that a second way has to bring.
FLOOR = 1.1
#: Messages of a unit of work that comes along with its commit.
BATCH = 50
_GET = int(GetOption.SYNCPOINT)
_PUT_LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)


def measure(site: Site) -> list[Row]:
    """The speed of each way, to that of the way without it."""
    connection = site.connect()
    queue, source = site.open_new(connection), site.open_new(connection)

    def put_alone(count: int) -> None:
        for _ in range(count):
            queue.put(BODY, persistent())

    def put_later(count: int) -> None:
        for _ in range(count):
            queue.put_many([(persistent(), BODY) for _ in range(BATCH)], options=_PUT_LATER)
            connection.commit()

    def pass_on(count: int) -> None:
        for _ in range(count):
            message = source.commit_and_get(_GET)
            queue.put(message.body, persistent(), options=_PUT_LATER)
        connection.commit()

    def prepare(count: int) -> None:
        drain(queue)
        fill(source, count)

    def row(name: str, run: Callable[[int], None], without: tuple[Any, str], *, each: int = 1) -> Row:
        def run_without(count: int) -> None:
            with patch.object(*without, lambda *_, **__: False):
                run(count)

        ways = {"with": Contender(prepare, run), "without": Contender(prepare, run_without)}
        costs = compare(ways, site.client, site.effort, messages_each=each)
        return Row(
            name,
            costs["without"].us / costs["with"].us,
            floor=FLOOR,
            ours=f"{costs['with'].us:.1f} us",
            theirs=f"{costs['without'].us:.1f} us",
            commands=(costs["with"].commands, costs["without"].commands),
        )

    # A put that the general script would have to make comes along with no commit.
    return [
        row("put by put_plain : by put", put_alone, (put, "are_plain")),
        row(
            "50 puts that come along with the commit : that are recorded",
            put_later,
            (put_buffer, "may_come_along"),
            each=BATCH,
        ),
        row("get and put by commit_put : put, then commit", pass_on, (put_buffer, "may_come_along")),
    ]
