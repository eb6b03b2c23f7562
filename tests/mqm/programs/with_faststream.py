"""Publishes, consumes under syncpoint, requests and replies with ``faststream-mq``, at the port that it is given."""

# mypy: ignore-errors

import asyncio
import sys

from faststream_mq import MQBroker

PATIENCE_S = 60


async def main(port):
    """The steps; each prints what came."""
    broker = MQBroker(
        queue_manager="QM1",
        channel="DEV.APP.SVRCONN",
        conn_name=f"127.0.0.1({port})",
        reply_model_queue="SYSTEM.DEFAULT.MODEL.QUEUE",
        logger=None,
    )
    heard, tries = asyncio.Queue(), []

    @broker.subscriber("DEV.QUEUE.1")
    async def hear(message: str) -> None:
        await heard.put(message)

    @broker.subscriber("DEV.QUEUE.2")
    async def answer(message: str) -> str:
        return message.upper()

    @broker.subscriber("DEV.QUEUE.3")
    async def fail_once(message: str) -> None:
        tries.append(message)
        if len(tries) == 1:
            raise ValueError("its message is backed out")
        await heard.put(f"{message} after {len(tries)}")

    await broker.start()
    await broker.publish("hello", "DEV.QUEUE.1")
    print(await asyncio.wait_for(heard.get(), PATIENCE_S))
    reply = await broker.request("question", "DEV.QUEUE.2", timeout=PATIENCE_S)
    print(await reply.decode())
    await broker.publish("again", "DEV.QUEUE.3")
    print(await asyncio.wait_for(heard.get(), PATIENCE_S))
    await broker.stop()


asyncio.run(main(sys.argv[1]))
