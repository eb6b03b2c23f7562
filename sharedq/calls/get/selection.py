"""Which message a get asks for: MatchOptions and the descriptor, turned into look-ups of the selection index."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Final

from sharedq.logical import ANY_OFFSET, ANY_SEQ, Wanted, match_options_of
from sharedq.messages.record import generated_number
from sharedq.mqi.constants import MQRC, MatchOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import MSG_TOKEN_LENGTH, NULL_ID
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.session.handle import Handle

# Plain integers: an operation on IntFlag members costs about a microsecond.
_MATCH_MSG_ID, _MATCH_CORREL_ID = int(MatchOption.MATCH_MSG_ID), int(MatchOption.MATCH_CORREL_ID)
_NOT_SUPPORTED = ~(_MATCH_MSG_ID | _MATCH_CORREL_ID)
_MATCH_GROUP_ID, _MATCH_TOKEN = int(MatchOption.MATCH_GROUP_ID), int(MatchOption.MATCH_MSG_TOKEN)
_ID_LENGTH: Final = len(NULL_ID)
_POSITION: Final = struct.Struct(">ii")
#: Structure, message number, destination code, whether the id ends in "x".
_TOKEN: Final = struct.Struct(">HQIB")


@dataclass(frozen=True, slots=True)
class Selection:
    """Arguments of the scripts' look-up, and how a waiter for it is registered.

    Attributes:
        message_id: exactly this message, by its id in the structure: under the browse cursor, or by its token.
        number: message number, when the MsgId asked for is one that igq generated in this structure.
        prefix: of the selection index; empty asks for any message.
        msg_id, correl_id: what must hold besides.
        group_id, seq, offset: what must hold besides; ``ANY_SEQ`` and ``ANY_OFFSET`` ask nothing.
        level: 2 the whole group must be available, 1 the logical message, 0 neither.
        firsts: only what begins something.
        is_fixed: group, seq and offset say which message; it must have the rest, or the call fails with 2247.
        persistence: what the message's must be, or the call fails with 2245; None asks nothing.
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
    #: Only structure/get_grouped knows what is asked.
    is_grouped: bool = False

    @property
    def arguments(self) -> tuple[str | bytes, ...]:
        """In the order of the ARGV of structure/get and structure/browse."""
        return (self.message_id, self.number, self.prefix, self.msg_id, self.correl_id)

    @property
    def grouped_arguments(self) -> tuple[str | bytes | int, ...]:
        """In the order of the ARGV of structure/get_grouped."""
        return (
            self.message_id,
            self.number,
            self.msg_id,
            self.correl_id,
            self.group_id,
            "" if self.seq == ANY_SEQ else self.seq,
            "" if self.offset == ANY_OFFSET else self.offset,
            self.level,
            int(self.firsts),
            int(self.is_fixed),
            "" if self.persistence is None else int(self.persistence),
            int(self.is_whole),
            int(self.is_under_cursor),
        )

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


def full_length(handle: Handle, md: MQMD, gmo: MQGMO) -> tuple[MQMD, MQGMO]:
    """What an MQGET asks for, with nulls behind identifiers that are shorter than their fields, as MQPUT keeps them.

    Raises:
        MQIError: 2026 one that is asked for is too long, 2186 the MsgToken is.
    """
    ids = md.msg_id, md.correl_id, md.group_id
    if not len(ids[0]) == len(ids[1]) == len(ids[2]) == _ID_LENGTH:
        options = match_options_of(gmo)
        for each, option in zip(ids, (_MATCH_MSG_ID, _MATCH_CORREL_ID, _MATCH_GROUP_ID), strict=True):
            if options & option and len(each) > _ID_LENGTH:
                raise error_for(MQRC.MD_ERROR, "MQGET", handle.object_name, f"an identifier has {len(each)} bytes")
        msg_id, correl_id, group_id = (each.ljust(_ID_LENGTH, b"\0") for each in ids)
        md = replace(md, msg_id=msg_id, correl_id=correl_id, group_id=group_id)
    if len(gmo.msg_token) != MSG_TOKEN_LENGTH:
        if match_options_of(gmo) & _MATCH_TOKEN and len(gmo.msg_token) > MSG_TOKEN_LENGTH:
            detail = f"MsgToken has {len(gmo.msg_token)} bytes"
            raise error_for(MQRC.GMO_ERROR, "MQGET", handle.object_name, detail)
        gmo = replace(gmo, msg_token=gmo.msg_token.ljust(MSG_TOKEN_LENGTH, b"\0"))
    return md, gmo


def selection_for(handle: Handle, md: MQMD, gmo: MQGMO) -> Selection:
    """The selection of an MQGET.

    A null identifier matches anything, so the default match options ask for any message until a get has left
    identifiers in the descriptor.

    Raises:
        MQIError: 2247, a match option that is not known.
    """
    options = match_options_of(gmo)
    if options & _NOT_SUPPORTED:
        raise error_for(MQRC.MATCH_OPTIONS_ERROR, "MQGET", handle.object_name)
    msg_id = md.msg_id if options & _MATCH_MSG_ID and md.msg_id != NULL_ID else b""
    correl_id = md.correl_id if options & _MATCH_CORREL_ID and md.correl_id != NULL_ID else b""
    if msg_id:
        number = generated_number(msg_id, handle.structure.number)
        return Selection(
            number="" if number is None else str(number),
            prefix=b"X" + msg_id + correl_id if correl_id else b"M" + msg_id,
            msg_id=msg_id,
            correl_id=correl_id,
        )
    if correl_id:
        return Selection(prefix=b"C" + correl_id, correl_id=correl_id)
    return ANY


def grouped_selection(handle: Handle, wanted: Wanted, *, is_whole: bool) -> Selection | None:
    """The selection of an MQGET for which groups and segments count; None when nothing can fit it.

    Args:
        is_whole: logical messages are put together (MQGMO_COMPLETE_MSG).
    """
    message_id = message_of_token(wanted.msg_token, handle.structure.number) if wanted.msg_token else ""
    if message_id is None:
        return None
    number = generated_number(wanted.msg_id, handle.structure.number) if wanted.msg_id else None
    return Selection(
        message_id=message_id,
        number="" if number is None else str(number),
        msg_id=wanted.msg_id,
        correl_id=wanted.correl_id,
        group_id=wanted.group_id,
        seq=wanted.seq,
        offset=wanted.offset,
        level=2 if wanted.whole_group else 1 if wanted.whole_message else 0,
        firsts=wanted.first_only,
        is_fixed=wanted.ids_are_conditions,
        persistence=wanted.must_be_persistent,
        is_whole=is_whole,
        is_grouped=True,
    )


def message_token(message_id: bytes, structure_number: int) -> bytes:
    """MsgToken of a message: it names the message for as long as that is on its queue."""
    number, _, code = message_id.rstrip(b"x").partition(b".")
    token = _TOKEN.pack(structure_number, int(number), int(code or 0), message_id.endswith(b"x"))
    return token.ljust(MSG_TOKEN_LENGTH, b"\0")


def message_of_token(token: bytes, structure_number: int) -> str | None:
    """Id of the message that a MsgToken names; None when it is of no message of this structure."""
    structure, number, code, look = _TOKEN.unpack_from(token.ljust(MSG_TOKEN_LENGTH, b"\0"))
    if structure != structure_number or look > 1:
        return None
    return f"{number}{f'.{code}' if code else ''}{'x' if look else ''}"
