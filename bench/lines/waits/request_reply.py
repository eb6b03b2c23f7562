"""A request and its reply between two programs: in units of work on both sides, and outside; and by its CorrelId."""

from __future__ import annotations

import contextlib
import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from bench.harness import BODY, ROUNDS_MIN
from bench.lines.waits.wakeup import until_blocked
from bench.processor import main_thread_us
from bench.programs.responder import replies_of, requests_of
from bench.rows import Row
from bench.site import Site, persistent
from bench.streams import Streams
from sharedq.api import Queue
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD

#: Of the ratio to redis-py's client, and of p99 to p50.
GOAL, SPREAD = 2.3, 2.0
#: Requests of one way come in a row; the first of them are not measured, nor is the first turn.
BURST, WARM_UP = 30, 3
#: Requests in a row whose processor time is measured.
ROW = 300
_LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
_IN_UNIT, _OUTSIDE = int(GetOption.SYNCPOINT | GetOption.WAIT), int(GetOption.WAIT)
Ask = Callable[[], object]
#: Each way of igq, and how rows name it.
NAMES = {
    "unit": "in units of work",
    "outside": "outside",
    "unit_correl": "in units of work, by CorrelId",
    "outside_correl": "outside, by CorrelId",
}


def measure(site: Site) -> list[Row]:
    """A reply is got, and the next request put, in one unit of work; XADD and XACK in MULTI, then XREADGROUP BLOCK."""
    with contextlib.ExitStack() as stack:
        asks = {
            "unit": _in_units(*_queues(site, "unit")),
            "outside": _outside(*_queues(site, "outside")),
            "unit_correl": _by_correl_id(*_queues(site, "unit_correl"), is_in_unit=True),
            "outside_correl": _by_correl_id(*_queues(site, "outside_correl"), is_in_unit=False),
            "streams": _of_streams(site, site.streams, "streams"),
            "redis-py": _of_streams(site, site.plain_streams, "redis-py"),
        }
        pids = {how: stack.enter_context(_responder(site, how)) for how in asks}
        samples = _take_samples(site, asks)
        shares = [_share(site, name, asks[how], pids[how]) for how, name in NAMES.items()]
    p50 = {how: statistics.median(found) for how, found in samples.items()}
    p99 = {how: statistics.quantiles(found, n=100)[98] for how, found in samples.items()}
    rows = []
    for how, name in NAMES.items():
        rows += [
            Row(
                f"request and reply {name}, p50",
                p50["streams"] / p50[how],
                floor=GOAL,
                ours=f"{p50[how]:.0f} us",
                theirs=f"{p50['streams']:.0f} us",
                plain=p50["redis-py"] / p50[how],
            ),
            Row(
                f"request and reply {name}, p99 : p50",
                p99[how] / p50[how],
                floor=SPREAD,
                is_limit=True,
                ours=f"{p99[how]:.0f} us",
                theirs=f"{p99['streams']:.0f} us",
            ),
        ]
    return rows + shares


def _share(site: Site, name: str, ask: Ask, responder: int) -> Row:
    """How much of a request's processor time both programs take; Redis takes the rest."""
    pids = os.getpid(), responder, int(site.client.info("server")["process_id"])
    before = [main_thread_us(pid) for pid in pids]
    for _ in range(ROW):
        ask()
    requester, its, server = ((main_thread_us(pid) - us) / ROW for pid, us in zip(pids, before, strict=True))
    programs = requester + its
    return Row(
        f"request and reply {name}: the programs' part of the processor time",
        programs / (programs + server),
        ours=f"{programs:.0f} us",
        theirs=f"{programs + server:.0f} us",
    )


def _queues(site: Site, how: str) -> tuple[Queue, Queue]:
    connection, both = site.connect(), (requests_of(how), replies_of(how))
    for name in both:
        site.group.define_shared(name)
    return connection.open(both[0], OpenOption.OUTPUT), connection.open(both[1], OpenOption.INPUT_SHARED)


def _in_units(requests: Queue, replies: Queue) -> Ask:
    def ask() -> None:
        requests.put(BODY, persistent(), options=_LATER)
        replies.commit_and_get(_IN_UNIT, wait_ms=-1)

    return ask


def _outside(requests: Queue, replies: Queue) -> Ask:
    def ask() -> None:
        requests.put(BODY, persistent())
        replies.get(_OUTSIDE, wait_ms=-1)

    return ask


def _by_correl_id(requests: Queue, replies: Queue, *, is_in_unit: bool) -> Ask:
    numbers = itertools.count(1)

    def ask() -> None:
        correl_id = next(numbers).to_bytes(24, "big")
        md, match = MQMD(persistence=1, correl_id=correl_id), MQMD(correl_id=correl_id)
        if is_in_unit:
            requests.put(BODY, md, options=_LATER)
            replies.commit_and_get(_IN_UNIT, wait_ms=-1, match=match)
        else:
            requests.put(BODY, md)
            replies.get(_OUTSIDE, wait_ms=-1, match=match)

    return ask


def _of_streams(site: Site, streams: Streams, how: str) -> Ask:
    requests, replies = requests_of(how), replies_of(how)
    site.streams.renew(requests, replies)
    reply: list[tuple[bytes, bytes]] = [(b"0-1", BODY)]

    def ask() -> None:
        nonlocal reply
        streams.pass_on(replies, requests, reply)
        reply = streams.read(replies, 1, block_ms=0)

    return ask


@contextlib.contextmanager
def _responder(site: Site, how: str) -> Iterator[int]:
    of_igq = (site.group.settings.group, str(site.group.settings.data_dir)) if how in NAMES else ()
    process = subprocess.Popen([sys.executable, "-m", "bench.programs.responder", how, site.url, *of_igq])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def _take_samples(site: Site, asks: dict[str, Ask]) -> dict[str, list[float]]:
    """Microseconds of a request and its reply, by way."""
    samples: dict[str, list[float]] = {how: [] for how in asks}
    end_s = time.monotonic() + site.effort.line_s
    for turn in range(1 + site.effort.rounds):
        if turn > ROUNDS_MIN and time.monotonic() > end_s:
            break
        for how, ask in asks.items():
            for number in range(BURST):
                until_blocked(site.client, len(asks))
                start_ns = time.monotonic_ns()
                ask()
                if turn and number >= WARM_UP:
                    samples[how].append((time.monotonic_ns() - start_ns) / 1_000)
    return samples
