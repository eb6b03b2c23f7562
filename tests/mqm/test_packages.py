"""Packages for IBM MQ at a real manager, by TCP: IBM's own tests of ``ibmmq``, faststream-mq, Airflow's provider."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import new_shell
from tests.mqm.conftest import IBMMQ, PROGRAMS, PythonWith
from tests.support.topologies import free_ports

pytestmark = pytest.mark.slow

#: IBM's tests and the packages expect these: the objects of IBM's configuration for developers, an object with IBM's
#: description, and one that their search for leftovers finds. (On z/OS a search that finds none is 3200, not 2085.)
OBJECTS = """
DEFINE CHANNEL(DEV.ADMIN.SVRCONN) CHLTYPE(SVRCONN) MCAUSER('admin')
DEFINE CHANNEL(DEV.APP.SVRCONN) CHLTYPE(SVRCONN) MCAUSER('app')
DEFINE QLOCAL(DEV.QUEUE.1)
DEFINE QLOCAL(DEV.QUEUE.2)
DEFINE QLOCAL(DEV.QUEUE.3) DESCR('IBM MQ queue')
DEFINE QALIAS(UNITTEST.KEPT) TARGET(DEV.QUEUE.1)
DEFINE LISTENER(TCP) TRPTYPE(TCP) PORT({port})
START LISTENER(TCP)
"""
#: Tests that need users with passwords, or commands for these: AUTHINFO and SET AUTHREC.
FOR_AUTHORITIES = ("test_mq80.py::TestMQ80::test_connect_with_wrong_credentials", "test_queue_manager.py::")


class Manager:
    """QM1, and how to run a program with the library."""

    def __init__(self, data_dir: Path, port: int, plain: Path) -> None:
        self.port = port
        self.environment = {
            "PATH": os.environ["PATH"],
            "LD_LIBRARY_PATH": str(plain / "lib64"),
            "IGQ_DATA_DIR": str(data_dir),
        }

    def run(
        self, *words: str, variables: dict[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A program to its end."""
        env = self.environment | (variables or {})
        return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=600)


@pytest.fixture
def manager(tmp_path: Path, plain: Path) -> Iterator[Manager]:
    shell, (port,) = new_shell(tmp_path), free_ports(1)
    try:
        shell.start_manager("QM1")
        assert "All valid MQSC commands were processed" in shell.out("mqsc", "QM1", text=OBJECTS.format(port=port))
        yield Manager(tmp_path, port, plain)
    finally:
        shell.close()


@pytest.fixture
def own_tests(tmp_path: Path, plain: Path) -> Path:
    """The folder of IBM's tests, from the package's sources: those of TESTS_IBMMQ_SOURCES, or of the registry."""
    if named := os.environ.get("TESTS_IBMMQ_SOURCES"):
        return Path(named) / "code" / "tests"
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", IBMMQ]
    # The build looks for the headers even so.
    env = os.environ | {"MQ_FILE_PATH": str(plain)}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=600)
    archives = list(tmp_path.glob("ibmmq-*.tar.gz"))
    if not archives:
        pytest.skip(f"the sources of {IBMMQ} cannot be loaded: {done.stderr.strip()[-200:]}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    return next(tmp_path.glob("ibmmq-*/code/tests"))


def test_ibms_own_tests_pass(python_with: PythonWith, manager: Manager, own_tests: Path) -> None:
    python = python_with("ibmmq", "pytest", "ddt")
    holder = subprocess.Popen(
        [python, str(PROGRAMS / "hold_subscription.py")],
        env=manager.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        variables = {"PORT": str(manager.port), "CONNAUTH_USE_PW": "OPTIONAL"}
        variables = {f"PY_IBMMQ_TEST_QM_{name}": value for name, value in variables.items()}
        words = (python, "-m", "pytest", "-q", "-rA", "--tb=line", "-p", "no:cacheprovider")
        done = manager.run(*words, variables=variables | {"PY_IBMMQ_TLS_SKIP": "1"}, cwd=own_tests)
    finally:
        holder.communicate()
    told = [line.split(" ") for line in done.stdout.splitlines()]
    failed = [words[1] for words in told if words[0] in ("FAILED", "ERROR")]
    assert [name for name in failed if not name.startswith(FOR_AUTHORITIES)] == [], done.stdout[-6000:]
    assert len([words for words in told if words[0] == "PASSED"]) >= 95, done.stdout[-2000:]


def test_faststream_publishes_consumes_and_replies(python_with: PythonWith, manager: Manager) -> None:
    python = python_with("faststream", "faststream-mq==0.3.0")
    done = manager.run(python, str(PROGRAMS / "with_faststream.py"), str(manager.port))
    assert (done.stdout, done.returncode) == ("hello\nQUESTION\nagain after 2\n", 0), done.stderr[-2000:]


def test_airflow_produces_and_consumes(python_with: PythonWith, manager: Manager, tmp_path: Path) -> None:
    python = python_with("airflow", "apache-airflow-providers-ibm-mq==0.1.0")
    target = {"conn_type": "ibmmq", "host": "127.0.0.1", "port": manager.port}
    target["extra"] = {"queue_manager": "QM1", "channel": "DEV.APP.SVRCONN"}
    variables = {"AIRFLOW_HOME": str(tmp_path / "airflow"), "AIRFLOW_CONN_MQ_DEFAULT": json.dumps(target)}
    done = manager.run(python, str(PROGRAMS / "with_airflow.py"), variables=variables)
    assert done.stdout.splitlines()[-1:] == ["by the hook, by the trigger"], done.stdout + done.stderr[-2000:]
