"""The form of a message on the dead-letter queue. Pure.

The letter's descriptor describes the header; the header describes the message after it.

Source: IBM MQ reference, "MQDLH".
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, ApplType, Feedback, Format, MsgFlag
from sharedq.mqi.constants.descriptor import UNKNOWN_REPORTS
from sharedq.mqi.errors import MQIError
from sharedq.mqi.headers import MQDLH
from sharedq.mqi.limits import OBJECT_NAME_LENGTH, UNDEFINED_ORIGINAL_LENGTH
from sharedq.mqi.structures import MQMD

#: Bytes of a dead-letter header.
HEADER_LENGTH: Final = wire.DLH.length(1)
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


def header_of(format_: bytes, data: bytes) -> MQDLH | None:
    """The dead-letter header of a message. None if it has none, or one that nobody can read.

    Args:
        format_: of the message's descriptor.
        data: of the message, at least the first `HEADER_LENGTH` bytes.
    """
    if format_.rstrip(b" \0") != Format.DEAD_LETTER_HEADER.rstrip():
        return None
    try:
        return wire.DLH.unpack(data[:HEADER_LENGTH], may_be_foreign=True)
    except MQIError:
        return None


def without_header(md: MQMD, data: bytes) -> tuple[MQMD, bytes]:
    """A message as it was before it became a dead letter. Raises MQIError: 2141, it has no dead-letter header."""
    header = wire.DLH.unpack(data, may_be_foreign=True)
    before = replace(
        md,
        format=header.format or Format.NONE,
        encoding=header.encoding,
        coded_char_set_id=header.coded_char_set_id,
    )
    return before, data[wire.DLH.length(header.version) :]


def died_at(header: MQDLH) -> datetime | None:
    """When a message became a dead letter, UTC. None where the header does not say."""
    # HHMMSSTH: hundredths are a fraction of the second.
    text = f"{header.put_date.decode('latin-1')}{header.put_time.decode('latin-1')}0000+0000"
    try:
        return datetime.strptime(text, "%Y%m%d%H%M%S%f%z")
    except ValueError:
        return None


def reason_name(reason: int) -> str:
    """The name of a reason or feedback code; empty for one that is not known."""
    for names in (MQRC, Feedback):
        try:
            return str(names(reason).name)
        except ValueError:
            continue
    return ""


def reason_code(text: str) -> int | None:
    """A reason or feedback code by its number or name, such as ``2053``, ``Q_FULL`` or ``MQRC_Q_FULL``; else None."""
    if text.isascii() and text.isdecimal():
        return int(text)
    name = text.upper().removeprefix("MQRC_").removeprefix("MQFB_")
    for names in (MQRC, Feedback):
        if name in names.__members__:
            return int(names[name])
    return None
