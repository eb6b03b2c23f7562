"""``python -m bench.programs.client HOW put|get SECONDS URL [GROUP DATA_DIR QUEUE]``: one of several clients at once.

Says that it is ready, begins when it is told to, and tells how many messages it has put or got in so many seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.harness import BODY
from bench.programs.responder import QMGR
from bench.site import persistent
from bench.streams import PlainStreams, Streams, ThinStreams
from sharedq import connect
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.settings.values import Settings

STREAM = "bench:clients"
#: How long a getter waits for a message, ms.
WAIT_MS = 100


def main(arguments: list[str]) -> None:
    """Put or get for some seconds."""
    how, verb, seconds, url, *of_igq = arguments
    step = _igq(verb, url, *of_igq) if how == "igq" else _streams(verb, _STREAMS[how](url))
    # The first call puts its script together.
    step()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    count, end_s = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end_s:
        count += step()
    sys.stdout.write(f"{count}\n")


def _igq(verb: str, url: str, group: str, data_dir: str, queue_name: str) -> Callable[[], int]:
    settings = Settings(group=group, redis_url=url, data_dir=Path(data_dir), journal=False, lease_ms=600_000)
    queue = connect(QMGR, settings=settings).open(queue_name, OpenOption.INPUT_SHARED | OpenOption.OUTPUT)

    def put() -> int:
        queue.put(BODY, persistent())
        return 1

    def get() -> int:
        try:
            queue.get(GetOption.WAIT, wait_ms=WAIT_MS)
        except NoMsgAvailable:
            return 0
        return 1

    return put if verb == "put" else get


_STREAMS: dict[str, Callable[[str], Streams]] = {"streams": ThinStreams, "redis-py": PlainStreams}


def _streams(verb: str, streams: Streams) -> Callable[[], int]:
    def put() -> int:
        streams.add(STREAM, BODY)
        return 1

    def get() -> int:
        found = streams.read(STREAM, 1, block_ms=WAIT_MS)
        for entry, _ in found:
            streams.acknowledge(STREAM, (entry,))
        return len(found)

    return put if verb == "put" else get


if __name__ == "__main__":
    main(sys.argv[1:])
