"""Programs in C against a real channel server, through its unix socket."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

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
