"""Follows messages through queues and managers, by the journals: each put, hop and get, and what became of it.

The journals are read from their beginning, entry by entry: nothing else knows what is no longer there. A million
entries take seconds. A message that an agent carries into another structure keeps its MsgId, so its way goes on there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sharedq.members.group import Group
from sharedq.messages.record import generated_number
from sharedq.objects.store.structures import Away, in_each
from sharedq.reading.journal import JournalEntry, JournalRow, expand, position_order
from sharedq.reading.journal_pages import Page, read_pages
from sharedq.reading.plan import is_stored

#: Outcomes of an event.
DONE, COMMITTED, BACKED_OUT, IN_DOUBT, NOT_ENDED = "done", "committed", "backed out", "in doubt", "not ended"
_ENDS = {"commit": COMMITTED, "backout": BACKED_OUT, "prepare": IN_DOUBT}
_PUT, _UNDO = b"put", "undo"


@dataclass(frozen=True, slots=True)
class Identifiers:
    """The messages that are meant: of one identifier, 24 bytes each; the others are empty."""

    msg_id: bytes = b""
    correl_id: bytes = b""
    group_id: bytes = b""


@dataclass(slots=True)
class WayStep:
    """Something that happened to a message.

    Attributes:
        row: as the journal tells it.
        outcome: what became of it.
        ended_us: when its unit of work was committed or backed out, microseconds since 1970; None: not, or it had none.
        msg_id, correl_id, group_id: of the message, hexadecimal; None: not known, or nulls.
    """

    row: JournalRow
    outcome: str = DONE
    ended_us: int | None = None
    msg_id: str | None = None
    correl_id: str | None = None
    group_id: str | None = None
    is_recovered: bool = False


@dataclass(slots=True)
class MessageWay:
    """The way of the messages of an identifier.

    Attributes:
        steps: in order of time.
        stored: structure and id of the messages that still exist, each with its last queue.
        entries: of the journals, that were read.
        trimmed: structures whose journals have lost their beginnings, so something may be missing.
        away: structures that cannot be read now, with the reason.
    """

    steps: list[WayStep] = field(default_factory=list)
    stored: dict[tuple[str, str], str] = field(default_factory=dict)
    entries: int = 0
    trimmed: list[str] = field(default_factory=list)
    away: dict[str, str] = field(default_factory=dict)


def trace(
    group: Group,
    wanted: Identifiers,
    *,
    queue: str = "",
    start: str = "-",
    end: str = "+",
    tell: Callable[[int], None] = lambda _: None,
) -> MessageWay:
    """Follow the messages that were put with an identifier.

    Args:
        queue: only what happened at this queue; empty: everything.
        start, end: positions in the journal, as `sharedq.reading.journal.parse_position` gives them.
        tell: told how many entries were read since it was told last.

    Raises:
        MQIError: 2009, Redis cannot be reached; 2035.
        JournalError: an entry is not in the format of the journal.
    """
    way, away = MessageWay(), Away()

    def follow(name: str) -> None:
        follower = _Follower(name, group.structure_number(name), wanted)
        for page in read_pages(group, name, start, end):
            follower.read(page)
            way.entries += len(page.entries)
            tell(len(page.entries))
            if page.is_trimmed and name not in way.trimmed:
                way.trimmed.append(name)
        steps = follower.ended()
        for step in steps:
            key = (name, step.row.message_id or "")
            place = step.row.target_queue or step.row.queue
            if step.row.event in ("put", "transfer") and step.outcome != BACKED_OUT and place:
                way.stored[key] = place
        way.steps += steps

    in_each(group, group.structure_names(), follow, away)
    there = in_each(group, {key[0] for key in way.stored}, lambda name: _stored_in(group, name, way), away)
    way.stored = {key: place for its in there.values() for key, place in its.items()}
    way.away = {name: str(error) for name, error in away.items()}
    way.steps = [step for step in way.steps if not queue or queue in (step.row.queue, step.row.target_queue)]
    way.steps.sort(key=lambda step: _order(step.row))
    return way


def _stored_in(group: Group, structure: str, way: MessageWay) -> dict[tuple[str, str], str]:
    its = {key: place for key, place in way.stored.items() if key[0] == structure}
    return {key: place for key, place in its.items() if is_stored(group, *key)}


def describe(step: WayStep) -> dict[str, Any]:
    """Return a step as JSON has it. Names are what others wrote."""
    row = step.row
    return {
        "time": shown_time(row.time_us),
        "event": row.event,
        "outcome": step.outcome,
        "ended": shown_time(step.ended_us) if step.ended_us else None,
        "qmgr": row.qmgr,
        "queue": row.queue,
        "target_queue": row.target_queue,
        "program": row.owner,
        "unit_of_work": row.unit_of_work,
        "structure": row.structure,
        "message": row.message_id,
        "msg_id": step.msg_id,
        "correl_id": step.correl_id,
        "group_id": step.group_id,
        "msg_seq_number": row.msg_seq_number,
        "length": row.length,
        "persistent": row.persistent,
        "priority": row.priority,
        "dead_letter": row.dead_letter,
        "recovered": step.is_recovered,
    }


def shown_time(time_us: int) -> str:
    """Return a time for people, ISO 8601 to the millisecond in UTC."""
    return f"{datetime.fromtimestamp(time_us / 1_000_000, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"


class _Follower:
    """Reads the journal of one structure, in its order, and keeps what happened to the messages that are meant."""

    def __init__(self, structure: str, number: int, wanted: Identifiers) -> None:
        self._structure, self._number = structure, number
        given = (wanted.msg_id, wanted.correl_id, wanted.group_id)
        # Their places in the description of a put.
        self._asked = {place: value.hex() for place, value in enumerate(given) if value}
        self._needles = [value.hex().encode() for value in given if value]
        generated = generated_number(wanted.msg_id, number) if wanted.msg_id else None
        self._generated = None if generated is None else str(generated).encode()
        #: Numbers of the messages that are meant, and their puts.
        self._numbers: dict[bytes, JournalRow | None] = {} if self._generated is None else {self._generated: None}
        self._steps: list[WayStep] = []
        #: Unit of work -> its end so far: outcome, when, and whether a peer ended it.
        self._units: dict[str, tuple[str, int | None, bool]] = {}

    def read(self, page: Page) -> None:
        """Read a page of entries."""
        for stream_id, flat in page.entries:
            fields = dict(zip(flat[::2], flat[1::2], strict=True))
            ids = fields.get(b"i")
            if ids is None:
                self._end(stream_id, fields)
            elif (fields[b"e"] == _PUT and self._may_mean(fields)) or self._has_known(ids):
                self._keep(stream_id, fields)

    def ended(self) -> list[WayStep]:
        """Return the steps with their outcomes."""
        undone = {step.row.message_number for step in self._steps if step.row.event == _UNDO}
        for step in self._steps:
            row = step.row
            put = self._numbers.get(str(row.message_number).encode())
            if put is not None:
                step.msg_id, step.correl_id, step.group_id = put.msg_id, put.correl_id, put.group_id
            step.is_recovered = row.recovered
            if row.event == "put" and row.message_number in undone:
                step.outcome = BACKED_OUT
            elif row.unit_of_work:
                step.outcome, step.ended_us, is_recovered = self._units.get(row.unit_of_work, (NOT_ENDED, None, False))
                step.is_recovered = step.is_recovered or is_recovered
        return [step for step in self._steps if step.row.event != _UNDO]

    def _may_mean(self, fields: Mapping[bytes, bytes]) -> bool:
        details = fields[b"d"].lower()
        return all(needle in details for needle in self._needles) or self._generated is not None

    def _has_known(self, ids: bytes) -> bool:
        known = self._numbers
        return bool(known) and any(each.rstrip(b"x").partition(b".")[0] in known for each in ids.split())

    def _keep(self, stream_id: bytes, fields: Mapping[bytes, bytes]) -> None:
        for row in expand(JournalEntry(stream_id.decode(), fields), self._structure, self._number):
            number = str(row.message_number).encode()
            if row.event == "put":
                if self._is_meant(row):
                    self._numbers[number] = row
                else:
                    # Only the number was that of the MsgId.
                    self._numbers.pop(number, None)
            if number in self._numbers:
                self._steps.append(WayStep(row))
                if row.unit_of_work:
                    self._units.setdefault(row.unit_of_work, (NOT_ENDED, None, False))

    def _is_meant(self, row: JournalRow) -> bool:
        has = (row.msg_id, row.correl_id, row.group_id)
        return all(has[place] == value for place, value in self._asked.items())

    def _end(self, stream_id: bytes, fields: Mapping[bytes, bytes]) -> None:
        unit = fields.get(b"u", b"").decode()
        outcome = _ENDS.get(fields[b"e"].decode())
        known = self._units.get(unit)
        # A large unit of work ends in several chunks: the first is the decision.
        if outcome is None or known is None or known[0] in (COMMITTED, BACKED_OUT):
            return
        ms = position_order(stream_id.decode(), is_end=False)[0]
        self._units[unit] = (outcome, None if outcome == IN_DOUBT else ms * 1000, fields.get(b"r") == b"1")


def _order(row: JournalRow) -> tuple[int, str, tuple[int, int], int]:
    return row.time_us, row.structure, position_order(row.stream_id, is_end=False), row.position
