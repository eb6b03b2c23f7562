"""Messages on a transmission queue: put through IGQ they are stored as they are, with the destination's name.

A program that gets one from the queue itself sees the form of IBM MQ: an MQXQH, the original descriptor's version-2
fields in an MQMDE, the data; format MQXMIT. Each descriptor or header describes the next part: the outer descriptor
describes the MQXQH, the descriptor in the MQXQH the MQMDE or the data, and the MQMDE the data.
"""

from __future__ import annotations

from dataclasses import replace

from sharedq.mqi.constants import Format, MsgFlag
from sharedq.mqi.headers import MQMDE, MQXQH
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD
from sharedq.mqi.wire import CCSID, ENCODING, MDE, XQH_LENGTH, pack_xqh, unpack_xqh

FORMAT_XMIT = b"MQXMIT"
#: Fields of a descriptor that stand in its extension.
_EXTENDED = (
    *("encoding", "coded_char_set_id", "format"),
    *("group_id", "msg_seq_number", "offset", "msg_flags", "original_length"),
)
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
        extension = MQMDE(**{name: getattr(md, name) for name in _EXTENDED})
        inner.format, inner.encoding, inner.coded_char_set_id = Format.MD_EXTENSION, ENCODING, CCSID
        data = MDE.pack(extension) + body
    header = MQXQH(remote_q_name=remote_queue, remote_q_mgr_name=remote_qmgr, msg_desc=inner)
    md.format, md.encoding, md.coded_char_set_id = FORMAT_XMIT, ENCODING, CCSID
    return pack_xqh(header) + data


def as_put(data: bytes) -> tuple[MQXQH, MQMD, bytes]:
    """The reverse: the header, and the message inside *data* with its whole descriptor.

    Raises:
        MQIError: 2260, there is no transmission-queue header; 2026, its descriptor is not of version 1; 2248, it
            announces an extension that is missing or has a wrong length.
    """
    header = unpack_xqh(data)
    md, body = header.msg_desc, data[XQH_LENGTH:]
    if md.format == Format.MD_EXTENSION:
        extension = MDE.unpack(body, may_be_foreign=True)
        body = body[MDE.length(extension.version) :]
        md = replace(md, version=2, **{name: getattr(extension, name) for name in _EXTENDED})
    return header, md, body
