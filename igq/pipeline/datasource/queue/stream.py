"""`format("igq")`, streaming: a query that takes messages off a queue, each exactly once.

The reader claims the messages of a batch (``igq.pipeline.claims.claims``) before Spark writes the batch into its
checkpoint; the offset holds the names of the claims. A batch that is repeated reads the same claims. The reader commits
them when Spark asks for the next batch: by then Spark has noted that this one is done. Spark's own ``commit`` comes
later, and for the last batch never: its claims end when the query goes on, or by `igq pipeline release`.

If a batch is full, the next one is claimed while Spark processes it (``igq.pipeline.claims.prefetch``).

If Redis or the manager is away for a while, each step is repeated. After a lost connection the driver takes the query's
name again, as a new driver would: claims that Spark has written down stay, and others go back to the queue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue.layout import Layout
from igq.pipeline.datasource.queue.reader import rows_for
from igq.pipeline.datasource.worker import end_in_good_order, end_undisturbed, settle
from igq.pipeline.errors import PipelineError
from sharedq.mqi.errors import MQIError
from sharedq.reading.queue import QueuePart, Reader
from sharedq.redis.deployment import Deployment
from sharedq.redis.outage import ride_out

if TYPE_CHECKING:
    from igq.pipeline.claims.claims import ClaimedUnit, Claims
    from igq.pipeline.claims.prefetch import Ahead

OPTIONS = (
    *("queue", "qmgr", "columns", "queues", "queuePattern", "properties", "selector", "stream"),
    *("maxMessagesPerTrigger", "minMessagesPerTrigger", "maxTriggerDelay"),
    *("rowsPerPartition", "minPartitions", "wholeGroups", "outage_s"),
)
#: The most messages in a batch, and in each of its partitions.
MESSAGES_PER_TRIGGER, ROWS_PER_PARTITION = 500_000, 250_000
#: How long a batch waits for `minMessagesPerTrigger`.
TRIGGER_DELAY = "15m"
_NAME_MAX = 40
#: Seconds between two looks of an idle query whether it was released.
_TERM_LOOK_S = 1.0
#: Seconds between two reports of figures to the group.
_REPORT_S = 5.0

_T = TypeVar("_T")

#: ``batch``: number of batches so far. ``claims``: those of the last batch. ``term``: that in which the query began.
#: ``stream``: its name. ``queue``: the queues or their pattern. ``owner``: their manager or group. ``group``.
Offset = dict[str, Any]


@dataclass
class UnitsPartition(InputPartition):
    """Claimed units of work and the places of their messages. Each read gives the same messages.

    Attributes:
        xid: external id of the first unit, where it is noted that the partition was read.
    """

    units: list[tuple[QueuePart, str]]
    xid: bytes


class QueueStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Claims batches on the driver and reads them in the workers."""

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._layout = Layout.of(schema, options)
        name = options.required("stream", "a name for the query, unique in the group")
        if len(name) > _NAME_MAX or not (name.isascii() and name.isprintable()) or "/" in name:
            raise PipelineError(f"stream={name}: allowed: up to {_NAME_MAX} ASCII characters, no /")
        self._limit = options.number("maxMessagesPerTrigger", MESSAGES_PER_TRIGGER)
        self._least = options.number("minMessagesPerTrigger", 1)
        self._delay_s = options.seconds("maxTriggerDelay", TRIGGER_DELAY)
        if self._least > self._limit:
            raise PipelineError(
                f"minMessagesPerTrigger={self._least}: is more than maxMessagesPerTrigger={self._limit}"
            )
        self._rows = options.number("rowsPerPartition", ROWS_PER_PARTITION)
        self._least_partitions = options.number("minPartitions", 1)
        self._name, self._options = name, options
        self._queues = options.queues()
        self._whole_groups = options.flag("wholeGroups", default=False)
        # A wrong selection string is told here.
        self._has_selector = options.selector() is not None
        if self._has_selector and self._whole_groups:
            raise PipelineError(
                "wholeGroups and selector: allowed: one of them; a selector can be true of half a group"
            )
        options.required("qmgr", "the managers that messages are claimed at, or the group")
        settings = options.settings()
        self._group, self._url = settings.group, str(settings.redis_url)
        self._qmgr, self._outage_s = options.managers(), options.outage_s()
        #: With the trigger AvailableNow: messages of each queue that were there at its beginning and are not claimed.
        self._left: dict[str, int] | None = None
        self._has_claimed = False
        #: A first step that fails shows a mistake rather than an outage.
        self._has_begun = False
        #: The claims of the last batch, if they are off the queue and no others are there.
        self._settled: str | None = None
        #: When the latest batch was claimed.
        self._claimed_s = time.monotonic()
        #: The messages of each queue, if the latest step has seen that there are none.
        self._seen_empty: dict[str, int] | None = None
        self._term_seen_s = 0.0
        #: For the group's metrics.
        self._messages, self._batches, self._told_s = 0, 0, 0.0

    # Only the driver claims. A worker would need longer to import the modules for that than to read.

    @cached_property
    def _claims(self) -> Claims:
        from igq.pipeline.claims.claims import Claims

        settings = self._options.settings()
        return Claims(
            settings,
            *(self._queues, self._qmgr, self._name, self._rows, self._whole_groups),
            selector=self._options.text("selector"),
            least_units=self._least_partitions,
        )

    @cached_property
    def _ahead(self) -> Ahead:
        from igq.pipeline.claims.prefetch import Ahead

        return Ahead(self._claims)

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return self._ride_out(
            lambda: {"batch": 0, "claims": "", "term": self._claims.term(), **self._identity},
        )

    def _ride_out(self, step: Callable[[], _T]) -> _T:
        """Do a step of the driver, and repeat it while Redis or the manager is away."""
        outage_s = self._outage_s if self._has_begun else 0
        found = ride_out(outage_s, step, self._break_off, what=f"stream {self._name}")
        self._has_begun = True
        return found

    def _break_off(self) -> None:
        """Go on as a new driver would: others may have had the query's name meanwhile."""
        self._settled = None
        self._ahead.forget()
        self._claims.break_off()

    @cached_property
    def _identity(self) -> dict[str, str]:
        """The group, queues and stream of a query. It can continue at another manager that has the same queues."""
        owner = self._claims.owner()
        return {"group": self._group, "stream": self._name, "queue": self._queues, "owner": owner}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadMaxRows(self._limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        def prepare() -> dict[str, int]:
            # Wait for the recovery of a dead driver first: messages that it was about to claim go back to the queue.
            self._claims.hold()
            return self._claims.depths()

        self._left = self._ride_out(prepare)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        # Other limits than ours mean all that there is: for a query of one batch.
        return self._ride_out(lambda: self._latest(start, limit.max_rows if isinstance(limit, ReadMaxRows) else None))

    def _latest(self, start: Offset, limit: int | None) -> Offset:
        """The offset after the next batch of *limit* messages, or of all that are there now."""
        self._hold(start, is_polled=True)
        self._seen_empty = None
        done, term = start["claims"], start["term"]
        ahead = self._ahead.take(done, self._at_most(limit) or 0)
        if ahead is None:
            self._settle(done)
            if self._waits_for_more(limit):
                return start
        count = self._at_most(limit)
        most = self._claims.depths() if self._left is None and count is None else self._left
        if ahead is None:
            claimed = self._claims.claim(count, term, most=most)
        elif count is not None and ahead.messages < count:
            claimed = self._claims.claim(count - ahead.messages, term, after=ahead, most=most)
        else:
            claimed = ahead
        ending = self._claims.decide(done) if ahead else None
        if self._left is not None:
            self._left = {name: max(0, left - claimed.taken.get(name, 0)) for name, left in self._left.items()}
        is_full = count is not None and claimed.messages >= count
        if most is None and not (is_full or self._whole_groups or self._has_selector):
            self._seen_empty = dict.fromkeys(claimed.taken, 0)
        if not claimed.messages:
            return start
        self._claimed_s = time.monotonic()
        self._messages, self._batches = self._messages + claimed.messages, self._batches + 1
        # A full batch means that there are more messages. Redis has time to claim them while Spark is at work. If the
        # next batch may have to wait for more, they stay on the queue meanwhile.
        following = self._at_most(limit) if is_full and self._least == 1 else 0
        self._ahead.begin(claimed.name, ending, following or 0, term, self._left)
        return start | {"batch": start["batch"] + 1, "claims": claimed.name}

    def _at_most(self, limit: int | None) -> int | None:
        if limit is None or self._left is None:
            return limit
        return min(limit, sum(self._left.values()))

    def _waits_for_more(self, limit: int | None) -> bool:
        """Whether there are too few messages for the next batch. A query that ends by itself takes any number."""
        if self._least == 1 or limit is None or self._left is not None:
            return False
        is_time = time.monotonic() - self._claimed_s >= self._delay_s
        return not is_time and self._claims.depth() < self._least

    def _settle(self, done: str) -> None:
        """Take the messages of the last batch off the queue, and give back those that Spark has not noted."""
        if self._settled != done:
            # The work ahead may have lost its connection, with messages that are not back yet.
            self._claims.hold()
            self._claims.finish(done)
            self._claims.check_unread(but=done)
            self._give_back(done)
            self._settled = done

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """The number of waiting messages and the age of the oldest, for the query's progress; of several queues each.

        PySpark asks a source for no metrics.
        """
        found, self._seen_empty = self._seen_empty, None
        try:
            depths = self._claims.depths() if found is None else found
            ages = self._claims.oldest_s([name for name, depth in depths.items() if depth])
            self._tell(depths, ages)
        except MQIError:
            # If the error lasts, the query meets it in its next step.
            return None
        total = sum(depths.values())
        told: dict[str, Any] = {"depth": total}
        if len(depths) > 1:
            told |= {"min": min(depths.values()), "avg": round(total / len(depths), 1), "max": max(depths.values())}
            told["queues"] = depths
        return told | ({"oldest_s": ages} if ages else {})

    def _tell(self, depths: Mapping[str, int], ages: Mapping[str, float]) -> None:
        """Tell the group the figures for its metrics, if it is time."""
        now_s, total = time.monotonic(), sum(depths.values())
        if now_s - self._told_s < _REPORT_S:
            return
        figures = {
            "depth": total,
            "depth_min": min(depths.values(), default=0),
            "depth_avg": total / max(1, len(depths)),
            "depth_max": max(depths.values(), default=0),
            "oldest_s": max(ages.values(), default=None),
            "messages_total": self._messages,
            "batches_total": self._batches,
            "told_ms": int(time.time() * 1000),
        }
        if self._claims.tell(figures):
            self._told_s = now_s

    def _give_back(self, done: str) -> None:
        """Give back messages that a driver claimed and died before Spark noted them, or that this one cannot use."""
        if self._left is not None and not self._has_claimed:
            # They count as there at the query's beginning, though they were not on the queue.
            for unit in self._claims.strays(but=done):
                name = self._claims.queue_in(unit)
                self._left[name] = self._left.get(name, 0) + unit.messages
        self._claims.give_back(but=done)
        self._has_claimed = True

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        if start == end:
            return []

        def claimed() -> list[ClaimedUnit]:
            self._hold(end)
            return self._claims.units(end["claims"])

        units = self._ride_out(claimed)
        messages = sum(unit.messages for unit in units)
        parts = _parts(units, rows_for(self._least_partitions, self._rows, messages))
        return [UnitsPartition([(unit.place, unit.id) for unit in units], units[0].xid) for units in parts]

    def _hold(self, offset: Offset, *, is_polled: bool = False) -> None:
        for name, own in self._identity.items():
            if offset.get(name, own) != own:
                what = "a queue of" if name == "owner" else name
                raise PipelineError(f"stream {self._name}: the checkpoint is of {what} {offset[name]}, not of {own}")
        # Otherwise Spark would never call `stop`.
        end_in_good_order(self.stop)
        self._claims.hold()
        now_s = time.monotonic()
        # A query that claims something is told then. An idle one looks from time to time.
        is_idle = is_polled and self._settled == offset["claims"]
        if not is_idle or now_s - self._term_seen_s > _TERM_LOOK_S:
            self._claims.check_term(offset["term"])
            self._term_seen_s = now_s

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Import it here: the driver's process only claims.
        from igq.pipeline.datasource.queue.arrow_batches import batches

        settle()
        assert isinstance(partition, UnitsPartition)
        layout = self._layout
        reader = Reader(Deployment(self._url), self._group, has_data=layout.has_data, outage_s=self._outage_s)
        try:
            reader.note_read(self._group, partition.xid)
            found = (reader.read_unit(*unit) for unit in partition.units)
            yield from batches(chain.from_iterable(found), layout.arrow, takes_properties=layout.takes_properties)
        finally:
            reader.close()

    def commit(self, end: Offset) -> None:
        """Do nothing: the claims up to *end* were decided when Spark asked for the next batch."""

    def stop(self) -> None:
        # It may be called again after an interruption: see end_in_good_order.
        end_undisturbed()
        try:
            self._ahead.end()
        finally:
            self._claims.let_go()


def _parts(units: Sequence[ClaimedUnit], rows: int) -> Iterator[list[ClaimedUnit]]:
    """Group units of one place that follow each other there: at most *rows* messages, or one unit with more."""
    part: list[ClaimedUnit] = []
    held = 0
    for unit in sorted(units, key=lambda unit: (unit.place.structure, unit.place.queue)):
        if part and (held + unit.messages > rows or unit.place != part[0].place):
            yield part
            part, held = [], 0
        part.append(unit)
        held += unit.messages
    if part:
        yield part
