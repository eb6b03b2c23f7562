"""Python's ``ibmmq``, unmodified, with this library in the place of IBM's.

IGQ_IBMMQ_PYTHON names a Python that has it, built against the folder that `igq mqm build` makes (MQ_FILE_PATH).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from igq.mqm import library

PROGRAM = Path(__file__).parent / "programs" / "with_ibmmq.py"


@pytest.fixture(scope="module")
def python() -> str:
    named = os.environ.get("IGQ_IBMMQ_PYTHON")
    if not named:
        pytest.skip("needs a Python with ibmmq: IGQ_IBMMQ_PYTHON names it")
    return named


@pytest.fixture(scope="module")
def plain_library(gcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the library without sanitizers, which a foreign program does not have."""
    folder = tmp_path_factory.mktemp("plain")
    library.build(folder, compiler=gcc)
    return folder / "lib64"


def test_ibmmq_works_with_a_queue(python: str, plain_library: Path, channel: Path) -> None:
    env = {"PATH": os.environ["PATH"], "IGQ_SOCKET": str(channel), "LD_LIBRARY_PATH": str(plain_library)}
    done = subprocess.run([python, str(PROGRAM)], env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
