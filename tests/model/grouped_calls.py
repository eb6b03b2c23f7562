"""The values of the model of groups: messages, calls, answers."""

from __future__ import annotations

from dataclasses import dataclass

from sharedq.mqi.constants import MQRC

MAY_SEGMENT, SEGMENT, LAST_SEGMENT, IN_GROUP, LAST_IN_GROUP = 1, 2, 4, 8, 16
ANY_SEGMENT, ANY_IN_GROUP = SEGMENT | LAST_SEGMENT, IN_GROUP | LAST_IN_GROUP
BEFORE_ALL = (-1, -1)

Place = tuple[int, int]


@dataclass(frozen=True)
class Message:
    """A physical message and its place: highest effective priority first, then by arrival, for ever.

    ``expires``: it does when the model is told that time has passed.
    """

    body: bytes
    priority: int = 0
    persistence: int = 0
    correl_id: bytes = b""
    group_id: bytes = b""
    seq: int = 1
    offset: int = 0
    flags: int = 0
    arrival: int = 0
    backout_count: int = 0
    effective_priority: int = 0
    expires: bool = False

    @property
    def place(self) -> Place:
        """The smallest one is got first."""
        return (9 - self.effective_priority, self.arrival)

    @property
    def is_segment(self) -> bool:
        return bool(self.flags & ANY_SEGMENT)

    @property
    def ends_message(self) -> bool:
        return not self.is_segment or bool(self.flags & LAST_SEGMENT)

    @property
    def is_member(self) -> bool:
        return bool(self.flags & (ANY_SEGMENT | ANY_IN_GROUP))


@dataclass(frozen=True)
class Open:
    """A handle retains this: the group or logical message that its last message left unfinished.

    ``is_last`` and ``persistence`` count for puts alone.
    """

    group_id: bytes
    seq: int
    offset: int
    in_message: bool
    in_unit: bool
    was_logical: bool
    in_group: bool = False
    is_last: bool = False
    persistence: int = 0

    @property
    def reason(self) -> MQRC:
        return MQRC.INCOMPLETE_MSG if self.in_message else MQRC.INCOMPLETE_GROUP

    @property
    def next(self) -> tuple[int, int]:
        """MsgSeqNumber and Offset of the next message."""
        return (self.seq, self.offset) if self.in_message else (self.seq + 1, 0)


@dataclass(frozen=True)
class Ask:
    """An MQGET. ``level``: "" | "segments" | "messages" | "complete"; ``browse``: "" | "first" | "next" | "under".

    ``under_cursor`` removes what is there; under the cursor nothing is matched. ``lock`` goes with a browse, and so do
    ``marks``: letters for marking (h, c) and unmarking (H, C) for the handle and for the co-operating set, s for
    passing over what is marked. ``room`` is the length of the buffer; ``cuts`` accepts a longer message. ``skips``: a
    backout of its unit of work leaves it got. ``if_persistent``: in the unit of work if the message is. ``arrival``:
    that message, by its MsgId, or ``by_token``. ``waits`` a moment, and changes nothing else here.
    """

    logical: bool = False
    level: str = ""
    in_unit: bool = False
    if_persistent: bool = False
    browse: str = ""
    correl_id: bytes = b""
    group_id: bytes = b""
    seq: int | None = None
    offset: int | None = None
    arrival: int = 0
    by_token: bool = False
    lock: bool = False
    marks: str = ""
    room: int = 1000
    cuts: bool = False
    skips: bool = False
    under_cursor: bool = False
    waits: bool = False

    def is_in_unit(self, message: Message) -> bool:
        """Whether this message is got in the unit of work."""
        return self.in_unit or (self.if_persistent and bool(message.persistence))


@dataclass(frozen=True)
class Put:
    """An MQPUT. In logical order the group fields of the message have no effect."""

    message: Message
    logical: bool = False
    in_unit: bool = False


@dataclass(frozen=True)
class Got:
    """The answer to an MQGET: the reason, and unless it failed the message."""

    reason: MQRC
    message: Message | None = None
