"""Reports that a queue manager makes itself: confirmation of arrival (COA) and of delivery (COD), and expiration.

In a unit of work a report is put in that unit of work, so it comes with the commit, and never after a back-out. Outside
one it is put by a separate call after the confirmed one: if the program dies between the two, there is no report.

Source: IBM MQ reference, "Report (MQLONG)" of MQMD.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Final

from sharedq.calls.handles.open import find_queue
from sharedq.calls.handles.ways import for_length, places_for, put_on_any
from sharedq.calls.put.store import Messages, store_many
from sharedq.log import LibraryLogger
from sharedq.messages.dead_letter import dead_lettered
from sharedq.messages.message import Message
from sharedq.messages.record import put_date_and_time
from sharedq.messages.reports import ReportMessage, is_on_its_way, report_about
from sharedq.mqi.constants import MQRC, Feedback, MsgFlag, PutOption, Report
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQPMO, copied
from sharedq.objects.repository import Repository
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

#: Report options, any of which asks for a report of that kind.
CONFIRMS_ARRIVAL: Final = int(Report.COA_WITH_FULL_DATA)
_CONFIRMS_DELIVERY: Final = int(Report.COD_WITH_FULL_DATA)
_PUT: Final = int(PutOption.SET_ALL_CONTEXT)
#: How often a queue is looked up again for one report, because the definitions of its name were altered.
_TRIES = 10
#: The most reports of one call, and their most bytes. A message that may become segments is put alone: their number is
#: not known.
_TOGETHER, _TOGETHER_BYTES = 100, 1 << 20
_MAY_BE_SEGMENTED: Final = int(MsgFlag.SEGMENTATION_ALLOWED)
_APPL_NAME: Final = b"queue manager"
_log = LibraryLogger(__name__)


def confirm_arrival(connection: Connection, handle: Handle, messages: Messages, *, in_unit: bool) -> None:
    """Report that messages have come to their destination, for each message that asks for such a report (MQRO_COA).

    Args:
        handle: the handle of the puts. On a transmission queue no message has arrived.

    Raises:
        MQIError: 2009, the connection is lost.
    """
    if handle.destination or handle.definition.facts.is_transmission:
        return
    at = handle.opened_at
    asking = [(md, body) for md, body in messages if md.report & CONFIRMS_ARRIVAL and not is_on_its_way(md)]
    send(connection, [report_about(md, body, Feedback.COA, at) for md, body in asking], at, in_unit=in_unit)


def confirm_delivery(connection: Connection, handle: Handle, messages: Sequence[Message], *, in_unit: bool) -> None:
    """Report that messages were got from their destination, for each message that asks for such a report (MQRO_COD).

    Raises:
        MQIError: 2009, the connection is lost.
    """
    if handle.definition.facts.is_transmission or not handle.gets.confirms_delivery:
        return
    at = handle.opened_at
    reports = [
        report_about(message.md, message.whole, Feedback.COD, at, message.data_length)
        for message in messages
        if message.md.report & _CONFIRMS_DELIVERY and not is_on_its_way(message.md)
    ]
    send(connection, reports, at, in_unit=in_unit)


def send(connection: Connection, reports: Iterable[ReportMessage | None], at: str, *, in_unit: bool) -> None:
    """Put reports on their queues, as the manager *at* would, or else on the dead-letter queue there.

    A report with MQRO_DISCARD_MSG, which it has from its message, goes to no dead-letter queue. If a report cannot be
    put anywhere it is lost, and the call goes on. But if Redis is full, the unit of work can only be backed out.

    Raises:
        MQIError: 2009, the connection is lost.
    """
    by_queue: dict[tuple[bytes, bytes], list[ReportMessage]] = {}
    for report in reports:
        if report is not None:
            by_queue.setdefault((report.queue, report.qmgr), []).append(report)
    for together in by_queue.values():
        if not _are_put(connection, together, at, in_unit):
            for report in together:
                _send(connection, report, at, in_unit)


def _are_put(connection: Connection, reports: Sequence[ReportMessage], at: str, in_unit: bool) -> bool:
    """Put reports for one queue in one call, if there are several and they fit one. False: none of them was put."""
    if not 1 < len(reports) <= _TOGETHER or sum(len(report.body) for report in reports) > _TOGETHER_BYTES:
        return False
    if any(report.md.msg_flags & _MAY_BE_SEGMENTED for report in reports):
        return False
    try:
        return _put(connection, reports, at, in_unit)
    except MQIError as error:
        if error.reason == MQRC.CONNECTION_BROKEN:
            raise
        return False


def _send(connection: Connection, report: ReportMessage, at: str, in_unit: bool) -> None:
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
    try:
        queue = Repository(connection.group, at).qmgr_attributes(at).dead_letter_queue.encode()
    except MQIError as error:
        if error.reason == MQRC.CONNECTION_BROKEN:
            raise
        return error
    if not queue:
        return why
    date, now = put_date_and_time(int(time.time() * 1000))
    letter = dead_lettered(report.md, report.body, report.queue, report.qmgr, why.reason, _APPL_NAME, date, now)
    return _refusal(connection, ReportMessage(*letter, queue, b""), at, in_unit, is_letter=True)


def _refusal(
    connection: Connection, message: ReportMessage, at: str, in_unit: bool, *, is_letter: bool = False
) -> MQIError | None:
    """Put a message on its queue. Returns the refusal, if there was one."""
    refusal: MQIError | None = None
    for _ in range(_TRIES):
        try:
            _put(connection, [message], at, in_unit, is_letter=is_letter)
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN:
                raise
            refusal = error
            if error.reason not in (MQRC.OBJECT_CHANGED, MQRC.Q_DELETED):
                break
        else:
            return None
    return refusal


def _put(
    connection: Connection, reports: Sequence[ReportMessage], at: str, in_unit: bool, *, is_letter: bool = False
) -> bool:
    """Put reports for one queue, all or none.

    Args:
        is_letter: the queue is the dead-letter queue, which has to be a local one.

    Returns:
        Whether they are put. False: each of several may go to another queue of an alias with SPREAD.
    """
    # MAXUMSGS counts reports, too, but refuses none: the confirmed call has been done.
    first = reports[0]
    handle = find_queue(connection, first.queue, first.qmgr, at)
    if is_letter and (handle.destination or handle.definition.facts.is_transmission):
        raise error_for(MQRC.Q_TYPE_ERROR, "MQPUT", handle.object_name, "no local queue with USAGE(NORMAL)")
    messages = [(copied(report.md), report.body) for report in reports]

    def put_on(way: Handle) -> None:
        store_many(connection, way, messages, MQPMO(options=_PUT), in_unit, is_whole=True, kept=[])

    if handle.puts.binding:
        if len(reports) > 1:
            return False
        put_on_any(connection, handle, places_for(connection, handle, first.md, _PUT), in_unit, put_on)
        return True
    put_on(for_length(connection, handle, max(len(report.body) for report in reports)))
    return True
