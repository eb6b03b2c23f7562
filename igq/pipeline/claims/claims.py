"""The claims of a streaming query: prepared units of work with the messages that it has taken off a queue.

The driver claims a batch before Spark notes it. The claims stay in doubt while Spark processes the batch, and are
committed after Spark has noted it as processed. Claims that Spark never noted go back to the queue. Claims that no task
has read are not committed, because Spark notes a batch as processed also if its sink skipped it.
The claims belong to the group (GROUP disposition), so a query that continues at another manager finds them.
One driver at a time holds the query's name: a connection tag, which the recovery of a dead driver frees.

A query that never comes back is released: its claims go back to the queue, and its *term* ends. A query claims in the
term in which it began, so a released query that does come back can claim nothing more.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from igq.pipeline.claims.members import connect_to, is_one, names_in
from igq.pipeline.claims.queues import is_pattern, places_of
from igq.pipeline.claims.tag import WAIT_S, hold_tag
from igq.pipeline.claims.units import get_groups, get_messages
from igq.pipeline.errors import PipelineError
from sharedq.api import Queue, QueueManagerConnection, group_for
from sharedq.calls.unit.in_doubt import TOGETHER_MAX, PreparedUnit, UnitBatch, latest_batch, prepared_units
from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.errors import ConnTagInUse, MQIError, error_for
from sharedq.mqi.xa import XAError, XAReturn
from sharedq.objects.definitions.names import queue_of
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.store.local_queues import LocalQueues
from sharedq.reading.plan import counts_available, oldest_ages_ms
from sharedq.reading.queue import QueuePart
from sharedq.scripts.reads import fields_named
from sharedq.settings.values import Settings

log = LibraryLogger(__name__)

#: External ids of claims begin with this, the name of the query and a slash.
CLAIM_PREFIX = "igq.stream/"
#: Why a queue that was kept open is opened again: its definition has changed, or it was deleted and made again.
_CHANGED = (MQRC.OBJECT_CHANGED, MQRC.Q_DELETED)
#: Seconds between two looks whether a lost connection is recovered.
_LOOK_S = 0.05
#: Seconds for which it is known where the messages are, and which queues fit a pattern.
_PLACES_S = 10.0


@dataclass(frozen=True, slots=True)
class ClaimedUnit:
    """A claimed unit of work: the place of its messages, its id, its external id, and the number of messages.

    ``times_read`` counts how often it was read. Only the first unit of each partition has a count.
    """

    place: QueuePart
    id: str
    xid: bytes
    messages: int
    times_read: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claims for a batch.

    Attributes:
        name: the name of the units of work in an offset; "" if there are none.
        messages: the number of messages in all of them.
        taken: the number of messages that each queue has given, if the query reads several.
    """

    name: str = ""
    messages: int = 0
    taken: Mapping[str, int] = field(default_factory=dict, compare=False)


NOTHING = Claimed()


@dataclass
class Ending:
    """Claims whose commit is decided, and the connection that has to carry it out.

    If the connection or the process is lost before that, the group carries it out.
    """

    connection: QueueManagerConnection
    units: list[PreparedUnit]

    def carry_out(self) -> None:
        """Take the messages off the queue. Raises MQIError: 2009, the group does it."""
        with self.connection:
            for unit in self.units:
                # Messages that a failed structure has lost are off the queue too. Messages in its backup come again.
                self.connection.complete_prepared(unit)


@dataclass(frozen=True, slots=True)
class _Line:
    """A connection that is kept for claims, and the queues that are open there by *names*.

    An alias with SPREAD is several. A queue that several names mean is there once.
    """

    connection: QueueManagerConnection
    names: list[str]
    queues: list[Queue]

    def open(self, names: list[str], selector: str) -> None:
        """Have the queues of these names open, and no others."""
        if self.names == names:
            return
        for queue in self.queues:
            queue.close()
        self.queues.clear()
        found: dict[str, Queue] = {}
        for name in names:
            for queue in self.connection.open_each(name, OpenOption.INPUT_SHARED, selector=selector):
                found.setdefault(_name_of(queue), queue)
        self.queues.extend(found.values())
        self.names[:] = names


@dataclass
class Claims:
    """The claims of one query.

    Attributes:
        queue: the queues that it reads: names separated by commas, or a pattern.
        qmgr: the managers that it may claim at, separated by commas, or the group's name.
        name: the name of the query, unique in the group.
        per_unit: the most messages in a unit of work.
        whole_groups: claim a group in one unit of work, after it is complete.
        selector: a selection string; only messages that it is true of are claimed.
        least_units: divide what is there into so many units of work.
    """

    settings: Settings
    queue: str
    qmgr: str
    name: str
    per_unit: int
    whole_groups: bool = False
    selector: str = ""
    least_units: int = 1
    _held: QueueManagerConnection | None = field(default=None, repr=False)
    _line: _Line | None = field(default=None, repr=False)
    #: Owner tokens of lost connections. The group gives back what these had got and not prepared.
    _lost: set[str] = field(default_factory=set, repr=False)
    _known: list[QueuePart] = field(default_factory=list, repr=False)
    #: When `_known` is to be looked up again.
    _known_until_s: float = field(default=0.0, repr=False)

    def hold(self) -> None:
        """Take the query's name, unless this driver has it. First wait until lost connections are recovered.

        Raises:
            PipelineError: another driver has it (2271).
            MQIError: 2059 no manager is running; 2009.
        """
        self._await_recovery()
        if self._held is not None and not self._held.connection.is_ended:
            return
        try:
            self._held = hold_tag(self.settings, self.qmgr, tag_of(self.name))
        except ConnTagInUse as error:
            raise PipelineError(
                f"stream {self.name}: another driver of that name is at work, or was killed and the group has not"
                f" recovered it: {error}"
            ) from None

    def let_go(self) -> None:
        """Give the name back. The claims stay."""
        for connection in self._taken_out():
            if not connection.connection.is_ended:
                # If Redis is away, the group recovers it.
                with suppress(MQIError):
                    connection.disconnect()

    def break_off(self) -> None:
        """Give up all connections: one of them was lost. `hold` waits for their recovery."""
        self.look_again()
        for connection in self._taken_out():
            connection.connection.break_off()
            self._lost.add(connection.connection.token)

    def _taken_out(self) -> list[QueueManagerConnection]:
        """The kept connections, which are not kept any more."""
        kept = [self._held] if self._held is not None else []
        if self._line is not None:
            kept.append(self._line.connection)
        self._held = self._line = None
        return kept

    def _await_recovery(self) -> None:
        """Wait until the group has given back what lost connections had got, and can carry out no call of theirs."""
        group, end_s = group_for(self.settings), time.monotonic() + WAIT_S
        while self._lost:
            tokens = sorted(self._lost)
            registered = fields_named(group, group.keys.owners, tokens)
            self._lost = {token for token, text in zip(tokens, registered, strict=True) if text is not None}
            if self._lost:
                if time.monotonic() > end_s:
                    detail = f"the group does not recover a lost connection of stream {self.name}"
                    raise error_for(MQRC.CONNECTION_BROKEN, "", group.name, detail)
                time.sleep(_LOOK_S)

    def depth(self) -> int:
        """The approximate number of messages that can be claimed now."""
        return sum(self.depths().values())

    def depths(self) -> dict[str, int]:
        """The approximate number of messages that can be claimed now, by queue."""
        found = Counter[str]()
        for place, count in counts_available(group_for(self.settings), self._places()).items():
            found[queue_of(place.queue)] += count
        return dict(found)

    def oldest_s(self, queues: Collection[str]) -> dict[str, float]:
        """The age in seconds of the oldest message on each of these queues, where it is known."""
        found: dict[str, float] = {}
        if not queues:
            return found
        places = [place for place in self._places() if queue_of(place.queue) in queues]
        for place, age_ms in oldest_ages_ms(group_for(self.settings), places).items():
            name = queue_of(place.queue)
            found[name] = max(found.get(name, 0.0), age_ms / 1000)
        return found

    def owner(self) -> str:
        """The owner of the queues: the manager, or the group if all are shared.

        For a pattern at one manager that is the manager, because its private queues may fit.

        Raises:
            PipelineError: one is private, and the query may claim at other managers, too; or no queue fits the pattern.
        """
        here, places = self._here(), self._places()
        is_own = is_pattern(self.queue) or any(place.structure.startswith("@") for place in places)
        return here if here and is_own else self.settings.group

    def names(self) -> list[str]:
        """The names of the queues to open. Those that fit a pattern are looked up again from time to time."""
        if is_pattern(self.queue):
            return sorted({queue_of(place.queue) for place in self._places()})
        return names_in(self.queue)

    def _places(self) -> list[QueuePart]:
        """Where the messages are. Of several queues, and of a pattern, that is known for a while."""
        now_s = time.monotonic()
        if now_s >= self._known_until_s:
            self._known = places_of(group_for(self.settings), self.queue, self.qmgr, self._here())
            self._known_until_s = now_s + (_PLACES_S if "," in self.queue or is_pattern(self.queue) else 0.0)
        return self._known

    def look_again(self) -> None:
        """Look up at the next step where the messages are."""
        self._known_until_s = 0.0

    def _here(self) -> str:
        """The manager whose definitions count. Of a pattern at several managers none: it finds shared queues only."""
        if is_one(self.qmgr, self.settings.group):
            return self.qmgr
        if is_pattern(self.queue):
            return ""
        if self._held is None:
            self.hold()
        assert self._held is not None
        return self._held.qmgr_name

    def tell(self, told: Mapping[str, float | None]) -> bool:
        """Tell the group figures of the query. Return whether this driver has its name.

        Metrics show the figures as long as it has.

        Raises:
            MQIError: 2009, the connection that has the name is lost.
        """
        if self._held is not None:
            self._held.connection.tell(stream={"name": self.name, **told})
        return self._held is not None

    def term(self) -> int:
        """The term of a query that begins now: the number of releases of queries of its name."""
        latest = latest_batch(group_for(self.settings), terms_of(self.name))
        return 0 if latest is None else latest + 1

    def check_term(self, term: int) -> None:
        """Check that a term has not ended. Raises PipelineError: the query was released."""
        if term < self.term():
            raise self._released()

    def claim(
        self, count: int | None, term: int = 0, *, after: Claimed = NOTHING, most: Mapping[str, int] | None = None
    ) -> Claimed:
        """Claim the first *count* messages, or as many as there are. Of several queues each gives a fair share.

        With whole groups, the last group may make them more.

        Args:
            count: None: as many as *most* allows, in larger units of work if need be.
            term: the term in which the query began.
            after: claims that were made for the same batch before.
            most: the most messages from each queue, those of *after* included.

        Returns:
            All that is claimed for the batch.

        Raises:
            PipelineError: the query was released meanwhile.
            MQIError: a queue cannot be read; 2024 a group is longer than a unit of work may be. The claims of this
                call go back; if Redis cannot be reached, `give_back` does that later.
        """
        per_unit = self.per_unit
        if count is None:
            count = sum((most or {}).values())
            # Each queue may leave one unit of work that is not full.
            per_unit = max(per_unit, -(-count // (TOGETHER_MAX // 2)))
        if self.least_units > 1:
            there = min(count, self.depth()) or count
            per_unit = max(1, min(per_unit, -(-there // self.least_units)), -(-there // (TOGETHER_MAX // 2)))
        try:
            return _Batch(self, term, per_unit, after, most).claim(count)
        except MQIError as error:
            if error.reason not in _CHANGED:
                raise
        # The exception has closed the queues.
        self.look_again()
        return _Batch(self, term, per_unit, after, most).claim(count)

    @contextmanager
    def _at_work(self) -> Iterator[_Line]:
        """The kept connection, for one thread. An exception backs its unit of work out and ends it."""
        line, self._line = self._line, None
        if line is None or line.connection.connection.is_ended:
            line = _Line(self._connect(), [], [])
        try:
            with ExitStack() as until_done:
                until_done.enter_context(line.connection)
                yield line
                until_done.pop_all()
                self._line = line
        finally:
            ended = line.connection.connection
            if ended.is_ended and not ended.is_disconnected:
                self._lost.add(ended.token)

    def _prepare(self, connection: QueueManagerConnection, xid: bytes, term: int) -> None:
        try:
            connection.prepare(xid, UnitBatch(terms_of(self.name), term), must_be_read=True, for_group=True)
        except XAError as error:
            connection.backout()
            if error.code != XAReturn.XAER_PROTO:
                raise
            raise self._released() from error

    def _get(self, connection: QueueManagerConnection, queue: Queue, count: int) -> int:
        most = connection.connection.max_uncommitted
        if self.whole_groups:
            # Leave room for the rest of the last group.
            return get_groups(connection, queue, min(count, max(1, most // 2)))
        return get_messages(queue, min(count, most))

    def _released(self) -> PipelineError:
        return PipelineError(
            f"stream {self.name}: it was released, so what it had claimed of {self.queue} went back there;"
            " begin anew, with another checkpoint"
        )

    def _unread(self) -> PipelineError:
        return PipelineError(
            f"stream {self.name}: Spark has noted a batch as processed that nothing has read, so its messages stay"
            " claimed. A file sink passes over batches whose numbers its directory has from another checkpoint: release"
            f" them (igq pipeline release {self.name} --checkpoint ... --begun undone) and begin anew, with another"
            " checkpoint and another directory"
        )

    def finish(self, claims: str) -> None:
        """Take the messages that Spark has processed off the queue for good. A second call does nothing.

        Raises:
            PipelineError: an operator put them back on the queue, so they come again; or no task has read them, so
                they stay claimed.
            MQIError: 2009 unknown; may be repeated.
        """
        if claims:
            self.decide(claims).carry_out()

    def decide(self, claims: str) -> Ending:
        """Do the first, quick half of `finish`: decide that the messages cannot come back to the queue.

        Raises:
            PipelineError, MQIError: as for `finish`.
        """
        with ExitStack() as until_decided:
            connection = until_decided.enter_context(self._connect())
            try:
                units = connection.decide_prepared_together(self._xids(claims), for_group=True) or []
            except XAError as error:
                if error.code == XAReturn.XAER_PROTO:
                    raise self._unread() from error
                if error.code != XAReturn.XAER_NOTA:
                    raise PipelineError(
                        f"stream {self.name}: messages that were processed were put back on {self.queue}: {error}"
                    ) from error
                # They ended so long ago that their decision is forgotten.
                units = []
            until_decided.pop_all()
            return Ending(connection, units)

    def give_back(self, *, but: str = "") -> int:
        """Put all claims of the name except *but* back on the queue; return the number of messages."""
        return self._give_back(self.strays(but=but))

    def check_unread(self, *, but: str) -> None:
        """Check that no task has read any claims of the name except *but*.

        Raises:
            PipelineError: some were read, though Spark has noted none: another checkpoint has them, or a later state of
                this one, and they may have been processed.
        """
        if any(not unit.is_unread for unit in self.strays(but=but)):
            what = "an older copy of the checkpoint" if but else "a new checkpoint"
            raise PipelineError(
                f"stream {self.name}: a query of that name has claimed messages of {self.queue} that were read, and"
                f" this one has {what}: they would come twice. Start it with its own checkpoint, or"
                f" release them: igq pipeline release {self.name} --checkpoint ITS"
            )

    def give_back_only(self, claims: str) -> int:
        """Put these claims, which Spark does not know, back on the queue; return the number of messages."""
        unwanted = set(self._xids(claims))
        return self._give_back([unit for unit in self.strays() if unit.xid in unwanted])

    def strays(self, *, but: str = "") -> list[PreparedUnit]:
        """All claims of the name that have not ended, except *but*."""
        group, kept = group_for(self.settings), set(self._xids(but))
        return [
            unit
            for unit in _begin_with(prefix_of(self.name), prepared_units(group, group.name))
            if unit.xid not in kept
        ]

    def queue_in(self, unit: PreparedUnit) -> str:
        """The queue that a claimed unit of work has got from."""
        queues, _ = next(iter(unit.structures.values()))
        return queue_of(queues[0])

    def _give_back(self, units: Collection[PreparedUnit]) -> int:
        if not units:
            return 0
        with self._at_work() as line:
            return back_out(line.connection, units, prefix_of(self.name))

    def units(self, claims: str) -> list[ClaimedUnit]:
        """The claimed units of work, in order; empty if their messages are on a backout queue.

        Raises:
            PipelineError: one of them has ended.
        """
        group = group_for(self.settings)
        if latest_batch(group, self.backed_out(claims).series) is not None:
            return []
        in_doubt: dict[bytes, PreparedUnit] = {unit.xid: unit for unit in prepared_units(group, group.name)}
        found: list[ClaimedUnit] = []
        for xid in self._xids(claims):
            unit = in_doubt.get(xid)
            if unit is None or unit.outcome is not None:
                raise PipelineError(
                    f"stream {self.name}: the messages of {self.queue} that its batch claimed were ended by others"
                )
            found += _claimed_parts(group, unit)
        self._tell_of_tries(group, found)
        return found

    def _tell_of_tries(self, group: Group, units: list[ClaimedUnit]) -> None:
        """Log how to move a batch that was tried BOTHRESH times or more: it may always fail."""
        tried = [unit for unit in units if unit.times_read]
        if not tried:
            return
        thresholds = {place: queue_at(group, place).backout_threshold for place in {unit.place for unit in tried}}
        # BOTHRESH(0), the default: nobody wants a message moved for that.
        often = [unit for unit in tried if 0 < thresholds[unit.place] <= unit.times_read]
        if not often:
            return
        log.warning(
            "batch_tried_again",
            stream=self.name,
            queue=", ".join(sorted({queue_of(unit.place.queue) for unit in often})),
            messages=sum(unit.messages for unit in units),
            times_read=max(unit.times_read for unit in often),
            to_move_it=f"igq pipeline backout {self.name} --checkpoint DIR",
        )

    def backed_out(self, claims: str) -> UnitBatch:
        """The decision that the messages of these claims are on a backout queue. The group keeps it for 30 days."""
        run, _ = _parts_of(claims)
        return UnitBatch(f"backout/{self.name}/{run}", kept_s=30 * 24 * 3600)

    def _connect(self) -> QueueManagerConnection:
        return connect_to(self.settings, self.qmgr)

    def _xids(self, claims: str) -> list[bytes]:
        return xids_of(self.name, claims)


@dataclass
class _Batch:
    """The claims that are being made for one batch.

    Attributes:
        per_unit: the most messages in a unit of work.
        after, most: as for `Claims.claim`.
    """

    claims: Claims
    term: int
    per_unit: int
    after: Claimed
    most: Mapping[str, int] | None

    def __post_init__(self) -> None:
        self._run, self._units = _parts_of(self.after.name) if self.after.name else (secrets.token_hex(8), 0)
        self._taken, self._xids = Counter(self.after.taken), list[bytes]()

    def claim(self, count: int) -> Claimed:
        """Claim *count* more messages. An exception gives back what this object has claimed."""
        try:
            with self.claims._at_work() as line:
                line.open(self.claims.names(), self.claims.selector)
                for queue in line.queues:
                    queue.search_once()
                messages = self._take(line, count)
        except MQIError:
            with suppress(MQIError):
                self.claims._give_back([unit for unit in self.claims.strays() if unit.xid in self._xids])
            raise
        name = f"{self._run}:{self._units}" if self._units else ""
        return Claimed(name, self.after.messages + messages, dict(self._taken))

    def _take(self, line: _Line, count: int) -> int:
        """Take *count* messages from all queues. A queue that has fewer than its share leaves the rest to others."""
        # Not the same queue comes first each time: a small batch may not come to all.
        line.queues.append(line.queues.pop(0))
        left, queues = count, list(line.queues)
        while left > 0 and queues and self._has_room:
            share = -(-left // len(queues))
            for queue in list(queues):
                asked = min(share, left, self._most(queue))
                got = self._take_from(line.connection, queue, asked)
                left -= got
                if got < share:
                    queues.remove(queue)
        return count - left

    def _take_from(self, connection: QueueManagerConnection, queue: Queue, count: int) -> int:
        taken = 0
        while taken < count and self._has_room:
            got = self.claims._get(connection, queue, min(count - taken, self.per_unit))
            if not got:
                break
            xid = _xid(self.claims.name, self._run, self._units)
            self._xids.append(xid)
            self.claims._prepare(connection, xid, self.term)
            self._units, taken = self._units + 1, taken + got
        self._taken[_name_of(queue)] += taken
        return taken

    @property
    def _has_room(self) -> bool:
        return self._units < TOGETHER_MAX

    def _most(self, queue: Queue) -> int:
        name = _name_of(queue)
        # The name is not among them if the queue became part of the alias later.
        return sys.maxsize if self.most is None else max(0, self.most.get(name, 0) - self._taken[name])


def _name_of(queue: Queue) -> str:
    return queue_of(queue.open_queue().name)


def _claimed_parts(group: Group, unit: PreparedUnit) -> Iterator[ClaimedUnit]:
    """A unit of work in each structure that it got messages from: a parted transmit queue is in several."""
    name = ""
    for structure, (queues, _) in unit.structures.items():
        # A unit begins with a get. The queues of its reports of delivery come after that.
        if name and queue_of(queues[0]) != name:
            continue
        place = QueuePart(queues[0], structure, group.structure_number(structure))
        yield ClaimedUnit(place, unit.id, unit.xid, 0 if name else unit.messages, unit.times_read or 0)
        name = queue_of(queues[0])


def _parts_of(claims: str) -> tuple[str, int]:
    """The common part of the units' names, and the number of units."""
    run, _, units = claims.partition(":")
    return run, int(units or 0)


def xids_of(name: str, claims: str) -> list[bytes]:
    """The external ids of the units of work that an offset names, in order."""
    run, units = _parts_of(claims)
    return [_xid(name, run, unit) for unit in range(units)]


def _xid(name: str, run: str, unit: int) -> bytes:
    return f"{prefix_of(name)}{run}/{unit}".encode()


def prefix_of(name: str) -> str:
    """The prefix of the external ids of a query's units of work."""
    return f"{CLAIM_PREFIX}{name}/"


def tag_of(name: str) -> bytes:
    """The connection tag that the driver of a query holds."""
    return f"{CLAIM_PREFIX}{name}/".encode()


def terms_of(name: str) -> str:
    """The series of batches whose numbers are the terms of a query's name that have ended."""
    return f"stream/{name}"


def queue_at(group: Group, place: QueuePart) -> QueueLocal:
    """The definition of the queue there. Raises MQIError: 2085 it is gone; 2009."""
    stored = LocalQueues(group, None, "").read(place.structure, [place.queue]).get(place.queue)
    if stored is None:
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", place.queue)
    return stored.definition


def back_out(connection: QueueManagerConnection, units: Iterable[PreparedUnit], prefix: str) -> int:
    """Back out the *units* whose external ids begin with *prefix*; return the number of messages."""
    ours = _begin_with(prefix, units)
    ended_otherwise = (XAReturn.XA_HEURCOM, XAReturn.XA_HEURMIX, XAReturn.XAER_NOTA)
    return _end(ours, connection.backout_prepared, ended_otherwise)


def _begin_with(prefix: str, units: Iterable[PreparedUnit]) -> Iterator[PreparedUnit]:
    return (unit for unit in units if unit.outcome is None and unit.xid.startswith(prefix.encode()))


def commit(connection: QueueManagerConnection, units: Iterable[PreparedUnit]) -> int:
    """Commit *units*; return the number of messages."""
    return _end(units, connection.commit_prepared, (XAReturn.XA_HEURRB, XAReturn.XA_HEURMIX, XAReturn.XAER_NOTA))


def _end(units: Iterable[PreparedUnit], end: Callable[..., bool], ended_otherwise: Collection[XAReturn]) -> int:
    messages = 0
    for unit in units:
        if unit.outcome is not None:
            continue
        try:
            end(unit.xid, qmgr=unit.qmgr)
        except XAError as error:
            # Another process has just ended it.
            if error.code not in ended_otherwise:
                raise
        else:
            messages += unit.messages
    return messages
