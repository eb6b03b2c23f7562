"""The state of an incremental audit on disk: a version for each batch, which is complete or does not count.

A batch that Spark repeats after a crash begins with the version before it, or finds its own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from igq.pipeline.audit.increments import State, nothing_yet
from igq.pipeline.audit.totals import Totals
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import AUDIT_MARKS, FINDINGS, OPEN_EVENTS

_EVENTS, _MARKS, _TOTALS, _FOUND = "events", "marks", "totals.json", "found"


class StateStore:
    """The versions in a directory.

    Args:
        directory: the same for the driver and the workers.
        group: the group whose journal is audited.
    """

    def __init__(self, directory: Path, group: str) -> None:
        self._directory, self._group = directory, group

    def has(self, batch: int) -> bool:
        """Whether the version of *batch* is complete."""
        return (self._directory / str(batch) / _TOTALS).is_file()

    def latest(self) -> int:
        """The number of the latest version; -1 if there is none."""
        versions = (path.name for path in self._directory.glob("*") if path.name.isdecimal())
        return max((int(name) for name in versions if self.has(int(name))), default=-1)

    def load(self, spark: SparkSession, batch: int) -> State:
        """The state after *batch*; an empty state before the first one.

        Raises:
            PipelineError: the version is missing, or belongs to another group.
        """
        if batch < 0:
            return nothing_yet(spark, self._group)
        at = self._directory / str(batch)
        if not self.has(batch):
            raise PipelineError(f"{at}: is not there; the audit cannot go on. Begin again in a new directory")
        totals = Totals.read(at / _TOTALS)
        if totals.group != self._group:
            raise PipelineError(f"{self._directory}: is about group {totals.group}, not {self._group}")
        events, marks = (
            spark.read.schema(schema).parquet(str(at / name))
            for name, schema in ((_EVENTS, OPEN_EVENTS), (_MARKS, AUDIT_MARKS))
        )
        return State(events, marks, totals)

    def found(self, spark: SparkSession, batch: int) -> DataFrame:
        """The findings about forgotten lives, up to *batch* (``schemas.FINDINGS``)."""
        batches = sorted(int(path.name) for path in (self._directory / _FOUND).glob("*"))
        paths = [str(self._directory / _FOUND / str(number)) for number in batches if number <= batch]
        if not paths:
            return spark.createDataFrame([], FINDINGS)
        return spark.read.schema(FINDINGS).parquet(*paths)

    def store(self, batch: int, state: State) -> None:
        """Write the version of *batch*, and remove versions that no repeated batch needs. Findings stay."""
        at, found = self._directory / str(batch), self._directory / _FOUND / str(batch)
        if state.found is None:
            shutil.rmtree(found, ignore_errors=True)
        else:
            state.found.coalesce(1).write.mode("overwrite").parquet(str(found))
        state.events.write.mode("overwrite").parquet(str(at / _EVENTS))
        state.marks.write.mode("overwrite").parquet(str(at / _MARKS))
        # Write the totals last, and rename them: they make the version complete.
        state.totals.write(at / f"{_TOTALS}.new")
        (at / f"{_TOTALS}.new").replace(at / _TOTALS)
        for path in self._directory.glob("*"):
            if path.name.isdecimal() and int(path.name) < batch - 1:
                shutil.rmtree(path)
