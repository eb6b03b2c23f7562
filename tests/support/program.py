"""A program in its own process, for tests that stop, kill or interrupt one. Its standard input has its steps.

Each line is a step; the answer is one line: ``ok``, a body, or the reason code.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from igq.agent.process import Agent
from igq.agent.progress.report import AgentState
from igq.agent.queues.transmit_part import TransmitPart
from sharedq.api import QueueManagerConnection, connect
from sharedq.members.group import Group
from sharedq.members.process import KeptProcess, Process
from sharedq.messages.message import Message
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.store.parts import own_part
from sharedq.settings.values import Settings
from tests.support.crowd import NoPipe

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
ROOT = Path(__file__).parents[2]


class Program:
    """The test's side: starts the program and talks to it."""

    def __init__(self, settings: Settings, qmgr: str = "QM1") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.program", settings.model_dump_json(), str(settings.redis_url), qmgr],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        self.token = self.answer()

    def ask(self, step: str) -> None:
        """Send it a step. A stopped program does the step when it goes on."""
        assert self.process.stdin is not None
        self.process.stdin.write(step + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        """The outcome of the step."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def does(self, step: str) -> str:
        """Send a step, and return its answer."""
        self.ask(step)
        return self.answer()

    def close(self) -> None:
        """End it, whatever it is doing."""
        self.process.kill()
        self.process.communicate()


def _steps(connection: QueueManagerConnection) -> dict[str, Callable[[], object]]:
    queue = connection.open("Q", BOTH)

    def put_elsewhere() -> None:
        with connection.open("OTHER", OpenOption.OUTPUT) as other:
            other.put(b"other", options=PutOption.SYNCPOINT)

    def request_and_wait() -> Message:
        with connection.open("OTHER", OpenOption.OUTPUT) as other:
            other.put(b"request", options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
            return queue.commit_and_get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=-1)

    def deliver() -> None:
        transmit_queue = TransmitPart(connection.connection, own_part(connection.connection.qmgr_name))
        while True:
            if transmit_queue.move().is_waiting:
                transmit_queue.wait_and_move()

    def serve() -> None:
        # A registration as its own process, as an agent has, in this operating-system process.
        group, own = connection.connection.group, connection.connection.process
        number = int(Process.register(group, own.qmgr).token.rpartition(".")[2])
        process = KeptProcess(group, own.qmgr, own.incarnation, number, time.monotonic() + 3600)
        Agent(Group(group.settings), process, NoPipe(), AgentState("STARTING", os.getpid(), 0)).run()

    return {
        "deliver": deliver,
        "serve": serve,
        "put": lambda: queue.put(b"late"),
        "put uncommitted": lambda: queue.put(b"never", MQMD(persistence=1), options=PutOption.SYNCPOINT),
        "put elsewhere": put_elsewhere,
        "get": queue.get,
        "get uncommitted": lambda: queue.get(GetOption.SYNCPOINT),
        "get marked": lambda: queue.get(GetOption.SYNCPOINT | GetOption.MARK_SKIP_BACKOUT),
        "wait": lambda: queue.get(GetOption.WAIT, wait_ms=-1),
        "wait uncommitted": lambda: queue.get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=-1),
        "request and wait": request_and_wait,
        "browse": lambda: queue.get(GetOption.BROWSE_FIRST),
        "commit": connection.commit,
        "back out": connection.backout,
        "disconnect": connection.disconnect,
    }


def main() -> None:
    """The program's side."""
    # Standard output is for answers.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    settings = Settings.model_validate_json(sys.argv[1]).model_copy(update={"redis_url": sys.argv[2]})
    connection = connect(sys.argv[3], settings=settings)
    steps = _steps(connection)
    print(connection.connection.token, flush=True)
    for line in sys.stdin:
        try:
            done = steps[line.strip()]()
            print(done.body.decode() if isinstance(done, Message) else "ok", flush=True)
        except MQIError as error:
            print(int(error.reason), flush=True)


if __name__ == "__main__":
    main()
