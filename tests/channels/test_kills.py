"""The channel server, or its clients, are killed again and again under load: nothing is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from igq.channels.frames import Verb
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from tests.channels.test_server_process import manager, processes, servers
from tests.support.accounts import account
from tests.support.channel_client import RawClient
from tests.support.members import TestGroup
from tests.support.scenes import until

__all__ = ["manager", "processes"]

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.invariant(1, 4, 8)]
BOTH = int(OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
SYNCPOINT = int(PutOption.SYNCPOINT)
KILLS, CLIENTS = 8, 4


class Worker(threading.Thread):
    """A program that does one unit of work after the other, and connects again whenever its connection is lost."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.is_over = threading.Event()
        #: Units of work whose commit was acknowledged.
        self.done: list[bytes] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.is_over.is_set():
                with suppress(OSError, EOFError):
                    client = RawClient(self.path)
                    if client.connect("QM2").numbers[0] == 0:
                        self.work(client, client.open("Q", BOTH), client.open("R", BOTH))
                    client.close()
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.error = error

    def work(self, client: RawClient, source: int, target: int) -> None:
        raise NotImplementedError


class Putter(Worker):
    """Puts one message after the other, each with a name of its own."""

    def work(self, client: RawClient, source: int, target: int) -> None:  # noqa: ARG002 - of every worker
        while not self.is_over.is_set():
            body = os.urandom(8)
            if client.put(source, body, SYNCPOINT).numbers[0] or client.call(Verb.CMIT).numbers[0]:
                return
            self.done.append(body)


class Mover(Worker):
    """Moves messages from one queue to the other."""

    def work(self, client: RawClient, source: int, target: int) -> None:
        while not self.is_over.is_set():
            got = client.get(source, SYNCPOINT)
            if got.numbers[1] == MQRC.NO_MSG_AVAILABLE:
                continue
            if got.numbers[0] or client.put(target, got.blobs[2], SYNCPOINT).numbers[0]:
                return
            if client.call(Verb.CMIT).numbers[0]:
                return
            self.done.append(got.blobs[2])


def total(workers: Sequence[Worker]) -> int:
    return sum(len(worker.done) for worker in workers)


def has_done(workers: Sequence[Worker], count: int) -> bool:
    return total(workers) > count


def drained(path: Path) -> Counter[bytes]:
    """Every message of both queues."""
    client = RawClient(path)
    assert client.connect("QM2").numbers[0] == 0
    found = Counter[bytes]()
    for name in ("Q", "R"):
        handle = client.open(name, BOTH)
        while (reply := client.get(handle)).numbers[0] == 0:
            found[reply.blobs[2]] += 1
    assert client.call(Verb.DISC).numbers == (0, 0)
    client.close()
    return found


@pytest.mark.parametrize(("seed", "processes"), [(0, 1), (1, 1), (0, 2), (1, 3)])
def test_a_server_that_is_killed_again_and_again(
    group: TestGroup, manager: subprocess.Popen[bytes], tmp_path: Path, seed: int, processes: int
) -> None:
    chance, path = random.Random(seed), tmp_path / "channels" / "QM2.sock"
    group.define_shared("R")
    until(path.exists, "the manager listens", 60)
    workers = [kind(path) for kind in (Putter, Mover) for _ in range(CLIENTS)]
    for worker in workers:
        worker.start()
    for _ in range(KILLS):
        enough = total(workers) + 40
        until(partial(has_done, workers, enough), "they work", 60)
        time.sleep(chance.random() / 50)
        # Of several one, so that the others go on.
        until(lambda: len(servers(manager)) == processes, "all servers run", 60)
        with suppress(ProcessLookupError):
            os.kill(chance.choice(servers(manager)), signal.SIGKILL)
    for worker in workers:
        worker.is_over.set()
    for worker in workers:
        worker.join(60)
        assert not worker.is_alive()
        assert worker.error is None, worker.error
    until(lambda: not account(group.group), "everything is accounted for", 60)
    found = drained(path)
    assert set(found.values()) == {1}
    assert {body for worker in workers for body in worker.done} <= set(found)


def test_clients_that_are_killed_again_and_again(
    group: TestGroup, manager: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    """Processes that each have a message in hand."""
    path = tmp_path / "channels" / "QM2.sock"
    until(path.exists, "the manager listens", 60)
    first = RawClient(path)
    assert first.connect("QM2").numbers[0] == 0
    handle = first.open("Q", BOTH)
    for number in range(40):
        assert first.put(handle, b"%d" % number).numbers[0] == 0
    program = (
        "import sys, time; from pathlib import Path; from tests.support.channel_client import RawClient;"
        f"c = RawClient(Path({str(path)!r})); c.connect('QM2'); q = c.open('Q', {BOTH});"
        f"assert c.get(q, {SYNCPOINT}).numbers[0] == 0; c.put(q, b'never', {SYNCPOINT});"
        "sys.stdout.write('.'); sys.stdout.flush(); time.sleep(600)"
    )
    for _ in range(5):
        clients = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(4)]
        for client in clients:
            assert client.stdout is not None
            assert client.stdout.read(1) == b"."
        for client in clients:
            client.kill()
            client.wait()
    until(lambda: not account(group.group), "everything is accounted for", 60)
    bodies = [first.get(handle).blobs[2] for _ in range(40)]
    assert bodies == [b"%d" % number for number in range(40)]
    assert first.get(handle).numbers[1] == MQRC.NO_MSG_AVAILABLE
    assert len(servers(manager)) == 1
