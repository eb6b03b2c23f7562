"""MOVE QLOCAL: all messages of one local queue onto another.

Source: IBM MQ for z/OS, "MOVE QLOCAL". Different here: a message that has expired is not moved, and is reported; GET
and PUT must be enabled; source and target cannot have the same name.
"""

from __future__ import annotations

from contextlib import ExitStack

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import find_parameter, read_choice
from igq.mqsc.language.parser import Command, MqscSyntaxError
from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.handles.connect import connect_to
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.commands.display import DisplayedQueue
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository

#: Messages of one unit of work.
UNIT_MESSAGES = 50
_NO_DEPTH_LIMIT = 999_999_999
_GET = int(GetOption.SYNCPOINT | GetOption.FAIL_IF_QUIESCING)
_PUT = int(PutOption.SYNCPOINT | PutOption.SET_ALL_CONTEXT | PutOption.FAIL_IF_QUIESCING)
#: Attributes in which source and target must agree.
_SAME = (("usage", "USAGE"), ("definition_type", "DEFTYPE"), ("index_type", "INDXTYPE"))


def move_queue(command: Command, repository: Repository) -> list[str]:
    """Move the messages, in units of work. Priority, persistence, identifiers and context stay; no COD reports.

    Returns:
        A line with how many there were.

    Raises:
        MQIError: 2085, no such queue; 2042, one is open or has uncommitted messages; 2055, TYPE(MOVE) and the target is
            not empty; 2053, there is no room for all; 2057, the two differ in what must be the same. Nothing is moved.
        PartlyDoneError: there is no target; or a message could not be moved, and those before it were.
    """
    command.check_keywords(("TOQLOCAL", "TYPE", "QSGDISP", "CMDSCOPE"))
    to = find_parameter(command, "TOQLOCAL")
    if to is None or not to.value.strip():
        given = command.parameters[-1].segment if command.parameters else f"MOVE QLOCAL({command.name})"
        raise MqscSyntaxError(command.line, given, "TOQLOCAL(target)")
    kind = read_choice(command, "TYPE", ("MOVE", "ADD"), "MOVE")
    disposition = read_choice(command, "QSGDISP", ("PRIVATE", "SHARED"), "PRIVATE")
    source = _queue(repository, command.name, disposition)
    try:
        target = _queue(repository, to.value, "LIVE")
    except MQIError as error:
        # The line must not name the source, which is there.
        raise messages.PartlyDoneError([messages.failure(f"QLOCAL({to.value})", error)], error.reason) from error
    _check(source, target, kind)
    with ExitStack() as stack:
        connection = QueueManagerConnection(
            connect_to(repository.group, repository.qmgr or "", appl_name="MOVE QLOCAL")
        )
        stack.enter_context(connection)
        # Nobody else may have them open; a program that opens one for input meanwhile gets 2042.
        from_queue = connection.open(source.name, OpenOption.INPUT_EXCLUSIVE | OpenOption.FAIL_IF_QUIESCING)
        options = OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT | OpenOption.FAIL_IF_QUIESCING
        to_queue = connection.open(target.name, options)
        from_queue.open_queue().gets.confirms_delivery = False
        count = _move_all(connection, from_queue, to_queue)
    return [messages.MOVED.format(count, source.name, target.name)]


def _move_all(connection: QueueManagerConnection, source: Queue, target: Queue) -> int:
    count = 0
    while True:
        try:
            found = source.get_many(UNIT_MESSAGES, _GET)
        except MQIError as error:
            if error.reason == MQRC.NO_MSG_AVAILABLE:
                return count
            raise _partly(connection, count, source, error) from error
        try:
            target.put_many([(message.md, message.body) for message in found], options=_PUT)
            connection.commit()
        except MQIError as error:
            raise _partly(connection, count, source, error) from error
        count += len(found)


def _partly(
    connection: QueueManagerConnection, count: int, source: Queue, error: MQIError
) -> MQIError | messages.PartlyDoneError:
    is_lost = connection.connection.is_ended
    if not is_lost:
        connection.backout()
    lines = [messages.failure(f"QLOCAL({source.name})", error), messages.PARTLY_MOVED.format(count)]
    return messages.PartlyDoneError(lines, error.reason, is_outcome_unknown=is_lost)


def _queue(repository: Repository, name: str, disposition: str) -> DisplayedQueue:
    """Return a local queue of the disposition. Raises MQIError: 2085, there is no such queue."""
    queues = repository.display_queues(name, (QueueLocal.kind,), disposition) if not name.endswith("*") else []
    if not queues:
        where = {"PRIVATE": ", for a shared one say QSGDISP(SHARED)"}.get(disposition, "")
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", name, f"no such local queue{where}")
    return queues[0]


def _check(source: DisplayedQueue, target: DisplayedQueue, kind: str) -> None:
    if source.name == target.name:
        raise error_for(MQRC.OBJECT_NOT_UNIQUE, "", target.name, "source and target have the same name")
    for queue in (source, target):
        state = queue.state
        if state is None:
            continue
        if state.open_input or state.open_output or state.handles:
            raise error_for(MQRC.OBJECT_IN_USE, "", queue.name, f"{queue.name} is open")
        if state.uncommitted or state.locked:
            raise error_for(MQRC.OBJECT_IN_USE, "", queue.name, f"{queue.name} has uncommitted messages")
    one, other = source.definition, target.definition
    assert isinstance(one, QueueLocal)
    assert isinstance(other, QueueLocal)
    for field, keyword in _SAME:
        if getattr(one, field) != getattr(other, field):
            raise error_for(MQRC.Q_TYPE_ERROR, "", target.name, f"the queues differ in {keyword}")
    there = target.state.depth if target.state else 0
    if kind == "MOVE" and there:
        raise error_for(
            MQRC.Q_NOT_EMPTY, "", target.name, f"{target.name} has {there} messages; TYPE(ADD) adds to them"
        )
    coming = source.state.depth if source.state else 0
    if other.max_depth != _NO_DEPTH_LIMIT and there + coming > other.max_depth:
        detail = f"{coming} messages and the {there} there exceed MAXDEPTH({other.max_depth}); none was moved"
        raise error_for(MQRC.Q_FULL, "", target.name, detail)
