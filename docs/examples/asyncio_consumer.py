"""Consume several queues with asyncio: each message is processed once, killed or cancelled at any moment.

    python docs/examples/asyncio_consumer.py QM1 DONE ORDERS RETURNS --wait-ms 5000

Each queue has its consumer, a task with a connection of its own. It takes a message, processes it (here: puts it on
DONE) and commits both together. Control-C cancels the tasks, which end at once. The program ends by itself when nothing
has come on any queue for `--wait-ms`; -1 waits for ever.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import suppress

import sharedq
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD


async def consume(qmgr: str, source: str, target: str, wait_ms: int) -> int:
    """Process what comes on *source*. Returns how many messages that were."""
    number = 0
    async with await sharedq.connect_async(qmgr) as connection:
        done = await connection.open(target, OpenOption.OUTPUT)
        queue = await connection.open(source, OpenOption.INPUT_SHARED)
        async for message in queue.messages(GetOption.SYNCPOINT, wait_ms=wait_ms):
            await done.put(message.body, MQMD(persistence=1), options=PutOption.SYNCPOINT)
            await connection.commit()
            number += 1
    return number


async def consume_all(qmgr: str, target: str, sources: list[str], wait_ms: int) -> None:
    """Serve all queues at the same time."""
    numbers = await asyncio.gather(*(consume(qmgr, source, target, wait_ms) for source in sources))
    for source, number in zip(sources, numbers, strict=True):
        print(f"{source}: {number}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qmgr")
    parser.add_argument("target")
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--wait-ms", type=int, default=5000, help="how long a consumer waits for what comes next")
    given = parser.parse_args()
    asyncio.run(consume_all(given.qmgr, given.target, given.sources, given.wait_ms))


if __name__ == "__main__":
    try:
        with suppress(KeyboardInterrupt):
            main()
    except sharedq.MQIError as error:
        sys.exit(f"asyncio_consumer.py: {error}")
