"""Node's ``ibmmq``, unmodified from the registry, with this library in the place of IBM's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.mqm.conftest import PROGRAMS

pytestmark = pytest.mark.slow
PACKAGE = "ibmmq@2.1.9"
EXPECTED = "got one\ngot two\ngot one\ndepth 2\nconsumed two\nconsumed three\ntold 2033\n"


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of modules that has the package: the one of TESTS_NPM_IBMMQ, or a new one."""
    if shutil.which("node") is None:
        pytest.skip("needs node")
    if named := os.environ.get("TESTS_NPM_IBMMQ"):
        return Path(named).parent
    folder = tmp_path_factory.mktemp("npm")
    # Its scripts would download IBM's library.
    words = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", PACKAGE]
    if shutil.which("npm") is None:
        pytest.skip("needs npm, or TESTS_NPM_IBMMQ")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        pytest.skip(f"{PACKAGE} cannot be installed: {done.stderr.strip()[-200:]}")
    return folder / "node_modules"


@pytest.mark.parametrize("starts", ["the program", "the package"])
def test_node_puts_browses_gets_and_consumes(modules: Path, plain: Path, channel: Path, starts: str) -> None:
    env = {"PATH": os.environ["PATH"], "NODE_PATH": str(modules), "IGQ_SOCKET": str(channel)}
    env["LD_LIBRARY_PATH"] = str(plain / "lib64")
    if starts == "the package":
        # The package asks then by MQCTL whether consumers run, and starts them.
        env["MQIJS_NOUSECTL"] = "1"
    done = subprocess.run(
        ["node", str(PROGRAMS / "with_node.js")], env=env, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.stdout, done.stderr, done.returncode) == (EXPECTED, "", 0)
