"""Second ways beside the general one: scripts for common puts, and reads and writes without redis-py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

import redis

from bench.harness import BODY, Contender, compare
from bench.rows import Row
from bench.site import Site, drain, fill, persistent
from sharedq.calls.unit import put_buffer
from sharedq.messages.record import PutArguments
from sharedq.mqi.constants import GetOption, PutOption
from sharedq.redis.link import ScriptCall
from sharedq.redis.wire import Wire
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

    def row(
        name: str, run: Callable[[int], None], without: Callable[[], AbstractContextManager[Any]], *, each: int = 1
    ) -> Row:
        def run_without(count: int) -> None:
            with without():
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
        row("put by put_plain : by put", put_alone, _by_put),
        row(
            "50 puts that come along with the commit : that are recorded",
            put_later,
            _never_with_the_commit,
            each=BATCH,
        ),
        row("get and put by commit_put : put, then commit", pass_on, _never_with_the_commit),
        row("put over igq's own reads and writes : over redis-py's", put_alone, _over_redis_py),
    ]


def _by_put() -> AbstractContextManager[Any]:
    """The general script stores plain messages too."""

    def call(target: put.PutTarget, messages: Sequence[PutArguments], details: Sequence[str]) -> ScriptCall:
        return put.put_call(target, "", messages, details, has_members=False)

    return patch.object(put, "put_plain_call", call)


def _never_with_the_commit() -> AbstractContextManager[Any]:
    """Puts are recorded one call before the commit."""
    return patch.object(put_buffer, "may_come_along", lambda *_, **__: False)


def _over_redis_py() -> AbstractContextManager[Any]:
    """The connection of redis-py sends and receives by its public methods, which igq does without (decision 23)."""

    def send(wire: Wire, packed: bytes) -> None:
        wire._connection.send_packed_command([packed], check_health=False)

    def receive(wire: Wire) -> Any:
        try:
            return wire._connection.read_response()
        except redis.ResponseError as error:
            return error

    both = ExitStack()
    both.enter_context(patch.object(Wire, "send", send))
    both.enter_context(patch.object(Wire, "receive", receive))
    return both
