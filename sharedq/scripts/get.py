"""The scripts of an MQGET."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.redis.keys import QueueKeys
from sharedq.redis.link import Argument, Reply, ScriptCall
from sharedq.scripts.connections import Caller, Entered
from sharedq.scripts.selection import ANY, Selection

#: Bytes of bodies one script call returns before the batch ends. Structure/get counts on 10 KiB a message.
BATCH_BYTES = str(1 << 20)
# Plain integers: an operation on IntFlag members costs about a microsecond, and these are tested on every call.
_SYNCPOINT = int(GetOption.SYNCPOINT)
_SYNCPOINT_IF_PERSISTENT = int(GetOption.SYNCPOINT_IF_PERSISTENT)
_MARK_SKIP_BACKOUT = int(GetOption.MARK_SKIP_BACKOUT)
_ACCEPT_TRUNCATED = int(GetOption.ACCEPT_TRUNCATED_MSG)
_LOCK = int(GetOption.LOCK)
_CO_OP = int(OpenOption.CO_OP)
#: In front of the entry of a wait: the call ends a unit of work first.
_COMMIT_FIRST = b"+"
#: The same: nothing is taken unless the commit in the same write has ended its unit of work.
_AFTER_COMMIT = b"="
#: Selections of waits that may be handed their message: any, and what the index finds.
_HANDED = (b"A", b"C", b"M", b"X")
#: Longer records are not handed over; see structure/get.
_HANDED_MAX = 10240
#: In place of whether a body may be cut.
_BLIND = "2"
#: Added to that: members leave room in front.
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


class Getter(Caller, Protocol):
    """The arguments of a get that come from its connection."""

    @property
    def has_unit(self) -> bool:
        """Whether its unit of work has anything in it, or has lost something."""

    @property
    def unit_room(self) -> int:
        """How many messages the unit of work may still take in."""

    @property
    def max_uncommitted(self) -> int:
        """How many messages a unit of work may take in."""


class GetDefinition(Protocol):
    """The arguments of a get that come from what its handle goes by."""

    @property
    def version(self) -> str:
        """The version of the queue's definition."""


class Gets(Protocol):
    """The memory of a handle for its gets; see ``sharedq.session.handle.Gets``."""

    #: Keys of structure/get, made at the first call.
    keys: tuple[str, ...]
    #: A get may ride along with the commit before it: the last message does not expire, and is in no group.
    rides: bool

    @property
    def has_members(self) -> bool:
        """Whether members of groups, or segments, were seen on the queue."""

    @property
    def may_hold_lock(self) -> bool:
        """Whether a message may be locked through the handle."""

    @property
    def may_meet_marks(self) -> bool:
        """Whether marked messages were seen on the queue."""

    @property
    def adds_headers(self) -> bool:
        """Whether a message that is got has a header made in front of it."""

    @property
    def members(self) -> Callable[[], Collection[str]] | None:
        """Of a mover: tells the members of the group."""

    @property
    def mark_ms(self) -> int:
        """How long a mark of the co-operating set lasts."""


class GetHandle(Protocol):
    """The arguments of a get that come from its handle."""

    @property
    def name(self) -> str:
        """The queue."""

    @property
    def definition(self) -> GetDefinition:
        """The definitions that the handle goes by."""

    @property
    def gets(self) -> Gets:
        """Its memory for gets."""

    @property
    def number(self) -> int:
        """Of the handle, unique for the connection."""

    @property
    def options(self) -> int:
        """Of its open."""

    @property
    def structure(self) -> Entered:
        """The structure that the queue is in."""

    @property
    def queue(self) -> QueueKeys:
        """Keys of the queue."""


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
        is_blind: the messages themselves are not returned, if they are plain.
        front: bytes of ``max_length`` that members of groups, and segments, leave free.
        waits_as: how it waits if it is made together with a commit and finds nothing; see `call`.
    """

    connection: Getter
    handle: GetHandle
    selection: Selection
    options: int
    count: int
    max_length: int
    unit_id: str = ""
    cursor: int | None = None
    is_blind: bool = False
    front: int = 0
    waits_as: bytes = b""

    @property
    def is_plain(self) -> bool:
        """Whether the script for plain messages is asked."""
        gets, options = self.handle.gets, self.options
        if (
            gets.has_members
            or gets.may_hold_lock
            or gets.may_meet_marks
            or gets.adds_headers
            or self.selection.is_grouped
        ):
            return False
        if self.cursor is not None:
            return not options & (_LOCK | MARKS)
        if options & _MARK_SKIP_BACKOUT:
            return False
        # The persistence of a message decides whether there is room for it in the unit of work.
        return not options & _SYNCPOINT_IF_PERSISTENT or self.count <= self.connection.unit_room

    def call(self, waiter: bytes = b"", horizon: int = 0) -> ScriptCall:
        """The call that looks for messages.

        Args:
            waiter: how the connection waits if nothing is found: the text of its selection; empty: it does not.
            horizon: the place up to which this search has looked.
        """
        entry = self._entry(waiter) if waiter else b""
        if not self.is_plain:
            return self._grouped_call(entry, horizon)
        if self.cursor is not None:
            return self._browse_call(entry, self.cursor)
        return self._plain_call(entry, self._selected)

    def call_after_commit(self) -> ScriptCall:
        """The call, to be sent after a commit in the same write."""
        entry = _AFTER_COMMIT + self._entry(self.waits_as)
        return self._plain_call(entry, self._selected) if self.is_plain else self._grouped_call(entry, 0)

    def with_commit(self, unit_id: str, operations: int, queues: Sequence[str]) -> ScriptCall:
        """The call that ends a unit of work first.

        Args:
            operations, queues: gets of plain messages that it has recorded in the structure, and their queues.
        """
        structure = self.handle.structure.keys
        entry = _COMMIT_FIRST + self._entry(self.waits_as)
        name, keys, args = self._plain_call(entry, (unit_id, operations, *queues))
        # The selection's place in the arguments is free: a get after a commit takes any message.
        return name, (*keys, *[structure.queue(queue).queue for queue in queues]), args

    def may_ride(self, structure: str) -> bool:
        """Whether structure/commit_put of *structure* may make this get: for one message, under syncpoint."""
        handle = self.handle
        return (
            handle.gets.rides
            and self.count == 1
            and (self.selection is ANY or self._is_by_index)
            and self.is_plain
            and handle.structure.keys.name == structure
        )

    def riding(self) -> tuple[tuple[str, ...], tuple[Argument, ...]]:
        """The keys and arguments that structure/commit_put has of this get."""
        handle = self.handle
        queue = handle.queue
        keys = (queue.queue, queue.available, queue.waiters, queue.index)
        how = (self.unit_id, str(self.max_length), self._entry(self.waits_as), self.selection.prefix)
        return keys, (handle.name, handle.definition.version, *how)

    def is_handed(self, waiter: bytes) -> bool:
        """Whether a call with this *waiter* waits to be handed its message, where it has found none."""
        return (
            waiter[:1] in _HANDED
            and self.count == 1
            and self.cursor is None
            and self.max_length >= _HANDED_MAX
            and self._mode is not _IF_PERSISTENT
            and self.is_plain
        )

    def _entry(self, waiter: bytes) -> bytes:
        """The entry of a wait among the others; see ``lua/pasted.lua``."""
        if not waiter:
            return b""
        if not self.is_handed(waiter):
            return waiter + self.connection.token.encode()
        if self._mode is _INSIDE:
            return b"%b+%b" % (waiter, self.unit_id.encode())
        return b"%b!%b" % (waiter, self.connection.token.encode())

    @property
    def _is_by_index(self) -> bool:
        """Whether what the index has under one prefix is what is asked for."""
        return bool(self.selection.prefix) and not self.selection.number

    @property
    def _selected(self) -> tuple[Argument, ...]:
        """The arguments of structure/get that say which message is asked for."""
        return () if self.selection is ANY else self.selection.arguments

    @property
    def _mode(self) -> str:
        """How it belongs to the unit of work."""
        if self.options & _SYNCPOINT:
            return _INSIDE
        return _IF_PERSISTENT if self.options & _SYNCPOINT_IF_PERSISTENT else _OUTSIDE

    def _plain_call(self, entry: bytes, more: tuple[Argument, ...]) -> ScriptCall:
        connection, handle = self.connection, self.handle
        return (
            "structure/get",
            handle.gets.keys or _get_keys(handle, connection.token),
            (
                connection.token,
                handle.name,
                handle.definition.version,
                str(self.count),
                self.unit_id,
                self._mode,
                str(self.max_length),
                _BLIND if self.is_blind else "1" if self.options & _ACCEPT_TRUNCATED else "0",
                BATCH_BYTES,
                entry,
                connection.journal_max,
                *more,
            ),
        )

    def _browse_call(self, entry: bytes, cursor: int) -> ScriptCall:
        handle, token = self.handle, self.connection.token
        keys, queue = handle.structure.keys, handle.queue
        script_keys = (
            *(keys.owners, keys.messages, queue.queue, queue.available, queue.index, queue.waiters, keys.expiry),
            *(keys.wake + token, keys.journal),
        )
        words = (
            token,
            handle.name,
            handle.definition.version,
            cursor,
            self.max_length,
            entry,
            self.connection.journal_max,
        )
        return "structure/browse", script_keys, (*words, *self.selection.arguments)

    def _grouped_call(self, entry: bytes, horizon: int) -> ScriptCall:
        """The call that knows of groups, of locks and of marks."""
        connection, handle, options = self.connection, self.handle, self.options
        token, queue = connection.token, handle.queue
        gets = handle.gets
        selector = self.selection.selector
        is_for_handle = bool(selector) or gets.may_hold_lock or gets.may_meet_marks or options & (_LOCK | MARKS)
        how = self._mode if self.cursor is None else "b"
        if options & _MARK_SKIP_BACKOUT and self.cursor is None:
            how = "s"
        return (
            "structure/get_selected" if selector else "structure/get_grouped",
            (
                *(handle.gets.keys or _get_keys(handle, token)),
                queue.groups,
                queue.members,
                *((queue.locks, queue.marks, queue.marks_of, queue.handles) if is_for_handle else ()),
            ),
            (
                token,
                handle.name,
                handle.definition.version,
                self.count,
                self.unit_id,
                how,
                self.max_length,
                (1 if options & _ACCEPT_TRUNCATED else 0) + (_IN_FRONT if self.front else 0),
                BATCH_BYTES,
                entry,
                connection.journal_max,
                self.cursor or 0,
                horizon,
                *self.selection.grouped_arguments,
                1 if connection.has_unit else 0,
                connection.max_uncommitted if entry[:1] == _AFTER_COMMIT else connection.unit_room,
                *(_handle_arguments(handle, options) if is_for_handle else ()),
                *(_selector_arguments(handle, selector) if selector else ()),
            ),
        )


def _selector_arguments(handle: GetHandle, selector: str) -> tuple[int | str, ...]:
    """The arguments that structure/get_selected has after those of structure/get_grouped, all of which are there."""
    members = () if members_text(handle) else ("",)
    return *members, selector, handle.structure.number


def handed_reply(handed: bytes) -> Reply | None:
    """The reply that structure/get would have given, made from a message that came with the wake-up; else None."""
    head, is_message, record = handed.partition(b"\n")
    if not is_message:
        return None
    return [0, len(record) - int.from_bytes(record[3:5], "big"), head.partition(b" ")[0], [record]]


def members_text(handle: GetHandle) -> str:
    """The members that a mover's handle knows, as scripts take them; empty where it passes over nothing."""
    names = () if handle.gets.members is None else handle.gets.members()
    return "\n".join(("", *names, "")) if names else ""


def _handle_arguments(handle: GetHandle, options: int) -> tuple[int | str, ...]:
    marking = "".join(letter for option, letter in _MARKING if options & option)
    if options & MARKS and handle.options & _CO_OP:
        marking += "t"
    if members := members_text(handle):
        return handle.number, 0, "m", handle.gets.mark_ms, members
    return handle.number, 1 if options & _LOCK else 0, marking, handle.gets.mark_ms


def _get_keys(handle: GetHandle, token: str) -> tuple[str, ...]:
    keys, queue = handle.structure.keys, handle.queue
    handle.gets.keys = (
        keys.owners,
        keys.messages,
        queue.queue,
        queue.available,
        queue.index,
        queue.waiters,
        keys.unit_of_work + token,
        keys.expiry,
        keys.wake + token,
        keys.journal,
        keys.wake,
    )
    return handle.gets.keys
