"""Options that several jobs have."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from igq.pipeline.engine import choice
from igq.pipeline.errors import PipelineError
from igq.pipeline.spark.session import LOCAL_MASTER
from igq.pipeline.tables import check_files
from sharedq.reading.journal import JournalError, check_order, parse_position

#: Bytes of an identifier.
_ID_LENGTH = 24
#: A message's number with the marks of its key: the manager that the message is on its way to; whether it may expire.
_MESSAGE_ID = re.compile(r"\d+(\.\d+)?x?")

Group = Annotated[str | None, typer.Option(metavar="NAME", help="Queue-sharing group. Default: IGQ_GROUP, or QSG1.")]
Url = Annotated[
    str | None,
    typer.Option(metavar="URL", help="URL of Redis. Default: IGQ_REDIS_URL, or the embedded server."),
]
Master = Annotated[
    str, typer.Option(metavar="MASTER", help="Spark's master: this machine, or for example spark://HOST:7077.")
]
Engine = Annotated[
    choice.Engine,
    typer.Option(
        help="Spark, or DuckDB in this process: without Java, in a tenth of the time, for what fits into memory."
    ),
]
AnyEngine = Annotated[
    choice.AnyEngine,
    typer.Option(
        help="Spark, or DuckDB in this process; auto: DuckDB if Redis holds little, and no option is for Spark."
    ),
]
SparkLog = Annotated[
    Literal["off", "error", "warn", "info"], typer.Option(help="Level of Spark's own log on standard error.")
]
#: The scheme of an address of Hadoop's file systems: s3a://, hdfs://, dbfs:/, file:/.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def local_path(text: str) -> Path:
    """The directory that an option names.

    Raises:
        BadParameter: it is an address of another file system. It would become a directory of that name here.
    """
    if _SCHEME.match(text):
        raise typer.BadParameter(
            f"{text}: only directories of this machine can be named, mounted ones too; a program of yours that uses"
            ' format("igq") or format("igq.journal") writes and reads anywhere'
        )
    return Path(text)


Start = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Only events then or later: 2013-01-31T12:00:00 (UTC), or ms."),
]
End = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only events then or before.")]
PutStart = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="TIME", help="Only messages put then or later, by PutTime: 2013-01-31T12:00:00 (UTC), or ms."
    ),
]
PutEnd = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only messages put then or before.")]
Input = Annotated[
    Path | None,
    typer.Option(
        "--input",
        metavar="DIR",
        parser=local_path,
        help="Read a journal stored by `igq pipeline journal`, instead of Redis.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        parser=local_path,
        help="Write the whole tables there as Parquet. It must not exist.",
    ),
]
Rows = Annotated[int, typer.Option(metavar="N", min=1, max=10_000, help="Show this many rows of each table.")]
Qmgr = Annotated[
    str,
    typer.Option(
        metavar="QM", help="Use also the private queues and aliases of this manager. Default: shared queues only."
    ),
]


@dataclass(frozen=True)
class JobPlace:
    """The place where a job works."""

    group: Group = None
    url: Url = None
    master: Master = LOCAL_MASTER


@dataclass(frozen=True)
class JobOptions(JobPlace):
    """The options that most jobs have: the place, and what happens to the tables."""

    output: Output = None
    rows: Rows = 50
    spark_log: SparkLog = "off"


@dataclass(frozen=True)
class JournalOptions(JobPlace):
    """The options of a job that reads the journal, with the part that it reads."""

    stored: Input = None
    output: Output = None
    start: Start = None
    end: End = None
    rows: Rows = 50
    spark_log: SparkLog = "off"


@dataclass(frozen=True)
class TableOptions(JournalOptions):
    """The options of a job that reads the journal, and that either engine does."""

    engine: AnyEngine = "auto"


def session_of(given: JobOptions | JournalOptions) -> dict[str, Any]:
    """The options that the job's session needs, as `igq.pipeline.cli.runner.running` takes them."""
    found = {"group": given.group, "url": given.url, "master": given.master, "spark_log": given.spark_log}
    return found | ({"engine": given.engine} if isinstance(given, TableOptions) else {})


def positions(start: str | None, end: str | None) -> tuple[str, str]:
    """The time range of a job as places in a journal. Raises PipelineError: no valid range, or its end comes first."""
    try:
        first, last = parse_position(start or "-"), parse_position(end or "+")
    except ValueError as error:
        raise PipelineError(f"--from, --to: {error}") from None
    try:
        check_order(first, last)
    except JournalError:
        # Name the times as the user gave them: places are milliseconds.
        raise PipelineError(f"--from, --to: the end ({end}) is before the start ({start})") from None
    return first, last


def moments(start: str | None, end: str | None) -> tuple[int | None, int | None]:
    """A time range as milliseconds since 1970, both included; None leaves it open. Raises as `positions`."""
    first, last = (place.partition("-")[0] for place in positions(start, end))
    return int(first) if first else None, int(last) if last.isdecimal() else None


@dataclass(frozen=True)
class NewDirectory:
    """The directory of a job's tables. They are written beside it and renamed, so that no reader finds a part."""

    path: Path

    @property
    def unfinished(self) -> Path:
        """The directory to write to, as Spark's other processes find it. It is not made here."""
        return self.path.with_name(f"{self.path.name}.unfinished")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Make the parents and lock the directory within a ``with``. A killed command loses its lock.

        Raises:
            PipelineError: another command has the lock; or no lock file can be made beside the directory.
        """
        path = self.path.with_name(f"{self.path.name}.unfinished.lock")
        made = [each for each in path.parents if not each.exists()]
        with ExitStack() as stack:
            stack.callback(_remove_empty, made)
            try:
                stack.enter_context(_locked(path))
            except BlockingIOError:
                raise PipelineError(f"output directory {self.path}: another command is writing it") from None
            except OSError as error:
                raise PipelineError(f"output directory {self.path}: {error.strerror or error}") from None
            yield

    def finish(self) -> None:
        """Rename the written tables into place. Raises PipelineError: something else is there by now."""
        try:
            self.unfinished.rename(self.path)
        except OSError as error:
            raise PipelineError(f"output directory {self.path}: {error.strerror or error}") from None


@contextmanager
def new_directory(path: Path | None) -> Iterator[NewDirectory | None]:
    """Check and lock the directory of the tables within a ``with`` around the job.

    Removes the tables of a killed run before the job, and unfinished tables of this one after it.

    Raises:
        PipelineError: the directory exists already (no job adds to the tables of another); another command is writing
            it; or it cannot be made.
    """
    if path is None:
        yield None
        return
    check_new(path)
    check_writable(path)
    directory = NewDirectory(path.absolute())
    with directory.alone():
        # Another command may just have finished it.
        check_new(path)
        shutil.rmtree(directory.unfinished, ignore_errors=True)
        try:
            yield directory
        finally:
            shutil.rmtree(directory.unfinished, ignore_errors=True)


def check_new(path: Path) -> None:
    """Check that nothing is there: no job adds to the tables of another. Raises PipelineError: something is."""
    if path.exists():
        raise PipelineError(f"output directory {path}: exists; name a new one")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Make and lock a file and its parents within a ``with``, and remove it after that.

    Raises:
        BlockingIOError: another process has the lock.
        OSError: the file cannot be made.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            try:
                file = stack.enter_context(path.open("a"))
            except FileNotFoundError:
                # The command that made the parent has removed it.
                continue
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _is_at(file.fileno(), path):
                # The holder has removed this file, so the next command would lock another one.
                continue
            try:
                yield
            finally:
                # Remove it while it is locked: later it may belong to another command.
                path.unlink(missing_ok=True)
            return


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _remove_empty(directories: Sequence[Path]) -> None:
    """Remove empty directories, the innermost first, up to the first one that is in use."""
    with suppress(OSError):
        for each in directories:
            each.rmdir()


def stored_journal(path: Path | None) -> Path | None:
    """The path of a stored journal, as Spark's other processes find it.

    Raises:
        PipelineError: no journal is there, or one of its files is empty or of another table.
    """
    if path is None:
        return None
    if not path.is_dir():
        raise PipelineError(f"input {path}: no such directory")
    files = list(path.rglob("*.parquet"))
    if not files:
        raise PipelineError(f"input {path}: holds no Parquet files")
    check_files(files)
    # Most often it is another table of ours. Tell that before Spark starts and compares every column.
    missing = {"event", "stream_id"} - _columns_of(min(files))
    if missing:
        raise PipelineError(f"input {path}: is no journal, it has no column {min(missing)}")
    return path.absolute()


def _columns_of(file: Path) -> Set[str]:
    import pyarrow.parquet

    try:
        return set(pyarrow.parquet.read_schema(file).names)
    except pyarrow.ArrowException:
        # The file is damaged. Spark will say so.
        return {"event", "stream_id"}


def made_directory(path: Path) -> Path:
    """Make the directory of a report if it does not exist. Raises PipelineError: it cannot be made or written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PipelineError(f"output directory {path}: {error.strerror or error}") from None
    check_writable(path)
    return path


def check_writable(path: Path) -> None:
    """Check, before minutes of work, that a directory can be made and written. Make nothing.

    Raises:
        PipelineError: it cannot.
    """
    directory = path.absolute()
    nearest = next(each for each in (directory, *directory.parents) if each.exists())
    try:
        # Permission bits do not tell everything: a read-only mount, a full disk.
        with tempfile.TemporaryDirectory(dir=nearest):
            pass
    except OSError as error:
        raise PipelineError(f"output directory {path}: {nearest}: {error.strerror or error}") from None


def message(text: str) -> tuple[str, str]:
    """The structure and the id of a message, as findings name it. Raises PipelineError: the text names no message."""
    structure, _, message_id = text.rpartition("/")
    if not structure or not _MESSAGE_ID.fullmatch(message_id):
        raise PipelineError(f"--message {text}: allowed: STRUCTURE/ID, as the findings of an audit name it")
    return structure, message_id


def identifier(option: str, text: str) -> str:
    """A whole MsgId, CorrelId or GroupId in lower-case hexadecimal digits. Raises PipelineError: the text is none."""
    if not re.fullmatch(rf"([0-9a-fA-F]{{2}}){{1,{_ID_LENGTH}}}", text):
        raise PipelineError(f"--{option} {text}: allowed: pairs of hexadecimal digits, {_ID_LENGTH} at most")
    return text.lower().ljust(2 * _ID_LENGTH, "0")
