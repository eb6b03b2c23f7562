"""A real queue manager, with its agent, in processes of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from igq.agent.progress.sleep import wake_movers
from sharedq.members.group import Group
from sharedq.objects.store.parts import own_part
from tests.support.members import TestGroup

#: Seconds until a manager and its agent must run.
START_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Running:
    """Process ids of a manager and of its agent."""

    pid: int
    agent_pid: int


def environment_of(group: TestGroup, url: str = "") -> dict[str, str]:
    """The environment of a process of *group*. *url*: of Redis, where the process reaches it otherwise."""
    settings = group.settings
    return {
        "IGQ_GROUP": settings.group,
        "IGQ_REDIS_URL": url or str(settings.redis_url),
        "IGQ_DATA_DIR": str(settings.data_dir),
        "IGQ_LEASE_MS": str(settings.lease_ms),
        "IGQ_JOURNAL": str(settings.journal).lower(),
        "IGQ_RECOVERY_LOG": str(settings.recovery_log).lower(),
    }


def wait_for_part(group: TestGroup, name: str, queue: str) -> None:
    """Wait until the agent of *name* serves what is sent to it for a shared queue in that queue's structure."""
    wake_movers(group.group, name)
    end_s = time.monotonic() + START_TIMEOUT_S
    repository = group.repository(name)
    while repository.transmit_part(name, repository.locate(queue)) == own_part(name):
        if time.monotonic() > end_s:
            raise RuntimeError(f"{name} has no part of the transmission queue where {queue} is")
        time.sleep(0.01)


@contextlib.contextmanager
def running_manager(group: TestGroup, name: str, enter: Sequence[str] = (), url: str = "") -> Iterator[Running]:
    """Start the manager *name* of *group*, and stop it in the end.

    Args:
        enter: words before the command, which run it on a machine of a network.
        url: of Redis, from there.
    """
    process = subprocess.Popen(
        [*enter, sys.executable, "-m", "igq", "qmgr", "start", name],
        env=os.environ | environment_of(group, url),
        stdout=subprocess.DEVNULL,
    )
    try:
        yield Running(process.pid, _wait_for_agent(group.group, name, process))
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for_agent(group: Group, name: str, process: subprocess.Popen[bytes]) -> int:
    key = group.keys.agents
    end_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end_s and process.poll() is None:
        text = group.command(key, "HGET", key, name)
        agent = json.loads(text) if text else {}
        if agent.get("state") == "RUNNING":
            return int(agent["pid"])
        time.sleep(0.05)
    raise RuntimeError(f"queue manager {name} and its agent did not start")


@contextlib.contextmanager
def running_crowd(group: TestGroup, names: Sequence[str]) -> Iterator[int]:
    """Managers that are threads of one process, which is killed in the end. Yields its id."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.crowd", *names],
        env=os.environ | environment_of(group),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise RuntimeError(f"the managers {', '.join(names)} did not start")
        yield process.pid
    finally:
        process.kill()
        process.wait()
