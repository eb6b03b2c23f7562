"""A model of groups and segments: IBM's sentences about MQGET, by a look at all messages each time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from sharedq.mqi.constants import MQRC
from tests.model.grouped_calls import (
    ANY_IN_GROUP,
    ANY_SEGMENT,
    BEFORE_ALL,
    IN_GROUP,
    LAST_IN_GROUP,
    LAST_SEGMENT,
    SEGMENT,
    Ask,
    Got,
    Message,
    Open,
    Place,
    Put,
)
from tests.model.grouped_puts import left_open, pieces, placed


@dataclass
class Unit:
    """The unit of work of a connection: its puts and gets; of the gets, those that a backout leaves."""

    put: list[Message] = field(default_factory=list)
    got: list[Message] = field(default_factory=list)
    skipped: list[Message] = field(default_factory=list)
    #: The most messages that it may hold.
    limit: int = 10_000

    @property
    def is_active(self) -> bool:
        return bool(self.put or self.got)

    @property
    def room(self) -> int:
        return self.limit - len(self.put) - len(self.got)

    def end(self, got: Sequence[Message] = ()) -> None:
        """Begin the next one, with messages that are *got* already."""
        self.put, self.got, self.skipped = [], list(got), []


@dataclass
class Program:
    """A handle of a connection: its retained state, its browse cursor."""

    unit: Unit
    gets: Open | None = None
    browses: Open | None = None
    puts: Open | None = None
    #: The retained state before each change in the unit of work.
    gets_before: list[Open | None] = field(default_factory=list)
    puts_before: list[Open | None] = field(default_factory=list)
    browse_is_logical: bool | None = None
    cursor: Place = BEFORE_ALL
    begins_at: Place = BEFORE_ALL
    under_cursor: Message | None = None
    #: Arrival numbers of messages that the handle has locked.
    locked: set[int] = field(default_factory=set)
    #: Arrival numbers of messages that it has marked for itself.
    marked: set[int] = field(default_factory=set)

    def restore(self) -> None:
        """Undo the changes of a unit of work that was backed out."""
        if self.gets_before:
            self.gets = self.gets_before[0]
        if self.puts_before:
            self.puts = self.puts_before[0]
        self.forget()

    def forget(self) -> None:
        self.gets_before, self.puts_before = [], []


@dataclass
class Attributes:
    """The attributes of the queue."""

    default_priority: int = 0
    is_fifo: bool = False
    is_group_indexed: bool = False
    max_length: int = 16
    are_gets_inhibited: bool = False
    are_puts_inhibited: bool = False

    def effective_priority(self, message: Message) -> int:
        """The place of a message that arrives now."""
        if self.is_fifo:
            return self.default_priority
        begins = message.flags & ANY_IN_GROUP and (message.seq, message.offset) == (1, 0)
        return max(message.priority, 2) if begins and self.is_group_indexed else message.priority


class GroupedModel:
    """One queue. ``connections``: the connection of each handle."""

    def __init__(self, connections: Sequence[int], together: Iterable[int] = ()) -> None:
        #: Programs whose handles co-operate, and the arrival numbers of messages that are marked for all of them.
        self.together, self.marked_together = set(together), set[int]()
        self.queue = Attributes()
        self.available: list[Message] = []
        #: Arrival numbers of expired messages.
        self.dead: set[int] = set()
        self.units = {connection: Unit() for connection in connections}
        self.programs = [Program(self.units[connection]) for connection in connections]
        self._arrivals = 0
        self._looking: Program | None = None

    def in_order(self) -> list[Message]:
        """The available messages, in physical order, for a handle (default: one that has nothing locked)."""
        hidden = {arrival for program in self.programs if program is not self._looking for arrival in program.locked}
        hidden |= self.dead
        return sorted(
            (message for message in self.available if message.arrival not in hidden),
            key=lambda message: message.place,
        )

    def marked(self) -> list[set[int]]:
        """Arrival numbers of marked messages, by program; the last entry is the co-operating set."""
        return [*(program.marked for program in self.programs), self.marked_together]

    # -- MQPUT -----------------------------------------------------------------------------------------------------

    def put(self, number: int, asked: Put, generated: bytes = b"") -> tuple[MQRC, list[Message]]:
        """MQPUT: the reason, and the physical messages as they arrived. *generated*: a GroupId that nothing has."""
        program, unit = self.programs[number], self.programs[number].unit
        if asked.in_unit and unit.room < 1:
            return MQRC.SYNCPOINT_LIMIT_REACHED, []
        reason, message = placed(asked, program.puts, generated)
        is_refused = asked.logical or reason == MQRC.SEGMENT_LENGTH_ZERO
        if reason and is_refused:
            return reason, []
        parts = pieces(message, self.queue.max_length)
        failure = self._refuses(asked, unit, parts)
        if parts is None or failure:
            return failure, []
        arrived = []
        for part in parts:
            self._arrivals += 1
            effective = self.queue.effective_priority(part)
            arrived.append(replace(part, arrival=self._arrivals, effective_priority=effective))
        if asked.in_unit:
            unit.put += arrived
            # A plain message has nothing to do with what is retained: to back it out changes nothing of that.
            if asked.logical or program.puts or asked.message.flags or asked.message.group_id:
                program.puts_before.append(program.puts)
        else:
            self.available += arrived
            if left_open(asked, message) != program.puts:
                program.puts_before.clear()
        program.puts = left_open(asked, message)
        return reason, arrived

    def _refuses(self, asked: Put, unit: Unit, parts: list[Message] | None) -> MQRC:
        if parts is None:
            return MQRC.MSG_TOO_BIG_FOR_Q
        if asked.in_unit and len(parts) > unit.room:
            return MQRC.SYNCPOINT_LIMIT_REACHED
        if len(parts) > 1 and asked.message.persistence and unit.is_active and not asked.in_unit:
            return MQRC.UOW_NOT_AVAILABLE
        return MQRC.PUT_INHIBITED if self.queue.are_puts_inhibited else MQRC.NONE

    # -- units of work ---------------------------------------------------------------------------------------------

    def commit(self, number: int) -> None:
        """MQCMIT."""
        unit = self.programs[number].unit
        self.available += unit.put
        unit.end()
        for program in self._of(unit):
            program.forget()

    def backout(self, number: int) -> None:
        """MQBACK: a message marked to skip it stays got in the next unit of work. Everything else is undone."""
        unit = self.programs[number].unit
        kept = unit.skipped
        unit.got = [message for message in unit.got if message not in kept]
        self._undo(unit)
        unit.end(kept)

    def _of(self, unit: Unit) -> list[Program]:
        return [program for program in self.programs if program.unit is unit]

    def _undo(self, unit: Unit) -> None:
        """The retained state of the handles is restored, too."""
        self.available += [replace(message, backout_count=message.backout_count + 1) for message in unit.got]
        for program in self._of(unit):
            program.restore()
        unit.end()

    def replace_connection(self, connection: int) -> None:
        """It died, and its unit of work was backed out."""
        unit = self.units[connection]
        self._undo(unit)
        for number, program in enumerate(self.programs):
            if program.unit is unit:
                self.reopen(number)

    def reopen(self, number: int) -> None:
        """MQCLOSE and MQOPEN: the unit of work goes on, with no state to restore for the handle."""
        self.programs[number] = Program(self.programs[number].unit)

    def reopen_all(self) -> None:
        """All are closed before the first is opened again, so the marks of the co-operating set are gone."""
        for number in range(len(self.programs)):
            self.reopen(number)
        self.marked_together = set()

    def let_time_pass(self) -> None:
        """Let expiring messages expire, wherever they are."""
        there = [*self.available, *(each for unit in self.units.values() for each in (*unit.put, *unit.got))]
        self.dead |= {message.arrival for message in there if message.expires}

    # -- what is complete ------------------------------------------------------------------------------------------

    def is_message_complete(self, message: Message) -> bool:
        """Whether all segments of its logical message are there."""
        return not message.is_segment or self._segments(message.group_id, message.seq, 0) is not None

    def is_group_complete(self, message: Message) -> bool:
        """Whether all messages of its group are there."""
        if not message.is_member:
            return True
        if not message.flags & ANY_IN_GROUP:
            return self.is_message_complete(message)
        counted: dict[tuple[int, int], Message] = {}
        for each in self.in_order():
            if each.group_id == message.group_id and each.is_member:
                counted.setdefault((each.seq, each.offset), each)
        highest = max(seq for seq, _ in counted)
        whole = {each.seq for each in counted.values() if self.is_message_complete(each)}
        last = {each.seq for each in counted.values() if each.flags & LAST_IN_GROUP and each.ends_message}
        return highest in last and whole == set(range(1, highest + 1))

    def _segments(self, group_id: bytes, seq: int, offset: int) -> list[Message] | None:
        """The segments from *offset* to the last; None if one is missing."""
        for each in self.in_order():
            if each.is_segment and (each.group_id, each.seq, each.offset) == (group_id, seq, offset):
                if each.flags & LAST_SEGMENT:
                    return [each]
                rest = self._segments(group_id, seq, offset + len(each.body))
                return None if rest is None else [each, *rest]
        return None

    # -- MQGET -----------------------------------------------------------------------------------------------------

    def unlock(self, number: int) -> MQRC:
        """MQGET with UNLOCK."""
        had = bool(self.programs[number].locked)
        self.programs[number].locked = set()
        return MQRC.NONE if had else MQRC.NO_MSG_LOCKED

    def get(self, number: int, ask: Ask) -> Got:
        """MQGET with SYNCPOINT or without, or a browse with LOCK or without."""
        program = self.programs[number]
        if self._has_wrong_options(number, ask):
            return Got(MQRC.OPTIONS_ERROR)
        if ask.in_unit and program.unit.room < 1:
            return Got(MQRC.SYNCPOINT_LIMIT_REACHED)
        if ask.skips and program.unit.skipped:
            return Got(MQRC.SECOND_MARK_NOT_ALLOWED)
        self._looking = program
        got, items = self._get(program, ask)
        self._looking = None
        if not ask.browse:
            program.locked -= {item.arrival for item in items}
        elif got.message is not None and got.reason != MQRC.TRUNCATED_MSG_FAILED:
            # A browse of another message unlocks the previous one. Under the cursor it is the same message.
            if not (ask.browse == "under" and ask.lock):
                program.locked = set()
            if ask.lock:
                program.locked |= {item.arrival for item in items}
        elif got.reason == MQRC.NO_MSG_AVAILABLE:
            program.locked = set()
        return got

    def fitting(self, number: int, ask: Ask) -> list[Message]:
        """The messages that an MQGET could return now, in order. A waiting one may get more than the first."""
        program = self._looking = self.programs[number]
        found = list(self._candidates(program, ask, self._current(program, ask)))
        self._looking = None
        return found

    def refusals(self, number: int, ask: Ask) -> set[MQRC]:
        """The reason for which a waiting MQGET may be refused, given the first message that `fitting` finds."""
        program = self._looking = self.programs[number]
        current, reasons = self._current(program, ask), set[MQRC]()
        for found in self._candidates(program, ask, current):
            if ask.logical and current:
                reasons.add(self._is_not_the_next(ask, current, found))
            if not ask.browse:
                reasons.add(self._must_not_be_got(program, ask, found))
        self._looking = None
        return reasons

    def served(self, number: int, ask: Ask, found: Message) -> None:
        """End a wait with this message, as an MQGET that finds it would."""
        program = self._looking = self.programs[number]
        if ask.browse:
            program.locked = set()
            items, whole = self._put_together(found, ask)
            self._browsed(program, ask, whole)
            if ask.lock:
                program.locked = {item.arrival for item in items}
        else:
            _, items = self._take(program, ask, found)
            program.locked -= {item.arrival for item in items}
        self._looking = None

    def refuses(self, number: int, ask: Ask) -> MQRC:
        """The reason for which a get is refused, or finds nothing, without a look at the queue."""
        program = self.programs[number]
        wrong = MQRC.OPTIONS_ERROR if self._has_wrong_options(number, ask) else MQRC.NONE
        return wrong or self._refused(program, ask, self._current(program, ask))

    def _has_wrong_options(self, number: int, ask: Ask) -> bool:
        is_for_the_set = bool(set(ask.marks) & set("cC"))
        is_excluded = ask.level == "complete" and (ask.offset is not None or ask.if_persistent)
        return (is_for_the_set and number not in self.together) or is_excluded

    def _get(self, program: Program, ask: Ask) -> tuple[Got, list[Message]]:
        """The answer, and the physical messages that it is about."""
        if ask.browse == "under":
            return self._browse_under_cursor(program, ask)
        if ask.under_cursor:
            return self._get_under_cursor(program, ask)
        current = self._current(program, ask)
        reason = self._refused(program, ask, current)
        if reason or self.queue.are_gets_inhibited:
            return Got(reason or MQRC.GET_INHIBITED), []
        found = next(iter(self._candidates(program, ask, current)), None)
        if found is None:
            return Got(MQRC.NO_MSG_AVAILABLE), []
        if ask.logical and current and (reason := self._is_not_the_next(ask, current, found)):
            return Got(reason), []
        if not ask.browse:
            return self._take(program, ask, found)
        items, whole = self._put_together(found, ask)
        returned = self._returned(whole, ask)
        if returned.reason == MQRC.TRUNCATED_MSG_FAILED:
            return returned, []
        if not self._mark(program, ask, found):
            return Got(MQRC.MSG_MARKED_BROWSE_CO_OP), []
        self._browsed(program, ask, whole)
        return returned, items

    @staticmethod
    def _current(program: Program, ask: Ask) -> Open | None:
        """The state that the call continues."""
        if ask.browse == "first":
            return None
        return program.browses if ask.browse else program.gets

    @staticmethod
    def _is_not_the_next(ask: Ask, current: Open, found: Message) -> MQRC:
        if ask.correl_id not in (b"", found.correl_id) or ask.arrival not in (0, found.arrival):
            return MQRC.MATCH_OPTIONS_ERROR
        if ask.if_persistent and bool(found.persistence) != current.in_unit:
            return MQRC.INCONSISTENT_UOW
        return MQRC.NONE

    def _must_not_be_got(self, program: Program, ask: Ask, found: Message) -> MQRC:
        items, _ = self._put_together(found, ask)
        if len(items) > 1 and found.persistence and not ask.in_unit and program.unit.is_active:
            return MQRC.UOW_NOT_AVAILABLE
        if ask.is_in_unit(found) and len(items) > program.unit.room:
            return MQRC.SYNCPOINT_LIMIT_REACHED
        return MQRC.NONE

    def _take(self, program: Program, ask: Ask, found: Message) -> tuple[Got, list[Message]]:
        if reason := self._must_not_be_got(program, ask, found):
            return Got(reason), []
        items, whole = self._put_together(found, ask)
        returned = self._returned(whole, ask)
        if returned.reason == MQRC.TRUNCATED_MSG_FAILED:
            return returned, []
        for item in items:
            self.available.remove(item)
            for marked in (self.marked_together, *(each.marked for each in self.programs)):
                marked.discard(item.arrival)
        if ask.is_in_unit(found):
            program.unit.got += items
        if ask.skips:
            program.unit.skipped = items
        return replace(returned, reason=self._taken(program, ask, whole) or returned.reason), items

    @staticmethod
    def _returned(whole: Message, ask: Ask) -> Got:
        """The part that fits the buffer."""
        if len(whole.body) <= ask.room:
            return Got(MQRC.NONE, whole)
        reason = MQRC.TRUNCATED_MSG_ACCEPTED if ask.cuts else MQRC.TRUNCATED_MSG_FAILED
        return Got(reason, replace(whole, body=whole.body[: ask.room]))

    def _mark(self, program: Program, ask: Ask, found: Message) -> bool:
        """Mark and unmark the browsed message. False if the set has marked it already."""
        if "c" in ask.marks and found.arrival in self.marked_together:
            return False
        for letter, marked in (("h", program.marked), ("c", self.marked_together)):
            if letter in ask.marks:
                marked.add(found.arrival)
            if letter.upper() in ask.marks:
                marked.discard(found.arrival)
        return True

    def _is_passed_over(self, program: Program, ask: Ask, message: Message) -> bool:
        is_of_set = any(program is self.programs[number] for number in self.together)
        return "s" in ask.marks and (
            message.arrival in program.marked or (is_of_set and message.arrival in self.marked_together)
        )

    def _put_together(self, found: Message, ask: Ask) -> tuple[list[Message], Message]:
        items = [found]
        if ask.level == "complete" and found.is_segment and not found.flags & LAST_SEGMENT:
            rest = self._segments(found.group_id, found.seq, len(found.body))
            assert rest is not None
            items += rest
        whole = replace(found, body=b"".join(item.body for item in items))
        if ask.level == "complete" and found.is_segment:
            whole = replace(whole, flags=found.flags | ANY_SEGMENT)
        return items, whole

    def _under_cursor(self, program: Program, ask: Ask) -> Message | MQRC:
        under = program.under_cursor
        if under is None:
            return MQRC.NO_MSG_UNDER_CURSOR
        if ask.level == "complete" and under.offset:
            return MQRC.INVALID_MSG_UNDER_CURSOR
        if ask.under_cursor and ask.logical and program.gets:
            reason = self._leaves(program.gets, ask, under)
            if reason:
                return reason
        if self.queue.are_gets_inhibited:
            return MQRC.GET_INHIBITED
        found = next((each for each in self.in_order() if each.arrival == under.arrival), None)
        if found is None or not self._is_enough_there(program, ask, found):
            return MQRC.NO_MSG_UNDER_CURSOR
        return MQRC.NO_MSG_UNDER_CURSOR if self._is_passed_over(program, ask, found) else found

    def _is_enough_there(self, program: Program, ask: Ask, under: Message) -> bool:
        """The group or logical message of the message under the cursor."""
        current = self._current(program, ask) if ask.logical and ask.level != "complete" else None
        if ask.level == "messages" and not current:
            return self.is_group_complete(under)
        return not ask.level or (current is not None and current.in_message) or self.is_message_complete(under)

    def _get_under_cursor(self, program: Program, ask: Ask) -> tuple[Got, list[Message]]:
        found = self._under_cursor(program, ask)
        return (Got(found), []) if isinstance(found, MQRC) else self._take(program, ask, found)

    def _browse_under_cursor(self, program: Program, ask: Ask) -> tuple[Got, list[Message]]:
        found = self._under_cursor(program, ask)
        if isinstance(found, MQRC):
            return Got(found), []
        items, whole = self._put_together(found, ask)
        returned = self._returned(whole, ask)
        if returned.reason == MQRC.TRUNCATED_MSG_FAILED:
            return returned, []
        if not self._mark(program, ask, found):
            return Got(MQRC.MSG_MARKED_BROWSE_CO_OP), []
        program.browses = self._left_open(ask, whole)
        return returned, items

    def _refused(self, program: Program, ask: Ask, current: Open | None) -> MQRC:
        if ask.browse == "next" and program.browse_is_logical not in (None, ask.logical):
            return MQRC.INCONSISTENT_BROWSE
        if not ask.logical:
            return MQRC.NONE
        seq, offset = current.next if current else (1, 0)
        if ask.seq not in (None, seq) or ask.offset not in (None, offset):
            return MQRC.MATCH_OPTIONS_ERROR
        if current is None:
            return MQRC.NONE
        if ask.group_id not in (b"", current.group_id):
            return MQRC.MATCH_OPTIONS_ERROR
        if not ask.browse and not ask.if_persistent and ask.in_unit != current.in_unit:
            return MQRC.INCONSISTENT_UOW
        return MQRC.NO_MSG_AVAILABLE if offset and ask.level == "complete" else MQRC.NONE

    def _candidates(self, program: Program, ask: Ask, current: Open | None) -> Iterable[Message]:
        if ask.logical and current:
            return [
                each
                for each in self.in_order()
                if (each.group_id, each.seq, each.offset) == (current.group_id, *current.next) and each.is_member
                # A whole message counts, whatever the segment at its place lacks.
                if not ask.level or current.in_message or self.is_message_complete(each)
            ]
        start = BEFORE_ALL
        if ask.browse == "next":
            start = program.begins_at if ask.logical else program.cursor
        return [
            each
            for each in self.in_order()
            if each.place > start and self._fits(each, ask) and not self._is_passed_over(program, ask, each)
        ]

    def _fits(self, message: Message, ask: Ask) -> bool:
        seq, offset = (1, 0) if ask.logical else (ask.seq, 0 if ask.level == "complete" else ask.offset)
        # A list has what begins something complete. There only the first of a position stands for all of it.
        is_listed = (seq, offset) == (1, 0) and not (ask.group_id or ask.arrival)
        if is_listed and ask.level and not self._counts(message, ask):
            return False
        return (
            ask.correl_id in (b"", message.correl_id)
            and ask.group_id in (b"", message.group_id)
            and ask.arrival in (0, message.arrival)
            and seq in (None, message.seq)
            and offset in (None, message.offset)
            and (not ask.level or self.is_message_complete(message) or ask.level == "messages")
            and (ask.level != "messages" or self.is_group_complete(message))
        )

    def _counts(self, message: Message, ask: Ask) -> bool:
        """Whether a message is the first of its position, or whole where only its logical message must be there."""
        if not message.is_member or (ask.level != "messages" and not message.is_segment):
            return True
        position = (message.group_id, message.seq, message.offset)
        there = (each for each in self.in_order() if each.is_member)
        return message == next(each for each in there if (each.group_id, each.seq, each.offset) == position)

    def _taken(self, program: Program, ask: Ask, message: Message) -> MQRC:
        current, warning = program.gets, MQRC.NONE
        if current and not ask.logical and current.was_logical:
            warning = self._leaves(current, ask, message)
        program.gets = self._left_open(ask, message)
        if program.gets != current:
            if ask.is_in_unit(message):
                program.gets_before.append(current)
            else:
                # A change outside the unit of work stays, even if the unit is backed out.
                program.gets_before.clear()
        return warning

    @staticmethod
    def _leaves(current: Open, ask: Ask, message: Message) -> MQRC:
        """The reason why a get does not continue the open group or message."""
        if (message.group_id, message.seq, message.offset) != (current.group_id, *current.next):
            return current.reason
        return MQRC.NONE if ask.is_in_unit(message) == current.in_unit else MQRC.INCONSISTENT_UOW

    def _browsed(self, program: Program, ask: Ask, message: Message) -> None:
        if ask.browse == "first" or program.browses is None:
            program.begins_at = message.place
        if ask.browse == "first" or program.browse_is_logical is None:
            program.browse_is_logical = ask.logical
        program.cursor = message.place
        program.under_cursor = message
        program.browses = self._left_open(ask, message)

    @staticmethod
    def _left_open(ask: Ask, message: Message) -> Open | None:
        in_message = bool(message.flags & SEGMENT) and not message.flags & LAST_SEGMENT
        in_group = bool(message.flags & IN_GROUP) and (in_message or not message.flags & LAST_IN_GROUP)
        if not (in_message or in_group):
            return None
        offset = message.offset + len(message.body) if in_message else 0
        return Open(message.group_id, message.seq, offset, in_message, ask.is_in_unit(message), ask.logical)
