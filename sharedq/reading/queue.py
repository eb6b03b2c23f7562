"""Reads the messages on a queue without opening it: for readers of many messages at once, such as Spark.

A reader holds no handle, no lease and no lock, and changes no message. The queue is planned as ranges of positions,
which any process may read at any time and in parallel; each call of a script returns a slice of one range. The plan is
made in ``sharedq.reading.plan``, so that a process that only reads need not import definitions and managers.

A range returns the messages that are available when it is read: no uncommitted, locked or expired message, and none
that was put after the ranges were planned. A message that is got meanwhile is missing. No message is returned twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from sharedq.messages.record import generated_number
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import MAX_PRIORITY
from sharedq.redis.deployment import Deployment
from sharedq.redis.keys import StructureKeys, admin_keys, prepared_field, structure_keys
from sharedq.redis.link import Argument, Link, Reply, ScriptCall
from sharedq.redis.outage import ride_out
from sharedq.scripts.reading import note_read_call, read_range_call, read_unit_call

#: The most messages and bytes that one call visits: about a millisecond of the server's time.
SLICE_MESSAGES, SLICE_BYTES = 500, 1 << 20
#: Messages of the first slice of a unit of work, when their length is not known yet.
SLICE_MESSAGES_FIRST = 50
_OPERATIONS_TOGETHER = 20
#: Seconds without an answer after which a connection is lost.
_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class QueuePart:
    """The messages of a queue in one structure: the whole queue, or a part of a queue that several structures hold."""

    queue: str
    structure: str
    number: int


@dataclass(frozen=True, slots=True)
class ReadRange:
    """Positions after ``after`` and up to ``until``, of messages that had arrived by number ``newest``."""

    place: QueuePart
    after: int
    until: int
    newest: int


@dataclass(frozen=True, slots=True)
class ReadFilter:
    """A selection of messages. All conditions must hold; ``b""`` and None are no conditions.

    Attributes:
        msg_id: may also find messages with other generated MsgIds, so compare again.
        priority_min, priority_max: of the descriptor. The highest priority also stands for all above it.
        put_from_ms, put_until_ms: put time, milliseconds since 1970, both included. A message with an invalid put date
            never matches.
        selector: a condition on descriptor and properties, as ``sharedq.selectors`` writes it for scripts.
    """

    msg_id: bytes = b""
    correl_id: bytes = b""
    group_id: bytes = b""
    priority_min: int = 0
    priority_max: int = MAX_PRIORITY
    put_from_ms: int | None = None
    put_until_ms: int | None = None
    selector: str = ""

    @property
    def has_identifier(self) -> bool:
        """Whether the selection index leads to the messages."""
        return bool(self.msg_id or self.correl_id or self.group_id)


ALL = ReadFilter()


@dataclass(frozen=True, slots=True)
class Slice:
    """Some messages of one place in stored form, which ``sharedq.messages.record`` decodes.

    Attributes:
        now_ms: the time when they were read, by Redis' clock, since 1970.
        ids: their message ids, separated by blanks.
        positions: on the queue, separated by blanks. Of a run of numbers perhaps only the first is given.
        records: whole, or with the beginning of their data, or without any.
        lengths: of the whole data, separated by blanks. Empty if the records are whole.
    """

    place: QueuePart
    now_ms: int
    ids: bytes
    positions: bytes
    records: list[bytes]
    lengths: bytes


class Reader:
    """Reads ranges over one connection.

    Args:
        has_data: fetch the messages' data, too.
        beginning: without the data, fetch so many bytes from their beginning. Only `read` does.
        outage_s: the seconds for which Redis may be away. A question is repeated over a new connection.

    Raises:
        MQIError: from every call: 2009, Redis cannot be reached; 2035, it refuses us.
    """

    def __init__(
        self,
        deployment: Deployment,
        group: str,
        *,
        has_data: bool = True,
        beginning: int = 0,
        wanted: ReadFilter = ALL,
        outage_s: float = 0,
    ) -> None:
        self._deployment, self._outage_s = deployment, outage_s
        self._link = Link(deployment, timeout_s=_TIMEOUT_S)
        self._group = group
        self._has_data = has_data
        self._data: Argument = "" if has_data else beginning
        self._wanted = wanted

    def read(self, what: ReadRange) -> Iterator[Slice]:
        """Yield the range's messages in delivery order, some at a time."""
        while True:
            after, now_ms, *found = self._slice(what)
            if found[0]:
                yield Slice(what.place, int(now_ms), *found)
            if not after:
                return
            what = replace(what, after=int(after))

    def read_unit(self, place: QueuePart, unit_id: str) -> Iterator[Slice]:
        """Yield what a prepared unit of work got in *place*, in its order, some at a time.

        Raises:
            MQIError: 2003, it has ended. The slices so far are not everything.
        """
        keys = structure_keys(self._group, place.structure)
        read = self._read_unit_whole if self._has_data else self._read_unit_heads
        return read(place, unit_id, keys)

    def note_read(self, qmgr: str, xid: bytes) -> None:
        """Note that the prepared unit of work of *qmgr*, or the group, with *xid* was read, and so may be committed."""
        self._call(note_read_call(admin_keys(self._group), prepared_field(qmgr, xid)))

    def _read_unit_whole(self, place: QueuePart, unit_id: str, keys: StructureKeys) -> Iterator[Slice]:
        """Read by plain commands: a script would copy each record in and out, which is four times the work."""
        unit, messages = keys.unit_of_work + unit_id, keys.messages
        position, count = 1, SLICE_MESSAGES_FIRST
        key = unit.encode()
        look = (b"LRANGE", key, b"0", b"0")
        while True:
            more = (b"LRANGE", key, b"%d" % position, b"%d" % (position + _OPERATIONS_TOGETHER - 1))
            state, operations = self._commands(unit, [look, more])
            if not _is_whole(state, []):
                raise _unit_ended(unit_id)
            if not operations:
                return
            position += len(operations)
            # "G" with the count, the queue, ids, scores: see prelude/unit_of_work. Reports that confirm these gets are
            # put in the same unit of work.
            parts = (each.split(b"\n", 3) for each in operations)
            left = [(ids.split(), scores) for kind, _, ids, scores in parts if kind[:1] != b"P"]
            while left:
                some, left = _first(left, count)
                gets = [(b"HMGET", messages.encode(), *ids) for ids, _ in some]
                # Read the state after the records: if the unit is not being ended then, they were all there.
                *found, state, (seconds, micros) = self._commands(unit, [*gets, look, (b"TIME",)])
                if not _is_whole(state, found):
                    raise _unit_ended(unit_id)
                now_ms = int(seconds) * 1000 + int(micros) // 1000
                for (ids, scores), records in zip(some, found, strict=True):
                    yield Slice(place, now_ms, b" ".join(ids), scores, records, b"")
                total = sum(map(len, chain.from_iterable(found)))
                count = min(SLICE_MESSAGES, SLICE_BYTES * sum(map(len, found)) // total + 1)

    def _read_unit_heads(self, place: QueuePart, unit_id: str, keys: StructureKeys) -> Iterator[Slice]:
        """Read without the messages' data."""
        position = 1
        while position > 0:
            call = read_unit_call(keys, unit_id, position, SLICE_MESSAGES, SLICE_BYTES)
            position, *found = self._call(call)
            if position < 0:
                raise _unit_ended(unit_id)
            now_ms, operations = found
            for operation in operations:
                yield Slice(place, int(now_ms), *operation)

    def close(self) -> None:
        """Close the connection."""
        self._link.close()

    def _slice(self, what: ReadRange) -> Reply:
        wanted, keys = self._wanted, structure_keys(self._group, what.place.structure)
        number = generated_number(wanted.msg_id, what.place.number)
        arguments: list[Argument] = [
            *(what.after, what.until, what.newest, SLICE_MESSAGES, SLICE_BYTES, self._data),
            *("" if number is None else number, wanted.msg_id, wanted.correl_id, wanted.group_id),
            *(wanted.priority_min, wanted.priority_max),
            *("" if ms is None else ms for ms in (wanted.put_from_ms, wanted.put_until_ms)),
            *(wanted.selector, what.place.number),
        ]
        return self._call(read_range_call(keys, keys.queue(what.place.queue), arguments))

    def _call(self, call: ScriptCall) -> Reply:
        return self._ask(lambda link: link.call(*call))

    def _commands(self, key: str, commands: Sequence[Sequence[bytes]]) -> list[Reply]:
        found: list[Reply] = self._ask(lambda link: link.commands(key, commands))
        return found

    def _ask(self, ask: Callable[[Link], Reply]) -> Reply:
        """Ask a question, which changes no message and so may be asked again."""
        return ride_out(self._outage_s, lambda: ask(self._link), self._connect_anew)

    def _connect_anew(self) -> None:
        self._link.close()
        self._deployment.forget()
        self._link = Link(self._deployment, timeout_s=_TIMEOUT_S)


_Operation = tuple[list[bytes], bytes]


def _first(operations: list[_Operation], count: int) -> tuple[list[_Operation], list[_Operation]]:
    """Split operations (ids and scores of messages) after the first *count* messages."""
    some: list[_Operation] = []
    while operations and count:
        (ids, scores), *operations = operations
        if len(ids) > count:
            scores, rest = _split(scores, count)
            operations = [(ids[count:], rest), *operations]
        some.append((ids[:count], scores))
        count -= len(some[-1][0])
    return some, operations


def _split(scores: bytes, count: int) -> tuple[bytes, bytes]:
    """Split scores after the first *count*. Of a run only the first score is stored."""
    each = scores.split()
    if len(each) == 1:
        return scores, b"%d" % (int(scores) + count)
    return b" ".join(each[:count]), b" ".join(each[count:])


def _unit_ended(unit_id: str) -> MQIError:
    return error_for(MQRC.BACKED_OUT, "", unit_id, "the unit of work to be read has ended")


def _is_whole(state: Sequence[bytes], found: Sequence[Sequence[bytes | None]]) -> bool:
    """Whether a unit of work was neither ended nor being ended when its records were read."""
    return bool(state) and state[0].startswith(b"A") and not any(None in records for records in found)
