"""``python -m bench.programs.crowd URL GROUP DATA_DIR QUEUE COUNT``: gets that wait for messages that never come.

Each is a connection of its own, in a thread, and waits for a CorrelId. Says so when all wait, and ends with its input.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from bench.programs.responder import QMGR
from sharedq import QueueManagerConnection, connect
from sharedq.mqi.constants import GetOption, MatchOption, OpenOption
from sharedq.mqi.structures import MQMD
from sharedq.settings.values import Settings

_MATCH = int(MatchOption.MATCH_CORREL_ID)


def main(arguments: list[str]) -> None:
    """Wait until the input ends."""
    url, group, data_dir, queue_name, count = arguments
    settings = Settings(group=group, redis_url=url, data_dir=Path(data_dir), journal=False, lease_ms=600_000)
    connections = [connect(QMGR, settings=settings) for _ in range(int(count))]
    for number, connection in enumerate(connections):
        threading.Thread(target=_wait, args=(connection, queue_name, number), daemon=True).start()
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    sys.stdin.read()


def _wait(connection: QueueManagerConnection, queue_name: str, number: int) -> None:
    queue = connection.open(queue_name, OpenOption.INPUT_SHARED)
    wanted = MQMD(correl_id=b"never %018d" % number)
    queue.get(GetOption.WAIT, wait_ms=-1, match=wanted, match_options=_MATCH)


if __name__ == "__main__":
    main(sys.argv[1:])
