"""A connection's unit of work, as the connection sees it; what it did stands in the structures."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Messages that one script call commits or backs out, at most: a large unit of work is applied in chunks.
CHUNK_MESSAGES = 500


@dataclass(slots=True)
class Part:
    """What a unit of work did in one structure: operations recorded there, and the queues they touch."""

    operations: int = 0
    has_puts: bool = False
    queues: dict[str, None] = field(default_factory=dict)


class UnitOfWork:
    """Counts operations and queues for each structure, so that a commit can state what it must find.

    Attributes:
        messages: messages put and got in it so far (limited by MAXUMSGS).
    """

    __slots__ = ("_owner", "_serial", "id", "messages", "parts")

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._serial = 0
        self.parts: dict[str, Part] = {}
        self.messages = 0
        self.id = f"{owner}/0"

    @property
    def next_id(self) -> str:
        """The id of the unit of work that will follow this one."""
        return f"{self._owner}/{self._serial + 1}"

    @property
    def is_active(self) -> bool:
        """Whether anything was put or got under syncpoint since the last commit or back-out."""
        return bool(self.parts)

    def add(self, structure: str, queue: str, messages: int, *, is_put: bool = False) -> None:
        """One operation batch of *messages* was recorded in *structure* for *queue*."""
        part = self.parts.get(structure)
        if part is None:
            part = self.parts[structure] = Part()
        part.operations += 1
        part.has_puts |= is_put
        part.queues[queue] = None
        self.messages += messages

    def begin_next(self) -> None:
        """The unit of work has ended; the next one has a new id."""
        self._serial += 1
        self.parts = {}
        self.messages = 0
        self.id = f"{self._owner}/{self._serial}"
