"""What every job does around its work: progress, a Spark session, and errors as one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from igq.pipeline.errors import PipelineError, in_a_line
from igq.pipeline.spark.session import check_installed, check_master, spark_session
from sharedq.display.lines import tell
from sharedq.display.terminal import Terminal
from sharedq.display.text import visible
from sharedq.mqi.errors import MQIError
from sharedq.mqi.xa import XAError
from sharedq.reading.journal import JournalError, structure_numbers
from sharedq.redis.deployment import Deployment, DeploymentError
from sharedq.redis.embedded import EmbeddedRedis, EmbeddedRedisError
from sharedq.redis.keys import admin_keys
from sharedq.settings import ConfigError, load_settings, prepare_data_dir
from sharedq.settings.loader import with_place
from sharedq.settings.values import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Exit status of a job that could not run.
COULD_NOT_RUN = 2
#: A server that holds no more than this, bytes, has only a few hundred thousand messages or events.
_SMALL_BYTES = 64 << 20


@dataclass(frozen=True)
class Running:
    """A job at work.

    Attributes:
        settings: with the group and the URL that were asked for.
        step: tells the user what is being done.
        tell: tells the user what is to be known of the result; it stays on the terminal.
    """

    session: SparkSession
    settings: Settings
    step: Callable[[str], None]
    tell: Callable[[str], None]

    @property
    def group(self) -> str:
        """The queue-sharing group."""
        return self.settings.group

    @property
    def url(self) -> str:
        """Where Redis is."""
        assert self.settings.redis_url is not None
        return self.settings.redis_url


@contextmanager
def errors_named(job: str) -> Iterator[None]:
    """One line on standard error, and exit status 2, for whatever keeps *job* from its work."""
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
    make_archive: bool = False,
    is_long: bool = False,
    needs_redis: bool = True,
    server_dir: Path | None = None,
    check: Callable[[Settings], object] | None = None,
) -> Iterator[Running]:
    """A Spark session and the group that *job* is about.

    Args:
        is_long: it goes through files, or goes on: how much Redis holds now says nothing of how much work that is.
        needs_redis: else there is no `Running.url` where none is set; *is_long* then.
        server_dir: where the embedded server is, when no URL is set; default the data directory.
        check: what must be there for *job* is looked for before Spark starts, which takes seconds.

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
        step("starting Spark")
        session = stack.enter_context(
            spark_session(
                settings.data_dir,
                master=master,
                app_name=f"igq {job}",
                spark_log=spark_log,
                make_archive=make_archive,
                is_small=not is_long and _has_little(settings),
            )
        )
        stack.enter_context(_spark_errors_named())
        yield Running(session, settings, step, tell)


@contextmanager
def group_at(
    group: str | None, url: str | None, *, server_dir: Path | None = None, needs_redis: bool = True
) -> Iterator[Settings]:
    """The settings in force with that group, and with a URL: the embedded server's where none is set and one is needed.

    Raises:
        PipelineError, ConfigError, DeploymentError, EmbeddedRedisError: there is no such group to be found.
    """
    settings = with_place(load_settings(), group or "", url or "", {"group": "--group", "redis_url": "--url"})
    data_dir = prepare_data_dir(settings)
    with ExitStack() as stack:
        if settings.redis_url is None and needs_redis:
            server = stack.enter_context(EmbeddedRedis.start_or_join(server_dir or data_dir))
            settings = settings.model_copy(update={"redis_url": server.url})
        yield settings


def check_group(settings: Settings) -> None:
    """Whether there is such a group. Raises JournalError: there is none, or Redis cannot be reached."""
    assert settings.redis_url is not None
    structure_numbers(Deployment(settings.redis_url), settings.group)


def _has_little(settings: Settings) -> bool:
    """Whether Redis holds little; of a Cluster the node that holds the group's definitions."""
    assert settings.redis_url is not None
    used = Deployment(settings.redis_url).used_memory(admin_keys(settings.group).structures)
    # What keeps the job from its work is for the job to say.
    return used is not None and used <= _SMALL_BYTES


@contextmanager
def _progress(job: str) -> Iterator[tuple[Callable[[str], None], Callable[[str], None]]]:
    """Say on standard error what is being done, a moving line on a terminal, plain lines elsewhere; and what stays."""
    console = Terminal(stderr=True)

    def tell(text: str) -> None:
        console.print(f"{job}: {text}", highlight=False, soft_wrap=True)

    if not console.is_terminal:
        yield tell, tell
        return
    with console.status(job) as status:
        yield lambda text: status.update(Text(f"{job}: {visible(text)}")), tell


@contextmanager
def _spark_errors_named() -> Iterator[None]:
    """One line of what a worker or Spark itself raised."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise PipelineError(in_a_line(error)) from error
