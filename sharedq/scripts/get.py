"""The scripts of an MQGET."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.redis.keys import QueueKeys, StructureKeys
from sharedq.redis.link import Argument, Reply, ScriptCall
from sharedq.scripts.connections import Caller, Entered
from sharedq.scripts.selection import ANY, Selection

#: Bytes of bodies one script call returns before the batch ends. Structure/get counts on 10 KiB a message.
BATCH_BYTES = 1 << 20
# Plain integers: an operation on IntFlag members costs about a microsecond, and these are tested on every call.
_SYNCPOINT = int(GetOption.SYNCPOINT)
_SYNCPOINT_IF_PERSISTENT = int(GetOption.SYNCPOINT_IF_PERSISTENT)
_MARK_SKIP_BACKOUT = int(GetOption.MARK_SKIP_BACKOUT)
_ACCEPT_TRUNCATED = int(GetOption.ACCEPT_TRUNCATED_MSG)
_LOCK = int(GetOption.LOCK)
_CO_OP = int(OpenOption.CO_OP)
#: The script that gets plain messages.
_PLAIN = "structure/get"
#: Where it has these among its keys and arguments.
_QUEUE, _AVAILABLE = 2, 3
_NAME, _VERSION, _COUNT, _UNIT, _LENGTH = 1, 2, 3, 4, 6
#: Where structure/get has the waiter among its arguments, and what stands there where it ends a unit of work first.
_WAITER, _COMMIT_FIRST = 9, b"+"
#: In place of a waiter: nothing is taken unless the commit in the same write has ended its unit of work.
BEHIND_COMMIT = b"="
#: How a get of any message waits: it looks when it is woken; or it is handed the message and looks for none.
_ANY, _ANY_HANDED = b"A", b"A!"
#: Longer records are not handed over; see structure/get.
_HANDED_MAX = 10240
#: In place of whether a body may be cut.
_BLIND = 2
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
    """What a get is told of its connection."""

    @property
    def pending(self) -> Sequence[object]:
        """Asynchronous puts that were not sent yet."""

    @property
    def unit_room(self) -> int:
        """How many messages the unit of work may still take in."""

    @property
    def max_uncommitted(self) -> int:
        """How many messages a unit of work may take in."""


class GetHandle(Protocol):
    """What a get is told of its handle; see ``sharedq.session.handle.Handle``."""

    #: Keys of structure/get, made at the first call.
    get_keys: tuple[str, ...]

    @property
    def name(self) -> str:
        """The queue."""

    @property
    def version(self) -> str:
        """The version of the queue's definition that the handle goes by."""

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
    def rides(self) -> bool:
        """Whether a get may ride along with the commit before it."""

    @property
    def members(self) -> Callable[[], Collection[str]] | None:
        """Of a mover: tells the members of the group."""

    @property
    def mark_ms(self) -> int:
        """How long a mark of the co-operating set lasts."""


def get_call(
    connection: Getter,
    handle: GetHandle,
    selection: Selection,
    options: int,
    count: int,
    max_length: int,
    waiter: bytes,
    unit_id: str,
    horizon: int = 0,
    *,
    is_blind: bool = False,
) -> ScriptCall:
    """A get; ``is_blind``: the messages themselves are not returned, where structure/get is asked."""
    mode = 1 if options & _SYNCPOINT else 2 if options & _SYNCPOINT_IF_PERSISTENT else 0
    token, is_marked = connection.token, options & _MARK_SKIP_BACKOUT
    if (
        handle.has_members
        or handle.may_hold_lock
        or handle.may_meet_marks
        or handle.adds_headers
        or selection.is_grouped
        or is_marked
        # Its persistence decides whether there is room for it in the unit of work.
        or (mode == 2 and count > connection.unit_room)
    ):
        how = "s" if is_marked else str(mode)
        return grouped_call(connection, handle, selection, options, count, max_length, waiter, unit_id, how, 0, horizon)
    if waiter == _ANY and count == 1 and not mode and max_length >= _HANDED_MAX:
        waiter = _ANY_HANDED
    return (
        _PLAIN,
        handle.get_keys or _get_keys(handle, token),
        (
            token,
            handle.name,
            handle.version,
            count,
            unit_id,
            mode,
            max_length,
            _BLIND if is_blind else 1 if options & _ACCEPT_TRUNCATED else 0,
            BATCH_BYTES,
            waiter,
            connection.journal_max,
            *(() if selection is ANY else selection.arguments),
        ),
    )


def is_plain_get(get: ScriptCall) -> bool:
    """Whether the call *get* gets plain messages only."""
    return get[0] == _PLAIN


def is_handed(get: ScriptCall) -> bool:
    """Whether the get waits to be handed its message, where the call *get* has found none."""
    name, _, args = get
    return name == _PLAIN and args[_WAITER] == _ANY_HANDED


def handed_reply(handed: bytes) -> Reply | None:
    """What structure/get would have answered, from what came with the wake-up; None where that was only a wake-up."""
    head, is_message, record = handed.partition(b"\n")
    if not is_message:
        return None
    return [0, len(record) - int.from_bytes(record[3:5], "big"), head.partition(b" ")[0], [record]]


def with_commit(
    get: ScriptCall, structure: StructureKeys, unit_id: str, operations: int, queues: Sequence[str]
) -> ScriptCall:
    """The call *get*, made to be sent after a commit, that commits the unit of work itself.

    Args:
        operations, queues: gets of plain messages that it has recorded in *structure*, and the queues that they are of.
    """
    name, keys, args = get
    queue_keys = [structure.queue(queue).queue for queue in queues]
    # The selection's place in the arguments is free: a get after a commit takes any message.
    ended: tuple[Argument, ...] = (unit_id, operations, *queues)
    return name, (*keys, *queue_keys), (*args[:_WAITER], _COMMIT_FIRST, *args[_WAITER + 1 :], *ended)


def may_ride(get: ScriptCall, handle: GetHandle, structure: str) -> bool:
    """Whether structure/commit_put of *structure* may make the call *get*: for one message, under syncpoint."""
    return handle.rides and get[0] == _PLAIN and get[2][_COUNT] == 1 and handle.structure.keys.name == structure


def browse_call(
    connection: Caller, handle: GetHandle, selection: Selection, cursor: int, max_length: int, waiter: bytes
) -> ScriptCall:
    """A browse of plain messages, after the place *cursor*."""
    keys, queue, token = handle.structure.keys, handle.queue, connection.token
    script_keys = (
        *(keys.owners, keys.messages, queue.queue, queue.available, queue.index, queue.waiters, keys.expiry),
        *(keys.wake + token, keys.journal),
    )
    words = (token, handle.name, handle.version, cursor, max_length, waiter, connection.journal_max)
    return "structure/browse", script_keys, (*words, *selection.arguments)


def is_plain(reply: Reply) -> bool:
    """Whether structure/get, or a get that rode along, found only plain messages."""
    return not reply[0] and type(reply[2]) is bytes and b"x" not in reply[2]


def riding(get: ScriptCall) -> tuple[tuple[str, ...], tuple[Argument, ...]]:
    """What structure/commit_put is told of a get that rides along: keys, arguments."""
    _, keys, args = get
    return (keys[_QUEUE], keys[_AVAILABLE]), (args[_NAME], args[_VERSION], args[_UNIT], args[_LENGTH])


def grouped_call(
    connection: Getter,
    handle: GetHandle,
    selection: Selection,
    options: int,
    count: int,
    max_length: int,
    waiter: bytes,
    unit_id: str,
    mode: str,
    cursor: int,
    horizon: int,
) -> ScriptCall:
    """A get or a browse that knows of groups, of locks and of marks."""
    token, queue = connection.token, handle.queue
    is_for_handle = handle.may_hold_lock or handle.may_meet_marks or options & (_LOCK | MARKS)
    return (
        "structure/get_grouped",
        (
            *(handle.get_keys or _get_keys(handle, token)),
            queue.groups,
            queue.members,
            *((queue.locks, queue.marks, queue.marks_of, queue.handles) if is_for_handle else ()),
        ),
        (
            token,
            handle.name,
            handle.version,
            count,
            unit_id,
            mode,
            max_length,
            1 if options & _ACCEPT_TRUNCATED else 0,
            BATCH_BYTES,
            waiter,
            connection.journal_max,
            cursor,
            horizon,
            *selection.grouped_arguments,
            1 if connection.unit.is_active or connection.pending else 0,
            connection.max_uncommitted if waiter == BEHIND_COMMIT else connection.unit_room,
            *(_handle_arguments(handle, options) if is_for_handle else ()),
        ),
    )


def members_text(handle: GetHandle) -> str:
    """The members that a mover's handle knows, as scripts take them; empty where it passes over nothing."""
    names = () if handle.members is None else handle.members()
    return "\n".join(("", *names, "")) if names else ""


def _handle_arguments(handle: GetHandle, options: int) -> tuple[int | str, ...]:
    marking = "".join(letter for option, letter in _MARKING if options & option)
    if options & MARKS and handle.options & _CO_OP:
        marking += "t"
    if members := members_text(handle):
        return handle.number, 0, "m", handle.mark_ms, members
    return handle.number, 1 if options & _LOCK else 0, marking, handle.mark_ms


def _get_keys(handle: GetHandle, token: str) -> tuple[str, ...]:
    keys, queue = handle.structure.keys, handle.queue
    handle.get_keys = (
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
    return handle.get_keys
