"""Gets the messages of one unit of work that a streaming query claims: a number of messages, or whole groups."""

from __future__ import annotations

from sharedq.api import Queue, QueueManagerConnection
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import MQIError, error_for

#: Messages got in one call.
_GET_MESSAGES = 100
#: Group or segment status of a message that is not the last one.
_GOES_ON = (b"G", b"S")
_WHOLE = int(
    GetOption.SYNCPOINT | GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE | GetOption.ALL_SEGMENTS_AVAILABLE
)
#: How often a unit of work is begun again because others take messages of its groups.
_ATTEMPTS = 20


def get_messages(queue: Queue, count: int) -> int:
    """Get up to *count* messages under syncpoint without their data, and return their number. Tasks read the data.

    They are fewer if the unit of work can have no more: reports of delivery (COD) count there, too.
    """
    got = 0
    while got < count:
        try:
            got += queue.take_unseen(count - got)
            if got < count:
                got += len(queue.get_many(min(_GET_MESSAGES, count - got), GetOption.SYNCPOINT))
        except MQIError as error:
            is_full = error.reason == MQRC.SYNCPOINT_LIMIT_REACHED and got
            if error.reason != MQRC.NO_MSG_AVAILABLE and not is_full:
                raise
            break
    return got


def get_groups(connection: QueueManagerConnection, queue: Queue, count: int) -> int:
    """Get *count* messages under syncpoint, and the rest of the last group; return their number.

    Groups and segmented messages come whole and in order; incomplete ones are left on the queue. A message in no group
    counts as a group.

    Raises:
        MQIError: 2024 a group has more messages than a unit of work may have.
    """
    for _ in range(_ATTEMPTS):
        got, begun, reason = _get_groups(queue, count)
        if begun == got:
            return got
        # Only a part of the last group was got. Put all messages back, and leave that group out the next time.
        connection.backout()
        if reason == MQRC.SYNCPOINT_LIMIT_REACHED:
            if not begun:
                detail = f"a group has more than {connection.connection.max_uncommitted} messages: raise MAXUMSGS"
                raise error_for(reason, "MQGET", queue.name, detail)
            count = begun
    raise error_for(MQRC.GROUP_ID_ERROR, "MQGET", queue.name, "other programs take messages out of its groups")


def _get_groups(queue: Queue, count: int) -> tuple[int, int, MQRC]:
    """The number of messages got, the number before an incomplete group, and the reason why that is incomplete."""
    got = begun = 0
    while begun < count or got > begun:
        try:
            message = queue.get(_WHOLE)
        except MQIError as error:
            if error.reason == MQRC.NO_MSG_AVAILABLE or (
                got > begun and error.reason in (MQRC.SYNCPOINT_LIMIT_REACHED, MQRC.INCOMPLETE_GROUP)
            ):
                return got, begun, error.reason
            raise
        got += 1
        if not _goes_on(message):
            begun = got
    return got, begun, MQRC.NONE


def _goes_on(message: Message) -> bool:
    return message.group_status in _GOES_ON or message.segment_status in _GOES_ON
