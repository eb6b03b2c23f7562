"""Reports that a queue manager makes itself: confirmation of arrival (COA) and of delivery (COD), and expiration.

In a unit of work a report is put in that unit of work, so it comes when that is committed, and never if it is backed
out. Outside one it follows what it confirms, in a call of its own: who dies between the two has told nobody.

Source: IBM MQ reference, "Report (MQLONG)" of MQMD.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from sharedq.connection import Connection
from sharedq.dead_letter import dead_lettered
from sharedq.handle import Handle
from sharedq.log import LibraryLogger
from sharedq.message import Message
from sharedq.mqi.constants import MQRC, Feedback, PutOption, Report
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQPMO
from sharedq.objects.repository import Repository
from sharedq.opening import close_handle, find_queue, for_length
from sharedq.record import put_date_and_time
from sharedq.reports import ReportMessage, is_on_its_way, report_about
from sharedq.storing import Messages, store_one

#: Report options, any of which asks for a report of that kind.
CONFIRMS_ARRIVAL: Final = int(Report.COA_WITH_FULL_DATA)
_CONFIRMS_DELIVERY: Final = int(Report.COD_WITH_FULL_DATA)
_PUT: Final = int(PutOption.SET_ALL_CONTEXT)
#: How often a queue is looked up anew, for one report, because what its name stands for was altered since.
_TRIES = 10
_APPL_NAME: Final = b"queue manager"
_log = LibraryLogger(__name__)


def confirm_arrival(connection: Connection, handle: Handle, messages: Messages, *, in_unit: bool) -> None:
    """Report that messages have come to their destination, to those that asked for that (MQRO_COA).

    Args:
        handle: what they were put through. On a transmission queue nothing has arrived.

    Raises:
        MQIError: 2009, the connection is lost.
    """
    if handle.destination or handle.facts.is_transmission:
        return
    at = handle.opened_at
    for md, body in messages:
        if md.report & CONFIRMS_ARRIVAL and not is_on_its_way(md):
            send(connection, report_about(md, body, Feedback.COA, at), at, in_unit=in_unit)


def confirm_delivery(connection: Connection, handle: Handle, message: Message, *, in_unit: bool) -> None:
    """Report that a message was got from the queue it was put for, if it asked for that (MQRO_COD).

    Raises:
        MQIError: 2009, the connection is lost.
    """
    md, at = message.md, handle.opened_at
    if handle.facts.is_transmission or not md.report & _CONFIRMS_DELIVERY or is_on_its_way(md):
        return
    report = report_about(md, message.body, Feedback.COD, at, message.data_length)
    send(connection, report, at, in_unit=in_unit)


def send(connection: Connection, report: ReportMessage | None, at: str, *, in_unit: bool) -> None:
    """Put a report where it is to go, as the manager *at* does that, or else on the dead-letter queue there.

    One with MQRO_DISCARD_MSG, which the message passed on to it, goes to no dead-letter queue. Where nothing can be
    done the report is lost, and the program that it is not for goes on; but not when there is no room: then the unit
    of work can only be backed out.

    Raises:
        MQIError: 2009, the connection is lost.
    """
    if report is None:
        return
    refusal = _refusal(connection, report, at, in_unit)
    if refusal is not None and not report.md.report & Report.DISCARD_MSG:
        refusal = _dead_letter(connection, report, at, refusal, in_unit)
    if refusal is None:
        return
    if in_unit and refusal.reason == MQRC.STORAGE_MEDIUM_FULL:
        connection.put_failure = refusal
        return
    where = report.queue.decode(errors="replace")
    _log.warning("report_lost", queue=where, feedback=report.md.feedback, error=str(refusal))


def _dead_letter(
    connection: Connection, report: ReportMessage, at: str, why: MQIError, in_unit: bool
) -> MQIError | None:
    queue = Repository(connection.group, at).qmgr_attributes(at).dead_letter_queue.encode()
    if not queue:
        return why
    date, now = put_date_and_time(int(time.time() * 1000))
    letter = dead_lettered(report.md, report.body, report.queue, report.qmgr, why.reason, _APPL_NAME, date, now)
    return _refusal(connection, ReportMessage(*letter, queue, b""), at, in_unit)


def _refusal(connection: Connection, message: ReportMessage, at: str, in_unit: bool) -> MQIError | None:
    """Put a message where it is to go; why that was refused, if it was."""
    for _ in range(_TRIES):
        try:
            _put(connection, message, at, in_unit)
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN:
                raise
            if error.reason not in (MQRC.OBJECT_CHANGED, MQRC.Q_DELETED):
                return error
        else:
            return None
    return error_for(MQRC.OBJECT_CHANGED, "MQPUT", message.queue.decode(errors="replace"))


def _put(connection: Connection, message: ReportMessage, at: str, in_unit: bool) -> None:
    # MAXUMSGS counts reports, too, but refuses none: what they confirm has been done.
    handle = find_queue(connection, message.queue, message.qmgr, at)
    way = for_length(connection, handle, len(message.body))
    try:
        store_one(connection, way, replace(message.md), MQPMO(options=_PUT), message.body, in_unit)
    finally:
        if handle.other_way is not None and not connection.is_ended:
            close_handle(connection, handle.other_way)
