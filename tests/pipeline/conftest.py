"""One Spark session and one server for all of the pipeline's tests."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

# The tables of this process are Spark's: otherwise a command that chooses its engine itself would take the other one.
import igq.pipeline.engine.frames  # noqa: F401
from igq.pipeline.cli.app import build_app
from igq.pipeline.spark.session import spark_session
from sharedq.redis.embedded_server import find_server, server_environment
from tests.pipeline.streams import Checkpoint, Drivers
from tests.pipeline.support import HandWrittenJournal
from tests.support.members import TestGroup


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    data_dir = tmp_path_factory.mktemp("spark")
    with spark_session(
        data_dir, master="local[2]", is_small=True, conf={"spark.sql.shuffle.partitions": "2"}
    ) as session:
        yield session


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server on a unix socket."""
    directory: Path = tmp_path_factory.mktemp("redis")
    socket = directory / "s"
    arguments = [
        *("--port", "0", "--unixsocket", str(socket), "--dir", str(directory)),
        *("--save", "", "--appendonly", "no", "--daemonize", "no"),
    ]
    server = subprocess.Popen([find_server(), *arguments], env=server_environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if "Ready to accept connections" in line or "ready to accept connections" in line:
                break
        else:
            pytest.fail("the server did not start")
        yield f"unix://{socket}"
    finally:
        ended_early = server.poll()
        server.terminate()
        # Drain its remaining output, so that it cannot block on a full pipe.
        said = server.communicate(timeout=30)[0]
    assert ended_early is None, f"the server ended by itself with status {ended_early}: {said}"


@pytest.fixture
def journal(redis_url: str) -> Iterator[HandWrittenJournal]:
    """An empty group whose journal a test writes."""
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        client.flushall()
        yield HandWrittenJournal(client)


@pytest.fixture(autouse=True)
def _signals_are_left_alone() -> Iterator[None]:
    """A source has its own process. Its signal handlers would stay in the process of the tests."""
    before = signal.getsignal(signal.SIGTERM)
    # Do not use the fixture, which a test may undo.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("igq.pipeline.datasource.queue.stream.end_in_good_order", lambda _: None)
        yield
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.fixture
def drivers(group: TestGroup) -> Iterator[Drivers]:
    """Drivers of a streaming query, one after the other."""
    found = Drivers(group)
    yield found
    found.close()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """A checkpoint that a test writes."""
    return Checkpoint(tmp_path / "checkpoint")


@pytest.fixture
def command(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs `igq pipeline` with the session of these tests. A new session costs each command ten seconds."""

    @contextmanager
    def the_session(*_: Any, **__: Any) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr("igq.pipeline.cli.runner.spark_session", the_session)
    environment = {"IGQ_DATA_DIR": str(tmp_path / "data"), "COLUMNS": "200"}

    def run(*arguments: str, status: int = 0) -> Result:
        result = CliRunner().invoke(build_app(), list(arguments), env=environment)
        assert result.exit_code == status, result.output
        return result

    return run
