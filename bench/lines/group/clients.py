"""Many clients: some at once beside Streams, and one among many connections, waits, queues or managers."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from bench.harness import BODY, Contender, compare
from bench.programs.client import STREAM
from bench.rows import Row
from bench.site import QMGR, Site, drain, persistent
from sharedq.api import Queue
from sharedq.mqi.constants import OpenOption
from tests.support.members import TestGroup

#: Ratio to redis-py's client, and how much more a call may cost among many.
FLOOR, LIMIT = 2.5, 1.3
PAIRS, SECONDS, TURNS = 3, 1.0, 5
QUEUE = "BENCH.CLIENTS"
CONNECTIONS, WAITS, QUEUES, MANAGERS = 64, 1_000, 2_000, 64
#: Waits of one process, which has a thread for each.
_WAITS_EACH = 250
_START_S = 120.0
_BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT


def measure(site: Site) -> list[Row]:
    """Putters and getters at once; then a put and a get of one program, among many and alone."""
    return [_at_once(site), *(_row(name, count, *pair, site) for name, count, pair in _pairs(site)), _among_waits(site)]


def _at_once(site: Site) -> Row:
    site.group.define_shared(QUEUE)
    rates: dict[str, list[float]] = {"igq": [], "streams": [], "redis-py": []}
    for _ in range(min(TURNS, site.effort.rounds)):
        for how, found in rates.items():
            site.streams.renew(STREAM)
            found.append(_rate(site, how))
    median = {how: statistics.median(found) for how, found in rates.items()}
    return Row(
        f"{PAIRS} putters and {PAIRS} getters at once",
        median["igq"] / median["streams"],
        floor=FLOOR,
        ours=f"{median['igq']:,.0f}/s",
        theirs=f"{median['streams']:,.0f}/s",
        plain=median["igq"] / median["redis-py"],
    )


def _rate(site: Site, how: str) -> float:
    """Messages a second that were put, and got."""
    settings = site.group.settings
    of_igq = (settings.group, str(settings.data_dir), QUEUE) if how == "igq" else ()
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.programs.client", how, verb, str(SECONDS), site.url, *of_igq],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for verb in ("put", "get")
        for _ in range(PAIRS)
    ]
    for each in processes:
        assert each.stdout is not None
        each.stdout.readline()
    for each in processes:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    return sum(int(each.communicate()[0]) for each in processes) / SECONDS


def _pairs(site: Site) -> Iterator[tuple[str, int, tuple[Sequence[Queue], Sequence[Queue]]]]:
    """Things that are many, how many, and the queues that calls go to in turn: those of the many, and of the one."""
    alone = [site.open_new(site.connect())]
    site.group.define_shared(f"{QUEUE}.SHARED")
    yield "programs", CONNECTIONS, ([site.connect().open(f"{QUEUE}.SHARED", _BOTH) for _ in range(CONNECTIONS)], alone)
    site.group.repository(QMGR).alter_qmgr(QMGR, {"max_handles": QUEUES + 1})
    connection = site.connect()
    yield "queues", QUEUES, ([site.open_new(connection) for _ in range(QUEUES)], alone)
    group = _crowded(site)
    yield "managers in the group", MANAGERS, ([site.open_new(group.connect(QMGR), group)], alone)


def _crowded(site: Site) -> TestGroup:
    group = site.new_group(journal=False)
    for number in range(2, 1 + MANAGERS):
        group.add_member(f"QM{number}")
    return group


def _row(name: str, count: int, many: Sequence[Queue], alone: Sequence[Queue], site: Site) -> Row:
    costs = compare({"many": _put_and_get(many), "alone": _put_and_get(alone)}, site.client, site.effort)
    return Row(
        f"a put and a get, {count:,} {name} : 1",
        costs["many"].us / costs["alone"].us,
        floor=LIMIT,
        is_limit=True,
        ours=f"{costs['many'].us:.1f} us",
        theirs=f"{costs['alone'].us:.1f} us",
        commands=(costs["many"].commands, costs["alone"].commands),
    )


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


def _among_waits(site: Site) -> Row:
    name = f"{QUEUE}.WAITS"
    site.group.define_shared(name)
    many, alone = [site.connect().open(name, _BOTH)], [site.open_new(site.connect())]
    with contextlib.ExitStack() as stack:
        for _ in range(WAITS // _WAITS_EACH):
            stack.enter_context(_waiting(site, name))
        _wait_for_all(site, name)
        return _row("gets that wait there for something else", WAITS, many, alone, site)


@contextlib.contextmanager
def _waiting(site: Site, name: str) -> Iterator[None]:
    settings = site.group.settings
    arguments = (site.url, settings.group, str(settings.data_dir), name, str(_WAITS_EACH))
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


def _wait_for_all(site: Site, name: str) -> None:
    key = site.group.group.structure("APPL1").queue(name).waiters
    end_s = time.monotonic() + _START_S
    while site.client.zcard(key) < WAITS:
        if time.monotonic() > end_s:
            raise RuntimeError(f"of {WAITS} gets {site.client.zcard(key)} wait")
        time.sleep(0.1)
