"""`format("igq")`, writing: rows become messages on a queue, all of them or none.

Each task puts messages in units of work and prepares these. The driver commits the units of all tasks by one decision,
or backs them out. It also backs out units that are not wanted: those of a task that was repeated, or of a job that
ended. After the decision no unit can be prepared: see ``sharedq.calls.unit.in_doubt``. The batch of a streaming query
is decided under the query's id and its own number, so a batch that Spark repeats after a crash changes nothing.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from igq.pipeline.claims.release import end_everywhere
from igq.pipeline.claims.write_jobs import SINK_PREFIX, next_run, run_batch, runs_of
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue.rows import check_columns, has_context, messages
from igq.pipeline.datasource.worker import settle
from igq.pipeline.errors import PipelineError
from sharedq.api import QueueManagerConnection, connect, group_for
from sharedq.calls.unit.in_doubt import TOGETHER_MAX, Batch, latest_batch
from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import ConnectionBroken, MQIError, error_for
from sharedq.mqi.xa import XAError, XAReturn
from sharedq.settings.values import Settings

log = LibraryLogger(__name__)

#: Options besides group and url.
OPTIONS = ("queue", "qmgr", "jobId")
#: Messages in a unit of work, at most; fewer if MAXUMSGS of the manager is less.
UNIT_MESSAGES = 100_000
#: Messages encoded at a time.
_PUT_MESSAGES = 1_000
#: How often the driver asks again if an answer was lost.
_ATTEMPTS = 3
_JOB_ID_MAX = 40

#: Asynchronous puts: nobody needs the identifiers, and the preparation of the unit of work reports a failed put.
_OPTIONS = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
_CONTEXT_OPTIONS = _OPTIONS | int(PutOption.SET_ALL_CONTEXT)

_T = TypeVar("_T")


@dataclass
class Prepared(WriterCommitMessage):
    """The external ids of the units that a task has prepared, in the order of its rows, and their batch."""

    xids: tuple[bytes, ...]
    batch: Batch


@dataclass(frozen=True)
class Sink:
    """A queue to put on, for all tasks and the driver of a job.

    Attributes:
        qmgr: the manager that all of them connect to.
    """

    settings: Settings
    queue: str
    qmgr: str
    sets_context: bool

    @classmethod
    def of(cls, schema: StructType, options: SourceOptions, *, overwrite: bool) -> Sink:
        """The sink of a query that writes rows of *schema*.

        Raises:
            PipelineError: an option or a column cannot be used.
            MQIError: the queue cannot be opened for output, or the manager is not running.
        """
        if overwrite:
            raise PipelineError('messages can only be added to a queue: mode("append")')
        check_columns(schema)
        settings = options.settings()
        qmgr = options.manager(settings.group) or _running_member(group_for(settings))
        sink = cls(settings, options.required("queue", "the name of the queue to put on"), qmgr, has_context(schema))
        with sink.connect() as connection:
            connection.open(sink.queue, sink._open_options).close()
        return sink

    def connect(self) -> QueueManagerConnection:
        """A connection to the manager. Raises MQIError: 2059 it is not running, ..."""
        return connect(self.qmgr, settings=self.settings, appl_name="igq pipeline")

    def prepare(self, batches: Iterable[pa.RecordBatch], batch: Batch, name: str) -> Prepared:
        """Put the rows in units of work and prepare those, under external ids that begin with *name*.

        Raises:
            MQIError: a message cannot be put; nothing is left of them.
            XAError: XAER_PROTO, *batch* is over; nothing is left of them.
        """
        settle()
        xids: list[bytes] = []
        with self.connect() as connection:
            queue = connection.open(self.queue, self._open_options)
            options = _CONTEXT_OPTIONS if self.sets_context else _OPTIONS
            per_unit = min(UNIT_MESSAGES, connection.connection.max_uncommitted)
            try:
                for unit in _parts(chain.from_iterable(map(messages, batches)), per_unit):
                    # Check it now, before all messages are put.
                    self._check_number(len(xids) + 1)
                    for some in _parts(unit, _PUT_MESSAGES):
                        queue.put_many(some, options=options)
                    xid = f"{name}/{len(xids)}".encode()
                    connection.prepare(xid, batch, for_group=True)
                    xids.append(xid)
            except Exception as error:
                if not connection.connection.is_ended:
                    connection.backout()
                    for xid in xids:
                        connection.backout_prepared(xid, qmgr=self.settings.group)
                failed = connection.connection.take_put_status().first_failure
                if failed is not None and isinstance(error, MQIError) and error.reason == MQRC.BACKED_OUT:
                    # Tell why a put was refused, which says more than that the unit was backed out.
                    raise failed from error
                raise
        return Prepared(tuple(xids), batch)

    def commit(self, batch: Batch, xids: Sequence[bytes]) -> bool:
        """Commit *xids* by one decision and return True; if *batch* was decided before, do nothing and return False.

        An attempt of this call whose answer was lost may have decided it.

        Raises:
            XAError: one of them is gone, so nothing is committed.
            MQIError: 2123 committed, except messages that a failed structure has lost; 2009 unknown.
        """
        self._check_number(len(xids))
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

    def _check_number(self, units: int) -> None:
        if units > TOGETHER_MAX:
            raise PipelineError(
                f"{units} units of work are too many to be committed together (at most {TOGETHER_MAX}): write fewer"
                f" rows at a time, in fewer partitions, or raise MAXUMSGS of {self.qmgr} up to {UNIT_MESSAGES}"
            )

    def back_out(self, name: str) -> None:
        """Back out all units in doubt whose external ids begin with *name*, at all managers."""
        _again()(end_everywhere, self.settings, name)

    def _ask(self, ask: Callable[[QueueManagerConnection], _T]) -> _T:
        """Ask, and ask again if the answer was lost: a repeated decision does no harm."""

        def once() -> _T:
            with self.connect() as connection:
                return ask(connection)

        return _again()(once)

    @property
    def _open_options(self) -> int:
        return int(OpenOption.OUTPUT | (OpenOption.SET_ALL_CONTEXT if self.sets_context else 0))


class QueueWriter(DataSourceArrowWriter):
    """Writes a DataFrame: all of it or nothing."""

    def __init__(self, schema: StructType, options: SourceOptions, *, overwrite: bool) -> None:
        job = options.text("jobId")
        if len(job) > _JOB_ID_MAX or not (job.isascii() and job.isprintable()) or "/" in job:
            raise PipelineError(f"jobId={job}: allowed: up to {_JOB_ID_MAX} ASCII characters, no /")
        self._sink = Sink.of(schema, options, overwrite=overwrite)
        run = uuid.uuid4().hex
        self._name = f"{SINK_PREFIX}{job}/{run}"
        #: The decision that this run is over. After it no unit of the run can be prepared.
        self._run = run_batch(runs_of(job, run), 0)
        #: The decision to commit the job, which one run makes.
        self._job = Batch(f"job/{job}") if job else self._run
        group = group_for(self._sink.settings)
        self._is_done = bool(job) and latest_batch(group, self._job.series) is not None
        if self._is_done:
            log.warning("job_done_before", jobId=job, queue=self._sink.queue, put="nothing")
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
            f" release or another run of it), so nothing of it is on {self._sink.queue}; run it again"
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

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Prepared:
        context = TaskContext.get()
        assert context is not None
        query = context.getLocalProperty("sql.streaming.queryId")
        number = context.getLocalProperty("streaming.sql.batchId")
        assert query is not None
        assert number is not None
        batch = Batch(f"query/{query}", int(number))
        latest = latest_batch(group_for(self._sink.settings), batch.series)
        if latest is not None and latest >= batch.number:
            # Spark repeats the batch after a crash; it was committed before.
            return Prepared((), batch)
        return self._sink.prepare(iterator, batch, f"{_name_of(batch)}{_attempt()}")

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        xids = _xids(messages)
        for batch in _batches(messages, batchId):
            self._sink.commit(batch, xids)
            self._sink.back_out(_name_of(batch))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        for batch in _batches(messages, batchId):
            self._sink.back_out(_name_of(batch))


def _again() -> Retrying:
    return Retrying(retry=retry_if_exception_type(ConnectionBroken), stop=stop_after_attempt(_ATTEMPTS), reraise=True)


def _attempt() -> str:
    """A unique name for this attempt of this task. Task numbers are not unique: a new driver counts from 0 again."""
    context = TaskContext.get()
    assert context is not None
    return f"{context.partitionId()}.{context.taskAttemptId()}.{secrets.token_hex(4)}"


def _name_of(batch: Batch) -> str:
    return f"{SINK_PREFIX}{batch.series.partition('/')[2]}/{batch.number}/"


def _xids(found: Sequence[WriterCommitMessage | None]) -> list[bytes]:
    return [xid for each in found if isinstance(each, Prepared) for xid in each.xids]


def _batches(found: Sequence[WriterCommitMessage | None], number: int) -> set[Batch]:
    """The batch of the tasks; empty if no task has answered."""
    return {each.batch for each in found if isinstance(each, Prepared) and each.batch.number == number}


def _running_member(group: Group) -> str:
    running = [member.name for member in group.members() if member.state == "RUNNING"]
    if not running:
        raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "", group.name, "no member of the group is running")
    return running[0]


def _parts(values: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """The values in chunks."""
    iterator = iter(values)
    while part := list(islice(iterator, size)):
        yield part
