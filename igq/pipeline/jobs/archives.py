"""The directory of an archive of messages: all that needs no Spark."""

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

#: The file that makes a directory an archive. Spark skips names that begin with an underscore.
MANIFEST = "_igq_archive.json"
#: The file with the name of the run that adds to an archive. The run holds a lock on it.
_WRITER = "_igq_writer"
#: Prefix of the directories that runs are written to. Spark skips them.
_UNFINISHED = "_igq_unfinished-"
#: How long a run waits for the lock: a reader holds it while it lists the runs.
_LOCK_S, _LOCK_AGAIN_S = 2.0, 0.05


@dataclass(frozen=True)
class Archive:
    """A directory of messages, of one group.

    Attributes:
        id: a random id, made with the archive.
    """

    directory: Path
    id: str
    group: str

    @classmethod
    def open(cls, directory: Path) -> Archive:
        """The archive in *directory*. Raises PipelineError: there is none, or a file of it is empty."""
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
        """The archive of *group* in *directory*. It is made if the directory is empty or missing.

        Raises:
            PipelineError: the directory holds something else or another group's archive, or cannot be made.
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
        """Check the archive's group. Raises PipelineError: it is another one."""
        if self.group != group:
            raise PipelineError(f"{self.directory}: is an archive of group {self.group}, not of {group}")

    def check_apart(self, path: Path | None) -> None:
        """Check that *path* is outside the archive, where a table would count as messages. Raises PipelineError."""
        if path and path.resolve().is_relative_to(self.directory.resolve()):
            raise PipelineError(f"output directory {path}: is within the archive; name another one")

    @contextmanager
    def writing(self, run: str) -> Iterator[None]:
        """Lock the archive within a ``with``: no other run adds to it, and `runs` leaves this one out.

        A killed run loses its lock.

        Raises:
            PipelineError: another run adds to it; or the directory cannot be written.
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
        """Make a directory to write runs to within a ``with`` (within `writing`), and move them into place after that.

        Each queue of a run is moved as a whole. The directory of a killed run is removed.
        """
        for left in self.directory.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(left, ignore_errors=True)
        # Use a new directory: Java can outlive a killed driver for a moment, and still write to the old one.
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
        """All runs except one that is being added now."""
        # List the runs before the lock is tested, so that a run that begins after that is not among them.
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
        """The queues whose messages the archive has, by the names of its directories."""
        found = {path.parts[-3] for path in self._files()}
        # Spark escapes characters that have a meaning in a path.
        return sorted(unquote(name.removeprefix("queue=")) for name in found)

    def _files(self) -> Iterator[Path]:
        return self.directory.glob("run=*/queue=*/day=*/*.parquet")

    def chosen(self, queues: Sequence[str]) -> list[str]:
        """The names *queues*, or all queues of the archive if it is empty. Raises PipelineError: one is not there."""
        there = self.queues()
        missing = sorted(set(queues) - set(there))
        if missing:
            raise PipelineError(f"{self.directory}: has no messages of {missing[0]}")
        return [name for name in there if not queues or name in queues]

    def read(self, spark: SparkSession) -> DataFrame:
        """The archive's messages, with the columns of ``ARCHIVE``."""
        from igq.pipeline.schemas import ARCHIVE, as_table

        # Give Spark the types: it would read a queue's name of digits as a number.
        return as_table(spark.read.schema(ARCHIVE).parquet(str(self.directory)), ARCHIVE)

    def read_whole_runs(self, spark: SparkSession) -> DataFrame:
        """The messages of `runs`. A run that is being added is left out: it is neither complete nor in order."""
        # List the runs first: Spark lists files when the table is made, and would find part of a run that ends later.
        runs = self.runs()
        table = self.read(spark)
        return table.where(table["run"].isin(runs))
