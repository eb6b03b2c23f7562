"""An archive of messages as a directory, as far as it can be looked at without Spark."""

from __future__ import annotations

import fcntl
import json
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from igq.pipeline.errors import PipelineError
from igq.pipeline.tables import check_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: What tells an archive from another directory; Spark passes over names that begin so.
MANIFEST = "_igq_archive.json"
#: Holds the name of the run that adds to an archive, and is locked by it for as long as it does.
_WRITER = "_igq_writer"
#: How the names of directories begin that runs are written to. Spark passes over them.
_UNFINISHED = "_igq_unfinished-"
#: A reader has the lock for as long as it takes to list the runs.
_LOCK_S, _LOCK_AGAIN_S = 2.0, 0.05


@dataclass(frozen=True)
class Archive:
    """A directory of messages, of one group.

    Attributes:
        id: made when the archive was, and never the same.
    """

    directory: Path
    id: str
    group: str

    @classmethod
    def open(cls, directory: Path) -> Archive:
        """The archive in *directory*.

        Raises:
            PipelineError: there is none, or a file of it is empty.
        """
        path = directory / MANIFEST
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            archive = cls(directory, found["archive"], found["group"])
        except FileNotFoundError:
            why = f"is no archive, it has no {MANIFEST}" if directory.exists() else "no such directory"
            raise PipelineError(f"{directory}: {why}") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PipelineError(f"{path}: cannot be used: {error}") from None
        check_files(archive._files())
        return archive

    @classmethod
    def open_or_make(cls, directory: Path, group: str) -> Archive:
        """The archive of *group* in *directory*; made where there is nothing yet.

        Raises:
            PipelineError: it is something else, or another group's, or cannot be made.
        """
        path = directory / MANIFEST
        outer = next((each for each in directory.absolute().parents if (each / MANIFEST).exists()), None)
        if outer:
            raise PipelineError(f"{directory}: is within the archive {outer}; name another directory")
        try:
            if not path.exists():
                if directory.exists() and any(directory.iterdir()):
                    raise PipelineError(f"{directory}: is not empty and no archive; name another directory")
                directory.mkdir(parents=True, exist_ok=True)
                manifest = {"archive": secrets.token_hex(16), "group": group}
                unfinished = path.with_suffix(".new")
                unfinished.write_text(json.dumps(manifest) + "\n", encoding="utf-8")
                unfinished.replace(path)
        except OSError as error:
            raise PipelineError(f"{directory}: cannot be used: {error.strerror or error}") from None
        archive = cls.open(directory)
        archive.check_group(group)
        return archive

    def check_group(self, group: str) -> None:
        """Raises PipelineError: it is another group's."""
        if self.group != group:
            raise PipelineError(f"{self.directory}: is an archive of group {self.group}, not of {group}")

    def check_apart(self, path: Path | None) -> None:
        """Raises PipelineError: *path* is within the archive, where other tables would be taken for messages."""
        if path and path.resolve().is_relative_to(self.directory.resolve()):
            raise PipelineError(f"output directory {path}: is within the archive; name another one")

    @contextmanager
    def writing(self, run: str) -> Iterator[None]:
        """For the time of a ``with`` no other run adds to the archive, and `runs` passes over this one.

        A run that is killed lets go of it by that.

        Raises:
            PipelineError: another one adds to it; or the directory cannot be written.
        """
        with (self.directory / _WRITER).open("a", encoding="utf-8") as file:
            try:
                self._lock(file)
            except BlockingIOError:
                raise PipelineError(f"{self.directory}: another command is adding to it") from None
            file.truncate(0)
            file.write(run)
            file.flush()
            yield

    def _lock(self, file: IO[str]) -> None:
        again = Retrying(
            retry=retry_if_exception_type(BlockingIOError),
            stop=stop_after_delay(_LOCK_S),
            wait=wait_fixed(_LOCK_AGAIN_S),
            reraise=True,
        )
        again(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    @contextmanager
    def adding(self) -> Iterator[Path]:
        """A directory to write runs to, for the time of a ``with`` within `writing`; then they are at their place.

        Each queue of a run comes there whole or not at all. What a run that was killed has left is removed.
        """
        for left in self.directory.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(left, ignore_errors=True)
        # Of its own: Java can outlive for a moment the driver that was killed, and write to its.
        unfinished = self.directory / f"{_UNFINISHED}{secrets.token_hex(4)}"
        try:
            yield unfinished
            for queue in sorted(unfinished.glob("run=*/queue=*")):
                place = self.directory / queue.relative_to(unfinished)
                place.parent.mkdir(exist_ok=True)
                queue.rename(place)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def runs(self) -> list[str]:
        """The runs that are whole, or will never be: all but one that is being added at this moment."""
        # Before the lock is looked at: a run that begins behind that is not among them.
        found = sorted(path.name.removeprefix("run=") for path in self.directory.glob("run=*"))
        path = self.directory / _WRITER
        if not path.exists():
            return found
        with path.open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                writer = file.read()
                return [run for run in found if not (writer and run.startswith(writer))]
        return found

    def queues(self) -> list[str]:
        """The queues of which it has messages, by the names of its directories."""
        found = {path.parts[-3] for path in self._files()}
        # Spark writes characters so that mean something in a path.
        return sorted(unquote(name.removeprefix("queue=")) for name in found)

    def _files(self) -> Iterator[Path]:
        return self.directory.glob("run=*/queue=*/day=*/*.parquet")

    def chosen(self, queues: Sequence[str]) -> list[str]:
        """Those of *queues*, or all that it has where none are named. Raises PipelineError: it has none of one."""
        there = self.queues()
        missing = sorted(set(queues) - set(there))
        if missing:
            raise PipelineError(f"{self.directory}: has no messages of {missing[0]}")
        return [name for name in there if not queues or name in queues]

    def read(self, spark: SparkSession) -> DataFrame:
        """Its messages, with the columns of ``ARCHIVE``."""
        from igq.pipeline.schemas import ARCHIVE, as_table

        # Told, because Spark would take a queue of digits for a number.
        return as_table(spark.read.schema(ARCHIVE).parquet(str(self.directory)), ARCHIVE)

    def read_whole_runs(self, spark: SparkSession) -> DataFrame:
        """The messages of its `runs`: what a run that is being added has is not all of it, nor in order."""
        # First: files are listed when a table is made, and a run that ends in between would be there in part.
        runs = self.runs()
        table = self.read(spark)
        return table.where(table["run"].isin(runs))
