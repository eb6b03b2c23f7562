"""The compiler, and what it makes once for a run: the headers, the library, programs; a channel server of a group."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

from igq.channels.hub import Hub, serve
from igq.mqm import library
from igq.mqm.headers import write_headers
from sharedq.members.group import Group
from tests.support.channel_client import bound_to
from tests.support.members import TestGroup

PROGRAMS = Path(__file__).parent / "programs"
#: The version that the tests were written for.
IBMMQ = "ibmmq==2.1.2"
PythonWith = Callable[..., str]
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer")


@pytest.fixture(scope="session")
def gcc() -> str:
    found = shutil.which("gcc")
    if found is None:
        pytest.skip("needs gcc")
    return found


@pytest.fixture(scope="session")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the generated headers."""
    folder = tmp_path_factory.mktemp("inc")
    write_headers(folder)
    return folder


@pytest.fixture(scope="session")
def built(gcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, compiled with the sanitizers."""
    folder = tmp_path_factory.mktemp("mqm")
    library.build(folder, compiler=gcc, flags=SANITIZED)
    return folder


@pytest.fixture(scope="session")
def compiled(gcc: str, built: Path) -> Callable[[str], Path]:
    """Compiles a program of the folder beside."""

    def compile_(name: str) -> Path:
        binary = built / name
        command = [gcc, *library.WARNINGS, *SANITIZED, f"-I{built / 'inc'}", str(PROGRAMS / f"{name}.c"), "-pthread"]
        command += [f"-L{built / 'lib64'}", "-lmqm_r", f"-Wl,-rpath,{built / 'lib64'}", "-o", str(binary)]
        subprocess.run(command, check=True, timeout=120)
        return binary

    return compile_


@pytest.fixture(scope="session")
def plain(gcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library and its headers without sanitizers, which a foreign program does not have."""
    folder = tmp_path_factory.mktemp("plain")
    library.build(folder, compiler=gcc)
    return folder


@pytest.fixture(scope="session")
def python_with(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> PythonWith:
    """A Python that has ibmmq and other packages, unmodified from the registry.

    It is the one that TESTS_NAME_PYTHON names, with the first package's name, or a new environment.
    """

    def with_packages(name: str, *others: str) -> str:
        if named := os.environ.get(f"TESTS_{name.upper()}_PYTHON"):
            return named
        folder = tmp_path_factory.mktemp(name)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
        python = str(folder / "bin" / "python")
        # Built here: a wheel would bring IBM's library.
        install = [python, "-m", "pip", "install", "--quiet", "--no-binary", "ibmmq", IBMMQ, *others]
        env = os.environ | {"MQ_FILE_PATH": str(plain)}
        done = subprocess.run(install, env=env, capture_output=True, text=True, check=False, timeout=900)
        if done.returncode:
            pytest.skip(f"{(IBMMQ, *others)} cannot be installed: {done.stderr.strip()[-200:]}")
        return python

    return with_packages


@pytest.fixture
def channel(group: TestGroup, tmp_path: Path) -> Iterator[Path]:
    """The socket of a channel server of QM1; there is a shared queue Q."""
    group.define_structure()
    group.define_shared("Q")
    path = tmp_path / "QM1.sock"
    listening, started = bound_to(path), SimpleQueue[Hub]()
    server_group = Group(group.settings)
    server = threading.Thread(target=serve, args=(server_group, "QM1", listening, started.put))
    server.start()
    hub = started.get(timeout=30)
    yield path
    hub.stop()
    server.join()
    server_group.leave()
    listening.close()
