"""``python -m bench.programs.victim URL GROUP DATA_DIR LEASE_MS QMGR QUEUE MESSAGES UNIT``: the program that is killed.

Gets so many messages of a queue, *UNIT* of them in each unit of work, says so, and waits for its end. *QMGR* may be
several managers with commas between them, which have the units of work in turn.
"""

from __future__ import annotations

import signal
import sys
from itertools import cycle
from pathlib import Path

from sharedq import connect
from sharedq.api import QueueManagerConnection
from sharedq.calls.get.get import BATCH_MESSAGES
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.settings.values import Settings


def main(arguments: list[str]) -> None:
    """Hold messages until this process is ended."""
    url, group, data_dir, lease_ms, qmgr, name, messages, unit = arguments
    settings = Settings(group=group, redis_url=url, data_dir=Path(data_dir), journal=False, lease_ms=int(lease_ms))
    held: list[QueueManagerConnection] = []
    qmgrs = cycle(qmgr.split(","))
    for first in range(0, int(messages), int(unit)):
        held.append(connect(next(qmgrs), settings=settings))
        queue, left = held[-1].open(name, OpenOption.INPUT_SHARED), min(int(unit), int(messages) - first)
        while left:
            left -= len(queue.get_many(min(left, BATCH_MESSAGES), GetOption.SYNCPOINT))
    sys.stdout.write("held\n")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1:])
