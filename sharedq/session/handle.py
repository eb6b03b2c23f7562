"""An object handle: the outcome of its MQOPEN, and the memory of the queue manager for it between calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

from sharedq.logical import UNUSED, HandleOrder
from sharedq.messages.context import Context
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.structures import MQMD, MQOD, MQRR
from sharedq.objects.store.parts import Place
from sharedq.redis.keys import QueueKeys, StructureKeys
from sharedq.redis.link import ScriptCall
from sharedq.scripts.get import GetSource
from sharedq.scripts.put import PutTarget
from sharedq.selectors.selector import Selector
from sharedq.session.route import QueueFacts, Route, lowest_cap


@dataclass(slots=True)
class StructureAccess:
    """A structure that a connection has entered.

    ``failures``: how many times it had failed before. ``was_entered_failed``: it was failed then, so its recovery takes
    away what the connection has there. ``has_failed``: it lost its keys since then, and this connection with them;
    handles of it stay useless also when it is recovered. ``clock_ms``: what Redis' clock said there at
    ``clock_read_s`` (monotonic).
    """

    keys: StructureKeys
    number: int
    failures: int = 0
    has_failed: bool = False
    was_entered_failed: bool = False
    clock_ms: int = 0
    clock_read_s: float = float("-inf")


@dataclass(slots=True)
class BrowseCursor:
    """Where a browse stands: the place (score) and the message that was there.

    Attributes:
        begins_at: the place in logical order: that of what begins the group or logical message browsed.
        md: of the message, as it was browsed; None before the first.
    """

    score: int = 0
    message_id: str = ""
    begins_at: int = 0
    md: MQMD | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """The definitions that a handle goes by: of its queue, and of the objects that its name led through, of one moment.

    Attributes:
        version: of the queue's definition; scripts compare it with the one in force.
        facts: of that definition, and inhibited also where a definition in the resolution path is.
        route: what the name resolved to.
        checks: (field, value) pairs of the structure's ``ver`` hash: how they stood when the route was followed. Each
            put compares them; for gets a change of an alias gives its target a new version.
        default_priority, default_persistence: of the first definition in the resolution path, when that is not
            the queue itself.
    """

    version: str
    facts: QueueFacts
    route: Route | None = None
    checks: tuple[str, ...] = ()
    default_priority: int | None = None
    default_persistence: int | None = None

    @classmethod
    def of(
        cls, version: bytes, definition: bytes, route: Route | None = None, checks: tuple[str, ...] = ()
    ) -> Definition:
        """From a queue's version and definition as they stand in Redis, and the way to it."""
        facts = QueueFacts.of(definition)
        if route is None:
            return cls(version.decode(), facts, None, checks)
        if route.is_put_inhibited or route.is_get_inhibited:
            facts = replace(
                facts,
                is_put_inhibited=facts.is_put_inhibited or route.is_put_inhibited,
                is_get_inhibited=facts.is_get_inhibited or route.is_get_inhibited,
            )
        if not route.path:
            return cls(version.decode(), facts, route, checks)
        first = route.path[0]
        # PROPCTL is that of the queue as it was opened, like the defaults of puts.
        facts = replace(
            facts,
            property_control=getattr(first, "property_control", facts.property_control),
            cap_expiry=lowest_cap(facts.cap_expiry, *(each.cap_expiry for each in route.path)),
            is_asynchronous=first.def_put_response == "ASYNC",
        )
        return cls(version.decode(), facts, route, checks, first.def_priority, int(first.def_persistence == "YES"))


@dataclass(slots=True)
class LastPut:
    """The last plain message put through a handle: most often the descriptor of the next message is equal.

    Attributes:
        definition, options: the outcome depends on them and on the descriptor.
        asked: the descriptor as the program gave it, but for its time, which is the queue manager's.
        completed: the values of the fields that were completed.
        base: the place among the priorities.
        put_time_ms: in ``head``, which is the record up to the data.
        detail: what the journal says of it, before and after its length.
    """

    definition: Definition
    options: int
    asked: tuple[Any, ...]
    completed: tuple[Any, ...]
    base: str
    put_time_ms: int
    head: bytes
    detail: tuple[str, str]


@dataclass(slots=True)
class Puts:
    """The memory of a handle for its puts."""

    #: The other ways of messages, once there was one that went there (`sharedq.calls.handles.ways`).
    ways: dict[Place, Handle] = field(default_factory=dict)
    #: MQOO_BIND_ON_GROUP or MQOO_BIND_NOT_FIXED where each put chooses among the queues of an alias; else 0.
    binding: int = 0
    #: Counts the choices that nothing decides.
    turn: int = 0
    #: The GroupId of the group that the next put begins, where it has decided the way already.
    next_group_id: bytes = b""
    #: An asynchronous put through it failed, perhaps for a definition that it does not know.
    may_be_stale: bool = False
    #: The AlternateUserId that it was opened with: the user in the context of messages.
    alternate_user: bytes = b""
    #: The arguments of its script calls that stay the same, made at the first one.
    target: PutTarget | None = None
    #: The last plain message, for the next message that is like it.
    last: LastPut | None = None
    #: The options of the last put that was not refused for them.
    checked: int | None = None


@dataclass(slots=True)
class Gets:
    """The memory of a handle for its gets and browses."""

    #: A get through it may ride along with the commit before it: the last message does not expire, and is in no group.
    rides: bool = True
    #: The last get through it that might wait had to: the next one waits in the write of its call.
    has_waited: bool = False
    cursor: BrowseCursor = field(default_factory=BrowseCursor)
    #: Members of groups, or segments, were seen on the queue: gets call structure/get_grouped.
    has_members: bool = False
    #: A message was locked through this handle (MQGMO_LOCK), and the lock may still last: locks count.
    may_hold_lock: bool = False
    #: Messages marked by any handle were seen on the queue: a call that takes one out must know of marks.
    may_meet_marks: bool = False
    #: A message was marked through this handle, or the handle is of the co-operating set: its close ends marks.
    may_hold_marks: bool = False
    #: Whether a get makes the report that a message asks for (COD). A command that moves messages delivers none.
    confirms_delivery: bool = True
    #: Of SYSTEM.QSG.TRANSMIT.QUEUE, as programs open it: handles of its parts, by structure and name there. They are
    #: not registered; this one is, at the manager's own part.
    parts: dict[tuple[str, str], Handle] | None = None
    #: The part that the browse cursor is in.
    cursor_part: Handle | None = None
    #: MARKINT of its manager when it was opened: how long a mark of the co-operating set lasts, ms.
    mark_ms: int = -1
    #: The context of the message got last, which a put may pass on, if the queue was opened with MQOO_SAVE_ALL_CONTEXT.
    saved_context: Context | None = None
    #: The condition of the selection string that the queue was opened with: gets see the messages that fit.
    selector: Selector | None = None
    #: The place after which the next batch of gets looks for messages that the selector is true of. None: the head.
    found_at: int | None = None
    #: The arguments of its script calls that stay the same, made at the first one.
    source: GetSource | None = None
    #: The last get of any message outside a unit of work that does not wait: what it asked for, and its call.
    kept: tuple[tuple[int, int, int], ScriptCall] | None = None
    #: Options, version of MQGMO, match options and wait interval of the last get that was not refused for them.
    checked: tuple[int, int, int, int] | None = None

    def learn(self, seen: Seen) -> None:
        """Remember what a get has seen of the queue."""
        self.has_members, may_hold_lock, may_meet_marks = seen
        if may_hold_lock is not None and may_meet_marks is not None:
            self.may_hold_lock, self.may_meet_marks = may_hold_lock, may_meet_marks


class Seen(NamedTuple):
    """The things that a get has seen of a queue and of its handle's lock, beside messages; None: it did not look."""

    has_members: bool
    may_hold_lock: bool | None = None
    may_meet_marks: bool | None = None


@dataclass(slots=True)
class Handle:
    """An open queue: its identity, its definition, and its memory for gets and for puts.

    Attributes:
        number: unique for the connection.
        object_name, object_q_mgr_name: what the program named.
        opened_at: the manager whose definitions the name was followed through; that of the connection, but for what
            a mover delivers.
        name: the queue that calls work on (for a remote queue: the transmission queue).
        definition: replaced as a whole (``go_by``).
        destination, target_qmgr: where a message put through this handle must go in the end; empty when local.
        resolved_q_mgr: what MQOPEN and MQPUT tell: for a shared queue it is the group's name.
        is_intra_group: the route is SYSTEM.QSG.TRANSMIT.QUEUE.
        order: the retained state of groups and segments; replaced, never changed.
        asked: what its MQOPEN asked for, by which it can be opened again; the queue that a model queue's name has made
            stands for that name. None for a handle that no MQOPEN made.
    """

    number: int
    options: int
    object_name: str
    name: str
    structure: StructureAccess
    queue: QueueKeys
    definition: Definition
    destination: bytes = b""
    target_qmgr: bytes = b""
    resolved_q_mgr: bytes = b""
    is_intra_group: bool = False
    object_q_mgr_name: str = ""
    opened_at: str = ""
    is_closed: bool = False
    #: Its open made a temporary dynamic queue, which goes when it is closed.
    is_temporary: bool = False
    order: HandleOrder = UNUSED
    asked: MQOD | None = None
    gets: Gets = field(default_factory=Gets)
    puts: Puts = field(default_factory=Puts)
    #: A get makes an MQXQH in front of each message.
    adds_headers: ClassVar[bool] = False

    def go_by(self, definition: Definition) -> None:
        """From now on go by this *definition*."""
        self.definition, self.puts.target, self.gets.source, self.gets.kept = definition, None, None, None

    def resolved_names(self, *, is_local_wanted: bool = False) -> tuple[bytes, bytes]:
        """Return the queue and manager that a call tells; for RESOLVE_LOCAL_Q of the transmission queue."""
        if self.destination and not is_local_wanted:
            return self.destination, self.resolved_q_mgr
        return self.name.encode(), self.opened_at.encode() if self.destination else self.resolved_q_mgr


@dataclass(slots=True)
class PartHandle(Handle):
    """A part of SYSTEM.QSG.TRANSMIT.QUEUE, as a program gets from it. The queue does not register it."""

    adds_headers: ClassVar[bool] = True


@dataclass(slots=True)
class ServedHandle(Handle):
    """A transmission queue that an agent or a mover serves. No MQOPEN makes it, and the queue does not register it.

    So the queue can be altered and deleted while it is served.

    Attributes:
        members: tells the members of the group; gets pass over messages for other managers, unless it tells none.
    """

    members: Callable[[], Collection[str]] | None = None

    @classmethod
    def of(cls, access: StructureAccess, name: str) -> ServedHandle:
        """A handle whose definition is not read yet."""
        options = int(OpenOption.INPUT_SHARED | OpenOption.BROWSE)
        return cls(0, options, name, name, access, access.keys.queue(name), Definition("", QueueFacts()))

    def members_text(self) -> str:
        """The members that it knows, as scripts take them; empty where it passes over nothing."""
        names = () if self.members is None else self.members()
        return "\n".join(("", *names, "")) if names else ""


@dataclass(slots=True)
class ObjectHandle:
    """The attributes of the queue manager, a process definition or a namelist, opened for MQINQ.

    It exists in this process only.

    Attributes:
        kind: MQSC's word for the kind of object.
        asked: what its MQOPEN asked for, by which it can be opened again.
    """

    number: int
    options: int
    object_name: str
    kind: str
    asked: MQOD
    is_closed: bool = False


@dataclass(slots=True)
class ListMember:
    """One destination of a distribution list.

    Attributes:
        handle: None if it could not be opened, for *reason*.
        beside: a handle of the same queue for the second connection of the program, which has its own unit of work.
    """

    object_name: bytes
    object_q_mgr_name: bytes
    handle: Handle | None = None
    reason: MQRC = MQRC.NONE
    beside: Handle | None = None


@dataclass(slots=True)
class ListHandle:
    """An open distribution list. It exists in this process only; its destinations have handles of their own.

    Attributes:
        options: of its MQOPEN.
        warning: of its MQOPEN: NONE, or 2136.
        responses: of an MQPUT1: the response records of its MQOD, which tell of the put, too.
    """

    options: int
    members: list[ListMember]
    warning: MQRC
    object_name: str = ""
    is_closed: bool = False
    responses: Sequence[MQRR] | None = None
