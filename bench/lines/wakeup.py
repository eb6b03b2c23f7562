"""A waiting get's wake-up: from before the put in one process until the message is there in another."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import redis

from bench.harness import BODY, ROUNDS_MIN
from bench.rows import Row
from bench.site import Site, persistent
from bench.streams import plain_client
from bench.waiter import LIST_KEY, PLAIN_LIST_KEY, QUEUE, STREAM_KEY
from sharedq.mqi.constants import OpenOption

LIMIT = 1.5


def measure(site: Site) -> list[Row]:
    """MQPUT that wakes an MQGET; LPUSH that wakes a BLPOP; XADD that wakes an XREADGROUP BLOCK."""
    site.group.define_shared(QUEUE)
    queue = site.connect().open(QUEUE, OpenOption.OUTPUT)
    site.streams.renew(STREAM_KEY)
    plain = plain_client(site.url)
    pushes: dict[str, Callable[[], object]] = {
        "igq": lambda: queue.put(BODY, persistent()),
        "blpop": lambda: site.streams.send(("LPUSH", LIST_KEY, BODY)),
        "blpop-redis-py": lambda: plain.lpush(PLAIN_LIST_KEY, BODY),
        "xreadgroup": lambda: site.streams.add(STREAM_KEY, BODY),
    }
    samples: dict[str, list[float]] = {how: [] for how in pushes}
    with contextlib.ExitStack() as stack:
        wakeups = {how: stack.enter_context(_waiter(site, how)) for how in pushes}
        warm_up = 5
        end_s = time.monotonic() + site.effort.line_s
        for turn in range(warm_up + site.effort.rounds * 5):
            if turn >= warm_up + ROUNDS_MIN and time.monotonic() > end_s:
                break
            for how, push in pushes.items():
                _until_blocked(site.client, len(pushes))
                start_ns = time.monotonic_ns()
                push()
                woken_ns = int(next(wakeups[how]))
                if turn >= warm_up:
                    samples[how].append((woken_ns - start_ns) / 1_000)
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
            "wake-up, XREADGROUP BLOCK : ours",
            us["xreadgroup"] / us["igq"],
            ours=f"{us['igq']:.0f} us",
            theirs=f"{us['xreadgroup']:.0f} us",
        ),
    ]


@contextlib.contextmanager
def _waiter(site: Site, how: str) -> Iterator[Iterator[bytes]]:
    settings = site.group.settings
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.waiter", how, site.url, settings.group, str(settings.data_dir)],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield iter(process.stdout)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _until_blocked(client: redis.Redis, count: int) -> None:
    """Return when *count* clients wait: a push that comes earlier would measure no wake-up."""
    while int(client.info("clients")["blocked_clients"]) < count:
        time.sleep(0.001)
