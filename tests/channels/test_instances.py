"""The servers of a manager count instances of channels together, whatever becomes of one of them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from io import FileIO
from pathlib import Path

import pytest

from igq.channels.figures import Instances

pytestmark = pytest.mark.share
COME = {"C": 5, "C host": 3}


@pytest.fixture
def two(tmp_path: Path) -> tuple[Instances, Instances]:
    """A server of the unix socket, and one of a listener."""
    return Instances(tmp_path, ""), Instances(tmp_path, "L")


def test_servers_count_together(two: tuple[Instances, Instances], tmp_path: Path) -> None:
    one, other = two
    assert [one.take(COME), other.take(COME), one.take(COME)] == ["", "", ""]
    assert [each.take(COME) for each in two] == ["C host", "C host"]
    assert [one.take({"C": 5, "C elsewhere": 3}), other.take({"C": 5, "C elsewhere": 3})] == ["", ""]
    assert one.take({"C": 5, "C third": 3}) == "C"
    assert one.take({"D": 1}) == ""
    other.leave(("C", "C host"))
    assert [one.take(COME), other.take(COME)] == ["", "C"]
    one.close()
    assert other.take(COME) == ""
    other.close()
    assert list(tmp_path.iterdir()) == []


def test_no_two_servers_take_the_last_place(tmp_path: Path) -> None:
    servers = [Instances(tmp_path, "") for _ in range(4)]
    refused = list[str]()

    def come(server: Instances) -> None:
        for _ in range(50):
            refused.append(server.take({"C": 73}))

    threads = [threading.Thread(target=come, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (refused.count(""), refused.count("C")) == (73, 127)


@pytest.mark.parametrize("at", ["LOCKED", "IDLE"])
def test_a_server_that_is_killed_counts_no_longer(tmp_path: Path, at: str) -> None:
    mine = Instances(tmp_path, "")
    program = (
        "import os, signal, sys; from pathlib import Path; from igq.channels.figures import Instances;"
        f"server = Instances(Path({str(tmp_path)!r}), ''); server.take({COME!r}); server.take({COME!r});"
        # Half of what it writes.
        "server._file.seek(0); server._file.write(b'{\"listener');"
        f"'{at}' == 'LOCKED' and server._locked().__enter__();"
        "sys.stdout.write('.'); sys.stdout.flush(); sys.stdin.read()"
    )
    killed = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert killed.stdout is not None
    assert killed.stdout.read(1) == b"."
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert [mine.take(COME) for _ in range(4)] == ["", "", "", "C host"]
    assert len(list(tmp_path.iterdir())) == 1


def test_the_server_of_a_listener_with_the_fewest_clients_is_next(tmp_path: Path) -> None:
    one, other, local = Instances(tmp_path, "L"), Instances(tmp_path, "L"), Instances(tmp_path, "")
    for mine, others, is_next in (
        (0, 0, True),
        (1, 0, False),
        (1, 1, True),
        (9, 8, True),
        (10, 8, False),
        (3, 9, True),
    ):
        one.count_clients(mine)
        other.count_clients(others)
        assert one.has_more_than_others() is not is_next, (mine, others)
    local.count_clients(1_000)
    assert not local.has_more_than_others()


def test_a_full_disk_ends_no_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = Instances(tmp_path, ""), Instances(tmp_path, "L")
    disk = mine._file
    monkeypatch.setattr(mine, "_file", FileIO("/dev/full", "r+"))
    assert mine.take(COME) == ""
    mine.leave(("C",))
    monkeypatch.setattr(mine, "_file", disk)
    assert mine.take(COME) == ""
    assert other.take({"C": 2, "C host": 2}) == "C host"
    # A disk that takes a part of it.
    disk.truncate(9)
    assert other.take({"C": 1}) == ""
