"""Decides what the agent does with a message that it cannot deliver. Pure.

Source: IBM MQ for z/OS, "Undelivered/unprocessed messages" and "Report messages" of intra-group queuing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto

from sharedq.logical import NOTHING, PutPosition, put_position
from sharedq.messages.dead_letter import dead_lettered
from sharedq.messages.transmission import as_put
from sharedq.mqi.constants import MQRC, Feedback, MsgType, Report
from sharedq.mqi.constants.descriptor import REPORTS_WANTED
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQMD


class Disposal(Enum):
    """The fate of a message that cannot be put on its destination."""

    DISCARD = auto()
    DEAD_LETTER = auto()
    #: Back out its batch, then enter the state of retry.
    BACK_OUT = auto()


@dataclass(frozen=True, slots=True)
class Transmitted:
    """A message from the transmission queue, with its destination."""

    md: MQMD
    body: bytes
    queue: bytes
    qmgr: bytes
    #: Why it cannot be delivered, whatever its destination. ``queue`` is then the transmission queue.
    fault: Feedback = Feedback.NONE
    #: The manager that put the message on the transmission queue: the first 12 characters of the manager's name.
    sender: str = ""

    def hop(self, queue: str, members: Collection[str]) -> str:
        """Return the member to which a conventional transmission queue sends this message. It is opened there next.

        A queue with the name of a member leads to that member, whatever the header says (multi-hop). Any other queue
        leads to the member that the header names. A message without a header stays with the manager that got it.
        """
        if queue in members:
            return queue
        return self.qmgr.decode(errors="replace").rstrip(" \0")


def unwrap(outer: MQMD, data: bytes) -> Transmitted:
    """Return the message inside the data that a get from a transmission queue returned.

    Raises:
        MQIError: 2260, there is no transmission-queue header; 2026, the header has no descriptor, or one that no queue
            manager can have written; 2248, it announces an extension that is missing or has a wrong length.
    """
    header, md, body = as_put(data)
    # The time on the transmission queue counts for the expiry, too.
    md.expiry = outer.expiry
    if not _is_completed(md, len(body)):
        raise error_for(MQRC.MD_ERROR, "MQGET", "", "the descriptor in the transmission-queue header")
    return Transmitted(md, body, header.remote_q_name, header.remote_q_mgr_name)


def unreadable(outer: MQMD, data: bytes, queue: str, qmgr: str) -> Transmitted:
    """Wrap data that a get from the transmission queue *queue* of *qmgr* returned, and that has no valid header."""
    return Transmitted(outer, data, queue.encode(), qmgr.encode(), Feedback.XMIT_Q_MSG_ERROR)


def _is_completed(md: MQMD, length: int) -> bool:
    """Whether MQPUT takes a descriptor as it is. No queue accepts any other, not even the dead-letter queue."""
    needs_reply_queue = md.msg_type == MsgType.REQUEST or md.report & REPORTS_WANTED
    return (
        1 <= md.msg_type <= MsgType.APPL_LAST
        and md.persistence in (0, 1)
        and md.priority >= 0
        and not (needs_reply_queue and not md.reply_to_q.strip(b" \0"))
        and isinstance(put_position(NOTHING, 0, md, length), PutPosition)
    )


def dispose(md: MQMD, *, can_dead_letter: bool) -> Disposal:
    """Decide what to do with an undeliverable message.

    Args:
        can_dead_letter: there is a dead-letter queue that has not refused this message.
    """
    if md.report & Report.DISCARD_MSG:
        return Disposal.DISCARD
    if can_dead_letter:
        return Disposal.DEAD_LETTER
    return Disposal.BACK_OUT if md.persistence else Disposal.DISCARD


def dead_letter(message: Transmitted, reason: int, appl_name: bytes, date: bytes, time: bytes) -> tuple[MQMD, bytes]:
    """Make the message that goes to the dead-letter queue (``sharedq.messages.dead_letter``)."""
    return dead_lettered(message.md, message.body, message.queue, message.qmgr, reason, appl_name, date, time)


def is_about_the_message(reason: int) -> bool:
    """Whether a failed put tells something about the message or its destination, not about the agent.

    Failures of the agent (no connection, no storage, a structure in trouble) are no reason to dispose of a message.
    """
    return reason not in _OF_THE_AGENT


_OF_THE_AGENT = frozenset(
    {
        MQRC.OBJECT_CHANGED,
        MQRC.CONNECTION_BROKEN,
        MQRC.BACKED_OUT,
        MQRC.STORAGE_MEDIUM_FULL,
        MQRC.NOT_AUTHORIZED,
        MQRC.Q_MGR_STOPPING,
        MQRC.Q_MGR_QUIESCING,
        MQRC.Q_MGR_NOT_AVAILABLE,
        MQRC.SYNCPOINT_LIMIT_REACHED,
        MQRC.UNEXPECTED_ERROR,
        MQRC.CF_NOT_AVAILABLE,
        MQRC.CF_STRUC_AUTH_FAILED,
        MQRC.CF_STRUC_FAILED,
        MQRC.CF_STRUC_IN_USE,
        MQRC.CF_STRUC_LIST_HDR_IN_USE,
    }
)
