"""Programs in C against a real channel server, through its unix socket."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.members import TestGroup

Compile = Callable[[str], Path]


@pytest.mark.share
@pytest.mark.parametrize("program", ["work", "callbacks"])
def test_a_program_in_c_works(compiled: Compile, channel: Path, program: str) -> None:
    env = {**os.environ, "IGQ_SOCKET": str(channel)}
    done = subprocess.run([str(compiled(program))], env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_call_reaches_the_server_and_breaks_nothing(compiled: Compile, channel: Path) -> None:
    env = {**os.environ, "IGQ_SOCKET": str(channel)}
    program = [str(compiled("every_call")), "2"]
    done = subprocess.run(program, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[0] == "0"


@pytest.mark.parametrize("others", [(), ("QM0.sock", "QM2.sock")], ids=["one socket", "sockets of dead managers"])
def test_a_program_connects_by_the_name_of_a_manager_and_of_the_group(
    compiled: Compile, channel: Path, group: TestGroup, tmp_path: Path, others: tuple[str, ...]
) -> None:
    folder = tmp_path / "data" / "channels"
    folder.mkdir(parents=True)
    (folder / "QM1.sock").symlink_to(channel)
    for name in others:
        with socket.socket(socket.AF_UNIX) as ended:
            ended.bind(str(folder / name))
    env = {name: value for name, value in os.environ.items() if not name.startswith("IGQ_")}
    env |= {"IGQ_DATA_DIR": str(tmp_path / "data")}
    names = ["QM1", group.group.name, f"*{group.group.name}", "NOBODY"]
    done = subprocess.run([str(compiled("by_name")), *names], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["0", "0", "0", "2058"], "")
