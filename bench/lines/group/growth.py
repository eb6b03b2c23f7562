"""A put and a get of one program among few and many connections, queues, managers or waits. Nothing may grow."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from bench.harness import BODY, Contender, compare
from bench.rows import Row, limit_row
from bench.site import QMGR, Site, drain, persistent
from sharedq.api import Queue
from sharedq.mqi.constants import OpenOption
from tests.support.members import TestGroup

#: How much more a call may cost among many.
LIMIT = 1.3
CONNECTIONS, QUEUES, MANAGERS, WAITS = (4, 16, 64), (20, 200, 2_000), (4, 16, 64), (10, 100, 1_000)
QUEUE = "BENCH.GROWTH"
#: Waits of one process, at most; it has a thread for each.
_WAITS_EACH = 250
_START_S = 120.0
_BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT


def measure(site: Site) -> list[Row]:
    """The calls take turns with those of a connection that has a queue to itself."""
    alone = [site.open_new(site.connect())]
    rows = []
    for name, count, many in _crowds(site):
        with many as queues:
            rows.append(_row(name, count, queues, alone, site))
    return rows


def _crowds(site: Site) -> Iterator[tuple[str, int, contextlib.AbstractContextManager[Sequence[Queue]]]]:
    """Things that are many, how many, and the queues that calls go to in turn."""
    shared = f"{QUEUE}.SHARED"
    site.group.define_shared(shared)
    for count in CONNECTIONS:
        queues = [site.connect().open(shared, _BOTH) for _ in range(count)]
        yield "connections", count, contextlib.nullcontext(queues)
    site.group.repository(QMGR).alter_qmgr(QMGR, {"max_handles": max(QUEUES) + 1})
    for count in QUEUES:
        connection = site.connect()
        yield "queues", count, contextlib.nullcontext([site.open_new(connection) for _ in range(count)])
    for count in MANAGERS:
        group = _crowded(site, count)
        yield "managers in the group", count, contextlib.nullcontext([site.open_new(group.connect(QMGR), group)])
    for count in WAITS:
        yield "gets that wait there for something else", count, _among_waits(site, count)


def _crowded(site: Site, count: int) -> TestGroup:
    group = site.new_group(journal=False)
    for number in range(2, 1 + count):
        group.add_member(f"QM{number}")
    return group


def _row(name: str, count: int, many: Sequence[Queue], alone: Sequence[Queue], site: Site) -> Row:
    costs = compare({"many": _put_and_get(many), "alone": _put_and_get(alone)}, site.client, site.effort)
    name_of_row = f"a put and a get, {count:,} {name} : 1"
    return limit_row(name_of_row, LIMIT, costs["many"], costs["alone"], growth=(name, count))


def _put_and_get(queues: Sequence[Queue]) -> Contender:
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            queue = queues[at % len(queues)]
            at += 1
            queue.put(BODY, persistent())
            queue.get()

    return Contender(lambda _: drain(queues[0]), run)


@contextlib.contextmanager
def _among_waits(site: Site, count: int) -> Iterator[Sequence[Queue]]:
    # Nobody recovers the waits of a program that was ended, so they stay.
    name = f"{QUEUE}.WAITS.{count}"
    site.group.define_shared(name)
    with contextlib.ExitStack() as stack:
        for first in range(0, count, _WAITS_EACH):
            stack.enter_context(_waiting(site, name, min(_WAITS_EACH, count - first)))
        _wait_for_all(site, name, count)
        yield [site.connect().open(name, _BOTH)]


@contextlib.contextmanager
def _waiting(site: Site, name: str, count: int) -> Iterator[None]:
    settings = site.group.settings
    arguments = (site.url, settings.group, str(settings.data_dir), name, str(count))
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.programs.crowd", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()


def _wait_for_all(site: Site, name: str, count: int) -> None:
    key = site.group.group.structure("APPL1").queue(name).waiters
    end_s = time.monotonic() + _START_S
    while site.client.zcard(key) < count:
        if time.monotonic() > end_s:
            raise RuntimeError(f"of {count} gets {site.client.zcard(key)} wait")
        time.sleep(0.1)
