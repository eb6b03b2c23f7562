"""The channel server of a real manager: it starts with the first program, and is there again after it has died."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from igq.channels.frames import Verb
from igq.processes.interpreter import python_command
from sharedq.mqi.constants import OpenOption, PutOption
from tests.support.channel_client import RawClient
from tests.support.members import TestGroup
from tests.support.scenes import stored, until

pytestmark = [pytest.mark.faults, pytest.mark.slow]
BOTH = int(OpenOption.INPUT_SHARED | OpenOption.OUTPUT)


@pytest.fixture
def manager(group: TestGroup, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """QM2, a real manager; there is a shared queue Q."""
    group.define_structure()
    group.define_shared("Q")
    names = {"IGQ_GROUP": group.group.name, "IGQ_REDIS_URL": str(group.settings.redis_url)}
    environment = os.environ | names | {"IGQ_DATA_DIR": str(tmp_path), "IGQ_LEASE_MS": "5000"}
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
