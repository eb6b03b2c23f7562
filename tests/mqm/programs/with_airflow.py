"""Produces and consumes with the hook and the trigger of Airflow's provider."""

# mypy: ignore-errors

import asyncio

from airflow.providers.ibm.mq.hooks.mq import IBMMQHook
from airflow.providers.ibm.mq.triggers.mq import AwaitMessageTrigger

QUEUE = "DEV.QUEUE.1"


async def main():
    """The steps; each adds what came."""
    hook, found = IBMMQHook("mq_default"), []
    await hook.aproduce(QUEUE, "by the hook")
    found.append(await hook.aconsume(QUEUE, poll_interval=1))
    await hook.aproduce(QUEUE, "by the trigger")
    async for event in AwaitMessageTrigger("mq_default", QUEUE, poll_interval=1).run():
        found.append(event.payload)
        break
    # The provider logs to the same place.
    print("\n" + ", ".join(found))


asyncio.run(main())
