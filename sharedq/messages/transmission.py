"""Messages on a transmission queue: put through IGQ they are stored as they are, with the destination's name.

A program that gets one from the queue itself sees the form of IBM MQ: an MQXQH, the original descriptor's version-2
fields in an MQMDE, the data; format MQXMIT. Each descriptor or header describes the next part: the outer descriptor
describes the MQXQH, the descriptor in the MQXQH the MQMDE or the data, and the MQMDE the data.
"""

from __future__ import annotations

from dataclasses import replace

from sharedq.messages.extension import clear_group_fields, is_extended, with_extension, without_extension
from sharedq.mqi.constants import MsgFlag
from sharedq.mqi.headers import MQXQH
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD
from sharedq.mqi.wire import CCSID, ENCODING, XQH_LENGTH, pack_xqh, unpack_xqh

FORMAT_XMIT = b"MQXMIT"
_GROUP_FLAGS = int(
    MsgFlag.MSG_IN_GROUP
    | MsgFlag.LAST_MSG_IN_GROUP
    | MsgFlag.SEGMENT
    | MsgFlag.LAST_SEGMENT
    | MsgFlag.SEGMENTATION_ALLOWED
)


def as_transmitted(md: MQMD, body: bytes, remote_queue: bytes, remote_qmgr: bytes) -> bytes:
    """The data of a transmission-queue message; *md* becomes the descriptor it travels under."""
    inner = replace(md)
    data = body
    if md.group_id != NULL_ID or md.msg_flags & _GROUP_FLAGS or md.original_length != -1:
        data = with_extension(inner, body)
    header = MQXQH(remote_q_name=remote_queue, remote_q_mgr_name=remote_qmgr, msg_desc=inner)
    md.format, md.encoding, md.coded_char_set_id = FORMAT_XMIT, ENCODING, CCSID
    # The group and segment stand in the header with the message: it travels as one message by itself.
    clear_group_fields(md)
    return pack_xqh(header) + data


def as_put(data: bytes) -> tuple[MQXQH, MQMD, bytes]:
    """The reverse: the header, and the message inside *data* with its whole descriptor.

    Raises:
        MQIError: 2260, there is no transmission-queue header; 2026, its descriptor is not of version 1; 2248, it
            announces an extension that is missing or has a wrong length.
    """
    header = unpack_xqh(data)
    md, body = header.msg_desc, data[XQH_LENGTH:]
    if is_extended(md):
        md, body = without_extension(md, body)
    return header, md, body
