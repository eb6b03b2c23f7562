"""Python's ``ibmmq``, unmodified from the registry, with this library in the place of IBM's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import new_shell
from tests.mqm.conftest import PROGRAMS, PythonWith

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(python_with: PythonWith) -> str:
    """A Python that has the package."""
    return python_with("ibmmq")


def run(python: str, plain: Path, program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(plain / "lib64"), **variables}
    words = [python, str(PROGRAMS / program)]
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=120)


def test_ibmmq_works_with_a_queue(python: str, plain: Path, channel: Path) -> None:
    done = run(python, plain, "with_ibmmq.py", IGQ_SOCKET=str(channel))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Path]:
    """The data directory of a group of QM1 and QM2, real managers, with a queue of QM2 and a shared one."""
    shell = new_shell(tmp_path)
    try:
        managers = shell.start("group", "start", "-m", "QM1", "-m", "QM2")
        managers.wait_for("CSQ9022I", 2)
        shell.run("mqsc", "QM1", "-c", "ALTER QMGR IGQ(ENABLED)")
        shell.run("mqsc", "QM1", "-c", "DEFINE QLOCAL(SHARED) QSGDISP(SHARED) CFSTRUCT(APPL1)")
        shell.run("mqsc", "QM2", "-c", "DEFINE QLOCAL(PRIVATE)")
        yield tmp_path
        managers.end()
    finally:
        shell.close()


def test_ibmmq_puts_and_gets_between_two_members_without_redis(python: str, plain: Path, members: Path) -> None:
    done = run(python, plain, "between_members.py", IGQ_DATA_DIR=str(members))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
