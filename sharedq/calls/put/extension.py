"""MQPUT with an MQMDE in front of the data: the group and the segment of a message, said beside a version-1 MQMD.

Source: IBM MQ reference, "MQMDE - Message descriptor extension", Table 1; MQRC_MDE_ERROR.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Final

from sharedq.messages.extension import (
    DATA_FIELDS,
    EXTENSION_LENGTH,
    GROUP_FIELDS,
    has_group_fields,
    is_extended,
    without_extension,
)
from sharedq.mqi.constants import MQRC, CharSet, PutOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQMD
from sharedq.mqi.wire import CCSID, ENCODING, MDE
from sharedq.session.connection import Connection

_LOGICAL_ORDER: Final = int(PutOption.LOGICAL_ORDER)
_FOR_OUTPUT_ONLY: Final = int(PutOption.MD_FOR_OUTPUT_ONLY)
_VERSION: Final = (2).to_bytes(4, "little")
#: A put returns these fields in a descriptor of version 1. The MQMDE stays as it is, and still describes the data.
_RETURNED: Final = tuple(
    field.name for field in fields(MQMD) if field.name not in ("version", *DATA_FIELDS, *GROUP_FIELDS)
)
#: In version 2 there are places for these, too.
_RETURNED_OF_GROUPS: Final = ("group_id", "msg_seq_number", "offset")


def put_message(
    connection: Connection, name: str, send: Callable[[MQMD, bytes], MQRC], md: MQMD, options: int, body: bytes
) -> MQRC:
    """Put a message that may have an MQMDE in front; arguments as of ``described``.

    Args:
        send: puts the message that it is given.
    """
    sent, data = described(connection, name, md, options, body)
    warning = send(sent, data)
    return_fields(md, sent)
    return warning


def described(connection: Connection, name: str, md: MQMD, options: int, body: bytes) -> tuple[MQMD, bytes]:
    """The message that a put is asked to put, with the fields of the MQMDE that its data may begin with.

    An MQMDE is data if a descriptor of version 2 says something else than the defaults itself, or if the MQMDE is not
    of version 2 and in the character set and encoding of the queue manager.

    Args:
        name: of the queue, or the topic string.
        options: of MQPMO.

    Returns:
        Another descriptor, and the data after the MQMDE; *md* and *body* themselves if there is none.

    Raises:
        MQIError: 2248, the MQMDE is not valid; 2257, logical order is for version 2.
    """
    if not is_extended(md) or options & _FOR_OUTPUT_ONLY or not _is_honoured(connection, md, body):
        return md, body
    if md.version < 2 and options & _LOGICAL_ORDER:
        raise error_for(MQRC.WRONG_MD_VERSION, "MQPUT", name)
    sent, data = without_extension(md, body)
    if sent.coded_char_set_id == CharSet.INHERIT:
        sent.coded_char_set_id = md.coded_char_set_id
    elif sent.coded_char_set_id <= 0:
        detail = f"CodedCharSetId {sent.coded_char_set_id} in the MQMDE"
        raise error_for(MQRC.MDE_ERROR, "MQPUT", name, detail)
    return sent, data


def return_fields(md: MQMD, sent: MQMD) -> None:
    """Leave in the descriptor of the program what a put has left in the one that was *sent* in its place."""
    if sent is not md:
        for field in _RETURNED if md.version < 2 else (*_RETURNED, *_RETURNED_OF_GROUPS):
            setattr(md, field, getattr(sent, field))


def _is_honoured(connection: Connection, md: MQMD, body: bytes) -> bool:
    if md.version > 1 and has_group_fields(md):
        return False
    is_native = md.encoding == ENCODING and md.coded_char_set_id in (0, CCSID, connection.ccsid)
    is_of_another_version = body[:4] == MDE.identifier and len(body) >= EXTENSION_LENGTH and body[4:8] != _VERSION
    return is_native and not is_of_another_version
