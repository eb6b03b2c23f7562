"""``python -m bench.programs.waiter HOW URL [GROUP DATA_DIR QMGR QUEUE]``: it waits, in lines about wake-ups.

Where HOW is ``channel``, SOCKET, QMGR and QUEUE follow: it is a client there.

Tells the clock's reading at each wake-up on standard output, one a line. CLOCK_MONOTONIC is the same for all
processes of a machine, so the line that pushes can subtract.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.streams import ThinStreams, plain_client
from igq.rehearsal.load.programs.channel import ClientConnection
from sharedq import connect
from sharedq.api import Queue
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.settings.values import Settings

LIST_KEY, PLAIN_LIST_KEY, STREAM_KEY = "bench:list", "bench:list2", "bench:stream"


def main(arguments: list[str]) -> None:
    """Wait *how* for ever, telling each wake-up; ends when standard output is closed."""
    how, url, *of_igq = arguments
    begin: dict[str, Callable[..., Callable[[], object]]] = {
        "igq": _igq,
        "igq-unit": _igq_in_unit,
        "blpop": _blpop,
        "blpop-redis-py": _blpop_plain,
        "xreadgroup": _xreadgroup,
        "channel": _channel,
    }
    wait = begin[how](url, *of_igq)
    while True:
        wait()
        sys.stdout.write(f"{time.monotonic_ns()}\n")
        sys.stdout.flush()


def _igq(*arguments: str) -> Callable[[], object]:
    queue, options = _open(*arguments), int(GetOption.WAIT)
    return lambda: queue.get(options, wait_ms=-1)


def _igq_in_unit(*arguments: str) -> Callable[[], object]:
    """The commit of what it got is a part of the next wait."""
    queue, options = _open(*arguments), int(GetOption.WAIT | GetOption.SYNCPOINT)
    return lambda: queue.commit_and_get(options, wait_ms=-1)


def _open(url: str, group: str, data_dir: str, qmgr: str, queue_name: str) -> Queue:
    settings = Settings(group=group, redis_url=url, data_dir=Path(data_dir), journal=False, lease_ms=600_000)
    return connect(qmgr, settings=settings).open(queue_name, OpenOption.INPUT_SHARED)


def _channel(_: str, path: str, qmgr: str, queue_name: str) -> Callable[[], object]:
    queue = ClientConnection(Path(path), qmgr, "bench", 0, b"").open(queue_name, OpenOption.INPUT_SHARED)
    options = int(GetOption.WAIT)
    return lambda: queue.get(options, wait_ms=-1)


def _blpop(url: str) -> Callable[[], object]:
    redis = ThinStreams(url)
    return lambda: redis.send(("BLPOP", LIST_KEY, 0))


def _blpop_plain(url: str) -> Callable[[], object]:
    client = plain_client(url)
    return lambda: client.blpop([PLAIN_LIST_KEY])


def _xreadgroup(url: str) -> Callable[[], object]:
    redis = ThinStreams(url)

    def wait() -> None:
        ((entry, _),) = redis.read(STREAM_KEY, 1, block_ms=0)
        redis.acknowledge(STREAM_KEY, (entry,))

    return wait


if __name__ == "__main__":
    main(sys.argv[1:])
