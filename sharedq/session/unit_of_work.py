"""A connection's unit of work, as the connection sees it; its operations are recorded in the structures.

With it are the asynchronous puts that are not yet sent, and the outcomes that MQSTAT returns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sharedq.logical import HandleOrder, Retained
from sharedq.messages.record import PutArguments
from sharedq.mqi.errors import MQIError
from sharedq.session.handle import Handle

#: Messages that one script call commits or backs out, at most: a large unit of work is applied in chunks.
CHUNK_MESSAGES = 500
#: Messages of such a call if members of groups are among them: a member costs the server about thirty microseconds.
CHUNK_MEMBERS = 200


@dataclass(slots=True)
class Part:
    """The part of a unit of work in one structure: operations recorded there, and the queues they touch.

    ``has_members``: it put or got members of groups there, or segments.
    """

    operations: int = 0
    has_puts: bool = False
    has_members: bool = False
    queues: dict[str, None] = field(default_factory=dict)

    @property
    def is_only_gets(self) -> bool:
        """Whether it is gets of plain messages and nothing else."""
        return not (self.has_puts or self.has_members)

    @property
    def chunk(self) -> int:
        """Messages that one call commits or backs out, at most."""
        return CHUNK_MEMBERS if self.has_members else CHUNK_MESSAGES


class Marked(NamedTuple):
    """Gets with MQGMO_MARK_SKIP_BACKOUT: how many messages (or segments) in how many operations."""

    structure: str
    queue: str
    messages: int
    operations: int
    has_members: bool


class Savepoint(NamedTuple):
    """The state of a unit of work, and of its part in one structure (None: it had none).

    The part is given as the number of operations, whether there were puts, whether there were members, and the number
    of queues.
    """

    structure: str
    messages: int
    part: tuple[int, bool, bool, int] | None


class UnitOfWork:
    """Counts operations and queues for each structure, so that a commit can state what it must find.

    Attributes:
        id, next_id: its own, and that of the unit of work that will follow it.
        messages: messages put and got in it so far (limited by MAXUMSGS).
        marked: what its backout skips, once there is something.
    """

    __slots__ = ("_before", "_owner", "_serial", "id", "marked", "messages", "next_id", "parts")

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._serial = 0
        self.parts: dict[str, Part] = {}
        self.messages = 0
        #: By handle, not by its number: handles that no queue registers have none.
        self._before: dict[tuple[int, str], tuple[Handle, Retained]] = {}
        self.marked: Marked | None = None
        self.id, self.next_id = f"{owner}/0", f"{owner}/1"

    def add(
        self,
        structure: str,
        queue: str,
        messages: int,
        *,
        is_put: bool = False,
        operations: int = 1,
        has_members: bool = False,
    ) -> None:
        """Operation batches of *messages* in all were recorded in *structure* for *queue*."""
        part = self.parts.get(structure)
        if part is None:
            part = self.parts[structure] = Part()
        part.operations += operations
        part.has_puts |= is_put
        part.has_members |= has_members
        part.queues[queue] = None
        self.messages += messages

    def savepoint(self, structure: str) -> Savepoint:
        """How it stands, before a call that does something in *structure*."""
        part = self.parts.get(structure)
        stood = None if part is None else (part.operations, part.has_puts, part.has_members, len(part.queues))
        return Savepoint(structure, self.messages, stood)

    def return_to(self, savepoint: Savepoint) -> None:
        """Forget what that call did: it is undone."""
        self.messages = savepoint.messages
        part = self.parts.get(savepoint.structure)
        if savepoint.part is None:
            self.parts.pop(savepoint.structure, None)
        elif part is not None:
            part.operations, part.has_puts, part.has_members, count = savepoint.part
            # Queues are in the order in which they were first touched.
            while len(part.queues) > count:
                part.queues.popitem()

    def retain(self, handle: Handle, use: Literal["gets", "puts"], order: HandleOrder, *, in_unit: bool) -> None:
        """From now on *handle* retains *order* of groups and segments, for a call of this *use*.

        Args:
            in_unit: the call belongs to this unit of work, whose backout brings back what was retained before. One
                outside it stands: from then on there is nothing to bring back.
        """
        before = getattr(handle.order, use)
        if in_unit:
            self._before.setdefault((id(handle), use), (handle, before))
        elif getattr(order, use) != before:
            self._before.pop((id(handle), use), None)
        handle.order = order

    def restore_order(self) -> None:
        """Backed out: what calls of this unit of work changed, each handle retains again as it was before."""
        for (_, use), (handle, retained) in self._before.items():
            if use == "gets":
                handle.order = handle.order._replace(gets=retained)
            else:
                handle.order = handle.order._replace(puts=retained)

    def begin_next(self) -> None:
        """The unit of work has ended; the next one has a new id."""
        self._serial += 1
        self.parts = {}
        self.messages = 0
        self._before = {}
        self.marked = None
        self.id, self.next_id = self.next_id, f"{self._owner}/{self._serial + 1}"


@dataclass(slots=True)
class PendingPuts:
    """Messages of asynchronous puts through one handle that wait to be sent.

    Attributes:
        version: of the queue's definition that they were completed by, whatever the handle has learned since.
        details: the journal's lines about them; none where there is no journal.
        begun: for each message 1 where it is a put's first or only one, 0 where it is a later segment.
    """

    handle: Handle
    version: str
    arguments: list[PutArguments]
    details: list[str]
    begun: list[int]


@dataclass(slots=True)
class PutStatus:
    """Asynchronous MQPUTs since the last MQSTAT: how many were stored, how many not, and why the first was not."""

    successes: int = 0
    failures: int = 0
    first_failure: MQIError | None = None
    resolved: tuple[bytes, bytes] = b"", b""

    def failed(self, puts: int, why: MQIError, resolved: tuple[bytes, bytes]) -> None:
        """Count puts that were not stored, on the queue and manager of the names *resolved*."""
        self.failures += puts
        if self.first_failure is None:
            self.first_failure, self.resolved = why, resolved
