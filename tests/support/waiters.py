"""A program whose threads each wait for one message on a queue, and write what they got to standard output."""

from __future__ import annotations

import os
import sys
import threading

from sharedq.api import Queue, connect
from sharedq.calls.get import wait as waiting
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.settings.values import Settings


def main() -> None:
    """Arguments: settings as JSON, URL, name of the queue, number of waiters. Ends when standard input does."""
    settings = Settings.model_validate_json(sys.argv[1]).model_copy(update={"redis_url": sys.argv[2]})
    # A blocking getter looks again now and then; here nothing but puts shall make commands.
    waiting.BLOCK_MAX_S = 3600.0
    count = int(sys.argv[4])
    queues = [connect("QM1", settings=settings).open(sys.argv[3], OpenOption.INPUT_SHARED) for _ in range(count)]

    def wait(queue: Queue) -> None:
        body = queue.get(GetOption.WAIT, wait_ms=-1).body
        # Other programs write to the same pipe, so write a line at once.
        os.write(1, body + b"\n")

    for queue in queues:
        threading.Thread(target=wait, args=(queue,), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
