"""``python -m bench.programs.caller HOW COUNT URL GROUP DATA_DIR``: it makes so many calls, under valgrind."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

from bench.harness import BODY
from bench.programs.responder import QMGR, replies_of, requests_of
from bench.site import fill, persistent
from sharedq import connect
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.settings.values import Settings

QUEUE = "BENCH.CALLS"
#: The most calls.
MANY = 1_200
#: How a responder answers the requests.
RESPONDER = "unit"
_LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
_IN_UNIT = int(GetOption.SYNCPOINT | GetOption.WAIT)


def main(arguments: list[str]) -> None:
    """Make the calls, and end without clearing up, which would count too."""
    how, count, url, group, data_dir = arguments
    settings = Settings(group=group, redis_url=url, data_dir=Path(data_dir), journal=False, lease_ms=600_000)
    connection = connect(QMGR, settings=settings)
    queue = connection.open(QUEUE, OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
    requests = connection.open(requests_of(RESPONDER), OpenOption.OUTPUT)
    replies = connection.open(replies_of(RESPONDER), OpenOption.INPUT_SHARED)

    def put() -> None:
        queue.put(BODY, persistent())

    def get() -> None:
        queue.get()

    def request() -> None:
        requests.put(BODY, persistent(), options=_LATER)
        replies.commit_and_get(_IN_UNIT, wait_ms=-1)

    calls: dict[str, Callable[[], None]] = {"put": put, "get": get, "request": request}
    if how == "get":
        # As many whatever the count, because these puts count too.
        fill(queue, MANY)
    gc.collect()
    gc.disable()
    for _ in range(int(count)):
        calls[how]()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
