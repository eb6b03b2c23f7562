"""`format("igq.dying")`: the queue source, but a process that comes to a step that a test has named dies there, once.

Options besides those of `format("igq")`: ``die``, steps separated by commas; ``scratch``, a directory in which it is
noted who died; ``victim``, a process group that is killed, 0: the process at that step alone; ``outlive``: the process
at that step outlives the others and goes on once the next driver is at work, or so many seconds later; "": it dies;
``held``: the process stays at the step until the leader of the victims has been killed by the test, "": it kills them.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from igq.pipeline.claims.claims import NOTHING, Claimed, ClaimedUnit, Claims, Ending
from igq.pipeline.claims.prefetch import Ahead
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.parquet import sink
from igq.pipeline.datasource.parquet.sink import ParquetStreamWriter
from igq.pipeline.datasource.parquet.source import ParquetSource
from igq.pipeline.datasource.parquet.stream import PARQUET_OPTIONS, ParquetStreamReader
from igq.pipeline.datasource.queue import sink as queue_sink
from igq.pipeline.datasource.queue import stream as queue_stream
from igq.pipeline.datasource.queue.layout import chosen
from igq.pipeline.datasource.queue.sink import Prepared, QueueStreamWriter, QueueWriter
from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.datasource.queue.stream import Offset, QueueStreamReader
from sharedq.api import Queue, QueueManagerConnection

#: Where a query can die, in Spark's order, from its first batch to the second of a driver that goes on. Those of the
#: executors are apart, and those of the thread that works while Spark does.
DRIVER_STEPS = (
    *("asked", "claiming", "claimed", "planning", "planned", "committing", "committed"),
    *("finishing", "finished", "giving back"),
)
BACKGROUND_STEPS = (
    "deciding",
    "decided",
    "ending",
    "ending late",
    "half ended",
    "ended",
    "claiming ahead",
    "claimed ahead",
)
EXECUTOR_STEPS = ("reading", "read", "writing", "prepared")
#: The steps of a query whose workers write files.
PARQUET_STEPS = ("claimed", "planned", "reading", "read", "committing", "half moved", "committed", "finishing")
#: Steps of a batch write.
JOB_STEPS = ("putting", "put", "committing job", "ending job")
_MEETING_STEPS = ("planning", "putting")
#: The file that a query's process leaves.
BEGUN = "begun"


@dataclass(frozen=True)
class Death:
    """The steps at which a process dies."""

    steps: tuple[str, ...] = ()
    scratch: str = ""
    victim: int = 0
    outlive: float | None = None
    is_held: bool = False

    @classmethod
    def told(cls, options: dict[str, str]) -> Death:
        """Take these options out of *options*."""
        names = ("die", "scratch", "victim", "outlive", "held")
        steps, scratch, victim, outlive, held = (options.pop(name, "") for name in names)
        survives_s = float(outlive) if outlive else None
        return cls(tuple(filter(None, steps.split(","))), scratch, int(victim or 0), survives_s, bool(held))

    def meet(self) -> None:
        """Report that this driver is at work, so that a survivor of the one before goes on beside it."""
        if self.scratch:
            self._at_work.touch()

    def begin(self) -> None:
        """Report that the query's process is there: the next query may start its own."""
        if self.scratch:
            (Path(self.scratch) / BEGUN).touch()

    @property
    def _at_work(self) -> Path:
        return Path(self.scratch) / "at work"

    def at(self, step: str) -> None:
        """Die here, if this is the step and no process has died there yet."""
        if step in _MEETING_STEPS:
            self.meet()
        if step not in self.steps:
            return
        try:
            (Path(self.scratch) / step).touch(exist_ok=False)
        except FileExistsError:
            return
        if self.outlive is not None:
            # Neither the driver's process group nor that of Spark's workers, which learn that Java is gone.
            os.setpgid(0, 0)
        if self.is_held:
            self._hold(step)
        elif self.victim:
            os.killpg(self.victim, signal.SIGKILL)
        if self.outlive is None:
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            began = time.time()
            while time.time() < began + self.outlive and not self._is_met(began):
                time.sleep(0.01)
            (Path(self.scratch) / f"{step}, outlived").write_text(str(os.getpid()))

    def _hold(self, step: str) -> None:
        """Report who is at the step, and wait for the kill: it comes when other queries are at their steps, too."""
        (Path(self.scratch) / step).write_text(str(os.getpid()))
        with suppress(ProcessLookupError):
            while True:
                os.kill(self.victim, 0)
                time.sleep(0.01)

    def _is_met(self, since: float) -> bool:
        return self._at_work.exists() and self._at_work.stat().st_mtime > since


#: The batch that was claimed last is being processed.
_is_planned = threading.Event()


def is_in_background() -> bool:
    """Whether this is not the thread that Spark calls."""
    return threading.current_thread() is not threading.main_thread()


@dataclass
class DyingEnding(Ending):
    """Dies in the middle of a decision."""

    death: Death

    def carry_out(self) -> None:
        if not is_in_background():
            super().carry_out()
            return
        self.death.at("ending")
        if "ending late" in self.death.steps:
            # The batch that follows is in Spark's checkpoint by then.
            _is_planned.wait(60)
            self.death.at("ending late")
        if self.units:
            self.connection.complete_prepared(self.units.pop(0))
            self.death.at("half ended")
        super().carry_out()
        self.death.at("ended")


class DyingClaims(Claims):
    """Dies between two changes of the queue."""

    death = Death()
    _units = 0
    _is_finishing = False

    def finish(self, claims: str) -> None:
        if claims:
            self.death.at("finishing")
        self._is_finishing = True
        super().finish(claims)
        self._is_finishing = False
        if claims:
            self.death.at("finished")

    def decide(self, claims: str) -> Ending:
        if not self._is_finishing:
            if "deciding" in self.death.steps and is_in_background():
                # Too late: the next batch is in Spark's checkpoint by then.
                _is_planned.wait(60)
            self.death.at("deciding")
        found = super().decide(claims)
        if not self._is_finishing:
            self.death.at("decided")
        return DyingEnding(found.connection, found.units, self.death)

    def claim(
        self, count: int | None, term: int = 0, *, after: Claimed = NOTHING, most: Mapping[str, int] | None = None
    ) -> Claimed:
        found = super().claim(count, term, after=after, most=most)
        if is_in_background() and found.messages:
            self.death.at("claimed ahead")
        return found

    def give_back(self, *, but: str = "") -> int:
        found = super().give_back(but=but)
        self.death.at("giving back")
        return found

    def _get(self, connection: QueueManagerConnection, queue: Queue, count: int) -> int:
        got = super()._get(connection, queue, count)
        self._units += 1
        if self._units > 1:
            # One unit of work is prepared, and another one is not.
            self.death.at("claiming ahead" if is_in_background() else "claiming")
        return got

    def units(self, claims: str) -> list[ClaimedUnit]:
        self.death.at("planning")
        return super().units(claims)


class DyingReader(QueueStreamReader):
    """Dies on the driver's side, or in an executor."""

    def __init__(self, schema: StructType, options: SourceOptions, death: Death) -> None:
        super().__init__(schema, options)
        self._death = death
        dying = DyingClaims(**{name: getattr(self._claims, name) for name in _CLAIMS})
        dying.death = death
        self._claims = dying
        self._ahead = Ahead(dying)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        self._death.begin()
        self._death.at("asked")
        _is_planned.clear()
        found = super().latestOffset(start, limit)
        if found != start:
            self._death.at("claimed")
        return found

    def partitions(self, start: Offset, end: Offset) -> Any:
        self._death.begin()
        found = super().partitions(start, end)
        _is_planned.set()
        self._death.at("planned")
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        self._death.at("reading")
        for batch in super().read(partition):
            self._death.at("read")
            yield batch


class DyingParquetReader(DyingReader, ParquetStreamReader):
    """Dies there before or after it has written a file."""


class DyingParquetWriter(ParquetStreamWriter):
    """Dies at the commit of a batch, or between two moves of its files."""

    def __init__(self, schema: StructType, death: Death) -> None:
        super().__init__(schema, overwrite=False)
        self._death = death

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        self._death.at("committing")
        move = sink._move

        def move_and_die(path: Path, place: Path) -> None:
            move(path, place)
            self._death.at("half moved")

        with patch.object(sink, "_move", move_and_die):
            super().commit(messages, batchId)
        self._death.at("committed")


class DyingParquetSource(ParquetSource):
    """The source of Parquet files with both."""

    @classmethod
    def name(cls) -> str:
        return "igq.dying.parquet"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        del schema
        given = dict(self.options)
        death = Death.told(given)
        options = SourceOptions(given, PARQUET_OPTIONS)
        return DyingParquetReader(chosen(options.text("columns"), options.text("properties")), options, death)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        del overwrite
        return DyingParquetWriter(schema, Death.told(dict(self.options)))


_CLAIMS = ("settings", "queue", "qmgr", "name", "per_unit", "whole_groups", "selector", "least_units")


class DyingWriter(QueueStreamWriter):
    """Dies in an executor, or at the commit of the batch."""

    def __init__(self, schema: StructType, options: SourceOptions, death: Death, *, overwrite: bool) -> None:
        super().__init__(schema, options, overwrite=overwrite)
        self._death = death

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Prepared:
        self._death.at("writing")
        found = super().write(iterator)
        self._death.at("prepared")
        return found

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        self._death.at("committing")
        super().commit(messages, batchId)
        self._death.at("committed")


class DyingJobWriter(QueueWriter):
    """A batch write: dies in an executor, or at the commit of everything."""

    def __init__(self, schema: StructType, options: SourceOptions, death: Death, *, overwrite: bool) -> None:
        super().__init__(schema, options, overwrite=overwrite)
        self._death = death

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Prepared:
        self._death.at("putting")
        found = super().write(iterator)
        self._death.at("put")
        return found

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._death.at("committing job")
        super().commit(messages)

    def _end(self) -> None:
        self._death.at("ending job")
        super()._end()


class DyingSource(QueueSource):
    """The queue source with all of these."""

    @classmethod
    def name(cls) -> str:
        return "igq.dying"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        options = dict(self.options)
        death = Death.told(options)
        return DyingReader(schema, SourceOptions(options, queue_stream.OPTIONS), death)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        options = dict(self.options)
        death = Death.told(options)
        return DyingJobWriter(schema, SourceOptions(options, queue_sink.OPTIONS), death, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        options = dict(self.options)
        death = Death.told(options)
        known = SourceOptions(options, (*queue_sink.OPTIONS, "checkpointLocation"))
        return DyingWriter(schema, known, death, overwrite=overwrite)
