"""The agent's process that a manager starts before it has work for it: used once, and gone with its manager."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.manager import environment_of
from igq.processes.child import start_agent_process
from tests.support.members import TestGroup
from tests.support.scenes import until

pytestmark = pytest.mark.faults


def agents_of(pid: int) -> list[int]:
    """The process ids of a process's agents."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(each) for each in children if b"igq.agent" in Path(f"/proc/{each}/cmdline").read_bytes()]


def is_there(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@contextmanager
def starting_manager(group: TestGroup, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A manager that has started an agent's process."""
    command = [sys.executable, "-m", "igq", "qmgr", "start", "QM7"]
    env = os.environ | environment_of(group) | environment
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as manager:
        try:
            until(lambda: agents_of(manager.pid), "an agent waits", 30)
            yield manager
        finally:
            manager.kill()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_waiting_agent_ends_with_its_manager(group: TestGroup, end: signal.Signals) -> None:
    # A server that never answers.
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        starting_manager(group, IGQ_REDIS_URL=f"redis://127.0.0.1:{server.getsockname()[1]}") as manager,
    ):
        [agent] = agents_of(manager.pid)

        manager.send_signal(end)
        manager.wait(30)

        until(lambda: not is_there(agent), "the agent ends", 30)


def test_an_agent_that_is_told_nothing_ends_with_its_pipe() -> None:
    agent = start_agent_process("QM1")
    assert agent.stdin is not None
    agent.stdin.close()

    assert agent.wait(30) == 0


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_manager_uses_the_agent_that_waits_or_starts_another(group: TestGroup, is_killed: bool) -> None:
    with starting_manager(group) as manager:
        [waiting] = agents_of(manager.pid)
        if is_killed:
            os.kill(waiting, signal.SIGKILL)

        assert manager.stdout is not None
        said = next(line for line in manager.stdout if b"CSQM050I" in line)

        used = int(said.rpartition(b" pid ")[2])
        assert (used != waiting) is is_killed
        assert is_there(used)
