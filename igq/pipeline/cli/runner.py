"""The frame of every job: progress, a Spark session, and errors as one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from igq.pipeline.engine.choice import DUCKDB, SPARK, AnyEngine, choose, made_for
from igq.pipeline.errors import PipelineError, in_a_line
from igq.pipeline.spark.session import LOCAL_MASTER, check_installed, check_master, spark_session
from sharedq.display.lines import tell
from sharedq.display.terminal import Terminal
from sharedq.display.text import visible
from sharedq.mqi.errors import MQIError
from sharedq.mqi.xa import XAError
from sharedq.reading.journal import JournalError, structure_numbers
from sharedq.redis.deployment import Deployment, DeploymentError
from sharedq.redis.embedded import EmbeddedRedis, EmbeddedRedisError
from sharedq.redis.keys import admin_keys
from sharedq.settings.loader import load_settings, prepare_data_dir, with_place
from sharedq.settings.values import ConfigError, Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Exit status of a job that could not run.
COULD_NOT_RUN = 2
#: A server with at most so many bytes has only a few hundred thousand messages or events.
_SMALL_BYTES = 64 << 20
#: The journal of a server with at most so many bytes fits into the memory of this process.
_IN_PROCESS_BYTES = 256 << 20


@dataclass(frozen=True)
class Running:
    """A job at work.

    Attributes:
        settings: the settings with the group and the URL of the command.
        step: tells the user what the job does now.
        tell: tells the user a fact about the result; the line stays on the terminal.
    """

    session: SparkSession
    settings: Settings
    step: Callable[[str], None]
    tell: Callable[[str], None]

    @property
    def group(self) -> str:
        return self.settings.group

    @property
    def url(self) -> str:
        """Where Redis is."""
        assert self.settings.redis_url is not None
        return self.settings.redis_url


@contextmanager
def errors_named(job: str) -> Iterator[None]:
    """Turn an error that keeps *job* from its work into one line on standard error and exit status 2."""
    known = (
        *(PipelineError, ConfigError, JournalError, DeploymentError, EmbeddedRedisError),
        *(MQIError, XAError, OSError),
    )
    try:
        yield
    except known as error:
        tell(f"igq pipeline {job}: {error}")
        raise typer.Exit(COULD_NOT_RUN) from None
    except KeyboardInterrupt:
        tell(f"igq pipeline {job}: interrupted")
        raise typer.Exit(130) from None


@contextmanager
def running(
    job: str,
    *,
    group: str | None,
    url: str | None,
    master: str,
    spark_log: str,
    engine: AnyEngine = SPARK,
    make_archive: bool = False,
    is_long: bool = False,
    needs_redis: bool = True,
    server_dir: Path | None = None,
    check: Callable[[Settings], object] | None = None,
) -> Iterator[Running]:
    """Start a session and find the group of *job*.

    Args:
        engine: Spark's session, or DuckDB's, which needs neither *master* nor what follows it here. ``auto``: DuckDB's,
            unless Redis holds much, files are read, or another master than this machine is set.
        is_long: the job reads files or runs on, so the size of Redis does not tell how much work it has.
        needs_redis: if not, `Running.url` may be missing; *is_long* must be set then.
        server_dir: directory of the embedded server if no URL is set; default: the data directory.
        check: checks what *job* needs before Spark starts, which takes seconds.

    Raises:
        PipelineError, ConfigError, DeploymentError, EmbeddedRedisError: it cannot run.
    """
    with ExitStack() as stack:
        step, tell = stack.enter_context(_progress(job))
        check_installed()
        check_master(master)
        settings = stack.enter_context(group_at(group, url, server_dir=server_dir, needs_redis=needs_redis))
        if check:
            check(settings)
        if engine == "auto":
            is_for_spark = is_long or master != LOCAL_MASTER or spark_log != "off"
            fits = not is_for_spark and _holds(settings, _IN_PROCESS_BYTES)
            engine = (made_for() or DUCKDB) if fits else SPARK
        if engine == DUCKDB:
            choose(DUCKDB)
            from igq.pipeline.engine.duckdb_tables import duckdb_session

            yield Running(stack.enter_context(duckdb_session()), settings, step, tell)
            return
        step("starting Spark")
        session = stack.enter_context(
            spark_session(
                settings.data_dir,
                master=master,
                app_name=f"igq {job}",
                spark_log=spark_log,
                make_archive=make_archive,
                is_small=not is_long and _holds(settings, _SMALL_BYTES),
            )
        )
        stack.enter_context(_spark_errors_named())
        yield Running(session, settings, step, tell)


@contextmanager
def group_at(
    group: str | None, url: str | None, *, server_dir: Path | None = None, needs_redis: bool = True
) -> Iterator[Settings]:
    """The settings in force, with that group and URL. Without a URL, they get that of the embedded server if needed.

    Raises:
        PipelineError, ConfigError, DeploymentError, EmbeddedRedisError: the group cannot be found.
    """
    settings = with_place(load_settings(), group or "", url or "", {"group": "--group", "redis_url": "--url"})
    data_dir = prepare_data_dir(settings)
    with ExitStack() as stack:
        if settings.redis_url is None and needs_redis:
            server = stack.enter_context(EmbeddedRedis.start_or_join(server_dir or data_dir))
            settings = settings.model_copy(update={"redis_url": server.url})
        yield settings


def check_group(settings: Settings) -> None:
    """Check that the group exists. Raises JournalError: it does not, or Redis cannot be reached."""
    assert settings.redis_url is not None
    structure_numbers(Deployment(settings.redis_url), settings.group)


def _holds(settings: Settings, most: int) -> bool:
    """Whether Redis (of a Cluster: the node with the group's definitions) holds at most *most* bytes."""
    assert settings.redis_url is not None
    used = Deployment(settings.redis_url).memory(admin_keys(settings.group).structures)
    # If Redis does not answer, the job will say so.
    return used is not None and used[0] <= most


@contextmanager
def _progress(job: str) -> Iterator[tuple[Callable[[str], None], Callable[[str], None]]]:
    """Functions that tell steps and facts on standard error: steps in a moving line on a terminal, else in lines."""
    console = Terminal(stderr=True)

    def tell(text: str) -> None:
        console.print(f"{job}: {text}", highlight=False, soft_wrap=True)

    if not console.is_terminal:
        yield tell, tell
        return
    # A spinner that every encoding has.
    with console.status(job, spinner="line") as status:
        yield lambda text: status.update(Text(f"{job}: {visible(text)}")), tell


@contextmanager
def _spark_errors_named() -> Iterator[None]:
    """Turn an error of a worker or of Spark into one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise PipelineError(in_a_line(error)) from error
