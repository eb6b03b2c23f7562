"""The messages of managers and agents: each id with its text.

If IBM MQ for z/OS has a message for the event, the id is IBM's (CSQ...) and the text is ours. For all other events the
id is ours (IGQ...).
"""

from __future__ import annotations

from string import Formatter
from types import MappingProxyType
from typing import Any

from igq.output.plural import counted
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError

#: Things that a text counts, with their plural: ``{count:message}`` is "1 message" or "2 messages".
COUNTED = MappingProxyType(
    {"message": "messages", "expired message": "expired messages", "unit of work": "units of work"}
)
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
        "IGQ0002I": "{qmgr} was started before; checking for {wait_s:.1f} s whether that process renews its lease",
        "IGQ0003E": "{qmgr} cannot reach Redis: {error}; next attempt in {wait_s:.1f} s",
        "IGQ0005E": "{qmgr} cannot use Redis: {error}; next attempt in {wait_s:.1f} s",
        "CSQ9022I": "{qmgr} START QMGR normal completion: queue manager {qmgr} is ready, incarnation {incarnation}, "
        "pid {pid}",
        "IGQ0004I": "{qmgr} durability: {statement}",
        "IGQ0008W": "{qmgr} Redis needs a look: {warning}",
        "IGQ0032I": "{qmgr} serves metrics at {host}:{port}",
        "IGQ0017E": "{qmgr} serves no metrics: {why}; it tries again",
        "IGQ0018I": "{qmgr} stands by to serve metrics: {why}",
        "IGQ0006I": "{qmgr} uses the group's settings: {difference}",
        # The structures and recovery by peers.
        "CSQE005I": "{qmgr} structure {structure} connected",
        "CSQE008I": "{qmgr} recovery event for {target}: it stopped renewing its lease, or has ended",
        "CSQE011I": "{qmgr} recovery of {target}: phase 1 started, shutting it out of every structure",
        "CSQE013I": "{qmgr} recovery of {target}: phase 1 completed",
        "CSQE012I": "{qmgr} recovery of {target}: phase 2 started, resolving its units of work",
        "CSQE014I": "{qmgr} recovery of {target}: phase 2 completed, {units_of_work:unit of work}, {messages:message}",
        "CSQE015I": "{qmgr} recovery of {target} cannot be done now: {error}",
        "CSQE035E": "{qmgr} structure {structure} has failed and lost its queues: enter RECOVER CFSTRUCT({structure})",
        "CSQE036I": "{qmgr} structure {structure} has failed, lost its queues and cannot be recovered: "
        "enter DEFINE with REPLACE for them",
        "CSQE121I": "{qmgr} scheduled backup of structure {structure} completed, {count:message}, in {path}",
        "IGQ0015I": "{qmgr} keeps the log of structure {structure}",
        "IGQ0016E": "{qmgr} keeps no log of structure {structure} now: {error}",
        "IGQ0014E": "{qmgr} scheduled backup of {what} was not made: {error}",
        "CSQE131I": "{qmgr} structure {structure} can be used again",
        "CSQR004I": "{qmgr} {in_doubt:unit of work} of {target} in doubt, see DISPLAY THREAD(*) TYPE(INDOUBT)",
        "IGQ0033E": "{qmgr} queue manager {target} ended abnormally, pid {pid}",
        "IGQ0034I": "{qmgr} lost its link to queue manager {target}, and asked for a sign of life",
        "IGQ0035E": "{qmgr} takes no links from other queue managers at {host}:{port}: {error}",
        # Programs.
        "CSQ3201E": "{qmgr} program {target} ended abnormally, pid {pid}",
        # The IGQ agent.
        "CSQM050I": "{qmgr} IGQ agent starting, pid {pid}",
        "CSQM051I": "{qmgr} IGQ agent stopping",
        "CSQM064I": "{qmgr} {by} put {count:message} for {destination} to dead-letter queue {dead_letter}, "
        "reason {reason}",
        "CSQM065E": "{qmgr} IGQ agent: {error}; retry {retry} in {wait_s:g} s",
        "IGQ0021I": "{qmgr} IGQ agent has left the state of retry",
        "CSQM067E": "{qmgr} IGQ agent ended abnormally ({why}); it is started again",
        "IGQ0022I": "{qmgr} {by} discarded {count:message} for {destination}, reason {reason}",
        # The movers of conventional transmission queues, which do the work of channels.
        "CSQX500I": "{qmgr} mover of {queue} is running",
        "CSQX501I": "{qmgr} mover of {queue} is no longer active",
        "CSQX599E": "{qmgr} mover of {queue}: {error}; retry {retry} in {wait_s:g} s",
        # The command server.
        "CSQN200I": "{qmgr} command server serves {queue}",
        "CSQN201I": "{qmgr} command server ends",
        "CSQN208E": "{qmgr} command server cannot serve {queue}: {error}; next attempt in {wait_s:.1f} s",
        "CSQN211E": "{qmgr} command server cannot put a reply to {queue}: {error}; {instead}",
        # The console and the REST interface.
        "IGQ0101I": "{qmgr} console serves {url}",
        "IGQ0102E": "{qmgr} console has ended: {why}; it is started again",
        "IGQ0107I": "{qmgr} stands by to serve the console: {why}",
        "IGQ0103I": "{qmgr} console: {user} at {host}: {command}: {result}",
        "IGQ0104E": "{qmgr} console: {user} at {host} was not signed in: {why}",
        "IGQ0105E": "{qmgr} console: passwords cross the network in the clear; set console_certificate",
        "IGQ0110E": "{qmgr} channel server has ended: {why}; it is started again",
        "IGQ0112E": "{qmgr} listener {listener} cannot listen at port {port}: {error}",
        "IGQ0113I": "{qmgr} listener {listener} listens at {address}, port {port}",
        "IGQ0111E": "{qmgr} programs cannot connect at {path}: {error}",
        "IGQ0106I": "{qmgr} console: {user} of this machine: {command}",
        # Commands.
        "IGQ0031I": "{qmgr} command of {user} at {host}: {command}: {result}",
        # Housekeeping.
        "IGQ0011I": "{qmgr} discarded {count:expired message} in structure {structure}",
        "IGQ0012E": "{qmgr} expiry scan failed: {error}",
    }
)


#: Reasons that mean that Redis did not answer, or answered too late.
_UNREACHABLE = (MQRC.CONNECTION_BROKEN, MQRC.Q_MGR_NOT_AVAILABLE)


class _Text(Formatter):
    """Formats numbers of things in words, too."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in COUNTED:
            return counted(value, format_spec, COUNTED[format_spec])
        return str(super().format_field(value, format_spec))


def text_of(message_id: str, fields: dict[str, object]) -> str:
    """Return the text of a message, for example ``EWR IGQ agent stopping``.

    Raises:
        KeyError: there is no such message id, or a field in its text is missing.
    """
    return _Text().format(MESSAGES[message_id], **fields)


def trouble_id(error: BaseException | None) -> str:
    """Return the id for an error that keeps a manager from its group: Redis cannot be reached, or refuses."""
    return "IGQ0005E" if isinstance(error, MQIError) and error.reason not in _UNREACHABLE else "IGQ0003E"
