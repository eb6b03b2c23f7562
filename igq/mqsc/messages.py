"""The answers to commands. The ids are those of IBM MQ for z/OS, or ours (IGQ...). Pure data."""

from __future__ import annotations

from collections.abc import Iterable

from igq.mqsc.language.parser import Command, MqscSyntaxError
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.commands.display import LeftOut
from sharedq.objects.store.structures import Away

NORMAL = "CSQ9022I: {} normal completion."
ABNORMAL = "CSQ9023E: {} abnormal completion."
STOPPED = "CSQ3106E: Queue manager {0} is stopped, {1} not processed; igq qmgr start {0} starts it."
NOTHING_FOUND = "CSQM297I: No {} matches the request."
THREADS = "CSQV401I: Display thread report follows."
#: Left out by DISPLAY CONN and DISPLAY THREAD for a structure that is away.
WORK_AND_HANDLES = "units of work and open handles there"
NO_CONNECTIONS = "CSQV419I: No {} threads found."
NO_THREADS_IN_DOUBT = "CSQV420I: No INDOUBT threads found."
IN_DOUBT_THREADS = "CSQV436I: INDOUBT threads for {} follow."
THREAD_COMMITTED = "CSQV414I: Thread NID({}) committed."
THREAD_BACKED_OUT = "CSQV415I: Thread NID({}) backed out."
THREAD_NOT_FOUND = "CSQV417I: Thread NID({}) not found: {}."
THREAD_NOT_RESOLVED = "IGQ1002E: Thread NID({}) not resolved as asked: {}."
THREAD_UNKNOWN = "IGQ1003E: The connection was lost; whether thread NID({}) is resolved is unknown: {}."
BACKUP_COMPLETED = "CSQE121I: Backup of structure {} completed, {} of {}, {} MB, up to {}, in {}."
RECOVERY_COMPLETED = "CSQE131I: Recovery of structure {} completed, {} of {}, {}."
NOT_RECOVERED = "   not recovered: {}"
MOVED = "IGQ1012I: {} messages moved from {} to {}."
PARTLY_MOVED = "IGQ1013E: {} messages were moved before; the others are still on the source queue."
CONNECTION_STOPPED = "IGQ1014I: Connection {} stopped; backed out: {} with {}."
CONNECTION_ENDING = "IGQ1015I: Connection {} is being ended by a queue manager already."
RESPONSES = "CSQN121I: {} command responses from {}."
SCOPE_NORMAL = "CSQN122I: {} command for CMDSCOPE({}) normal completion."
SCOPE_ABNORMAL = "CSQN123E: {} command for CMDSCOPE({}) abnormal completion."
COMMAND_SERVER_STARTED = "CSQN001I: Command server start accepted."
COMMAND_SERVER_ALREADY_STARTED = "CSQN002I: Command server is started already."
COMMAND_SERVER_STOPPED = "CSQN005I: Command server stop accepted: it ends after its current command."
COMMAND_SERVER_ALREADY_STOPPED = "CSQN006I: Command server is stopped already."
COMMAND_SERVER_STATES = {
    "ENABLED": "CSQN011I: Command server is ENABLED: it starts when the queue manager is open.",
    "DISABLED": "CSQN012I: Command server is DISABLED: it does not start when the queue manager is open.",
    "RUNNING": "CSQN013I: Command server is RUNNING.",
    "STOPPED": "CSQN015I: Command server is STOPPED.",
    "STARTING": "CSQN016I: Command server is STARTING.",
    "STOPPING": "CSQN017I: Command server is STOPPING.",
}
LISTENER_ALREADY_STARTED = "IGQ1016I: Listener {} is started already."
LISTENER_ALREADY_STOPPED = "IGQ1017I: Listener {} is stopped already."
CHANNEL_ALREADY_STARTED = "IGQ1018I: Channel {} takes connections already."
NOT_SUPPORTED = "IGQ1001E: {} is not supported here; igq mqsc --help lists the supported commands."
COMMAND_PASSED_OVER = "IGQ1004W: Line {}: {} is passed over: {}."
PARAMETER_PASSED_OVER = "IGQ1005W: Line {}: {}: {} is passed over: {}."
WOULD_COMPLETE = "IGQ1006I: {} would complete normally; nothing was changed."
WOULD_CHANGE = "IGQ1007I: Would {}"
WOULD_CHANGE_NOTHING = "IGQ1008I: Would change nothing."
WOULD_DROP = "IGQ1009I: Would drop {} of {}."
INERT = "IGQ1011W: Line {}: {} is kept and shown, and does nothing here: {}."
NOT_TRIED = "IGQ1010I: {} is not tried in a dry run."

#: The text for a reason that has no message of its own.
_FAILED = "CSQM090E: {} could not be processed"
_FAILURES = {
    MQRC.UNKNOWN_OBJECT_NAME: "CSQM125I: {} was not found",
    MQRC.NO_SUBSCRIPTION: "CSQM125I: {} was not found",
    MQRC.SUB_ALREADY_EXISTS: "CSQM101I: {} already exists",
    MQRC.SUBSCRIPTION_IN_USE: "CSQM090E: {} is in use",
    MQRC.CF_STRUC_ERROR: "CSQM112E: Error accessing {}",
    MQRC.CF_STRUC_FAILED: "CSQM112E: Error accessing {}",
    MQRC.CF_NOT_AVAILABLE: "CSQM112E: Error accessing {}",
    MQRC.OBJECT_ALREADY_EXISTS: "CSQM101I: {} already exists",
    MQRC.OBJECT_NOT_UNIQUE: "CSQM103I: {} already exists with another disposition",
    MQRC.Q_TYPE_ERROR: "CSQM090E: {} is of another type",
    MQRC.OBJECT_IN_USE: "CSQM090E: {} is in use",
    MQRC.CF_STRUC_IN_USE: "CSQM090E: {} is in use",
    MQRC.Q_NOT_EMPTY: "CSQM090E: {} is not empty",
    MQRC.CONNECTION_BROKEN: "CSQM090E: The connection was lost; whether the command was done is unknown",
    MQRC.Q_MGR_ACTIVE: "CSQV435I: {} cannot be reached with this QMNAME",
    MQRC.Q_MGR_NOT_AVAILABLE: "CSQM090E: The queue manager is not available",
}


def details(command: Command) -> str:
    """Return the line before each object that a command shows."""
    return f"CSQM201I: {command.verb} {command.object_type} details."


def failure(what: str, error: MQIError) -> str:
    """Return the line for a command that could not be processed.

    Args:
        what: the object that the command names.
        error: the reason.
    """
    text = _FAILURES.get(error.reason, _FAILED)
    if error.reason == MQRC.UNKNOWN_OBJECT_NAME and error.object_name and error.object_name not in what:
        # The object that was not found is another one, which the definition names.
        text = _FAILED
    text = text.format(what)
    detail = f": {error.detail}" if error.detail else ""
    return f"{text}, MQRC_{error.reason.name} ({error.reason:d}){detail}."


def left_out(queues: Iterable[LeftOut]) -> list[str]:
    """Return a line for each structure whose queues a DISPLAY cannot show. The command does not fail for that."""
    return [
        f"{failure(f'CFSTRUCT({each.structure})', each.why)} Queues not shown: {', '.join(each.names)}."
        for each in queues
    ]


def away(structures: Away, what: str) -> list[str]:
    """Return a line for each structure that a DISPLAY cannot look into. The command does not fail for that."""
    return [f"{failure(f'CFSTRUCT({name})', why)} Not shown: {what}." for name, why in structures.items()]


class PartlyDoneError(Exception):
    """A command about several things could not do all of them.

    Attributes:
        lines: the answer, for what was done and for what was not.
        reason: why the first thing failed that was not done; 0: no reason code says so.
        is_outcome_unknown: the connection was lost, so nothing more was tried.
    """

    def __init__(self, lines: list[str], reason: int, *, is_outcome_unknown: bool = False) -> None:
        super().__init__(*lines)
        self.lines, self.reason, self.is_outcome_unknown = lines, int(reason), is_outcome_unknown


def syntax_failure(error: MqscSyntaxError) -> list[str]:
    """Return the lines for a command that was not understood: the place, and what is wrong there."""
    if error.unknown:
        why = f"CSQ9001E: '{error.unknown}' is invalid, expected: {error.expected}"
    elif error.unacceptable is not None:
        why = "CSQ9015E: {} parameter '{}' is unacceptable, expected: {}".format(*error.unacceptable, error.expected)
    else:
        why = f"{_INDENT}expected: {error.expected}"
    return [f"CSQ9031E: Syntax error in line {error.line}, at or near the end of: {error.segment}", why]


def value_failure(line: int, error: ValueError) -> str:
    """Return the line for invalid attributes."""
    return f"CSQ9031E: Syntax error in the command of line {line}: {error}"


_INDENT = "   "
