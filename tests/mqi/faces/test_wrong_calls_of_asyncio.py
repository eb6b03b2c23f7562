"""A wrong value in any argument of any coroutine of the native API is a reason; the connection goes on after it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import sharedq
from sharedq import AsyncConnection, AsyncQueue, MessageHandle, MQIError
from sharedq.mqi.constants import GetOption, IntSelector, OpenOption
from sharedq.mqi.structures import MQMD
from sharedq.settings.values import Settings
from tests.mqi.faces.test_wrong_arguments import NEVER
from tests.support.accounts import assert_accounted
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.wrong_values import WRONG

#: Runs a function that the caller gives, and has no argument of its own.
NOT_A_VERB = {"AsyncConnection.call"}
OPEN = BOTH | OpenOption.INQUIRE | OpenOption.SET
Calls = dict[str, tuple[Callable[..., Awaitable[Any]], list[Any]]]


def calls_of(connection: AsyncConnection, queue: AsyncQueue, settings: Settings) -> Calls:
    async def connected(name: Any, tag: Any, options: Any, appl_name: Any, given: Any) -> None:
        made = await sharedq.connect_async(
            name, conn_tag=tag, options=options, appl_name=appl_name, settings=settings if given is None else given
        )
        await made.disconnect()

    async def opened(name: Any, options: Any, qmgr: Any, dynamic: Any, selector: Any) -> None:
        made = await connection.open(name, options, qmgr_name=qmgr, dynamic_name=dynamic, selector=selector)
        await made.close()

    async def closed(options: Any) -> None:
        await (await connection.open("Q", OPEN)).close(options)

    async def gone_through(options: Any, match: Any) -> None:
        async for _ in queue.messages(options, wait_ms=0, match=match):
            pass

    async def got(options: Any, wait: Any, match: Any, which: Any, token: Any, properties: Any) -> None:
        await queue.get(options, wait_ms=wait, match=match, match_options=which, msg_token=token, properties=properties)

    return {
        "connect_async": (connected, ["QM1", b"", 0, "program", settings]),
        "AsyncConnection.open": (opened, ["Q", OPEN, "", "CSQ.*", "a = 1"]),
        "AsyncConnection.put1": (
            lambda name, body, md, qmgr, options, properties: connection.put1(
                name, body, md, qmgr_name=qmgr, options=options, properties=properties
            ),
            ["Q", b"x", MQMD(), "", 0, MessageHandle()],
        ),
        "AsyncQueue.put": (
            lambda body, md, options, context, properties: queue.put(
                body, md, options=options, context=context, properties=properties
            ),
            [b"x", MQMD(), 0, None, MessageHandle()],
        ),
        "AsyncQueue.put_many": (
            lambda messages, options: queue.put_many(messages, options=options),
            [[(MQMD(), b"x")], 0],
        ),
        "AsyncQueue.put_many of": (lambda md, body: queue.put_many([(md, body)]), [MQMD(), b"x"]),
        "AsyncQueue.put_many of one": (lambda one: queue.put_many([one]), [(MQMD(), b"x")]),
        "AsyncQueue.get": (got, [0, 0, MQMD(), 3, bytes(16), MessageHandle()]),
        "AsyncQueue.get_many": (
            lambda count, options, wait: queue.get_many(count, options, wait_ms=wait),
            [2, 0, 0],
        ),
        "AsyncQueue.messages": (gone_through, [0, MQMD()]),
        "AsyncQueue.inquire": (queue.inquire, [IntSelector.CURRENT_Q_DEPTH, IntSelector.MAX_Q_DEPTH]),
        "AsyncQueue.set": (queue.set, [{10: 0}]),
        "AsyncQueue.set of": (lambda selector, value: queue.set({selector: value}), [10, 0]),
        "AsyncQueue.close": (closed, [0]),
    }


def public_calls() -> set[str]:
    found = {"connect_async"}
    for kind in (AsyncConnection, AsyncQueue):
        for name, function in inspect.getmembers(kind, inspect.isfunction):
            if name[0] != "_" and len(inspect.signature(function).parameters) > 1:
                found.add(f"{kind.__name__}.{name}")
    # Only the connection calls `restore`.
    return found - NOT_A_VERB - {"AsyncQueue.restore"}


def test_each_argument_takes_each_wrong_value(group: TestGroup) -> None:
    group.define_shared("Q")

    async def main() -> list[str]:
        settings, wrong = group.group.settings, []
        async with (
            await sharedq.connect_async("QM1", settings=settings) as connection,
            await connection.open("Q", OPEN) as queue,
        ):
            calls = calls_of(connection, queue, settings)
            assert public_calls() <= set(calls)
            for name, (call, right) in calls.items():
                for at in range(len(right)):
                    for value in [*WRONG, MQMD(), queue, connection]:
                        if isinstance(value, int) and value & GetOption.WAIT and "wait" not in name:
                            continue
                        if name.startswith("AsyncQueue.set of") and at == 0 and value.__hash__ is None:
                            continue
                        given = [*right[:at], value, *right[at + 1 :]]
                        wrong.append(await attempt(call, given, f"{name} argument {at} {value!r:.60}"))
            await connection.backout()
            assert await queue.inquire(IntSelector.CURRENT_Q_DEPTH)
        return [each for each in wrong if each]

    assert "\n".join(asyncio.run(asyncio.wait_for(main(), 300))) == ""
    assert_accounted(group.group)


async def attempt(call: Callable[..., Awaitable[Any]], given: list[Any], said: str) -> str:
    try:
        await call(*given)
    except MQIError as error:
        return f"{said}: {error}" if error.reason in NEVER else ""
    except Exception as error:  # noqa: BLE001
        return f"{said}: {error!r}"
    return ""
