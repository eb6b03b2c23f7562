"""What managers and agents say: each message id with its text.

Where IBM MQ for z/OS has a message for the event, the id is IBM's (CSQ...), the text is ours. What IBM has none for
has an id of ours (IGQ...).
"""

from __future__ import annotations

from types import MappingProxyType

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError

#: Message id -> text. Names in braces are filled from the event's fields.
MESSAGES = MappingProxyType(
    {
        # The manager's life.
        "CSQY000I": "{qmgr} igq {version}, queue-sharing group {group} on {redis}",
        "CSQY001I": "{qmgr} queue manager starting, incarnation {incarnation}, pid {pid}",
        "CSQY022I": "{qmgr} queue manager initialization complete",
        "CSQY002I": "{qmgr} queue manager stopping, {mode}",
        "CSQY009I": "{qmgr} stop accepted: {mode}, at most {timeout_s:g} s for programs to end",
        "CSQ3104I": "{qmgr} queue manager stopped",
        "IGQ0001E": "{qmgr} lost its place in the group: {why}; ending its work and joining again",
        "IGQ0002I": "{qmgr} has been started before; looking for {wait_s:.1f} s whether that one renews its lease",
        "IGQ0003E": "{qmgr} cannot reach Redis: {error}; next attempt in {wait_s:.1f} s",
        "IGQ0005E": "{qmgr} cannot use Redis: {error}; next attempt in {wait_s:.1f} s",
        "CSQ9022I": "{qmgr} START QMGR normal completion: queue manager {qmgr} is ready, incarnation {incarnation}, "
        "pid {pid}",
        "IGQ0004I": "{qmgr} durability: {statement}",
        "IGQ0006I": "{qmgr} goes by the group's settings: {difference}",
        # The structures and recovery by peers.
        "CSQE005I": "{qmgr} structure {structure} connected",
        "CSQE008I": "{qmgr} recovery event for {target}: it stopped renewing its lease, or has ended",
        "CSQE011I": "{qmgr} recovery of {target}: phase 1 started, shutting it out of every structure",
        "CSQE013I": "{qmgr} recovery of {target}: phase 1 completed",
        "CSQE012I": "{qmgr} recovery of {target}: phase 2 started, resolving its units of work",
        "CSQE014I": "{qmgr} recovery of {target}: phase 2 completed, {units_of_work} units of work, "
        "{messages} messages",
        "CSQE015I": "{qmgr} recovery of {target} cannot be done now: {error}",
        "CSQE035E": "{qmgr} structure {structure} has failed, it has lost its queues: RECOVER CFSTRUCT({structure})",
        "CSQE036I": "{qmgr} structure {structure} has failed, it has lost its queues, and cannot be recovered: "
        "DEFINE them with REPLACE",
        "CSQE131I": "{qmgr} structure {structure} can be used again",
        "CSQR004I": "{qmgr} {in_doubt} unit(s) of work of {target} in doubt, see DISPLAY THREAD(*) TYPE(INDOUBT)",
        # Programs.
        "CSQ3201E": "{qmgr} program {target} ended abnormally, pid {pid}",
        # The IGQ agent.
        "CSQM050I": "{qmgr} IGQ agent starting, pid {pid}",
        "CSQM051I": "{qmgr} IGQ agent stopping",
        "CSQM064I": "{qmgr} {by} put {count} message(s) for {destination} to dead-letter queue {dead_letter}, "
        "reason {reason}",
        "CSQM065E": "{qmgr} IGQ agent: {error}; retry {retry} in {wait_s:g} s",
        "IGQ0021I": "{qmgr} IGQ agent has left the state of retry",
        "CSQM067E": "{qmgr} IGQ agent ended abnormally ({why}), it is started again",
        "IGQ0022I": "{qmgr} {by} discarded {count} message(s) for {destination}, reason {reason}",
        # The movers of conventional transmission queues: channels without a channel.
        "CSQX500I": "{qmgr} mover of {queue} is running",
        "CSQX501I": "{qmgr} mover of {queue} is no longer active",
        "CSQX599E": "{qmgr} mover of {queue}: {error}; retry {retry} in {wait_s:g} s",
        # Housekeeping.
        "IGQ0011I": "{qmgr} discarded {count} expired message(s) in structure {structure}",
        "IGQ0012E": "{qmgr} expiry scan not done: {error}",
    }
)


#: Reasons where Redis has not answered, or answered too late.
_UNREACHABLE = (MQRC.CONNECTION_BROKEN, MQRC.Q_MGR_NOT_AVAILABLE)


def text_of(message_id: str, fields: dict[str, object]) -> str:
    """The text of a message, for example ``EWR IGQ agent stopping``.

    Raises:
        KeyError: no such message id, or a field that its text names is missing.
    """
    return MESSAGES[message_id].format(**fields)


def trouble_id(error: BaseException | None) -> str:
    """The id for what keeps a manager from its group: Redis cannot be reached, or answers and refuses."""
    return "IGQ0005E" if isinstance(error, MQIError) and error.reason not in _UNREACHABLE else "IGQ0003E"
