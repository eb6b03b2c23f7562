"""Chooses the script of a get or a browse, and takes its arguments from the connection and the handle."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sharedq.logical import ANY_OFFSET, ANY_SEQ
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.redis.link import Argument, Front, Reply, ScriptCall
from sharedq.scripts.get import (
    AFTER_COMMIT,
    BATCH_BYTES,
    BLOCKS_AFTER,
    EndedUnit,
    GetSource,
    GroupedArguments,
    browse_call,
    get_call,
    get_grouped_call,
    get_source,
)
from sharedq.scripts.put import RidingGet
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle, ServedHandle

_POSITION: Final = struct.Struct(">ii")
# Plain integers: an operation on IntFlag members costs about a microsecond, and these are tested on every call.
_SYNCPOINT = int(GetOption.SYNCPOINT)
_SYNCPOINT_IF_PERSISTENT = int(GetOption.SYNCPOINT_IF_PERSISTENT)
_IN_UNIT = _SYNCPOINT | _SYNCPOINT_IF_PERSISTENT
_MARK_SKIP_BACKOUT = int(GetOption.MARK_SKIP_BACKOUT)
_ACCEPT_TRUNCATED = int(GetOption.ACCEPT_TRUNCATED_MSG)
_LOCK = int(GetOption.LOCK)
_CO_OP = int(OpenOption.CO_OP)
#: Selections of waits that may be handed their message: any, and what the index finds.
_HANDED = (b"A", b"C", b"M", b"X")
#: Longer records are not handed over; see structure/get.
_HANDED_MAX = 10240
#: In place of whether a body may be cut.
_BLIND = "2"
#: Added to whether a body may be cut: members leave room in front.
_IN_FRONT = 2
#: How a get belongs to a unit of work: not at all; always; if the message is persistent.
_OUTSIDE, _INSIDE, _IF_PERSISTENT = "0", "1", "2"
#: Letters of structure/get_grouped.
_MARKING = (
    (int(GetOption.MARK_BROWSE_HANDLE), "h"),
    (int(GetOption.MARK_BROWSE_CO_OP), "c"),
    (int(GetOption.UNMARK_BROWSE_HANDLE), "H"),
    (int(GetOption.UNMARK_BROWSE_CO_OP), "C"),
    (int(GetOption.UNMARKED_BROWSE_MSG), "s"),
)
#: Options that marks count for.
MARKS = sum(option for option, _ in _MARKING)


@dataclass(frozen=True, slots=True)
class Selection:
    """Arguments of the scripts' look-up, and of the registration of its waiter.

    Attributes:
        message_id: exactly this message, by its id in the structure: under the browse cursor, or by its token.
        number: message number, if the requested MsgId is one that igq generated in this structure.
        prefix: prefix in the selection index; empty selects any message.
        msg_id, correl_id: further conditions.
        group_id, seq, offset: further conditions; ``ANY_SEQ`` and ``ANY_OFFSET`` are none.
        level: 2 the whole group must be available, 1 the logical message, 0 neither.
        firsts: only the first of a group, or of a logical message.
        is_fixed: group, seq and offset name the message; if it does not fit the rest, the call fails with 2247.
        persistence: the required persistence, else the call fails with 2245; None for any.
        is_whole: logical messages are put together.
        is_under_cursor: ``message_id`` is that of the message under the browse cursor.
    """

    message_id: str = ""
    number: str = ""
    prefix: bytes = b""
    msg_id: bytes = b""
    correl_id: bytes = b""
    group_id: bytes = b""
    seq: int = ANY_SEQ
    offset: int = ANY_OFFSET
    level: int = 0
    firsts: bool = False
    is_fixed: bool = False
    persistence: bool | None = None
    is_whole: bool = False
    is_under_cursor: bool = False
    #: Only structure/get_grouped can make this selection.
    is_grouped: bool = False
    #: The condition of a selector, as structure/get_selected takes it; empty: there is none.
    selector: str = ""

    @property
    def arguments(self) -> tuple[str | bytes, ...]:
        """In the order of the ARGV of structure/get and structure/browse."""
        return (self.message_id, self.number, self.prefix, self.msg_id, self.correl_id)

    @property
    def _is_for_certain_ones(self) -> bool:
        """Whether a grouped selection asks for more than that something begins, or is complete."""
        if self.message_id or self.msg_id or self.correl_id or self.group_id:
            return True
        # Logical order implies MsgSeqNumber 1 and Offset 0, and COMPLETE_MSG Offset 0.
        return not self.firsts and (self.seq != ANY_SEQ or (self.offset != ANY_OFFSET and not self.is_whole))

    def waiter_text(self, *, is_browse: bool) -> bytes:
        """How a waiting get with this selection is found by a put (see ``prelude/place.lua``)."""
        if is_browse:
            return b"B"
        if self.is_fixed:
            return b"G" + self.group_id + _POSITION.pack(self.seq, self.offset)
        if self.selector:
            return b"V"
        if self.is_grouped:
            if self._is_for_certain_ones:
                return b"V"
            if self.firsts:
                return b"D%d" % self.level
            return b"E" if self.level else b"A"
        if self.number:
            return f"N{self.number} ".encode()
        return self.prefix or b"A"


#: Any message: the first in delivery order.
ANY = Selection()


@dataclass(slots=True)
class GetRequest:
    """The request of a get or a browse. Each of its calls, with and without a wait, is made from this value.

    Attributes:
        connection, handle: through which it is made.
        options: of MQGMO.
        unit_id: of the unit of work that it belongs to under syncpoint.
        count: messages, at most.
        max_length: of a body.
        cursor: of a browse: the place after which it looks; None for a get.
        found_at: of a get that goes on from an earlier one: the place up to which nothing fits.
        is_blind: the messages themselves are not returned, if they are plain.
        front: bytes of ``max_length`` that members of groups, and segments, leave free.
        waits_as: how the request waits if it is made together with a commit and finds nothing; see `call`.
        is_handed: the latest call waits to be handed its message, where it finds none.
        blocks_s: a call that waits to be handed its message does so in the write of the call, for so many seconds;
            0: in another write.
        woken: the content of the wake-up that came to the write of the latest call; None: none came.
    """

    connection: Connection
    handle: Handle
    selection: Selection
    options: int
    count: int
    max_length: int
    unit_id: str = ""
    cursor: int | None = None
    found_at: int = 0
    is_blind: bool = False
    front: int = 0
    waits_as: bytes = b""
    is_handed: bool = False
    blocks_s: float = 0.0
    woken: bytes | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the script for plain messages is asked."""
        gets, options = self.handle.gets, self.options
        if (
            gets.has_members
            or gets.may_hold_lock
            or gets.may_meet_marks
            or self.handle.adds_headers
            or self.selection.is_grouped
        ):
            return False
        if self.cursor is not None:
            return not options & (_LOCK | MARKS)
        if options & _MARK_SKIP_BACKOUT:
            return False
        # The persistence of a message decides whether there is room for it in the unit of work.
        return not options & _SYNCPOINT_IF_PERSISTENT or self.count <= self.connection.unit_room

    def call(self, waiter: bytes = b"", horizon: int = 0, *, after_commit: bool = False) -> ScriptCall:
        """The call that looks for messages.

        Args:
            waiter: how the connection waits if nothing is found: the text of its selection; empty: it does not.
            horizon: the place up to which this search has looked.
            after_commit: the call is sent after a commit in the same write.
        """
        is_plain, source = self.is_plain, self.handle.gets.source or self._new_source()
        if is_plain and not waiter and self._is_like_others:
            return self._kept_call(source)
        entry = self._entry(waiter, source, is_plain=is_plain)
        if after_commit:
            entry = AFTER_COMMIT + entry
        if not is_plain:
            return self._grouped_call(source, entry, horizon)
        if self.cursor is not None:
            return browse_call(source, self.cursor, self.max_length, entry, self.selection.arguments)
        return self._plain_call(source, entry, () if self.selection is ANY else self.selection.arguments)

    def send(self, calls: Sequence[ScriptCall]) -> list[Reply]:
        """Make calls of one structure, the last of which makes this get: their replies.

        Where the get waits to be handed its message, and `blocks_s` says so, the wait is in the same write.
        """
        if not (self.blocks_s and self.is_handed):
            return self.connection.call_many(calls)
        wake_key = self.handle.structure.keys.wake + self.connection.token
        replies, self.woken = self.connection.call_then_block(calls, wake_key, self.blocks_s)
        return replies

    def with_commit(self, ended: EndedUnit) -> ScriptCall:
        """The call that ends a unit of work first, and then takes any message."""
        source = self.handle.gets.source or self._new_source()
        return self._plain_call(source, self._entry(self.waits_as, source, is_plain=True), (), ended)

    def may_ride(self, structure: str) -> bool:
        """Whether structure/commit_put of *structure* may make this get: for one message, under syncpoint."""
        handle, selection = self.handle, self.selection
        return (
            handle.gets.rides
            and self.count == 1
            # Any message, or all that the index has under one prefix.
            and (selection is ANY or bool(selection.prefix and not selection.number))
            and self.is_plain
            and handle.structure.keys.name == structure
        )

    def riding(self) -> RidingGet:
        """The values that structure/commit_put takes of this get."""
        source = self.handle.gets.source or self._new_source()
        entry = self._entry(self.waits_as, source, is_plain=True)
        return RidingGet(source, self.max_length, self.unit_id, entry, self.selection.prefix)

    def _entry(self, waiter: bytes, source: GetSource, *, is_plain: bool) -> bytes:
        """The entry of a wait among the others; see ``lua/pasted.lua``. Empty: the call does not wait."""
        self.is_handed = (
            is_plain
            and waiter[:1] in _HANDED
            and self.count == 1
            and self.cursor is None
            and self.max_length >= _HANDED_MAX
            and not self.options & _SYNCPOINT_IF_PERSISTENT
        )
        if not waiter:
            return b""
        token = source.token.encode()
        if not self.is_handed:
            return waiter + token
        entry = b"%b+%b" % (waiter, self.unit_id.encode()) if self.options & _SYNCPOINT else b"%b!%b" % (waiter, token)
        return BLOCKS_AFTER + entry if self.blocks_s else entry

    @property
    def _is_like_others(self) -> bool:
        """Whether its call is that of other gets, too: of any message, outside a unit of work."""
        return self.selection is ANY and self.cursor is None and not (self.is_blind or self.options & _IN_UNIT)

    def _kept_call(self, source: GetSource) -> ScriptCall:
        """Its call, which its handle keeps for the next get: packed as a whole."""
        asked = (self.count, self.max_length, self.options & _ACCEPT_TRUNCATED)
        kept, self.is_handed = self.handle.gets.kept, False
        if kept is None or kept[0] != asked:
            name, front, args = self._plain_call(source, b"", ())
            kept = self.handle.gets.kept = asked, (name, front.with_more(args), ())
        return kept[1]

    def _plain_call(
        self, source: GetSource, entry: bytes, selection: tuple[Argument, ...], ended: EndedUnit | None = None
    ) -> tuple[str, Front, tuple[Argument, ...]]:
        truncate = _BLIND if self.is_blind else "1" if self.options & _ACCEPT_TRUNCATED else "0"
        mode, unit_id = _mode(self.options), self.unit_id if self.options & _IN_UNIT else ""
        return get_call(source, self.count, unit_id, mode, self.max_length, truncate, entry, selection, ended)

    def _grouped_call(self, source: GetSource, entry: bytes, horizon: int) -> ScriptCall:
        """The call that knows of groups, of locks and of marks."""
        connection, handle, options, selection = self.connection, self.handle, self.options, self.selection
        gets, is_get = handle.gets, self.cursor is None
        arguments = GroupedArguments(
            owner=source.token,
            queue_name=handle.name,
            version=source.version,
            count_=self.count,
            unit_id=self.unit_id,
            mode="b" if not is_get else "s" if options & _MARK_SKIP_BACKOUT else _mode(options),
            length_max=self.max_length,
            truncate=(1 if options & _ACCEPT_TRUNCATED else 0) + (_IN_FRONT if self.front else 0),
            bytes_max=BATCH_BYTES,
            wait=entry,
            journal_max=source.journal_max,
            cursor=self.cursor or 0,
            horizon=max(horizon, self.found_at),
            id=selection.message_id,
            number=selection.number,
            msgid=selection.msg_id,
            correl=selection.correl_id,
            group=selection.group_id,
            seq="" if selection.seq == ANY_SEQ else selection.seq,
            offset="" if selection.offset == ANY_OFFSET else selection.offset,
            level=selection.level,
            firsts=int(selection.firsts),
            fixed=int(selection.is_fixed),
            persistence="" if selection.persistence is None else int(selection.persistence),
            whole=int(selection.is_whole),
            under_cursor=int(selection.is_under_cursor),
            unit_is_open=int(connection.has_unit),
            room=connection.max_uncommitted if entry[:1] == AFTER_COMMIT else connection.unit_room,
            selector=selection.selector,
            structure=handle.structure.number,
        )
        if selection.selector or gets.may_hold_lock or gets.may_meet_marks or options & (_LOCK | MARKS):
            members = handle.members_text() if isinstance(handle, ServedHandle) else ""
            arguments = arguments._replace(
                handle=handle.number,
                lock=int(bool(options & _LOCK) and not members),
                marking="m" if members else self._marking,
                mark_ms=gets.mark_ms,
                members=members,
            )
        return get_grouped_call(source, arguments)

    @property
    def _marking(self) -> str:
        """Letters for the marks that the get makes, ends and passes over."""
        marking = "".join(letter for option, letter in _MARKING if self.options & option)
        return marking + "t" if self.options & MARKS and self.handle.options & _CO_OP else marking

    def _new_source(self) -> GetSource:
        """The arguments that its handle gives. The handle keeps them as long as it goes by the same definition."""
        handle, connection = self.handle, self.connection
        handle.gets.source = source = get_source(
            *(handle.structure.keys, handle.queue, connection.token, handle.definition.version, connection.journal_max)
        )
        return source


def _mode(options: int) -> str:
    """How a get with these options belongs to the unit of work."""
    if options & _SYNCPOINT:
        return _INSIDE
    return _IF_PERSISTENT if options & _SYNCPOINT_IF_PERSISTENT else _OUTSIDE
