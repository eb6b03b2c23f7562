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
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from igq.pipeline.claims.tag import hold_tag
from igq.pipeline.claims.units import get_groups, get_messages
from igq.pipeline.errors import PipelineError
from sharedq.api import Queue, QueueManagerConnection, connect, group_for
from sharedq.calls.unit.in_doubt import TOGETHER_MAX, Batch, PreparedUnit, latest_batch, prepared_units
from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.errors import ConnTagInUse, MQIError, error_for
from sharedq.mqi.xa import XAError, XAReturn
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.store.local_queues import LocalQueues
from sharedq.reading.plan import count_available, find_places
from sharedq.reading.queue import Place
from sharedq.redis.keys import private_structure
from sharedq.settings.values import Settings

log = LibraryLogger(__name__)

#: External ids of claims begin with this, the name of the query and a slash.
CLAIM_PREFIX = "igq.stream/"


@dataclass(frozen=True, slots=True)
class ClaimedUnit:
    """A claimed unit of work: the place of its messages, its id, its external id, and the number of messages.

    ``times_read`` counts how often it was read. Only the first unit of each partition has a count.
    """

    place: Place
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
    """

    name: str = ""
    messages: int = 0


NOTHING = Claimed()


@dataclass
class Ending:
    """Claims whose commit is decided, and the connection that has to carry it out.

    If the connection or the process is lost before that, the group carries it out.
    """

    connection: QueueManagerConnection
    units: list[PreparedUnit]

    def carry_out(self) -> None:
        """Take the messages off the queue.

        Raises:
            MQIError: 2009, the group does it.
        """
        with self.connection:
            for unit in self.units:
                # Messages that a failed structure has lost are off the queue too. Those of its backup come again.
                self.connection.complete_prepared(unit)


@dataclass
class Claims:
    """The claims of one query.

    Attributes:
        name: the name of the query, unique in the group.
        per_unit: the most messages in a unit of work.
        whole_groups: claim a group in one unit of work, after it is complete.
    """

    settings: Settings
    queue: str
    qmgr: str
    name: str
    per_unit: int
    whole_groups: bool = False
    _held: QueueManagerConnection | None = field(default=None, repr=False)

    def hold(self) -> None:
        """Take the query's name, unless this driver has it.

        Raises:
            PipelineError: another driver has it (2271).
            MQIError: 2059 the manager is not running; 2009.
        """
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
        held, self._held = self._held, None
        if held is not None and not held.connection.is_ended:
            held.disconnect()

    def depth(self) -> int:
        """The approximate number of messages that can be claimed now."""
        return count_available(group_for(self.settings), self._places())

    def owner(self) -> str:
        """The owner of the queue: the manager, or the group if the queue is shared."""
        is_private = any(place.structure == private_structure(self.qmgr) for place in self._places())
        return self.qmgr if is_private else self.settings.group

    def _places(self) -> list[Place]:
        return find_places(group_for(self.settings), self.queue, self.qmgr)

    def term(self) -> int:
        """The term of a query that begins now: the number of releases of queries of its name."""
        latest = latest_batch(group_for(self.settings), terms_of(self.name))
        return 0 if latest is None else latest + 1

    def check_term(self, term: int) -> None:
        """Check that a term has not ended. Raises PipelineError: the query was released."""
        if term < self.term():
            raise self._released()

    def claim(self, count: int, term: int = 0, *, after: Claimed = NOTHING) -> Claimed:
        """Claim the first *count* messages on the queue, or as many as there are.

        With whole groups, the last group may make them more.

        Args:
            term: the term in which the query began.
            after: claims that were made for the same batch before.

        Returns:
            All that is claimed for the batch.

        Raises:
            PipelineError: the query was released meanwhile.
            MQIError: the queue cannot be read; 2024 a group is longer than a unit of work may be. The claims of this
                call go back; if Redis cannot be reached, `give_back` does that later.
        """
        run, units = _parts_of(after.name) if after.name else (secrets.token_hex(8), 0)
        messages, xids = after.messages, set[bytes]()
        try:
            with self._connect() as connection, connection.open(self.queue, OpenOption.INPUT_SHARED) as queue:
                while count > 0 and units < TOGETHER_MAX:
                    got = self._get(connection, queue, count)
                    if not got:
                        break
                    xid = _xid(self.name, run, units)
                    xids.add(xid)
                    self._prepare(connection, xid, term)
                    units, messages, count = units + 1, messages + got, count - got
        except MQIError:
            with suppress(MQIError):
                self._give_back(lambda unit: unit.xid in xids)
            raise
        return Claimed(f"{run}:{units}", messages) if units else NOTHING

    def _prepare(self, connection: QueueManagerConnection, xid: bytes, term: int) -> None:
        try:
            connection.prepare(xid, Batch(terms_of(self.name), term), must_be_read=True, for_group=True)
        except XAError as error:
            connection.backout()
            if error.code != XAReturn.XAER_PROTO:
                raise
            raise self._released() from error

    def _get(self, connection: QueueManagerConnection, queue: Queue, count: int) -> int:
        most = connection.connection.max_uncommitted
        if self.whole_groups:
            # Leave room for the rest of the last group.
            return get_groups(connection, queue, min(count, self.per_unit, max(1, most // 2)))
        return get_messages(queue, min(count, self.per_unit, most))

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
        """Put all claims of the name except *but* back on the queue; return the number of messages.

        Raises:
            PipelineError: a task has read some of them, though Spark has noted none: another checkpoint has them, and
                they may have been processed. Nothing goes back.
        """
        kept = set(self._xids(but))
        return self._give_back(lambda unit: unit.xid not in kept, may_be_read=bool(but))

    def give_back_only(self, claims: str) -> int:
        """Put these claims, which Spark does not know, back on the queue; return the number of messages."""
        unwanted = set(self._xids(claims))
        return self._give_back(lambda unit: unit.xid in unwanted)

    def _give_back(self, is_unwanted: Callable[[PreparedUnit], bool], *, may_be_read: bool = True) -> int:
        with self._connect() as connection:
            group = connection.connection.group
            units = [*filter(is_unwanted, prepared_units(group, group.name))]
            if not may_be_read and any(not unit.is_unread for unit in _begin_with(prefix_of(self.name), units)):
                raise PipelineError(
                    f"stream {self.name}: a query of that name has claimed messages of {self.queue} that were read, and"
                    " this one has a new checkpoint: they would come twice. Start it with its own checkpoint, or"
                    f" release them: igq pipeline release {self.name} --checkpoint ITS"
                )
            return back_out(connection, units, prefix_of(self.name))

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
            # A unit begins with a get. The queues of its reports of delivery come after that.
            structure, (queues, _) = next(iter(unit.structures.items()))
            place = Place(queues[0], structure, group.structure_number(structure))
            found.append(ClaimedUnit(place, unit.id, xid, unit.messages, unit.times_read or 0))
        self._tell_of_tries(group, found)
        return found

    def _tell_of_tries(self, group: Group, units: list[ClaimedUnit]) -> None:
        """Log how to move a batch that was tried BOTHRESH times or more: it may always fail."""
        times = max((unit.times_read for unit in units), default=0)
        if not times or times < queue_at(group, units[0].place).backout_threshold:
            return
        log.warning(
            "batch_tried_again",
            stream=self.name,
            queue=units[0].place.queue,
            messages=sum(unit.messages for unit in units),
            times_read=times,
            to_move_it=f"igq pipeline backout {self.name} --checkpoint DIR",
        )

    def backed_out(self, claims: str) -> Batch:
        """The decision that the messages of these claims are on a backout queue. The group keeps it for 30 days."""
        run, _ = _parts_of(claims)
        return Batch(f"backout/{self.name}/{run}", kept_s=30 * 24 * 3600)

    def _connect(self) -> QueueManagerConnection:
        return connect(self.qmgr, settings=self.settings, appl_name="igq pipeline")

    def _xids(self, claims: str) -> list[bytes]:
        return xids_of(self.name, claims)


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


def queue_at(group: Group, place: Place) -> QueueLocal:
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
