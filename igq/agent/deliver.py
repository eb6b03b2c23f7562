"""Delivering by get and put what cannot be moved: to other structures, by definitions, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby

from igq.agent.core import (
    Disposal,
    Transmitted,
    dead_letter,
    dispose,
    exception_report,
    is_about_the_message,
    unreadable,
    unwrap,
)
from igq.agent.retry import Trouble
from sharedq import opening, putting
from sharedq.connection import Connection
from sharedq.handle import Handle
from sharedq.message import Message
from sharedq.mqi.constants import MQRC, Feedback, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD, MQOD, MQPMO
from sharedq.objects.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.repository import Repository

APPL_NAME = b"IGQ agent"
_OPEN = int(OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)
_PUT = int(PutOption.SYNCPOINT | PutOption.SET_ALL_CONTEXT)

Tell = Callable[[str, dict[str, object]], None]


class Deliverer:
    """Puts messages off the transmission queue where they belong, all in the unit of work that got them.

    Args:
        tell: told a message id of `igq.messages` and its fields, once what it tells of is committed.
    """

    def __init__(self, connection: Connection, tell: Tell) -> None:
        self._connection, self._tell = connection, tell
        self._repository = Repository(connection.group, connection.qmgr_name)
        self._handles: dict[tuple[bytes, bytes], Handle] = {}
        self._news: list[tuple[str, dict[str, object]]] = []

    def deliver(self, messages: Sequence[Message]) -> int:
        """Deliver a batch and commit it; returns how many messages reached their destination.

        Raises:
            Trouble: a persistent message can go nowhere; the batch is backed out.
            MQIError: 2009, the connection is lost.
        """
        self._news.clear()
        delivered = 0
        try:
            batch = [self._opened(message) for message in messages]
            for (fault, queue, qmgr), run in groupby(batch, key=lambda each: (each.fault, each.queue, each.qmgr)):
                if not fault:
                    delivered += self._deliver_run(queue, qmgr, list(run))
                    continue
                for each in run:
                    self._dispose(each, fault)
            self._connection.commit()
        except Trouble:
            self._connection.backout()
            raise
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN:
                raise
            if error.reason != MQRC.BACKED_OUT:
                self._connection.backout()
            raise Trouble(str(error)) from error
        finally:
            # None outlives its batch: a queue that the agent once delivered to can be cleared and deleted.
            for destination in list(self._handles):
                self._forget(*destination)
        for message_id, fields in self._news:
            self._tell(message_id, fields)
        return delivered

    def _opened(self, message: Message) -> Transmitted:
        here = self._connection.qmgr_name
        if message.destination:
            return Transmitted(message.md, message.body, message.destination, here.encode())
        # Put there by a program, which has to bring the header itself.
        try:
            return unwrap(message.md, message.body)
        except MQIError:
            return unreadable(message.md, message.body, SYSTEM_QSG_TRANSMIT_QUEUE, here)

    def _deliver_run(self, queue: bytes, qmgr: bytes, run: list[Transmitted]) -> int:
        try:
            self._put(queue, qmgr, [(each.md, each.body) for each in run])
            return len(run)
        except MQIError as error:
            if not is_about_the_message(error.reason):
                raise
            if len(run) == 1:
                self._dispose(run[0], error.reason)
                return 0
        # One of them was refused: whoever comes before it must still arrive first.
        return sum(self._deliver_run(queue, qmgr, [each]) for each in run)

    def _put(self, queue: bytes, qmgr: bytes, messages: list[tuple[MQMD, bytes]]) -> None:
        try:
            self._put_once(queue, qmgr, messages)
        except MQIError as error:
            if error.reason not in (MQRC.OBJECT_CHANGED, MQRC.Q_DELETED):
                raise
            self._forget(queue, qmgr)
            self._put_once(queue, qmgr, messages)

    def _put_once(self, queue: bytes, qmgr: bytes, messages: list[tuple[MQMD, bytes]]) -> None:
        # Copies: a put fills in its descriptors, also when it fails. Whole: what is refused is put elsewhere, in
        # the same unit of work.
        copies = [(replace(md), body) for md, body in messages]
        handle = self._handle(queue, qmgr)
        putting.put_many(self._connection, handle, copies, MQPMO(options=_PUT), is_whole=True)

    def _handle(self, queue: bytes, qmgr: bytes) -> Handle:
        handle = self._handles.get((queue, qmgr))
        if handle is None:
            od = MQOD(object_name=queue, object_q_mgr_name=qmgr)
            handle = self._handles[queue, qmgr] = opening.open_queue(self._connection, od, _OPEN)
        return handle

    def _forget(self, queue: bytes, qmgr: bytes) -> None:
        handle = self._handles.pop((queue, qmgr))
        if not handle.is_closed:
            opening.close_handle(self._connection, handle)

    def _dispose(self, message: Transmitted, reason: MQRC | Feedback) -> None:
        self._report(message, reason)
        queue = self._dead_letter_queue()
        disposal = dispose(message.md, can_dead_letter=bool(queue))
        if disposal is Disposal.DEAD_LETTER:
            now = datetime.now(UTC)
            date, time = now.strftime("%Y%m%d").encode(), now.strftime("%H%M%S%f")[:8].encode()
            try:
                self._put(queue, b"", [dead_letter(message, reason, APPL_NAME, date, time)])
            except MQIError as error:
                if not is_about_the_message(error.reason):
                    raise
                disposal = dispose(message.md, can_dead_letter=False)
        where = message.queue.decode(errors="replace")
        if disposal is Disposal.BACK_OUT:
            raise Trouble(f"a message for {where} cannot be delivered ({reason.name}) nor dead-lettered")
        fields: dict[str, object] = {"count": 1, "destination": where, "reason": f"{reason:d} {reason.name}"}
        if disposal is Disposal.DEAD_LETTER:
            self._news.append(("CSQM064I", fields | {"dead_letter": queue.decode()}))
        else:
            self._news.append(("CSQM068I", fields))

    def _report(self, message: Transmitted, reason: MQRC | Feedback) -> None:
        """Put the exception report that the message asks for, or dead-letter it.

        Where neither can be done, a nonpersistent message goes without; a persistent one stays, with its batch.
        """
        report = exception_report(message, reason)
        if report is None:
            return
        for queue, qmgr in ((report.queue, report.qmgr), (self._dead_letter_queue(), b"")):
            if not queue:
                continue
            try:
                self._put(queue, qmgr, [(report.md, report.body)])
            except MQIError as error:
                if not is_about_the_message(error.reason):
                    raise
                continue
            return
        if message.md.persistence:
            where = report.queue.decode(errors="replace")
            raise Trouble(f"an exception report for {where} can neither be put there nor dead-lettered")

    def _dead_letter_queue(self) -> bytes:
        return self._repository.qmgr_attributes(self._connection.qmgr_name).dead_letter_queue.encode()
