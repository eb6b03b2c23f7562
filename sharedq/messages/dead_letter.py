"""The form of a message on the dead-letter queue. Pure.

The letter's descriptor describes the header; the header describes the message after it.

Source: IBM MQ reference, "MQDLH".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sharedq.mqi import wire
from sharedq.mqi.constants import ApplType, Format, MsgFlag
from sharedq.mqi.constants.descriptor import UNKNOWN_REPORTS
from sharedq.mqi.headers import MQDLH
from sharedq.mqi.limits import OBJECT_NAME_LENGTH, UNDEFINED_ORIGINAL_LENGTH
from sharedq.mqi.structures import MQMD

_MAY_BE_SPLIT: Final = int(MsgFlag.SEGMENTATION_ALLOWED)


def dead_lettered(
    md: MQMD, body: bytes, queue: bytes, qmgr: bytes, reason: int, appl_name: bytes, date: bytes, time: bytes
) -> tuple[MQMD, bytes]:
    """A message as it goes to the dead-letter queue: an MQDLH in front, its identifiers and context kept.

    Unknown report options are dropped: they may be the reason of the refusal, and the dead-letter queue would refuse
    them too. The message may not be segmented any more: only the first segment would have the header, or a part of it.

    Args:
        queue, qmgr: its destination.
        date, time: YYYYMMDD and HHMMSSTH, UTC.
    """
    header = MQDLH(
        reason=int(reason),
        dest_q_name=queue[:OBJECT_NAME_LENGTH],
        dest_q_mgr_name=qmgr[:OBJECT_NAME_LENGTH],
        encoding=md.encoding,
        coded_char_set_id=md.coded_char_set_id,
        format=md.format,
        put_appl_type=int(ApplType.QMGR),
        put_appl_name=appl_name,
        put_date=date,
        put_time=time,
    )
    data = wire.DLH.pack(header) + body
    letter = replace(
        md,
        format=Format.DEAD_LETTER_HEADER,
        encoding=wire.ENCODING,
        coded_char_set_id=wire.CCSID,
        report=md.report & ~UNKNOWN_REPORTS,
        msg_flags=md.msg_flags & ~_MAY_BE_SPLIT,
    )
    if md.original_length != UNDEFINED_ORIGINAL_LENGTH:
        # No report about a segment says that this was shorter than its own data, which have the header now.
        letter.original_length = max(md.original_length, len(data))
    return letter, data
