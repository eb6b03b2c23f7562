"""An archive of messages as a directory, as far as it can be looked at without Spark."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: What tells an archive from another directory; Spark passes over names that begin so.
MANIFEST = "_igq_archive.json"


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
            PipelineError: there is none.
        """
        path = directory / MANIFEST
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return cls(directory, found["archive"], found["group"])
        except FileNotFoundError:
            why = f"is no archive, it has no {MANIFEST}" if directory.exists() else "no such directory"
            raise PipelineError(f"{directory}: {why}") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PipelineError(f"{path}: cannot be used: {error}") from None

    @classmethod
    def open_or_make(cls, directory: Path, group: str) -> Archive:
        """The archive of *group* in *directory*; made where there is nothing yet.

        Raises:
            PipelineError: it is something else, or another group's, or cannot be made.
        """
        path = directory / MANIFEST
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

    def queues(self) -> list[str]:
        """The queues of which it has messages, by the names of its directories."""
        found = {path.parts[-3] for path in self.directory.glob("run=*/queue=*/day=*/*.parquet")}
        # Spark writes characters so that mean something in a path.
        return sorted(unquote(name.removeprefix("queue=")) for name in found)

    def chosen(self, queues: Sequence[str]) -> list[str]:
        """Those of *queues*, or all that it has where none are named. Raises PipelineError: it has none of one."""
        there = self.queues()
        missing = sorted(set(queues) - set(there))
        if missing:
            raise PipelineError(f"{self.directory}: has no messages of {missing[0]}")
        return [name for name in there if not queues or name in queues]

    def read(self, spark: SparkSession) -> DataFrame:
        """Its messages, with the columns of ``ARCHIVE``."""
        from pipeline.schemas import ARCHIVE

        # Told, because Spark would take a queue of digits for a number.
        return spark.read.schema(ARCHIVE).parquet(str(self.directory))
