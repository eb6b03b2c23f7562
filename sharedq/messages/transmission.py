"""Messages on a transmission queue: put through IGQ they are stored as they are, with the destination's name.

A program that gets one from the queue itself sees the form of IBM MQ: an MQXQH, the original descriptor's version-2
fields in an MQMDE, the data; format MQXMIT. Each descriptor or header describes the next part: the outer descriptor
describes the MQXQH, the descriptor in the MQXQH the MQMDE or the data, and the MQMDE the data.
"""

from __future__ import annotations

from dataclasses import replace

from sharedq.mqi.constants import MsgFlag
from sharedq.mqi.headers import MQMDE, MQXQH
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD
from sharedq.mqi.wire import CCSID, ENCODING, MDE, pack_xqh

FORMAT_XMIT = b"MQXMIT"
FORMAT_MDE = b"MQHMDE"
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
        extension = MQMDE(
            encoding=md.encoding,
            coded_char_set_id=md.coded_char_set_id,
            format=md.format,
            group_id=md.group_id,
            msg_seq_number=md.msg_seq_number,
            offset=md.offset,
            msg_flags=md.msg_flags,
            original_length=md.original_length,
        )
        inner.format, inner.encoding, inner.coded_char_set_id = FORMAT_MDE, ENCODING, CCSID
        data = MDE.pack(extension) + body
    header = MQXQH(remote_q_name=remote_queue, remote_q_mgr_name=remote_qmgr, msg_desc=inner)
    md.format, md.encoding, md.coded_char_set_id = FORMAT_XMIT, ENCODING, CCSID
    return pack_xqh(header) + data
