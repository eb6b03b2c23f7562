"""Which message a get asks for: MatchOptions and the descriptor, turned into look-ups of the selection index."""

from __future__ import annotations

from dataclasses import dataclass

from sharedq.handle import Handle
from sharedq.mqi.constants import MQRC, MatchOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.record import generated_number

# Plain integers: an operation on IntFlag members costs about a microsecond.
_MATCH_MSG_ID, _MATCH_CORREL_ID = int(MatchOption.MATCH_MSG_ID), int(MatchOption.MATCH_CORREL_ID)
_NOT_SUPPORTED = ~(_MATCH_MSG_ID | _MATCH_CORREL_ID)


@dataclass(frozen=True, slots=True)
class Selection:
    """Arguments of the scripts' look-up, and how a waiter for it is registered.

    Attributes:
        message_id: exactly this message (under the browse cursor), by its id in the structure.
        number: message number, when the MsgId asked for is one that igq generated in this structure.
        prefix: of the selection index; empty asks for any message.
        msg_id, correl_id: what must hold besides.
    """

    message_id: str = ""
    number: str = ""
    prefix: bytes = b""
    msg_id: bytes = b""
    correl_id: bytes = b""

    @property
    def arguments(self) -> tuple[str | bytes, ...]:
        """In the order of the scripts' ARGV."""
        return (self.message_id, self.number, self.prefix, self.msg_id, self.correl_id)

    def waiter_text(self, *, is_browse: bool) -> bytes:
        """How a waiting get with this selection is found by a put (see ``prelude/place.lua``)."""
        if is_browse:
            return b"B"
        if self.number:
            return f"N{self.number} ".encode()
        if self.msg_id and self.correl_id:
            return b"X" + self.msg_id + self.correl_id
        return self.prefix or b"A"


#: Any message: the first in delivery order.
ANY = Selection()


def selection_for(handle: Handle, md: MQMD, gmo: MQGMO) -> Selection:
    """The selection of an MQGET.

    A null identifier matches anything, so the default match options ask for any message until a get has left
    identifiers in the descriptor.

    Raises:
        MQIError: 2247, a match option that is not known.
    """
    options = int(gmo.match_options)
    if options & _NOT_SUPPORTED:
        raise error_for(MQRC.MATCH_OPTIONS_ERROR, "MQGET", handle.object_name)
    msg_id = md.msg_id if options & _MATCH_MSG_ID and md.msg_id != NULL_ID else b""
    correl_id = md.correl_id if options & _MATCH_CORREL_ID and md.correl_id != NULL_ID else b""
    if msg_id:
        number = generated_number(msg_id, handle.structure.number)
        return Selection(
            number="" if number is None else str(number), prefix=b"M" + msg_id, msg_id=msg_id, correl_id=correl_id
        )
    if correl_id:
        return Selection(prefix=b"C" + correl_id, correl_id=correl_id)
    return ANY
