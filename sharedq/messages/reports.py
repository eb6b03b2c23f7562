"""Report messages: which of them a message asks for, and what they look like.

Source: IBM MQ reference, "Report (MQLONG)" and "Feedback (MQLONG)" of MQMD.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from sharedq.messages.headers import length_of_headers, without_rules_headers
from sharedq.messages.record import put_date_and_time
from sharedq.mqi.constants import Feedback, Format, MsgType, Report
from sharedq.mqi.limits import NULL_ID, PUT_APPL_NAME_LENGTH, UNLIMITED_EXPIRY
from sharedq.mqi.structures import MQMD

#: Bytes of data that MQRO_EXCEPTION_WITH_DATA and its like carry, after the MQ headers.
REPORT_DATA_LENGTH: Final = 100
#: A report of an expiration that is to expire itself does so after a minute, tenths of a second.
EXPIRATION_REPORT_EXPIRY: Final = 600
#: MQAT_QMGR: a queue manager puts a report.
_APPL_TYPE_QMGR: Final = 7
#: Options for reports with all of the data, by Feedback. The options for less data are bits of these.
_WITH_FULL_DATA: Final[dict[int, int]] = {
    Feedback.EXPIRATION: int(Report.EXPIRATION_WITH_FULL_DATA),
    Feedback.COA: int(Report.COA_WITH_FULL_DATA),
    Feedback.COD: int(Report.COD_WITH_FULL_DATA),
}
_WITH_DATA: Final = int(
    Report.EXPIRATION_WITH_DATA | Report.COA_WITH_DATA | Report.COD_WITH_DATA | Report.EXCEPTION_WITH_DATA
)
#: A message that a transmission header or a dead-letter header wraps has not arrived.
_ON_THEIR_WAY: Final = (Format.XMIT_Q_HEADER, Format.DEAD_LETTER_HEADER)


@dataclass(frozen=True, slots=True)
class ReportMessage:
    """A report to send, and its destination."""

    md: MQMD
    body: bytes
    queue: bytes
    qmgr: bytes


def report_about(md: MQMD, body: bytes, feedback: int, qmgr: str, length: int | None = None) -> ReportMessage | None:
    """The report that a message asks for; None if it asks for none, or names no queue for it.

    Args:
        feedback: MQFB_EXPIRATION, MQFB_COA or MQFB_COD; for an exception report any other feedback, or a reason code.
        qmgr: the manager that makes the report.
        length: length of all the message's data, if *body* is only a part.
    """
    full = _WITH_FULL_DATA.get(feedback, int(Report.EXCEPTION_WITH_FULL_DATA))
    wanted = md.report & full
    if not wanted or not md.reply_to_q.strip(b" \0"):
        return None
    length = len(body) if length is None else length
    if md.msg_type == MsgType.REPORT:
        # A report about a segment may hold less of its data than the segment has.
        length = max(length, md.original_length)
    # A report without data announces no header that it does not carry.
    described, length_max = without_rules_headers(md, body), 0
    if wanted == full & _WITH_DATA or wanted == full:
        described = md.encoding, md.coded_char_set_id, md.format
        length_max = len(body) if wanted == full else length_of_headers(md, body) + REPORT_DATA_LENGTH
    put_date, put_time = put_date_and_time(int(time.time() * 1000))
    report = MQMD(
        version=md.version,
        msg_type=int(MsgType.REPORT),
        feedback=int(feedback),
        encoding=described[0],
        coded_char_set_id=described[1],
        format=described[2],
        priority=md.priority,
        persistence=md.persistence,
        expiry=UNLIMITED_EXPIRY,
        msg_id=md.msg_id if md.report & Report.PASS_MSG_ID else NULL_ID,
        correl_id=md.correl_id if md.report & Report.PASS_CORREL_ID else md.msg_id,
        reply_to_q_mgr=qmgr.encode(),
        user_identifier=md.user_identifier,
        accounting_token=md.accounting_token,
        appl_identity_data=md.appl_identity_data,
        put_appl_type=_APPL_TYPE_QMGR,
        put_appl_name=qmgr.encode()[:PUT_APPL_NAME_LENGTH],
        put_date=put_date,
        put_time=put_time,
        group_id=md.group_id,
        msg_seq_number=md.msg_seq_number,
        offset=md.offset,
        msg_flags=md.msg_flags,
        original_length=length,
    )
    if md.report & Report.PASS_DISCARD_AND_EXPIRY:
        report.report = int(md.report & Report.DISCARD_MSG)
        # An expired message has no time left, so the report gets an expiry of its own.
        report.expiry = EXPIRATION_REPORT_EXPIRY if feedback == Feedback.EXPIRATION else md.expiry
    return ReportMessage(report, body[:length_max], md.reply_to_q, md.reply_to_q_mgr)


def is_on_its_way(md: MQMD) -> bool:
    """Whether what a descriptor describes is a message in a header of a transmission or a dead-letter queue.

    No arrival or delivery of that is confirmed.
    """
    return md.format.rstrip(b" \0") in _ON_THEIR_WAY
