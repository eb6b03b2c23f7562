"""Delivers by get and put what cannot be moved: to other structures, through definitions, or to no queue at all.

IGQAUT and IGQUSER of the manager that a message is for say whether it may be put on its destination. While the group
has no authority records, every message may be put on every queue.

Source: IBM MQ for z/OS, "Intra-group queuing security".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import groupby

from igq.agent.delivery.disposal import (
    Disposal,
    Transmitted,
    dead_letter,
    dispose,
    is_about_the_message,
    unreadable,
    unwrap,
)
from igq.agent.progress.pipe import Pulse
from igq.agent.progress.retry import Trouble
from igq.agent.queues.transmission_queue import TransmissionQueue
from sharedq.calls.handles import open as opening
from sharedq.calls.put import put as putting
from sharedq.calls.topics.alias import open_named
from sharedq.calls.topics.open import close_topic
from sharedq.calls.topics.publish import publish_many
from sharedq.calls.unit.commit import backout, commit
from sharedq.members.event_notes import leave_note
from sharedq.members.group import Group
from sharedq.messages.message import Message
from sharedq.messages.reports import report_about
from sharedq.mqi.constants import MQRC, Feedback, OpenOption, PutOption, Report
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQMD, MQOD, MQPMO, copied
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.repository import Repository
from sharedq.objects.store.authorities import Authorities, AuthorityTable, users_of_members
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.topics import TopicHandle

APPL_NAME = b"IGQ agent"
_OPEN = int(OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)
_PUT = int(PutOption.SYNCPOINT | PutOption.SET_ALL_CONTEXT)
#: How often one put reopens a queue whose name was altered to mean something else.
_TRIES = 10
Tell = Callable[[str, dict[str, object]], None]
#: The manager at which a message is opened and put.
Hop = Callable[[Transmitted], str]


def users_to_check(attributes: QueueManagerAttributes, sender: str, context: str) -> tuple[str, ...]:
    """Return the user ids that need the authority to put. Pure.

    Args:
        attributes: those of the receiving manager.
        sender: user id of the manager where the message was put. Empty if it is not known.
        context: UserIdentifier of the message's descriptor.

    Returns:
        User ids. An empty one has no authority. A blank IGQUSER means the receiving manager itself, which needs none.
    """
    own = (attributes.igq_user_id,) if attributes.igq_user_id else ()
    match attributes.igq_put_authority:
        case "DEF":
            return (sender,)
        case "CTX":
            return (sender, context)
        case "ONLYIGQ":
            return own
        case "ALTIGQ":
            return (*own, context)


class PutAuthority:
    """The authorities that are in force for one batch of messages."""

    def __init__(self, group: Group, table: AuthorityTable) -> None:
        self._group, self._table = group, table
        self._attributes = cache(lambda qmgr: Repository(group, qmgr).qmgr_attributes(qmgr))
        self._users = cache(lambda: users_of_members({member.name: member.details for member in group.members()}))

    @classmethod
    def of(cls, group: Group) -> PutAuthority:
        """Read the authorities as they are now."""
        return cls(group, Authorities(group).table())

    def allows(self, at: str, message: Transmitted) -> bool:
        """Whether *message*, opened at the manager *at*, may be put on the queue that it names.

        If the message only passes through on its way to another manager, that manager checks it.
        """
        if not self._table:
            return True
        queue, qmgr = _text(message.queue), _text(message.qmgr)
        if qmgr not in ("", at, self._group.name):
            return True
        sender = self._users().get(message.sender, "")
        users = users_to_check(self._attributes(at), sender, _text(message.md.user_identifier))
        return all(self._table.may_put(user, queue) for user in users)


def _text(name: bytes) -> str:
    return name.decode(errors="replace").rstrip(" \0")


class BatchError(Trouble):
    """A batch was backed out, or a failed structure has taken its part of the batch.

    Attributes:
        before: how many messages at its front can be delivered by themselves. 0: none, because they have the same
            trouble.
    """

    def __init__(self, text: str, before: int) -> None:
        super().__init__(text)
        self.before = before


class Deliverer:
    """Puts messages from the transmission queue on their destinations, in the unit of work that got them.

    Args:
        source: the transmission queue.
        pulse: the pulse of the thread that delivers.
        tell: called with a message id of `igq.output.messages` and its fields, after the event is committed.
        hop: the manager to which a message goes if not to this one. By default every message is for this manager.
    """

    def __init__(self, connection: Connection, tell: Tell, source: str, pulse: Pulse, hop: Hop | None = None) -> None:
        self._connection, self._tell, self._source, self._hop = connection, tell, source, hop
        self._pulse = pulse
        self._handles: dict[tuple[str, bytes, bytes], Handle | TopicHandle] = {}
        self._to_close: list[Handle | TopicHandle] = []
        self._news: list[tuple[str, dict[str, object]]] = []

    def deliver_from(self, source: TransmissionQueue, messages: Sequence[Message]) -> Iterator[int]:
        """Deliver a batch that *source* got, or what comes before its trouble. Yields what `deliver` returns.

        Nonpersistent messages then get units of work of their own, so that none waits for a persistent one after it.
        """
        # Messages that keep arriving before the trouble, by their priority, must not put it off for ever.
        fronts, is_front = len(messages), False
        while messages:
            try:
                delivered = self.deliver(messages)
            except BatchError as error:
                if not error.before or not fronts:
                    raise
                messages, is_front, fronts = source.take(error.before), True, fronts - 1
                continue
            yield delivered
            # After a front, the trouble is still there; the next attempt shows whether it is over, and ends this.
            messages, is_front = source.take() if is_front else [], False

    def deliver(self, messages: Sequence[Message]) -> int:
        """Deliver a batch and commit it. Returns how many messages reached their destination.

        Raises:
            BatchError: a persistent message can go nowhere, or a structure is in trouble.
            MQIError: 2009, the connection is lost.
        """
        if not messages:
            return 0
        self._news.clear()
        delivered = 0
        batch = [self._opened(message) for message in messages]
        try:
            hops = self._hops(batch)
            faults = self._faults(hops, batch)
            runs = groupby(zip(hops, faults, batch, strict=True), key=lambda each: (*each[:2], *where_to(each[2])))
            for (at, fault, queue, qmgr), group in runs:
                run = [message for *_, message in group]
                if not fault:
                    delivered += self._deliver_run(at, queue, qmgr, run)
                    continue
                for each in run:
                    self._dispose(at, each, fault)
            commit(self._connection)
            self._pulse.beat()
        except (Trouble, MQIError) as error:
            if isinstance(error, MQIError) and error.reason == MQRC.CONNECTION_BROKEN:
                raise
            if self._connection.has_unit:
                backout(self._connection)
            raise BatchError(str(error), _messages_before(error, batch)) from error
        finally:
            # No handle outlives its batch, so that a queue that the agent once delivered to can be cleared and deleted.
            self._to_close += self._handles.values()
            self._handles.clear()
            self._close()
        for message_id, fields in self._news:
            self._tell(message_id, fields)
        return delivered

    def _opened(self, message: Message) -> Transmitted:
        here, sender = self._connection.qmgr_name, message.origin.decode(errors="replace")
        if message.destination:
            return Transmitted(message.md, message.body, message.destination, here.encode(), sender=sender)
        # A program put it there and must have written the header itself.
        try:
            return replace(unwrap(message.md, message.body), sender=sender)
        except MQIError:
            return unreadable(message.md, message.body, self._source, here)

    def _hops(self, batch: list[Transmitted]) -> list[str]:
        if self._hop is None:
            return [self._connection.qmgr_name] * len(batch)
        return [self._hop(message) for message in batch]

    def _faults(self, hops: list[str], batch: list[Transmitted]) -> list[MQRC | Feedback]:
        """Return why messages cannot be delivered, whatever their destination. NONE: no reason is known."""
        authority = PutAuthority.of(self._connection.group)
        return [
            message.fault if message.fault or authority.allows(at, message) else MQRC.NOT_AUTHORIZED
            for at, message in zip(hops, batch, strict=True)
        ]

    def _deliver_run(self, at: str, queue: bytes, qmgr: bytes, run: list[Transmitted]) -> int:
        try:
            self._put(at, queue, qmgr, [(each.md, each.body) for each in run])
            return len(run)
        except MQIError as error:
            if not _is_about_the_message(error):
                raise
            if len(run) == 1:
                self._dispose(at, run[0], error.reason)
                return 0
        # A put was refused. Put the messages one by one, so that the earlier ones still arrive first.
        return sum(self._deliver_run(at, queue, qmgr, [each]) for each in run)

    def _put(self, at: str, queue: bytes, qmgr: bytes, messages: list[tuple[MQMD, bytes]]) -> None:
        for _ in range(_TRIES):
            try:
                self._put_once(at, queue, qmgr, messages)
            except MQIError as error:
                is_open = (at, queue, qmgr) in self._handles
                if error.reason not in (MQRC.OBJECT_CHANGED, MQRC.Q_DELETED) or not is_open:
                    raise
                self._forget(at, queue, qmgr)
            else:
                return
        self._put_once(at, queue, qmgr, messages)

    def _put_once(self, at: str, queue: bytes, qmgr: bytes, messages: list[tuple[MQMD, bytes]]) -> None:
        # Copies, because a put changes its descriptors. A refused put leaves nothing, so the message is put elsewhere
        # in the same unit of work.
        copies = [(copied(md), body) for md, body in messages]
        handle = self._handle(at, queue, qmgr)
        options = MQPMO(options=_PUT)
        if isinstance(handle, TopicHandle):
            publish_many(self._connection, handle, copies, options)
        else:
            putting.put_many(self._connection, handle, copies, options)
        self._pulse.beat()

    def _handle(self, at: str, queue: bytes, qmgr: bytes) -> Handle | TopicHandle:
        handle = self._handles.get((at, queue, qmgr))
        if handle is None:
            od = MQOD(object_name=queue, object_q_mgr_name=qmgr)
            handle = open_named(self._connection, od, _OPEN, opened_at=at, is_put1=True)
            self._handles[at, queue, qmgr] = handle
        return handle

    def _forget(self, at: str, queue: bytes, qmgr: bytes) -> None:
        self._to_close.append(self._handles.pop((at, queue, qmgr)))
        self._close()

    def _close(self) -> None:
        """Close unused handles. If a structure cannot be used now, try again at the end of this batch or the next.

        The outcome of the batch does not depend on it.
        """
        handles, self._to_close = self._to_close, []
        for handle in handles:
            try:
                if isinstance(handle, TopicHandle):
                    close_topic(self._connection, handle)
                else:
                    opening.close_handle(self._connection, handle)
            except MQIError as error:
                if error.reason == MQRC.CONNECTION_BROKEN:
                    raise
                self._to_close.append(handle)

    def _dispose(self, at: str, message: Transmitted, reason: MQRC | Feedback) -> None:
        self._report(at, message, reason)
        if reason == MQRC.NOT_AUTHORIZED:
            self._note_refused(at, message)
        queue, why_not = self._dead_letter_queue(at), ""
        disposal = dispose(message.md, can_dead_letter=bool(queue))
        if disposal is Disposal.DEAD_LETTER:
            refusal = _refusal(partial(self._dead_letter, at, queue, message, reason))
            if refusal is None:
                return
            disposal, why_not = dispose(message.md, can_dead_letter=False), f" ({refusal})"
        if disposal is Disposal.BACK_OUT:
            where = message.queue.decode(errors="replace")
            raise Trouble(f"a message for {where} cannot be delivered ({reason.name}) nor dead-lettered{why_not}")
        self._news.append(("IGQ0022I", _fields(message, reason)))

    def _note_refused(self, at: str, message: Transmitted) -> None:
        fields = {
            "reason": int(MQRC.NOT_AUTHORIZED),
            "queue": message.queue.decode(errors="replace"),
            "qmgr_of_queue": message.qmgr.decode(errors="replace"),
            "base": "",
            "appl": message.md.put_appl_name.decode(errors="replace"),
            "user": message.md.user_identifier.decode(errors="replace"),
            "options": int(OpenOption.OUTPUT),
        }
        leave_note(self._connection.group, at, "refused", "AUTHOR", fields)

    def _dead_letter(self, at: str, queue: bytes, message: Transmitted, reason: MQRC | Feedback) -> None:
        """Put a message on the dead-letter queue *queue* of the manager *at*. The queue must be a local one."""
        handle = self._handle(at, queue, b"")
        if isinstance(handle, TopicHandle) or handle.destination or handle.definition.facts.is_transmission:
            raise error_for(MQRC.Q_TYPE_ERROR, "MQPUT", queue.decode(), "no local queue with USAGE(NORMAL)")
        now = datetime.now(UTC)
        date, time = now.strftime("%Y%m%d").encode(), now.strftime("%H%M%S%f")[:8].encode()
        self._put(at, queue, b"", [dead_letter(message, reason, APPL_NAME, date, time)])
        self._news.append(("CSQM064I", _fields(message, reason) | {"dead_letter": queue.decode()}))

    def _report(self, at: str, message: Transmitted, reason: MQRC | Feedback) -> None:
        """Put the exception report that the message asks for, or dead-letter the report, unless it is to be discarded.

        If neither works, a nonpersistent message goes without a report; a persistent one stays, with its batch.
        """
        report = report_about(message.md, message.body, reason, at)
        if report is None:
            return
        refusal = _refusal(partial(self._put, at, report.queue, report.qmgr, [(report.md, report.body)]))
        if report.md.report & Report.DISCARD_MSG:
            return
        if refusal is not None and (queue := self._dead_letter_queue(at)):
            unsent = Transmitted(report.md, report.body, report.queue, report.qmgr)
            refusal = _refusal(partial(self._dead_letter, at, queue, unsent, refusal.reason))
        if refusal is not None and message.md.persistence:
            where = report.queue.decode(errors="replace")
            raise Trouble(f"an exception report for {where} can neither be put there nor dead-lettered ({refusal})")

    def _dead_letter_queue(self, at: str) -> bytes:
        return Repository(self._connection.group, at).qmgr_attributes(at).dead_letter_queue.encode()


def _messages_before(error: Trouble | MQIError, batch: Sequence[Transmitted]) -> int:
    """Count the messages at the front of *batch* that can be delivered without those that *error* is about."""
    if isinstance(error, BatchError):
        return error.before
    if isinstance(error, MQIError) and error.reason == MQRC.OUTCOME_MIXED:
        # The connection has ended.
        return 0
    first = batch[0].md.persistence
    return next((at for at, each in enumerate(batch) if each.md.persistence != first), 0)


def _refusal(put: Callable[[], None]) -> MQIError | None:
    """Put something. Returns the refusal, if any. Raises errors that are no fault of the message."""
    try:
        put()
    except MQIError as error:
        if not _is_about_the_message(error):
            raise
        return error
    return None


def _is_about_the_message(error: MQIError) -> bool:
    """Whether a refusal tells something about the message, not about the agent, as one of Redis does."""
    is_of_topic = error.reason == MQRC.NOT_AUTHORIZED and error.verb == "MQOPEN"
    return is_of_topic or is_about_the_message(error.reason)


def _fields(message: Transmitted, reason: MQRC | Feedback) -> dict[str, object]:
    where = message.queue.decode(errors="replace")
    return {"count": 1, "destination": where, "reason": f"{reason:d} {reason.name}"}


def where_to(message: Transmitted) -> tuple[bytes, bytes]:
    """The names that messages must share to be put in one call."""
    return message.queue, message.qmgr
