"""The message that a get asks for."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from sharedq.logical import ANY_OFFSET, ANY_SEQ

_POSITION: Final = struct.Struct(">ii")


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
