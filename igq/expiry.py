"""Discards what has expired, and makes the reports that were asked for of that (MQRO_EXPIRATION)."""

from __future__ import annotations

from collections.abc import Iterator

from igq.agent.core import unwrap
from sharedq.confirming import send
from sharedq.connection import Connection
from sharedq.message import Message
from sharedq.mqi.constants import MQRC, Feedback, Format
from sharedq.mqi.errors import MQIError
from sharedq.reports import report_about

#: Expired messages that one script call discards, and bytes of those that it returns to be reported.
_PER_CALL, _BYTES = 100, 1 << 20


def discard_expired(connection: Connection, structure: str) -> int:
    """Discard the messages of a structure whose time has passed; how many those were.

    Raises:
        MQIError: 2009, the connection is lost: what it had taken to report comes back with its recovery.
    """
    total = seen = 0
    while found := _expired(connection, structure, seen):
        by_queue: dict[str, list[bytes]] = {}
        for entry in found:
            queue_name, _, message_id = entry.rpartition(b" ")
            by_queue.setdefault(queue_name.decode(), []).append(message_id)
        gone = sum(
            count for queue_name, ids in by_queue.items() for count in _discard(connection, structure, queue_name, ids)
        )
        total += gone
        # What is in a unit of work stays listed; look behind it.
        seen += len(found) - gone
    return total


def _expired(connection: Connection, structure: str, seen: int) -> list[bytes]:
    key = connection.access(structure).keys.expiry
    seconds, micros = connection.command(key, "TIME")
    now_ms = int(seconds) * 1000 + int(micros) // 1000
    found: list[bytes] = connection.command(key, "ZRANGEBYSCORE", key, "-inf", now_ms, "LIMIT", seen, _PER_CALL)
    return found


def _discard(connection: Connection, structure: str, queue_name: str, ids: list[bytes]) -> Iterator[int]:
    """Discard these messages of a queue, and report those of which that was asked, some at a time."""
    keys = connection.access(structure).keys
    queue = keys.queue(queue_name)
    while True:
        _, discarded, taken = connection.checked_call(
            "structure/expire",
            [
                *(keys.owners, keys.messages, keys.expiry, queue.available, queue.index, keys.journal),
                *(queue.queue, queue.groups, queue.members, queue.marks, queue.marks_of),
                keys.unit_of_work + connection.token,
            ],
            [connection.token, queue_name, connection.group.journal_max, connection.unit.id, _BYTES, *ids],
        )
        yield int(discarded)
        if not taken:
            return
        yield _report(connection, structure, queue_name, taken)


def _report(connection: Connection, structure: str, queue_name: str, taken: list[bytes]) -> int:
    """Report messages that were taken under syncpoint, and commit."""
    access = connection.access(structure)
    now_ms = connection.redis_ms(access)
    messages = [
        Message((record, message_id, access.number, now_ms))
        for message_id, record in zip(taken[::2], taken[1::2], strict=True)
    ]
    has_members = any(message.has_group for message in messages)
    connection.unit.add(structure, queue_name, len(messages), has_members=has_members)
    try:
        for message in messages:
            _send(connection, message)
        connection.commit()
    except MQIError as error:
        if error.reason not in (MQRC.CONNECTION_BROKEN, MQRC.BACKED_OUT):
            connection.backout()
        raise
    return len(messages)


def _send(connection: Connection, message: Message) -> None:
    md, body = message.md, message.body
    if md.format.rstrip(b" \0") == Format.XMIT_Q_HEADER:
        try:
            inside = unwrap(md, body)
        except MQIError:
            # No queue manager has made this: it says not where to report.
            return
        md, body = inside.md, inside.body
    at = connection.qmgr_name
    send(connection, report_about(md, body, Feedback.EXPIRATION, at), at, in_unit=True)
