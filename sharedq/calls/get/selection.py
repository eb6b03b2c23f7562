"""Which message a get asks for: MatchOptions and the descriptor, turned into look-ups of the selection index."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sharedq.calls.requests.get import ANY, Selection
from sharedq.logical import Wanted, match_options_of
from sharedq.messages.record import generated_number, message_of_token
from sharedq.mqi.constants import MQRC, MatchOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import MSG_TOKEN_LENGTH, NULL_ID
from sharedq.mqi.structures import MQGMO, MQMD, copied
from sharedq.session.handle import Handle

# Plain integers: an operation on IntFlag members costs about a microsecond.
_MATCH_MSG_ID, _MATCH_CORREL_ID = int(MatchOption.MATCH_MSG_ID), int(MatchOption.MATCH_CORREL_ID)
_NOT_SUPPORTED = ~(_MATCH_MSG_ID | _MATCH_CORREL_ID)
_MATCH_GROUP_ID, _MATCH_TOKEN = int(MatchOption.MATCH_GROUP_ID), int(MatchOption.MATCH_MSG_TOKEN)
_ID_LENGTH: Final = len(NULL_ID)
#: The descriptor of a get that matches anything. A get only reads its descriptor, so all such gets share this one.
ANYTHING: Final = MQMD(version=2)
#: The match options of a get that names none.
DEFAULT_MATCHES: Final = _MATCH_MSG_ID | _MATCH_CORREL_ID


def full_length(handle: Handle, md: MQMD, gmo: MQGMO) -> tuple[MQMD, MQGMO]:
    """The identifiers that an MQGET asks for, padded with nulls to the length of their fields, as MQPUT keeps them.

    Raises:
        MQIError: 2026 an identifier that is asked for is too long, 2186 the MsgToken is too long.
    """
    ids = md.msg_id, md.correl_id, md.group_id
    if not len(ids[0]) == len(ids[1]) == len(ids[2]) == _ID_LENGTH:
        options = match_options_of(gmo)
        for each, option in zip(ids, (_MATCH_MSG_ID, _MATCH_CORREL_ID, _MATCH_GROUP_ID), strict=True):
            if options & option and len(each) > _ID_LENGTH:
                raise error_for(MQRC.MD_ERROR, "MQGET", handle.object_name, f"an identifier has {len(each)} bytes")
        msg_id, correl_id, group_id = (each.ljust(_ID_LENGTH, b"\0") for each in ids)
        md = copied(md, msg_id=msg_id, correl_id=correl_id, group_id=group_id)
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


def selected(handle: Handle, selection: Selection) -> Selection:
    """A selection for which also the selector of the handle must be true.

    The message under the browse cursor was chosen before. Identifiers that the selector asks for are looked up in the
    index, unless the call asks for others, which the message must have as well.
    """
    selector = handle.gets.selector
    if selector is None or selection.is_under_cursor:
        return selection
    msg_id, number = selection.msg_id or selector.msg_id, selection.number
    if msg_id and not selection.msg_id:
        generated = generated_number(msg_id, handle.structure.number)
        number = "" if generated is None else str(generated)
    return replace(
        selection,
        prefix=b"",
        number=number,
        msg_id=msg_id,
        correl_id=selection.correl_id or selector.correl_id,
        group_id=selection.group_id or selector.group_id,
        is_grouped=True,
        selector=selector.text,
    )
