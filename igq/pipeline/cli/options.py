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
from typing import Annotated, Literal

import typer

from igq.pipeline.errors import PipelineError
from igq.pipeline.tables import check_files
from sharedq.reading.journal import JournalError, check_order, parse_position

#: Bytes of an identifier.
_ID_LENGTH = 24
#: A message's number with the marks of its key: the manager that it is on its way to, and whether it may expire.
_MESSAGE_ID = re.compile(r"\d+(\.\d+)?x?")

Group = Annotated[str | None, typer.Option(metavar="NAME", help="Queue-sharing group. Default: IGQ_GROUP, or QSG1.")]
Url = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Where Redis is. Default: IGQ_REDIS_URL, or the embedded server."),
]
Master = Annotated[
    str, typer.Option(metavar="MASTER", help="Where Spark runs: this machine, or for example spark://HOST:7077.")
]
SparkLog = Annotated[
    Literal["off", "error", "warn", "info"], typer.Option(help="What of Spark's own log is shown, on standard error.")
]
#: How an address begins that Hadoop's file systems have: s3a://, hdfs://, dbfs:/, file:/.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def local_path(text: str) -> Path:
    """A directory as an option names it.

    Raises:
        BadParameter: it is an address of another file system, and would be a directory of that name here.
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
        help="A journal stored by `igq pipeline journal`, instead of Redis.",
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
Rows = Annotated[int, typer.Option(metavar="N", min=1, max=10_000, help="Rows of each table to show.")]
Qmgr = Annotated[
    str,
    typer.Option(
        metavar="QM", help="Manager whose private queues and aliases are meant, too. Default: shared queues only."
    ),
]


def positions(start: str | None, end: str | None) -> tuple[str, str]:
    """The time range of a job as places in a journal. Raises PipelineError: it is none, or ends before it starts."""
    try:
        first, last = parse_position(start or "-"), parse_position(end or "+")
    except ValueError as error:
        raise PipelineError(f"--from, --to: {error}") from None
    try:
        check_order(first, last)
    except JournalError:
        # As they were given: places are milliseconds.
        raise PipelineError(f"--from, --to: the end ({end}) is before the start ({start})") from None
    return first, last


def moments(start: str | None, end: str | None) -> tuple[int | None, int | None]:
    """A time range as milliseconds since 1970, both included; None leaves it open. Raises as `positions`."""
    first, last = (place.partition("-")[0] for place in positions(start, end))
    return int(first) if first else None, int(last) if last.isdecimal() else None


@dataclass(frozen=True)
class NewDirectory:
    """Where a job's tables go: beside their place until all are there, so that nobody takes a part for the whole."""

    path: Path

    @property
    def unfinished(self) -> Path:
        """What to write to, as Spark's other processes find it; not made."""
        return self.path.with_name(f"{self.path.name}.unfinished")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """For the time of a ``with`` no other command writes there; the parents are made. A killed one lets go.

        Raises:
            PipelineError: another one does; or there can be no lock beside it.
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
        """All is written. Raises PipelineError: something has come to that place meanwhile."""
        try:
            self.unfinished.rename(self.path)
        except OSError as error:
            raise PipelineError(f"output directory {self.path}: {error.strerror or error}") from None


@contextmanager
def new_directory(path: Path | None) -> Iterator[NewDirectory | None]:
    """Where tables go, for the time of a ``with`` around the job. Looked at before that begins.

    What a run has left there that was killed is removed, and so is what this one does not finish.

    Raises:
        PipelineError: something is there already, and no job adds to what another one wrote; another command is
            writing it; or it cannot be made.
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
    """Raises PipelineError: something is there, and no job adds to what another one wrote."""
    if path.exists():
        raise PipelineError(f"output directory {path}: exists; name a new one")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """A lock file, made with its parents, for the time of a ``with``, and removed behind it.

    Raises:
        BlockingIOError: another process has it.
        OSError: it cannot be made.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            try:
                file = stack.enter_context(path.open("a"))
            except FileNotFoundError:
                # Another command has removed the parent, which it had made.
                continue
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _is_at(file.fileno(), path):
                # Its holder removed it meanwhile, so the next one would lock another file.
                continue
            try:
                yield
            finally:
                # As long as it is locked: behind that it may be another command's.
                path.unlink(missing_ok=True)
            return


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _remove_empty(directories: Sequence[Path]) -> None:
    """The innermost first; what is in use stays, and what holds it."""
    with suppress(OSError):
        for each in directories:
            each.rmdir()


def stored_journal(path: Path | None) -> Path | None:
    """A journal that was stored, as Spark's other processes find it.

    Raises:
        PipelineError: nothing is there that could be one, or a file of it is empty, or of another table.
    """
    if path is None:
        return None
    if not path.is_dir():
        raise PipelineError(f"input {path}: no such directory")
    files = list(path.rglob("*.parquet"))
    if not files:
        raise PipelineError(f"input {path}: holds no Parquet files")
    check_files(files)
    # Another table of ours, most often: that is told before Spark starts, which compares every column.
    missing = {"event", "stream_id"} - _columns_of(min(files))
    if missing:
        raise PipelineError(f"input {path}: is no journal, it has no column {min(missing)}")
    return path.absolute()


def _columns_of(file: Path) -> Set[str]:
    import pyarrow.parquet

    try:
        return set(pyarrow.parquet.read_schema(file).names)
    except pyarrow.ArrowException:
        # It is damaged, which Spark will say.
        return {"event", "stream_id"}


def made_directory(path: Path) -> Path:
    """The directory of a report, made if need be. Raises PipelineError: it cannot be made or written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PipelineError(f"output directory {path}: {error.strerror or error}") from None
    check_writable(path)
    return path


def check_writable(path: Path) -> None:
    """Refuse a directory that cannot be written, or made, before the work, which can take minutes. Makes nothing.

    Raises:
        PipelineError: it is such a one.
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
    """A message as findings name it: its structure and its id there. Raises PipelineError: it is none."""
    structure, _, message_id = text.rpartition("/")
    if not structure or not _MESSAGE_ID.fullmatch(message_id):
        raise PipelineError(f"--message {text}: allowed: STRUCTURE/ID, as the findings of an audit name it")
    return structure, message_id


def identifier(option: str, text: str) -> str:
    """A MsgId, CorrelId or GroupId in lower-case hexadecimal digits, whole. Raises PipelineError: it is none."""
    if not re.fullmatch(rf"([0-9a-fA-F]{{2}}){{1,{_ID_LENGTH}}}", text):
        raise PipelineError(f"--{option} {text}: allowed: pairs of hexadecimal digits, {_ID_LENGTH} at most")
    return text.lower().ljust(2 * _ID_LENGTH, "0")
