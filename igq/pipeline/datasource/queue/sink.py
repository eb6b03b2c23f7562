"""`format("igq")`, writing: rows become messages on a queue, all of them or none.

Each task puts messages in units of work and prepares these. The driver commits the units of all tasks by one decision,
or backs them out. It also backs out units that are not wanted: those of a task that was repeated, or of a job that
ended. After the decision no unit can be prepared: see ``sharedq.calls.unit.in_doubt``. The batch of a streaming query
is decided under the query's id, the queue and its own number, so a batch that Spark repeats after a crash changes
nothing. Rows may go to several queues, in the same units of work.

If Redis or the manager is away for a while, a unit of work is put again over a new connection. The one that was lost
goes back, or if it was prepared unheard, it is backed out with all else that is not wanted.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from igq.pipeline.claims.members import connect_to
from igq.pipeline.claims.release import end_everywhere
from igq.pipeline.claims.write_jobs import SINK_PREFIX, next_run, run_batch, runs_of
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue.rows import (
    Target,
    by_target,
    check_columns,
    has_context,
    messages,
    names_queues,
)
from igq.pipeline.datasource.worker import settle
from igq.pipeline.errors import PipelineError
from sharedq.api import Queue, QueueManagerConnection, group_for
from sharedq.calls.unit.in_doubt import TOGETHER_MAX, UnitBatch, latest_batch
from sharedq.log import LibraryLogger
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.xa import XAError, XAReturn
from sharedq.redis.outage import OUTAGE_S, ride_out
from sharedq.settings.values import Settings

log = LibraryLogger(__name__)

#: Options besides group and url.
OPTIONS = ("queue", "qmgr", "jobId", "outage_s")
#: Messages in a unit of work, at most; fewer if MAXUMSGS of the manager is less.
UNIT_MESSAGES = 100_000
#: Messages encoded at a time.
_PUT_MESSAGES = 1_000
_JOB_ID_MAX = 40
#: Queues that a task has open, at most. MAXHANDS is 256 by default.
_OPEN_MAX = 200

#: Asynchronous puts: nobody needs the identifiers, and the preparation of the unit of work reports a failed put.
_OPTIONS = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
_CONTEXT_OPTIONS = _OPTIONS | int(PutOption.SET_ALL_CONTEXT)

_T = TypeVar("_T")


@dataclass
class Prepared(WriterCommitMessage):
    """The external ids of the units that a task has prepared, in the order of its rows, and their batch."""

    xids: tuple[bytes, ...]
    batch: UnitBatch


@dataclass(frozen=True)
class Sink:
    """A queue to put on, for all tasks and the driver of a job.

    Attributes:
        queue: that of rows whose column ``queue`` names none; "" if all rows name one.
        qmgr: the managers that they may connect to, separated by commas; "" for any of the group.
        outage_s: the seconds for which Redis or these managers may be away.
    """

    settings: Settings
    queue: str
    qmgr: str
    sets_context: bool
    outage_s: float = OUTAGE_S

    @classmethod
    def of(cls, schema: StructType, options: SourceOptions, *, overwrite: bool) -> Sink:
        """The sink of a query that writes rows of *schema*. Raises PipelineError: an option or a column is wrong."""
        if overwrite:
            raise PipelineError('messages can only be added to a queue: mode("append")')
        check_columns(schema)
        queue, qmgr = options.text("queue"), options.managers()
        if not (queue or names_queues(schema.fieldNames(), queue)):
            options.required("queue", "the name of the queue to put on; or give each row one, in a column queue")
        return cls(options.settings(), queue, qmgr, has_context(schema), options.outage_s())

    def check(self) -> None:
        """Check that messages can be put. Raises MQIError: the queue cannot be opened, or no manager is running."""
        with self.connect() as connection:
            if self.queue:
                connection.open(self.queue, self.open_options).close()

    def connect(self) -> QueueManagerConnection:
        """A connection to one of the managers. Raises MQIError: 2059 none is running, ..."""
        return connect_to(self.settings, self.qmgr)

    def ride_out(self, step: Callable[[], _T]) -> _T:
        """Do a step that may be repeated, and repeat it while Redis or the managers are away."""
        return ride_out(self.outage_s, step, what=f"sink {self.told}")

    def prepare(self, batches: Iterable[pa.RecordBatch], batch: UnitBatch, name: str) -> Prepared:
        """Put the rows in units of work and prepare those, under external ids that begin with *name*.

        Raises:
            MQIError: a message cannot be put; nothing is left of them.
            XAError: XAER_PROTO, *batch* is over; nothing is left of them.
        """
        settle()
        with _Puts(self, batch, name) as puts:
            per_unit = self.ride_out(puts.unit_size)
            for unit in _units(batches, per_unit):
                # Check it now, before all messages are put.
                self.check_number(len(puts.xids) + 1)
                puts.put(unit)
        return Prepared(tuple(puts.xids), batch)

    def commit(self, batch: UnitBatch, xids: Sequence[bytes]) -> bool:
        """Commit *xids* by one decision and return True; if *batch* was decided before, do nothing and return False.

        An attempt of this call whose answer was lost may have decided it.

        Raises:
            XAError: one of them is gone, so nothing is committed.
            MQIError: 2123 committed, except messages that a failed structure has lost; 2009 unknown.
        """
        self.check_number(len(xids))
        return self._ask(lambda connection: connection.commit_prepared_together(xids, batch, for_group=True))

    def is_committed(self, xid: bytes) -> bool:
        """Whether the unit was committed, after the decision about its batch. If not, it is backed out now."""
        try:
            self._ask(lambda connection: connection.backout_prepared(xid, qmgr=self.settings.group))
        except XAError as error:
            if error.code != XAReturn.XA_HEURCOM:
                raise
            return True
        return False

    def check_number(self, units: int) -> None:
        if units > TOGETHER_MAX:
            raise PipelineError(
                f"{units} units of work are too many to be committed together (at most {TOGETHER_MAX}): write fewer"
                f" rows at a time, in fewer partitions, or raise MAXUMSGS"
                f" of {self.qmgr or 'the managers'}, up to {UNIT_MESSAGES}"
            )

    def back_out(self, name: str) -> None:
        """Back out all units in doubt whose external ids begin with *name*, at all managers."""
        self.ride_out(lambda: end_everywhere(self.settings, name))

    def _ask(self, ask: Callable[[QueueManagerConnection], _T]) -> _T:
        """Ask, and ask again if the answer was lost: a repeated decision does no harm."""

        def once() -> _T:
            with self.connect() as connection:
                return ask(connection)

        return self.ride_out(once)

    @property
    def told(self) -> str:
        """Its queues, as messages tell them."""
        return self.queue or "the queues of its rows"

    @property
    def open_options(self) -> int:
        """The options that the queue is opened with."""
        return int(OpenOption.OUTPUT | (OpenOption.SET_ALL_CONTEXT if self.sets_context else 0))


class _Puts:
    """The units of work that a task puts and prepares. After an error nothing is left of them.

    Attributes:
        xids: of the prepared units of work.
    """

    def __init__(self, sink: Sink, batch: UnitBatch, name: str) -> None:
        self._sink, self._batch, self._name = sink, batch, name
        self._options = _CONTEXT_OPTIONS if sink.sets_context else _OPTIONS
        self._connection: QueueManagerConnection | None = None
        self._queues: dict[Target, Queue] = {}
        self._tries = 0
        self.xids: list[bytes] = []

    def unit_size(self) -> int:
        """The messages of a unit of work, at most. Raises MQIError: 2059 no manager is running, ..."""
        return min(UNIT_MESSAGES, self._open().connection.max_uncommitted)

    def put(self, unit: Sequence[pa.RecordBatch]) -> None:
        """Put and prepare one unit of work."""
        ride_out(self._sink.outage_s, lambda: self._put(unit), self._break_off, what=f"sink {self._sink.told}")

    def _put(self, unit: Sequence[pa.RecordBatch]) -> None:
        connection = self._open()
        for batch in unit:
            for target, rows in by_target(batch, self._sink.queue):
                self._queue(connection, target).put_many(messages(rows), options=self._options)
        # An earlier attempt may have prepared the unit of work without an answer, so this one has another id.
        xid = f"{self._name}/{len(self.xids)}.{self._tries}".encode()
        self._tries += 1
        try:
            connection.prepare(xid, self._batch, for_group=True)
        except MQIError as error:
            failed = connection.connection.take_put_status().first_failure
            if failed is not None and error.reason == MQRC.BACKED_OUT:
                # Tell why a put was refused, which says more than that the unit was backed out.
                raise failed from None
            raise
        self.xids.append(xid)

    def _break_off(self) -> None:
        """Give the connection up, with what is put and not prepared: the group backs it out."""
        if self._connection is not None:
            self._connection.connection.break_off()

    def _open(self) -> QueueManagerConnection:
        if self._connection is None or self._connection.connection.is_ended:
            self._queues.clear()
            self._connection = self._sink.connect()
        return self._connection

    def _queue(self, connection: QueueManagerConnection, target: Target) -> Queue:
        """The open queue of a target. Raises MQIError: it cannot be opened."""
        if target not in self._queues:
            if len(self._queues) >= _OPEN_MAX:
                self._queues.pop(next(iter(self._queues))).close()
            name, qmgr = target
            self._queues[target] = connection.open(name, self._sink.open_options, qmgr_name=qmgr)
        return self._queues[target]

    def __enter__(self) -> _Puts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        connection = self._connection
        if connection is None:
            return
        if error is None:
            connection.__exit__(kind, error, traceback)
            return
        with connection:
            if not connection.connection.is_ended:
                connection.backout()
                for xid in self.xids:
                    connection.backout_prepared(xid, qmgr=self._sink.settings.group)


class QueueWriter(DataSourceArrowWriter):
    """Writes a DataFrame: all of it or nothing."""

    def __init__(self, schema: StructType, options: SourceOptions, *, overwrite: bool) -> None:
        job = options.text("jobId")
        if len(job) > _JOB_ID_MAX or not (job.isascii() and job.isprintable()) or "/" in job:
            raise PipelineError(f"jobId={job}: allowed: up to {_JOB_ID_MAX} ASCII characters, no /")
        self._sink = Sink.of(schema, options, overwrite=overwrite)
        # A first step that fails shows a mistake rather than an outage.
        self._sink.check()
        run = uuid.uuid4().hex
        self._name = f"{SINK_PREFIX}{job}/{run}"
        #: The decision that this run is over. After it no unit of the run can be prepared.
        self._run = run_batch(runs_of(job, run), 0)
        #: The decision to commit the job, which one run makes.
        self._job = UnitBatch(f"job/{job}") if job else self._run
        group = group_for(self._sink.settings)
        self._is_done = bool(job) and latest_batch(group, self._job.series) is not None
        if self._is_done:
            log.warning("job_done_before", jobId=job, queue=self._sink.told, put="nothing")
        elif job:
            # End an earlier run, which may have been killed. If it still runs, it can prepare and commit nothing more.
            ended = next_run(group, self._run.series)
            self._sink.commit(ended, ())
            self._run = run_batch(ended.series, ended.number + 1)
        if job:
            self._sink.back_out(f"{SINK_PREFIX}{job}/")

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Prepared:
        if self._is_done:
            return Prepared((), self._run)
        try:
            return self._sink.prepare(iterator, self._run, f"{self._name}/{_attempt()}")
        except XAError as error:
            if error.code != XAReturn.XAER_PROTO:
                raise
            raise self._released() from error

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if not self._is_done:
            xids = _xids(messages)
            try:
                is_first = self._sink.commit(self._job, xids)
                # Another run may have decided a job that has a name.
                is_own = is_first or self._job != self._run or not xids or self._sink.is_committed(xids[0])
            except XAError as error:
                raise self._released() from error
            if not is_own:
                raise self._released()
        self._end()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        del messages
        self._end()

    def _released(self) -> PipelineError:
        return PipelineError(
            f"{self._name.removeprefix(SINK_PREFIX).strip('/')}: the job was ended while it ran (by igq pipeline"
            f" release or another run of it), so nothing of it is on {self._sink.told}; run it again"
        )

    def _end(self) -> None:
        self._sink.commit(self._run, ())
        self._sink.back_out(self._name)


class QueueStreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a streaming query, each once: whole, or not at all."""

    def __init__(self, schema: StructType, options: SourceOptions, *, overwrite: bool) -> None:
        if options.text("jobId"):
            raise PipelineError("jobId is for batch writes: a streaming query is identified by its checkpoint")
        self._sink = Sink.of(schema, options, overwrite=overwrite)
        # Spark makes a writer for each batch, so there may be an outage.
        self._sink.ride_out(self._sink.check)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Prepared:
        context = TaskContext.get()
        assert context is not None
        query = context.getLocalProperty("sql.streaming.queryId")
        number = context.getLocalProperty("streaming.sql.batchId")
        assert query is not None
        assert number is not None
        batch = UnitBatch(series_of(query, self._sink.queue), int(number))
        if self._sink.ride_out(lambda: self._is_repeated(batch, query)):
            return Prepared((), batch)
        return self._sink.prepare(iterator, batch, f"{_name_of(batch)}{_attempt()}")

    def _is_repeated(self, batch: UnitBatch, query: str) -> bool:
        """Whether Spark repeats its last batch after a crash, which was committed before.

        Raises:
            PipelineError: a later batch was committed, too. Spark repeats only its last one, so these rows are new.
        """
        group = group_for(self._sink.settings)
        latest = latest_batch(group, batch.series)
        if latest is None:
            # Versions that did not name the queue.
            latest = latest_batch(group, f"query/{query}")
        if latest is not None and latest > batch.number:
            raise PipelineError(
                f"query {query}: its batch {latest} is on {self._sink.told} already, and this is batch {batch.number}:"
                " the checkpoint is an older copy. Take the latest one; or begin anew with a new checkpoint, and expect"
                f" the rows of batches {batch.number} to {latest} twice if the source still has them"
            )
        return latest == batch.number

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        xids = _xids(messages)
        for batch in _batches(messages, batchId):
            self._sink.commit(batch, xids)
            self._sink.back_out(_name_of(batch))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        for batch in _batches(messages, batchId):
            self._sink.back_out(_name_of(batch))


def series_of(query: str, queue: str) -> str:
    """The series of batches that a streaming query writes to a queue. A copied checkpoint may write to another one.

    Args:
        queue: "" if the rows name their queues.
    """
    return f"query/{query}/{queue}"


def _attempt() -> str:
    """A unique name for this attempt of this task. Task numbers are not unique: a new driver counts from 0 again."""
    context = TaskContext.get()
    assert context is not None
    return f"{context.partitionId()}.{context.taskAttemptId()}.{secrets.token_hex(4)}"


def _name_of(batch: UnitBatch) -> str:
    return f"{SINK_PREFIX}{batch.series.split('/')[1]}/{batch.number}/"


def _xids(found: Sequence[WriterCommitMessage | None]) -> list[bytes]:
    return [xid for each in found if isinstance(each, Prepared) for xid in each.xids]


def _batches(found: Sequence[WriterCommitMessage | None], number: int) -> set[UnitBatch]:
    """The batch of the tasks; empty if no task has answered."""
    return {each.batch for each in found if isinstance(each, Prepared) and each.batch.number == number}


def _units(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[list[pa.RecordBatch]]:
    """The rows in units of work of *size* messages, each in slices that are encoded at a time."""
    unit, room = list[pa.RecordBatch](), size
    for batch in batches:
        first = 0
        while first < batch.num_rows:
            part = batch.slice(first, min(_PUT_MESSAGES, room))
            unit.append(part)
            first, room = first + part.num_rows, room - part.num_rows
            if not room:
                yield unit
                unit, room = [], size
    if unit:
        yield unit
