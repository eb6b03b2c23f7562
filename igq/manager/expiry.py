"""Discards expired messages, and makes the reports that they asked for (MQRO_EXPIRATION)."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from igq.agent.delivery.disposal import unwrap
from sharedq.calls.put.confirmations import send
from sharedq.calls.unit.commit import backout, commit
from sharedq.messages.message import Message
from sharedq.messages.reports import ReportMessage, report_about
from sharedq.mqi.constants import MQRC, Feedback, Format
from sharedq.mqi.errors import MQIError
from sharedq.redis.keys import structure_keys
from sharedq.scripts.reads import expired_count, expired_entries, server_ms
from sharedq.scripts.transfer import expire_call
from sharedq.session.connection import Connection

#: The most expired messages that one step looks at, and the most bytes of them that one script call handles.
_PER_CALL, _BYTES = 100, 1 << 20


@dataclass(slots=True)
class Sweep:
    """One pass over the messages of a structure that have expired when it begins, some at a time.

    If a report cannot be committed because there is no room for it, its message stays until the next sweep.

    Attributes:
        found_only: only report messages that a call has already found expired.
        count: messages discarded or reported so far.
    """

    structure: str
    found_only: bool = False
    count: int = 0
    #: Whether messages are taken for reports. False after one attempt failed.
    _reports: bool = True
    #: The score of the last message to look at; how many are left to look at (None: not counted yet); how many stay
    #: listed.
    _end: str = "(0"
    _left: int | None = None
    _stay: int = 0

    def go_on(self, connection: Connection) -> bool:
        """Discard some messages. True if there may be more.

        Raises:
            MQIError: 2009, the connection is lost. Its recovery puts back the messages that it had taken to report.
        """
        found = self._expired(connection)
        by_queue: dict[str, list[bytes]] = {}
        for entry in found:
            queue_name, _, message_id = entry.rpartition(b" ")
            by_queue.setdefault(queue_name.decode(), []).append(message_id)
        gone = sum(self._discard_on(connection, queue_name, ids) for queue_name, ids in by_queue.items())
        self.count += gone
        # Messages in a unit of work stay listed; look at those after them.
        self._stay += len(found) - gone
        return bool(self._left)

    def _expired(self, connection: Connection) -> list[bytes]:
        keys = structure_keys(connection.group.name, self.structure)
        if self._left is None:
            # Count them once and ignore later ones, or the sweep would never end while others expire or are found.
            if not self.found_only:
                self._end = str(server_ms(connection, keys.expiry))
            self._left = expired_count(connection, keys, self._end)
        if not self._left:
            return []
        found = expired_entries(connection, keys, self._end, self._stay, min(_PER_CALL, self._left))
        self._left = self._left - len(found) if found else 0
        return found

    def _discard_on(self, connection: Connection, queue_name: str, ids: list[bytes]) -> int:
        """Discard these messages of a queue, and report those that ask for it, some at a time."""
        keys = connection.access(self.structure).keys
        queue = keys.queue(queue_name)
        total = 0
        while ids:
            caller = (connection.token, connection.group.journal_max, connection.unit.id)
            _, discarded, looked, taken = connection.checked_call(
                *expire_call(keys, queue, *caller, _BYTES, ids, reports=self._reports)
            )
            ids = ids[int(looked) :]
            total += int(discarded)
            if taken:
                total += self._report(connection, queue_name, taken)
        return total

    def _report(self, connection: Connection, queue_name: str, taken: list[bytes]) -> int:
        """Report messages that were taken under syncpoint, and commit. Returns their number."""
        access = connection.access(self.structure)
        now_ms = connection.redis_ms(access)
        messages = [
            Message((record, message_id, access.number, now_ms))
            for message_id, record in zip(taken[::2], taken[1::2], strict=True)
        ]
        has_members = any(message.has_group for message in messages)
        connection.unit.add(self.structure, queue_name, len(messages), has_members=has_members)
        try:
            reports = [_report_about(message, connection.qmgr_name) for message in messages]
            send(connection, reports, connection.qmgr_name, in_unit=True)
            commit(connection)
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN:
                raise
            if error.reason != MQRC.BACKED_OUT:
                backout(connection)
            self._reports = False
            structlog.get_logger().warning("expirations_not_reported", structure=self.structure, error=str(error))
            return 0
        except BaseException:
            # No unreported message may stay in the unit of work of the next ones.
            connection.break_off()
            raise
        return len(messages)


def _report_about(message: Message, qmgr: str) -> ReportMessage | None:
    md, body = message.md, message.body
    if md.format.rstrip(b" \0") == Format.XMIT_Q_HEADER:
        try:
            inside = unwrap(md, body)
        except MQIError:
            # No queue manager made this message: it does not say where to report.
            return None
        md, body = inside.md, inside.body
    return report_about(md, body, Feedback.EXPIRATION, qmgr)
