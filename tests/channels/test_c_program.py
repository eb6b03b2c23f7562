"""A program in C, linked with the library of the project, at a channel server."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from igq.mqm import library

PROGRAM = Path(__file__).parents[1] / "mqm" / "programs" / "round_trip.c"


def test_a_program_in_c_makes_its_calls(channel: Path, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    library.build(tmp_path / "mqm")
    binary, inc, lib = tmp_path / "program", tmp_path / "mqm" / "inc", tmp_path / "mqm" / "lib64"
    linked = [f"-L{lib}", "-lmqm_r", f"-Wl,-rpath,{lib}", "-pthread"]
    subprocess.run(["gcc", *library.WARNINGS, f"-I{inc}", str(PROGRAM), *linked, "-o", str(binary)], check=True)
    env = {**os.environ, "IGQ_SOCKET": str(channel)}
    done = subprocess.run([str(binary)], env=env, capture_output=True, text=True, check=False, timeout=120)
    user = getpass.getuser()[:12].ljust(12)
    assert done.stdout.splitlines() == [
        "2 on Q",
        f"first by {user}",
        f"second by {user}",
        "MQGET 2 2033",
        "colour=blue",
        "news/today: news",
    ]
    assert (done.returncode, done.stderr) == (0, "")
