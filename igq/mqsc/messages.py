"""The messages that end a command. Identifiers are IBM's where IBM has one for the case. Pure data."""

from __future__ import annotations

from igq.mqsc.parser import MqscSyntaxError
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError

CREATED = "AMQ8006I: {} created."
DELETED = "AMQ8007I: {} deleted."
CHANGED = "AMQ8008I: {} changed."
CLEARED = "AMQ8022I: {} cleared."
QMGR_CHANGED = "AMQ8005I: Queue manager {} changed."
QMGR_DETAILS = "AMQ8408I: Queue manager details."
QUEUE_DETAILS = "AMQ8409I: Queue details."
QUEUE_STATUS = "AMQ8450I: Queue status details."
CONNECTION_DETAILS = "AMQ8276I: Connection details."
THREADS = "CSQV401I: Display thread report follows."
NOTHING_FOUND = "CSQM297I: No {} matches the request."
NO_THREADS = "CSQV406I: No {} threads found."
IN_DOUBT_THREADS = "CSQV436I: INDOUBT threads for {} follow."
THREAD_COMMITTED = "CSQV414I: Thread NID({}) committed."
THREAD_BACKED_OUT = "CSQV415I: Thread NID({}) backed out."
AUTHORITY_SET = "AMQ8862I: IBM MQ authority record set."
AUTHORITY_DELETED = "AMQ8863I: IBM MQ authority record deleted."
AUTHORITY_DETAILS = "AMQ8864I: Display authority record details."
BACKUP_COMPLETED = "CSQE121I: Backup of structure {} completed, {} messages of {} queues, {} MB, up to {}, in {}."
RECOVERY_COMPLETED = "CSQE131I: Recovery of structure {} completed, {} messages of {} queues, {}."
NOT_RECOVERED = "   not recovered: {}"
COMPLETED = "CSQ9022I: {} completed."
STRUCTURE_DETAILS = "CSQ9022I: CF structure details."
STRUCTURE_STATUS = "CSQ9022I: CF structure status details."
GROUP_DETAILS = "CSQ9022I: Queue-sharing group {}."

_FAILURES = {
    MQRC.UNKNOWN_OBJECT_NAME: "AMQ8147E: {} was not found",
    MQRC.CF_STRUC_ERROR: "AMQ8147E: {} cannot be used",
    MQRC.CF_STRUC_FAILED: "AMQ8147E: {} cannot be used",
    MQRC.OBJECT_ALREADY_EXISTS: "AMQ8150E: {} exists already",
    MQRC.OBJECT_NOT_UNIQUE: "AMQ8150E: {} exists already, in another disposition",
    MQRC.Q_TYPE_ERROR: "AMQ8151E: {} is of another type",
    MQRC.OBJECT_IN_USE: "AMQ8148E: {} is in use",
    MQRC.CF_STRUC_IN_USE: "AMQ8148E: {} is in use",
    MQRC.Q_NOT_EMPTY: "AMQ8143E: {} is not empty",
    MQRC.CONNECTION_BROKEN: "AMQ8145E: The connection was lost; whether the command was done is unknown",
    MQRC.Q_MGR_ACTIVE: "CSQV435I: {} cannot be reached with this QMNAME",
    MQRC.Q_MGR_NOT_AVAILABLE: "AMQ8146E: The queue manager is not available",
}


def failure(what: str, error: MQIError) -> str:
    """The one line for a command that could not be processed.

    Args:
        what: the object that the command names.
        error: why.
    """
    text = _FAILURES.get(error.reason, "AMQ8101E: {} could not be processed").format(what)
    detail = f": {error.detail}" if error.detail else ""
    return f"{text}, MQRC_{error.reason.name} ({error.reason:d}){detail}."


def syntax_failure(error: MqscSyntaxError) -> list[str]:
    """The lines for a command that was not understood."""
    return [
        f"AMQ8405I: Syntax error in line {error.line}, at or near the end of: {error.segment}",
        f"{_INDENT}expected: {error.expected}",
    ]


def value_failure(line: int, error: ValueError) -> str:
    """The line for attributes that cannot be."""
    return f"AMQ8405I: Syntax error in the command of line {line}: {error}"


_INDENT = "   "
