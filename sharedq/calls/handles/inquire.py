"""MQINQ and MQSET."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sharedq.calls.routes.refresh import refresh_definition
from sharedq.calls.routes.resolution import resolve
from sharedq.calls.unit.put_buffer import flush_pending
from sharedq.members.event_notes import Giver
from sharedq.mqi.arguments import whole
from sharedq.mqi.constants import MQRC, CharSelector, IntSelector, OpenOption
from sharedq.mqi.constants.pcf import EventOrigin
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.configuration_notes import noting
from sharedq.objects.definitions.attributes import Attribute, by_selector
from sharedq.objects.definitions.base import ObjectDefinition
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.definitions.namelists import Namelist
from sharedq.objects.definitions.queues import QUEUE_KINDS, QueueAlias, QueueLocal, QueueRemote
from sharedq.objects.definitions.words import QUEUE_TYPE
from sharedq.objects.repository import NAMED_OBJECTS, Repository
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle, ObjectHandle

#: The attributes that MQSET may change, and the reason for a wrong value.
SETTABLE: Mapping[int, MQRC] = {
    IntSelector.INHIBIT_GET: MQRC.INHIBIT_VALUE_ERROR,
    IntSelector.INHIBIT_PUT: MQRC.INHIBIT_VALUE_ERROR,
    IntSelector.TRIGGER_CONTROL: MQRC.TRIGGER_CONTROL_ERROR,
    IntSelector.TRIGGER_TYPE: MQRC.TRIGGER_TYPE_ERROR,
    IntSelector.TRIGGER_DEPTH: MQRC.TRIGGER_DEPTH_ERROR,
    IntSelector.TRIGGER_MSG_PRIORITY: MQRC.TRIGGER_MSG_PRIORITY_ERR,
    CharSelector.TRIGGER_DATA: MQRC.CHAR_ATTR_LENGTH_ERROR,
}

#: CURDEPTH counts these besides the available set: uncommitted puts, locked messages, members of groups.
_NOT_IN_AVAILABLE = ("pu", "lk", "gm")
_ANY_QUEUE = QueueLocal(name="ANY")
Q_MGR_IDENTIFIER_LENGTH = 48
#: MQIAV_NOT_APPLICABLE
_NO_NUMBER = -1
#: MQINQ returns these for attributes that this type of queue does not have.
_NOT_APPLICABLE: Mapping[int, int | bytes] = {
    int(selector): _NO_NUMBER
    for selector in (IntSelector.CURRENT_Q_DEPTH, IntSelector.OPEN_INPUT_COUNT, IntSelector.OPEN_OUTPUT_COUNT)
} | {
    selector: b"*" * attribute.mqsc.length or _NO_NUMBER
    for kind in QUEUE_KINDS.values()
    for selector, attribute in by_selector(kind).items()
}


def inquire(connection: Connection, handle: Handle, selectors: Sequence[int]) -> tuple[dict[int, int | bytes], MQRC]:
    """MQINQ of an open queue, or of the alias or remote definition that it was opened by: the value for each selector.

    Returns:
        The values; and ``NONE``, or 2068: some selectors are for queues of other types, and their values are
        MQIAV_NOT_APPLICABLE, or asterisks.

    Raises:
        MQIError: 2038 not open for inquire, 2067 a selector that no queue has; 2041 its alias or remote definition
            leads elsewhere now, or is gone; 2052 the queue is gone.
    """
    if not handle.options & int(OpenOption.INQUIRE):
        raise error_for(MQRC.NOT_OPEN_FOR_INQUIRE, "MQINQ", handle.object_name)
    connection.check_usable(handle)
    selectors = _numbers(selectors, "MQINQ", handle.object_name)
    named = _definition_in_force(connection, handle, "MQINQ")
    known = _local_values(connection, handle, selectors) if named is None else _stated(named)
    values, reason = dict[int, int | bytes](), MQRC.NONE
    for selector in selectors:
        if selector in known:
            values[selector] = known[selector]
        elif selector in _NOT_APPLICABLE:
            values[selector], reason = _NOT_APPLICABLE[selector], MQRC.SELECTOR_NOT_FOR_TYPE
        else:
            raise error_for(MQRC.SELECTOR_ERROR, "MQINQ", handle.object_name, f"selector {selector}")
    return values, reason


def _local_values(connection: Connection, handle: Handle, selectors: Sequence[int]) -> dict[int, int | bytes]:
    if IntSelector.CURRENT_Q_DEPTH in selectors:
        # Messages that this connection has put count, committed or not.
        flush_pending(connection)
    key = handle.queue.queue
    text, inputs, outputs, *elsewhere = connection.command(key, "HMGET", key, "def", "ip", "op", *_NOT_IN_AVAILABLE)
    if text is None:
        connection.check_there(handle)
        raise error_for(MQRC.Q_DELETED, "MQINQ", handle.object_name)
    available = connection.command(key, "ZCARD", handle.queue.available)
    known = _stated(QueueLocal.from_json(text))
    if handle.gets.parts is not None:
        return known | _counts_of_all_parts(connection, handle)
    known[int(IntSelector.CURRENT_Q_DEPTH)] = int(available) + sum(int(count or 0) for count in elsewhere)
    known[int(IntSelector.OPEN_INPUT_COUNT)] = int(inputs or 0)
    known[int(IntSelector.OPEN_OUTPUT_COUNT)] = int(outputs or 0)
    return known


def _counts_of_all_parts(connection: Connection, handle: Handle) -> dict[int, int | bytes]:
    state = Repository(connection.group, connection.qmgr_name).queue_status(handle.name)
    return {
        int(IntSelector.CURRENT_Q_DEPTH): state.depth,
        int(IntSelector.OPEN_INPUT_COUNT): state.open_input,
        int(IntSelector.OPEN_OUTPUT_COUNT): state.open_output,
    }


def _definition_in_force(connection: Connection, handle: Handle, verb: str) -> QueueAlias | QueueRemote | None:
    """The alias or remote definition that the handle was opened by, as it is now; None: it was the queue's own name.

    MQINQ does not refresh the definition that puts use: the next put checks that definition.
    """
    if handle.definition.route is None or handle.definition.route.definition is None:
        return None
    try:
        route = resolve(connection, handle.object_name, handle.object_q_mgr_name, handle.opened_at)
    except MQIError as error:
        if error.reason in (MQRC.CONNECTION_BROKEN, MQRC.Q_DELETED):
            raise
        raise error_for(MQRC.OBJECT_CHANGED, verb, handle.object_name, str(error)) from error
    if not route.leads_where(handle.definition.route):
        raise error_for(MQRC.OBJECT_CHANGED, verb, handle.object_name, "its name leads elsewhere now")
    return route.definition


def _stated(definition: ObjectDefinition) -> dict[int, int | bytes]:
    """The attributes of a definition, by selector."""
    values = {
        selector: _inquired(attribute, getattr(definition, attribute.field))
        for selector, attribute in by_selector(type(definition)).items()
    }
    if definition.kind in QUEUE_TYPE:
        values[int(IntSelector.Q_TYPE)] = QUEUE_TYPE[definition.kind]
    return values


def inquire_object(connection: Connection, handle: ObjectHandle, selectors: Sequence[int]) -> dict[int, int | bytes]:
    """MQINQ of the queue manager, a process definition or a namelist, as it is now: the value for each selector.

    Raises:
        MQIError: 2067 a selector that such objects do not have; 2041 the definition is gone.
    """
    selectors = _numbers(selectors, "MQINQ", handle.object_name)
    repository = Repository(connection.group, connection.qmgr_name)
    if handle.kind in NAMED_OBJECTS:
        definition = repository.named_objects(handle.kind).named(handle.object_name)
        if definition is None:
            raise error_for(MQRC.OBJECT_CHANGED, "MQINQ", handle.object_name, "it is deleted")
    else:
        definition = repository.qmgr_attributes(handle.object_name)
    known = _stated(definition)
    if isinstance(definition, Namelist):
        known[int(IntSelector.NAME_COUNT)] = definition.name_count
    elif isinstance(definition, QueueManagerAttributes):
        identifier = definition.identifier(connection.group.name).encode()
        known[int(CharSelector.Q_MGR_IDENTIFIER)] = identifier.ljust(Q_MGR_IDENTIFIER_LENGTH)
        known[int(CharSelector.VERSION)] = definition.version.encode()
    for selector in selectors:
        if selector not in known:
            raise error_for(MQRC.SELECTOR_ERROR, "MQINQ", handle.object_name, f"selector {selector}")
    return {selector: known[selector] for selector in selectors}


def _numbers(selectors: Iterable[int], verb: str, name: str) -> list[int]:
    """The selectors as plain numbers. Raises MQIError: 2067."""
    if not isinstance(selectors, Iterable):
        raise error_for(MQRC.SELECTOR_ERROR, verb, name, f"the selectors are {type(selectors).__name__}")
    return [whole(each, MQRC.SELECTOR_ERROR, verb, name, "a selector") for each in selectors]


def set_attributes(connection: Connection, handle: Handle, values: Mapping[int, int | bytes]) -> None:
    """MQSET of an open local queue, or of the alias or remote definition that it was opened by.

    Raises:
        MQIError: 2040 not open for set, 2067 a selector that cannot be set, the reason of ``SETTABLE`` for a bad value;
            2041 its alias or remote definition leads elsewhere now, or is gone.
    """
    if not handle.options & int(OpenOption.SET):
        raise error_for(MQRC.NOT_OPEN_FOR_SET, "MQSET", handle.object_name)
    connection.check()
    if not isinstance(values, Mapping):
        raise error_for(MQRC.SELECTOR_ERROR, "MQSET", handle.object_name, f"the values are {type(values).__name__}")
    selectors = _numbers(values, "MQSET", handle.object_name)
    named = _definition_in_force(connection, handle, "MQSET")
    kind, name = (QueueLocal, handle.name) if named is None else (type(named), named.name)
    attributes = by_selector(kind)
    changes: dict[str, str | int] = {}
    for selector, value in zip(selectors, values.values(), strict=True):
        attribute = attributes.get(selector)
        if attribute is None or selector not in SETTABLE:
            raise error_for(MQRC.SELECTOR_ERROR, "MQSET", handle.object_name, f"selector {selector}")
        changes[attribute.field] = _checked(attribute, value, SETTABLE[selector], handle.object_name)
    connection.check_there(handle)
    giver = Giver(user=connection.user, appl=connection.appl_name, origin=int(EventOrigin.MQSET))
    repository = Repository(connection.group, connection.qmgr_name, caller=connection.token, giver=giver)
    with noting(repository, "change", kind.kind, name):
        repository.alter(kind.kind, name, changes)
    refresh_definition(connection, handle)


def _inquired(attribute: Attribute, value: str | int) -> int | bytes:
    found = attribute.inquired(value)
    if isinstance(found, int):
        return found
    # Each name of a list has its full length.
    texts = (found.split(",") if found else []) if attribute.mqsc.is_list else [found]
    return b"".join(text.encode().ljust(attribute.mqsc.length) for text in texts)


def _checked(attribute: Attribute, value: int | bytes, reason: MQRC, name: str) -> str | int:
    """The field's value for what MQSET gives. Checked one by one, so that *reason* is that of the wrong one."""
    if not isinstance(value, int | bytes):
        raise error_for(reason, "MQSET", name, f"a value is {type(value).__name__}, must be int or bytes")
    try:
        # A null ends the text, as for a program in C: what comes after it may be anything.
        if isinstance(value, bytes):
            found: str | int = value.split(b"\0", 1)[0].rstrip(b" ").decode()
        else:
            found = attribute.from_number(value)
        _ANY_QUEUE.with_changes({attribute.field: found})
    except ValueError as error:
        raise error_for(reason, "MQSET", name, str(error)) from None
    return found
