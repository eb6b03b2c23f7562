"""A waiting get's wake-up: from before the put in one process until the message is there in another."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import redis

from bench.harness import BODY, ROUNDS_MIN
from bench.programs.waiter import LIST_KEY, PLAIN_LIST_KEY, STREAM_KEY
from bench.rows import Row
from bench.site import QMGR, Site, persistent
from bench.streams import plain_client
from sharedq.mqi.constants import OpenOption
from tests.support.members import TestGroup

LIMIT, LIMIT_IN_UNIT = 1.5, 1.2
QUEUE, IN_UNIT = "BENCH.WAKE", "BENCH.WAKE.UNIT"
#: Wake-ups of one way come in a row, else what one measures is whose code the other ways drove out of the caches.
BURST, PAUSE_S = 30, 0.001
#: Unmeasured ones at its beginning, as is the whole first turn.
WARM_UP = 3


def measure(site: Site) -> list[Row]:
    """MQPUT that wakes an MQGET; LPUSH that wakes a BLPOP; XADD that wakes an XREADGROUP BLOCK."""
    site.group.define_shared(QUEUE)
    site.group.define_shared(IN_UNIT)
    connection = site.connect()
    queue, in_unit = connection.open(QUEUE, OpenOption.OUTPUT), connection.open(IN_UNIT, OpenOption.OUTPUT)
    site.streams.renew(STREAM_KEY)
    plain = plain_client(site.url)
    pushes: dict[str, Callable[[], object]] = {
        "igq": lambda: queue.put(BODY, persistent()),
        "igq-unit": lambda: in_unit.put(BODY, persistent()),
        "blpop": lambda: site.streams.send(("LPUSH", LIST_KEY, BODY)),
        "blpop-redis-py": lambda: plain.lpush(PLAIN_LIST_KEY, BODY),
        "xreadgroup": lambda: site.streams.add(STREAM_KEY, BODY),
    }
    waits = {how: (how,) for how in pushes} | {
        "igq": waits_on(site.group, QMGR, QUEUE),
        "igq-unit": waits_on(site.group, QMGR, IN_UNIT, how="igq-unit"),
    }
    samples = take_samples(site, pushes, waits, len(pushes))
    us = {how: statistics.median(found) for how, found in samples.items()}
    return [
        Row(
            "wake-up of a waiting get : of a BLPOP",
            us["igq"] / us["blpop"],
            floor=LIMIT,
            is_limit=True,
            ours=f"{us['igq']:.0f} us",
            theirs=f"{us['blpop']:.0f} us",
            plain=us["igq"] / us["blpop-redis-py"],
        ),
        Row(
            "wake-up under syncpoint : outside",
            us["igq-unit"] / us["igq"],
            floor=LIMIT_IN_UNIT,
            is_limit=True,
            ours=f"{us['igq-unit']:.0f} us",
            theirs=f"{us['igq']:.0f} us",
        ),
        Row(
            "wake-up, XREADGROUP BLOCK : ours",
            us["xreadgroup"] / us["igq"],
            ours=f"{us['igq']:.0f} us",
            theirs=f"{us['xreadgroup']:.0f} us",
        ),
    ]


def waits_on(group: TestGroup, qmgr: str, queue: str, how: str = "igq") -> tuple[str, ...]:
    """Arguments of a ``bench.programs.waiter`` that waits on *queue*, connected to *qmgr*; see `take_samples`."""
    return how, group.settings.group, str(group.settings.data_dir), qmgr, queue


def take_samples(
    site: Site, pushes: Mapping[str, Callable[[], object]], waits: Mapping[str, Sequence[str]], blocked: int
) -> dict[str, list[float]]:
    """Microseconds from before a push until its waiter has it; the ways take turns, a burst each.

    Args:
        pushes: by way, what wakes the waiter of that way.
        waits: by way, what its waiter waits for: the first and the later arguments of ``bench.programs.waiter``.
        blocked: how many clients of the server are blocked when all wait.
    """
    samples: dict[str, list[float]] = {how: [] for how in pushes}
    with contextlib.ExitStack() as stack:
        wakeups = {how: stack.enter_context(_waiter(site, waits[how])) for how in pushes}
        end_s = time.monotonic() + site.effort.line_s
        for turn in range(1 + site.effort.rounds):
            if turn > ROUNDS_MIN and time.monotonic() > end_s:
                break
            for how, push in pushes.items():
                for number in range(BURST):
                    until_blocked(site.client, blocked)
                    time.sleep(PAUSE_S)
                    start_ns = time.monotonic_ns()
                    push()
                    woken_ns = int(next(wakeups[how]))
                    if turn and number >= WARM_UP:
                        samples[how].append((woken_ns - start_ns) / 1_000)
    return samples


@contextlib.contextmanager
def _waiter(site: Site, waits: Sequence[str]) -> Iterator[Iterator[bytes]]:
    how, *more = waits
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.programs.waiter", how, site.url, *more], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield iter(process.stdout)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def until_blocked(client: redis.Redis, count: int) -> None:
    """Return when *count* clients wait: a push that comes earlier would measure no wake-up."""
    while int(client.info("clients")["blocked_clients"]) < count:
        time.sleep(0.001)
