"""Consume many queues with callbacks (MQCB, MQCTL), in one thread: each message once, killed at any moment.

    python docs/examples/callback_consumer.py QM1 DONE ORDERS RETURNS --wait-ms 5000

One function is the consumer of every queue. It processes a message (here: puts it on DONE) and commits both together.
Control-C ends the program after the message that is being processed. The program ends by itself when nothing has come
on any queue for `--wait-ms`; -1 waits for ever.
"""

from __future__ import annotations

import argparse
import sys
import threading
from contextlib import suppress

import sharedq
from sharedq.callbacks.calls import mqcb, mqctl
from sharedq.callbacks.structures import MQCBC, MQCBD
from sharedq.mqi.constants import MQCC, MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.constants.callbacks import CallbackOperation, CallbackOption, CallType
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.session.connection import Connection

#: How often the program looks whether Control-C was pressed, seconds.
LOOK_S = 0.5


def consume(qmgr: str, target: str, sources: list[str], wait_ms: int) -> None:
    """Process what comes on *sources*, until each of them was quiet for the wait interval."""
    quiet: set[str] = set()
    is_over = threading.Event()
    with sharedq.connect(qmgr) as connection:
        done = connection.open(target, OpenOption.OUTPUT)

        def process(_hconn: Connection, _md: MQMD | None, _gmo: MQGMO | None, body: bytes | None, why: MQCBC) -> None:
            source = str(why.callback_area)
            if why.call_type == CallType.MSG_REMOVED and body is not None:
                quiet.discard(source)
                done.put(body, MQMD(persistence=1), options=PutOption.SYNCPOINT)
                connection.commit()
                return
            print(f"{source}: {MQRC(why.reason).name}")
            quiet.add(source)
            if quiet == set(sources):
                is_over.set()

        gmo = MQGMO(options=int(GetOption.SYNCPOINT | GetOption.WAIT), wait_interval=wait_ms)
        for source in sources:
            queue = connection.open(source, OpenOption.INPUT_SHARED)
            # Each of them is told when the connection is lost, too.
            options = int(CallbackOption.MC_EVENT_CALL)
            cbd = MQCBD(callback_function=process, callback_area=source, options=options)
            checked(mqcb(connection.connection, CallbackOperation.REGISTER, cbd, queue.handle, MQMD(), gmo))
        checked(mqctl(connection.connection, CallbackOperation.START))
        # They are called in a thread of their own, so that Control-C interrupts no call of the MQI. The system may give
        # its signal to any thread, and Python acts on it when this one wakes.
        with suppress(KeyboardInterrupt):
            while not is_over.wait(LOOK_S):
                pass
        checked(mqctl(connection.connection, CallbackOperation.STOP))


def checked(outcome: tuple[MQCC, MQRC]) -> None:
    """End the program with the reason of a call that failed."""
    if outcome[0] == MQCC.FAILED:
        sys.exit(f"callback_consumer.py: {outcome[1].name} ({int(outcome[1])})")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qmgr")
    parser.add_argument("target")
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--wait-ms", type=int, default=5000, help="how long a consumer waits for what comes next")
    given = parser.parse_args()
    consume(given.qmgr, given.target, given.sources, given.wait_ms)


if __name__ == "__main__":
    try:
        with suppress(KeyboardInterrupt):
            main()
    except sharedq.MQIError as error:
        sys.exit(f"callback_consumer.py: {error}")
