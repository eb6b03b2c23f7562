"""Several server processes of a manager at one place: they share the clients, and the limits of channels.

A server that has more clients than another leaves the next one to the other for a moment. If the other does not run in
that moment, because the machine is busy, it takes the client itself. So no test counts on equal shares.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from tests.channels.test_server_process import manager, servers
from tests.igq.monitoring.test_metrics import scrape
from tests.igq.mqsc.test_channels import mqsc
from tests.support.accounts import account
from tests.support.channel_client import RawClient
from tests.support.members import TestGroup
from tests.support.scenes import stored, until

__all__ = ["manager"]

pytestmark = [pytest.mark.faults, pytest.mark.slow]
BOTH = int(OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
FULL = (2, MQRC.CHANNEL_NOT_AVAILABLE)
CHANNEL = "DEFINE CHANNEL(FEW) CHLTYPE(SVRCONN) MCAUSER('app') MAXINST({})"


@pytest.fixture
def processes() -> int:
    return 2


@pytest.fixture
def path(manager: subprocess.Popen[bytes], tmp_path: Path) -> Path:  # noqa: ARG001 - it listens there
    """The unix socket of QM2."""
    path = tmp_path / "channels" / "QM2.sock"
    until(path.exists, "the manager listens", 60)
    return path


@pytest.fixture
def port(group: TestGroup, path: Path) -> int:  # noqa: ARG001 - it has started
    """The port of a listener of QM2."""
    mqsc(group, "DEFINE LISTENER(L) TRPTYPE(TCP) PORT(0)", "START LISTENER(L)", qmgr="QM2")
    until(lambda: "STATUS(RUNNING)" in mqsc(group, "DISPLAY LSSTATUS(L*)", qmgr="QM2"), "it listens", 30)
    return int(mqsc(group, "DISPLAY LSSTATUS(L)", qmgr="QM2").partition("PORT(")[2].partition(")")[0])


def come(place: Path | int, channel: str = "FEW") -> tuple[RawClient, tuple[int, ...]]:
    client = RawClient(place)
    return client, client.connect(channel=channel).numbers[:2]


def all_run(process: subprocess.Popen[bytes], path: Path, count: int) -> bool:
    """Whether so many servers are there and have told what they have."""
    return len(servers(process)) == count == len(list(path.parent.glob("QM2.instances/*")))


def clients_of(path: Path) -> list[int]:
    """How many clients each server has, read under the folder's lock: the servers write a count in two steps."""
    folder = os.open(path.parent / "QM2.instances", os.O_RDONLY)
    try:
        flock(folder, LOCK_EX)
        return sorted(json.loads(each.read_text())["clients"] for each in path.parent.glob("QM2.instances/*"))
    finally:
        os.close(folder)


def pid_of(client: RawClient, pids: list[int]) -> int:
    """The server at the other end of a TCP connection."""
    # Of another program's connections, too, one end may have the client's port.
    ends = [f":{end[1]:04X}" for end in (client.socket.getpeername(), client.socket.getsockname())]
    lines = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()]
    (inode,) = (words[9] for words in lines if [words[1][-5:], words[2][-5:]] == ends)
    for pid in pids:
        for number in Path(f"/proc/{pid}/fd").iterdir():
            if str(number.readlink()) == f"socket:[{inode}]":
                return pid
    raise AssertionError(f"no server has {ends}")


def test_clients_are_shared_out(manager: subprocess.Popen[bytes], path: Path) -> None:
    first = RawClient(path)
    until(lambda: all_run(manager, path, 2), "both run", 60)
    clients = [first, *(RawClient(path) for _ in range(9))]
    until(lambda: sum(clients_of(path)) == 10, "ten are there")
    assert clients_of(path)[0] > 0
    assert all(client.connect("QM2").numbers[:2] == (0, 0) for client in clients)
    with ThreadPoolExecutor(20) as pool:
        clients += pool.map(lambda _: RawClient(path), range(90))
    until(lambda: sum(clients_of(path)) == 100, "all are there")
    assert clients_of(path)[0] > 10
    for client in clients:
        client.close()
    until(lambda: clients_of(path) == [0, 0], "all are gone")


def test_instances_are_counted_over_all_processes_and_listeners(
    group: TestGroup, manager: subprocess.Popen[bytes], path: Path, port: int
) -> None:
    mqsc(group, CHANNEL.format(7), "DEFINE LISTENER(M) TRPTYPE(TCP) PORT(0)", "START LISTENER(M)", qmgr="QM2")
    RawClient(path), RawClient(port)
    until(lambda: all_run(manager, path, 4), "all run", 60)
    with ThreadPoolExecutor(20) as pool:
        made = list(pool.map(come, [path, port] * 10))
    assert sorted(numbers for _, numbers in made) == [(0, 0)] * 7 + [FULL] * 13
    for client, numbers in made:
        if numbers == (0, 0):
            client.close()
            until(lambda: come(port)[1] == (0, 0) or come(path)[1] == (0, 0), "there is room for one")
    mqsc(group, "ALTER CHANNEL(FEW) CHLTYPE(SVRCONN) MAXINST(8) MAXINSTC(1)", qmgr="QM2")


def test_a_killed_process_ends_only_its_own_clients(
    group: TestGroup, manager: subprocess.Popen[bytes], path: Path, port: int
) -> None:
    mqsc(group, CHANNEL.format(8), qmgr="QM2")
    first = come(port)[0]
    until(lambda: all_run(manager, path, 2), "both run", 60)
    clients = [first, *(come(port)[0] for _ in range(7))]
    assert come(port)[1] == FULL
    at = [(client, client.open("Q", BOTH), pid_of(client, servers(manager))) for client in clients]
    for client, handle, _ in at:
        assert client.put(handle, b"never", int(PutOption.SYNCPOINT)).numbers == (0, 0)
    killed = at[0][2]
    lost = [pid for _, _, pid in at].count(killed)
    assert 0 < lost < 8
    os.kill(killed, signal.SIGKILL)
    for client, handle, pid in at:
        if pid == killed:
            assert client.socket.recv(1) == b""
        else:
            assert client.put(handle, b"more", int(PutOption.SYNCPOINT)).numbers == (0, 0)
    # The dead are not counted, and the places of the living are not free.
    again = [come(port) for _ in range(lost + 1)]
    assert [numbers for _, numbers in again] == [(0, 0)] * lost + [FULL]
    until(lambda: stored(group) == 2 * (8 - lost), "the work of the dead server is backed out", 60)
    until(lambda: all_run(manager, path, 2), "it runs again", 60)
    assert killed not in servers(manager)
    for client, _, pid in at:
        if pid != killed:
            client.close()
    until(lambda: pid_of(come(port, "FEW")[0], servers(manager)) not in {pid for _, _, pid in at}, "the new one works")
    for client, _ in again:
        client.close()
    until(lambda: not account(group.group), "everything is accounted for", 60)


def test_a_stopped_process_does_not_keep_clients_out(manager: subprocess.Popen[bytes], path: Path) -> None:
    first = come(path, "")[0]
    until(lambda: all_run(manager, path, 2), "both run", 60)
    os.kill(pids := servers(manager)[0], signal.SIGSTOP)
    try:
        before = sum(clients_of(path))
        others = [RawClient(path) for _ in range(6)]
        until(lambda: sum(clients_of(path)) >= before + 6, "the other takes them")
        assert all(client.connect("QM2").numbers[:2] == (0, 0) for client in others)
    finally:
        os.kill(pids, signal.SIGCONT)
    first.close()


def test_figures_and_stops_are_those_of_all_processes(
    group: TestGroup, manager: subprocess.Popen[bytes], path: Path, port: int
) -> None:
    mqsc(group, CHANNEL.format(100), qmgr="QM2")
    first = come(port)[0]
    until(lambda: all_run(manager, path, 2), "both run", 60)
    clients = [first, *(come(port)[0] for _ in range(5))]
    handles = [client.open("Q", BOTH) for client in clients]

    def shown() -> str:
        return mqsc(group, "DISPLAY CHSTATUS(FEW) MSGS", qmgr="QM2")

    until(lambda: len(re.findall(r"MSGS\(2\)", shown())) == 6, "all are told")

    def current(process: int) -> float:
        of = {"qmgr": "QM2", "channel": "FEW", "listener": "L", "process": str(process)}
        return scrape(group).value("ibmmq_channel_cur_inst", **of) or 0

    assert current(0) > 0 < current(1)
    assert current(0) + current(1) == 6
    clients[0].send_get(handles[0], int(GetOption.WAIT), -1)
    mqsc(group, "STOP CHANNEL(FEW) MODE(FORCE)", qmgr="QM2")
    for client, handle in zip(clients[1:], handles[1:], strict=True):
        assert client.put(handle, b"late").numbers[:2] == (2, MQRC.CONNECTION_BROKEN)
    assert clients[0].receive().numbers[:2] == (2, MQRC.CONNECTION_BROKEN)
    for _ in range(4):
        assert come(port)[1] == FULL
    mqsc(group, "STOP LISTENER(L)", qmgr="QM2")
    until(lambda: not servers(manager), "both servers end", 30)
