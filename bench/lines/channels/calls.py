"""Calls through a channel, beside the same calls in the program itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping

from bench.harness import BODY, Contender, Cost, compare
from bench.lines.calls.batch import BATCH
from bench.lines.channels.scene import Doors, Program, doors
from bench.rows import Row, limit_row
from bench.site import Site, drain, fill, persistent
from igq.rehearsal.load.programs.channel import ClientConnection, ClientQueue
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import GetOption, OpenOption, PutOption

#: The most that a call may cost, in terms of the same call in the program itself.
C_LIMIT, PYTHON_LIMIT, ASYNC_LIMIT, SYNC_LIMIT = 1.6, 1.8, 2.2, 0.5
_OPEN = int(OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
_OUTSIDE, _IN_UNIT = int(PutOption.NO_SYNCPOINT), int(PutOption.SYNCPOINT)
_LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
_GET, _GET_IN_UNIT = int(GetOption.NO_SYNCPOINT), int(GetOption.SYNCPOINT)
Own = Queue | ClientQueue
Work = Callable[[Own, QueueManagerConnection | ClientConnection], object]


def measure(site: Site) -> list[Row]:
    """One call at a time; then fifty in a unit of work."""
    with doors(site) as found:
        return [*_single(site, found), *_batches(site, found)]


def _single(site: Site, found: Doors) -> list[Row]:
    works: dict[str, Work] = {
        "put": lambda queue, _: queue.put(BODY, persistent(), options=_OUTSIDE),
        "get": lambda queue, _: queue.get(_GET),
        "both": lambda queue, _: (queue.put(BODY, persistent(), options=_OUTSIDE), queue.get(_GET)),
    }
    names = {"put": "put", "get": "get", "both": "put and get"}
    rows = []
    for what, work in works.items():
        costs = _costs(site, found, what, work, is_filled=what == "get")
        for how, limit in (("C", C_LIMIT), ("C by TCP", C_LIMIT), ("Python", PYTHON_LIMIT)):
            rows.append(
                limit_row(f"{names[what]} through a channel, {how} : in the program", limit, costs[how], costs["own"])
            )
    return rows


def _batches(site: Site, found: Doors) -> list[Row]:
    def put(options: int) -> Work:
        def run(queue: Own, connection: QueueManagerConnection | ClientConnection) -> None:
            for _ in range(BATCH):
                queue.put(BODY, persistent(), options=options)
            connection.commit()

        return run

    def get(queue: Own, connection: QueueManagerConnection | ClientConnection) -> None:
        for _ in range(BATCH):
            queue.get(_GET_IN_UNIT)
        connection.commit()

    later = _costs(site, found, "async", put(_LATER), is_filled=False, each=BATCH)
    at_once = _costs(site, found, "sync", put(_IN_UNIT), is_filled=False, each=BATCH)
    gets = _costs(site, found, "got", get, is_filled=True, each=BATCH)
    return [
        limit_row("50 asynchronous puts through a channel : in the program", ASYNC_LIMIT, later["C"], later["own"]),
        limit_row("50 asynchronous puts through a channel : 50 others", SYNC_LIMIT, later["C"], at_once["C"]),
        limit_row("50 puts through a channel : in the program", C_LIMIT, at_once["C"], at_once["own"]),
        limit_row("50 gets through a channel : in the program", C_LIMIT, gets["C"], gets["own"]),
    ]


def _costs(site: Site, found: Doors, what: str, work: Work, *, is_filled: bool, each: int = 1) -> Mapping[str, Cost]:
    connection = site.connect()
    with contextlib.ExitStack() as stack:
        contenders = {}
        queue = site.open_new(connection)
        client = stack.enter_context(found.client())
        programs = {how: stack.enter_context(found.program(how, queue.name)) for how in ("unix", "TCP")}

        def prepare(count: int) -> None:
            drain(queue)
            if is_filled:
                fill(queue, count * each)

        def own(its: Own, its_connection: QueueManagerConnection | ClientConnection) -> Contender:
            def run(count: int) -> None:
                for _ in range(count):
                    work(its, its_connection)

            return Contender(prepare, run)

        def foreign(program: Program) -> Contender:
            return Contender(prepare, lambda count: program.do(what, count))

        contenders["own"] = own(queue, connection)
        contenders["C"] = foreign(programs["unix"])
        contenders["C by TCP"] = foreign(programs["TCP"])
        contenders["Python"] = own(client.open(queue.name, _OPEN), client)
        return compare(contenders, site.client, site.effort, messages_each=each)
