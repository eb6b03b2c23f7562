"""The channel server of a real manager: it starts with the first program, and is there again after it has died."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from igq.channels.frames import Verb
from igq.operations.listeners import listener_states
from igq.processes.child import python_command
from recovery.resolution import recover
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from tests.igq.mqsc.test_channels import mqsc
from tests.support.channel_client import RawClient
from tests.support.members import TestGroup
from tests.support.scenes import stored, until

pytestmark = [pytest.mark.faults, pytest.mark.slow]
BOTH = int(OpenOption.INPUT_SHARED | OpenOption.OUTPUT)


@pytest.fixture
def processes() -> int:
    """How many processes the manager has for each listener."""
    return 1


@pytest.fixture
def manager(group: TestGroup, tmp_path: Path, processes: int) -> Iterator[subprocess.Popen[bytes]]:
    """QM2, a real manager; there is a shared queue Q."""
    group.define_structure()
    group.define_shared("Q")
    names = {"IGQ_GROUP": group.group.name, "IGQ_REDIS_URL": str(group.settings.redis_url)}
    environment = os.environ | names | {"IGQ_DATA_DIR": str(tmp_path), "IGQ_LEASE_MS": "5000"}
    environment |= {"IGQ_CHANNEL_PROCESSES": str(processes)}
    with (tmp_path / "out").open("wb") as out:
        words = python_command("igq", "qmgr", "start", "QM2")
        process = subprocess.Popen(words, env=environment, stdout=out, stderr=out)
    yield process
    process.terminate()
    try:
        process.wait(30)
    finally:
        process.kill()


def servers(manager: subprocess.Popen[bytes]) -> list[int]:
    """The process ids of its channel servers."""
    children = Path(f"/proc/{manager.pid}/task").glob("*/children")
    pids = [int(pid) for path in children for pid in path.read_text("ascii").split()]
    return [pid for pid in pids if b"igq.channels" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_server_that_dies_is_started_again(
    group: TestGroup, manager: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    path = tmp_path / "channels" / "QM2.sock"
    until(path.exists, "the manager listens", 60)
    assert not servers(manager)
    client = RawClient(path)
    assert client.connect("QM2").numbers[:2] == (0, 0)
    client.put(client.open("Q", BOTH), b"never", int(PutOption.SYNCPOINT))
    (server,) = servers(manager)
    os.kill(server, signal.SIGKILL)
    assert client.socket.recv(1) == b""
    again = RawClient(path)
    assert again.connect().numbers[:2] == (0, 0)
    until(lambda: stored(group) == 0, "the work of the dead server is backed out", 60)
    handle = again.open("Q", BOTH)
    assert again.put(handle, b"x").numbers == (0, 0)
    assert again.get(handle).blobs[2] == b"x"
    assert again.call(Verb.DISC).numbers == (0, 0)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    manager.terminate()
    manager.wait(60)
    assert not path.exists()


@pytest.mark.usefixtures("manager")
def test_a_listener_is_started_and_stopped(group: TestGroup, tmp_path: Path) -> None:
    until((tmp_path / "channels" / "QM2.sock").exists, "the manager listens", 60)

    def status(name: str = "L") -> str:
        return mqsc(group, f"DISPLAY LSSTATUS({name}*)", qmgr="QM2")

    mqsc(group, "DEFINE CHANNEL(APP) CHLTYPE(SVRCONN) MCAUSER('app')", "DEFINE LISTENER(L) TRPTYPE(TCP) PORT(0)")
    assert "No LSSTATUS matches" in status()
    mqsc(group, "START LISTENER(L)", qmgr="QM2")
    until(lambda: "STATUS(RUNNING)" in status(), "it listens", 30)
    port = int(status().partition("PORT(")[2].partition(")")[0])
    client = RawClient(port)
    assert client.connect(channel="APP").numbers[:2] == (0, 0)
    assert "CONNAME(127.0.0.1(" in mqsc(group, "DISPLAY CHSTATUS(APP)", qmgr="QM2")
    mqsc(group, f"DEFINE LISTENER(LATE) TRPTYPE(TCP) PORT({port})", "START LISTENER(LATE)", qmgr="QM2")
    until(lambda: "STATUS(STOPPED)" in status("LATE"), "the port is not free", 30)
    mqsc(group, "STOP LISTENER(L)", qmgr="QM2")
    assert client.receive().verb == Verb.ENDED
    until(lambda: "LSSTATUS(L)" not in status(), "it has ended", 30)
    with pytest.raises(ConnectionRefusedError):
        RawClient(port)
    for command in ("START LISTENER(NONE)", "STOP LISTENER(NONE)", "DISPLAY LSSTATUS(NONE)"):
        assert "was not found" in mqsc(group, command, qmgr="QM2", status=10)
    assert "is stopped already" in mqsc(group, "STOP LISTENER(L)", qmgr="QM2")


@pytest.mark.usefixtures("manager")
def test_a_channel_is_stopped_and_started(group: TestGroup, tmp_path: Path) -> None:
    path = tmp_path / "channels" / "QM2.sock"
    until(path.exists, "the manager listens", 60)
    mqsc(group, "DEFINE CHANNEL(APP) CHLTYPE(SVRCONN)", qmgr="QM2")

    def come() -> tuple[RawClient, tuple[int, ...]]:
        client = RawClient(path)
        return client, client.connect(channel="APP").numbers[:2]

    client, numbers = come()
    assert numbers == (0, 0)
    handle = client.open("Q", BOTH)
    client.put(handle, b"never", int(PutOption.SYNCPOINT))
    assert "1 unit of work" in mqsc(group, "STOP CHANNEL(APP) MODE(FORCE)", qmgr="QM2")
    assert client.put(handle, b"late").numbers[:2] == (2, MQRC.CONNECTION_BROKEN)
    assert stored(group) == 0
    assert come()[1] == (2, MQRC.CHANNEL_NOT_AVAILABLE)
    assert "STATUS(STOPPED)" in mqsc(group, "DISPLAY CHSTATUS(APP)", qmgr="QM2")
    mqsc(group, "START CHANNEL(APP)", qmgr="QM2")
    assert come()[1] == (0, 0)
    assert "takes connections already" in mqsc(group, "START CHANNEL(APP)", qmgr="QM2")
    assert "was not found" in mqsc(group, "STOP CHANNEL(NONE)", qmgr="QM2", status=10)


def test_a_manager_that_joins_again_has_the_listeners_that_start_with_it(
    group: TestGroup, manager: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    until((tmp_path / "channels" / "QM2.sock").exists, "the manager listens", 60)
    mqsc(group, "DEFINE CHANNEL(APP) CHLTYPE(SVRCONN) MCAUSER('app')")
    for name, control in (("OWN", "MANUAL"), ("ALWAYS", "QMGR")):
        define = f"DEFINE LISTENER({name}) TRPTYPE(TCP) PORT(0) CONTROL({control})"
        mqsc(group, define, f"START LISTENER({name})", qmgr="QM2")
    until(lambda: running(group) == {"OWN", "ALWAYS"}, "both listen", 30)
    before, peer = incarnation(group), group.connect().connection
    manager.send_signal(signal.SIGSTOP)
    try:
        recover(group.group, peer, f"QM2.{before}", force=True)
    finally:
        manager.send_signal(signal.SIGCONT)
    until(lambda: incarnation(group) > before and running(group) == {"ALWAYS"}, "it has joined again", 60)
    port = int(mqsc(group, "DISPLAY LSSTATUS(ALWAYS)", qmgr="QM2").partition("PORT(")[2].partition(")")[0])
    until(lambda: RawClient(port).connect(channel="APP").numbers[:2] == (0, 0), "it takes programs", 60)


def running(group: TestGroup) -> set[str]:
    """The listeners of QM2 that run."""
    member = group.group.member("QM2")
    states = {} if member is None else listener_states(member)
    return {name for name, state in states.items() if state["state"] == "RUNNING"}


def incarnation(group: TestGroup) -> int:
    member = group.group.member("QM2")
    assert member is not None
    return member.incarnation
