"""MQCONN, MQCONNX and MQDISC: which manager a name means, what a tag asks for, how a connection ends."""

from __future__ import annotations

from typing import NamedTuple

from sharedq.calls.handles.open import close_handle, delete_temporary_queues
from sharedq.calls.handles.subscriptions import close_subscriptions
from sharedq.calls.unit.commit import commit
from sharedq.members.group import Group
from sharedq.members.process import process_for, release_process
from sharedq.messages.context import Program
from sharedq.mqi.arguments import text, whole
from sharedq.mqi.constants import MQRC, ConnectOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import CONN_TAG_LENGTH
from sharedq.mqi.options import check_connect_options
from sharedq.session.connection import Connection
from sharedq.session.refusals import note_refused_connection

#: Letters of ``prelude/tags.lua``.
_TAG_OPTIONS = {
    ConnectOption.SERIALIZE_CONN_TAG_QSG: "G",
    ConnectOption.SERIALIZE_CONN_TAG_Q_MGR: "Q",
    ConnectOption.RESTRICT_CONN_TAG_QSG: "g",
    ConnectOption.RESTRICT_CONN_TAG_Q_MGR: "q",
}
#: The prefix of the queue manager's own tags, in upper or lower case (IBM's rule).
RESERVED_TAG = b"MQ"


def connect_to(
    group: Group,
    name: str,
    *,
    tag: bytes = b"",
    options: ConnectOption | int = 0,
    appl_name: str = "",
    program: Program | None = None,
) -> Connection:
    """MQCONNX: connect to a manager, or by the group's name (or ``*`` and it) to any running member.

    Raises:
        MQIError: 2058 no such manager, 2059 not running, or Redis cannot be reached; 2035 Redis refuses us; 2161
            quiescing, 2271 tag in use, 2350 tag not usable, 2046 bad options.
    """
    text(name, MQRC.Q_MGR_NAME_ERROR, "MQCONN", "the name")
    text(appl_name, MQRC.CNO_ERROR, "MQCONNX", "the name of the program")
    options = whole(options, MQRC.OPTIONS_ERROR, "MQCONNX", name)
    if not isinstance(tag, bytes):
        raise error_for(MQRC.CNO_ERROR, "MQCONNX", name, f"the tag is {type(tag).__name__}, must be bytes")
    try:
        return _connect_to(group, name, tag, options, _Asking(appl_name, program))
    except MQIError as error:
        if error.reason == MQRC.Q_MGR_NOT_AVAILABLE and not error.detail:
            why = group.deployment().why_away() or f"it is not running: igq qmgr start {name}"
            raise error_for(error.reason, "MQCONN", name, why) from error
        if error.reason not in (MQRC.CONNECTION_BROKEN, MQRC.CF_NOT_AVAILABLE):
            raise
        # The program never had a connection, so 2009 would be wrong. Recovery ends what the attempt began.
        raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "MQCONN", name, error.detail) from error


class _Asking(NamedTuple):
    """The name of the program that connects, and the program where it is another process."""

    appl_name: str
    program: Program | None


def _connect_to(group: Group, name: str, tag: bytes, options: ConnectOption | int, asking: _Asking) -> Connection:
    refused = check_connect_options(int(options))
    if refused:
        raise error_for(refused, "MQCONNX", name, f"options {int(options):#x}")
    tag_text = tag_argument(name, tag, ConnectOption(options))
    if tag_text and tag[: len(RESERVED_TAG)].upper() == RESERVED_TAG:
        raise error_for(MQRC.CONN_TAG_NOT_USABLE, "MQCONNX", name, "tags that begin with MQ are the queue manager's")
    stripped = name.removeprefix("*")
    if stripped in ("", group.name):
        return _connect_to_any(group, tag_text, asking)
    if group.member(stripped) is None:
        known = ", ".join(each.name for each in group.members()) or "no queue manager"
        raise error_for(MQRC.Q_MGR_NAME_ERROR, "MQCONN", stripped, f"group {group.name} has {known}")
    return _connect_at(group, stripped, tag_text, asking)


def _connect_at(group: Group, qmgr: str, tag: str, asking: _Asking) -> Connection:
    try:
        process = process_for(group, qmgr)
        try:
            return Connection(group, process, tag=tag, appl_name=asking.appl_name, program=asking.program)
        finally:
            release_process(process, is_reserved=True)
    except MQIError as error:
        if error.reason == MQRC.NOT_AUTHORIZED:
            note_refused_connection(group, qmgr, *asking)
        raise


def tag_argument(qmgr: str, tag: bytes, options: ConnectOption) -> str:
    """A connection tag as ``admin/connect`` takes it; ``""`` when none is asked for.

    Raises:
        MQIError: 2046, more than one of the options about it; 2139, it is longer than 128 bytes.
    """
    asked = [scope for option, scope in _TAG_OPTIONS.items() if options & option]
    if len(asked) > 1:
        raise error_for(MQRC.OPTIONS_ERROR, "MQCONNX", qmgr, "more than one connection tag option")
    stripped = tag.rstrip(b"\0")
    if not asked or not stripped:
        return ""
    if len(stripped) > CONN_TAG_LENGTH:
        raise error_for(MQRC.CNO_ERROR, "MQCONNX", qmgr, f"a tag of {len(stripped)} bytes")
    return f"{asked[0]}{stripped.hex()}"


def is_tag_used(group: Group, tag: bytes) -> bool:
    """Whether a connection holds the tag. A dead one holds it until it is recovered.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    key = group.keys.tags
    return bool(group.command(key, "HEXISTS", key, tag.rstrip(b"\0").hex()))


def _connect_to_any(group: Group, tag: str, asking: _Asking) -> Connection:
    failure: MQIError | None = None
    for member in group.members():
        if member.state != "RUNNING":
            continue
        try:
            return _connect_at(group, member.name, tag, asking)
        except MQIError as error:
            if error.reason not in (MQRC.Q_MGR_NOT_AVAILABLE, MQRC.Q_MGR_QUIESCING):
                raise
            failure = error
    why = group.deployment().why_away() or "no member of the group is running"
    raise failure or error_for(MQRC.Q_MGR_NOT_AVAILABLE, "MQCONN", group.name, why)


def disconnect(connection: Connection) -> MQRC:
    """MQDISC: commit what is outstanding, close what is open, give back the tag.

    Returns:
        ``NONE``; or 2344, a warning that the tag is still held: everything is committed, but the group must complete
        the commit in a structure; or this connection prepared work that is in doubt.

    Raises:
        MQIError: 2003 the unit of work was backed out instead, or 2123 a part of it is lost with its structure,
            and the connection has ended nevertheless; 2009 when the outcome of the implied commit is unknown.
    """
    try:
        reason = _disconnect(connection)
    except MQIError as error:
        if connection.is_ended and error.reason != MQRC.CONNECTION_BROKEN:
            connection.end_turns()
        raise
    connection.end_turns()
    return reason


def _disconnect(connection: Connection) -> MQRC:
    if connection.is_ended:
        connection.drop()
        return MQRC.NONE
    failure: MQIError | None = None
    try:
        commit(connection)
    except MQIError as error:
        if connection.tag and connection.is_commit_left_to_group:
            return MQRC.CONN_TAG_NOT_RELEASED
        if error.reason not in (MQRC.BACKED_OUT, MQRC.OUTCOME_MIXED):
            raise
        failure = error
    try:
        _close_everything(connection)
        reason = connection.leave()
    except MQIError as error:
        if error.reason == MQRC.CONNECTION_BROKEN:
            raise
        # Redis refuses that now. Everything is committed; the group gives back what this connection still has.
        connection.break_off()
        reason = MQRC.CONN_TAG_NOT_RELEASED if connection.tag else MQRC.NONE
    if failure is not None:
        raise failure
    return reason


def _close_everything(connection: Connection) -> None:
    for handle in list(connection.handles.values()):
        close_handle(connection, handle)
    close_subscriptions(connection)
    if connection.delivered.is_waiting:
        connection.tell_delivered()
    if connection.beside is not None:
        disconnect(connection.beside)
    delete_temporary_queues(connection, is_last=True)
