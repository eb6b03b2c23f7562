"""MQINQ and MQSET."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sharedq.connection import Connection
from sharedq.handle import Handle
from sharedq.mqi.constants import MQRC, CharSelector, IntSelector, OpenOption
from sharedq.mqi.errors import error_for
from sharedq.objects.attributes import Attribute, by_selector
from sharedq.objects.definitions import QueueLocal
from sharedq.objects.managers import QueueManagerAttributes
from sharedq.objects.repository import Repository
from sharedq.put_later import flush_pending
from sharedq.refresh import refresh_definition

#: What MQSET may change, and the reason for a value that cannot be.
SETTABLE: Mapping[int, MQRC] = {
    IntSelector.INHIBIT_GET: MQRC.INHIBIT_VALUE_ERROR,
    IntSelector.INHIBIT_PUT: MQRC.INHIBIT_VALUE_ERROR,
    IntSelector.TRIGGER_CONTROL: MQRC.TRIGGER_CONTROL_ERROR,
    IntSelector.TRIGGER_TYPE: MQRC.TRIGGER_TYPE_ERROR,
    IntSelector.TRIGGER_DEPTH: MQRC.TRIGGER_DEPTH_ERROR,
    IntSelector.TRIGGER_MSG_PRIORITY: MQRC.TRIGGER_MSG_PRIORITY_ERR,
    CharSelector.TRIGGER_DATA: MQRC.CHAR_ATTR_LENGTH_ERROR,
}

#: What counts for CURDEPTH beside the available set: uncommitted puts, locked messages, members of groups.
_NOT_IN_AVAILABLE = ("pu", "lk", "gm")
_ANY_QUEUE = QueueLocal(name="ANY")


def inquire(connection: Connection, handle: Handle, selectors: Sequence[int]) -> dict[int, int | bytes]:
    """MQINQ of an open local queue: the value for each selector.

    Raises:
        MQIError: 2038 not open for inquire, 2067 a selector that local queues do not have.
    """
    if not handle.options & int(OpenOption.INQUIRE):
        raise error_for(MQRC.NOT_OPEN_FOR_INQUIRE, "MQINQ", handle.object_name)
    connection.check_usable(handle)
    if IntSelector.CURRENT_Q_DEPTH in selectors:
        # What this connection has put counts, committed or not.
        flush_pending(connection)
    key = handle.queue.queue
    text, inputs, outputs, *elsewhere = connection.command(key, "HMGET", key, "def", "ip", "op", *_NOT_IN_AVAILABLE)
    if text is None:
        connection.check_there(handle)
        raise error_for(MQRC.Q_DELETED, "MQINQ", handle.object_name)
    available = connection.command(key, "ZCARD", handle.queue.available)
    definition = QueueLocal.from_json(text)
    known: dict[int, int | bytes] = {
        selector: _inquired(attribute, getattr(definition, attribute.field))
        for selector, attribute in by_selector(QueueLocal).items()
    }
    known[int(IntSelector.Q_TYPE)] = 1
    known[int(IntSelector.CURRENT_Q_DEPTH)] = int(available) + sum(int(count or 0) for count in elsewhere)
    known[int(IntSelector.OPEN_INPUT_COUNT)] = int(inputs or 0)
    known[int(IntSelector.OPEN_OUTPUT_COUNT)] = int(outputs or 0)
    try:
        return {int(selector): known[int(selector)] for selector in selectors}
    except KeyError as error:
        raise error_for(MQRC.SELECTOR_ERROR, "MQINQ", handle.object_name, f"selector {error.args[0]}") from None


def inquire_qmgr(connection: Connection, selectors: Sequence[int]) -> dict[int, int | bytes]:
    """MQINQ of the queue manager: the value for each selector.

    Raises:
        MQIError: 2067 a selector that queue managers do not have.
    """
    attributes = Repository(connection.group, connection.qmgr_name).qmgr_attributes(connection.qmgr_name)
    known = by_selector(QueueManagerAttributes)
    values: dict[int, int | bytes] = {}
    for selector in selectors:
        attribute = known.get(int(selector))
        if attribute is None:
            raise error_for(MQRC.SELECTOR_ERROR, "MQINQ", connection.qmgr_name, f"selector {selector}")
        values[int(selector)] = _inquired(attribute, getattr(attributes, attribute.field))
    return values


def set_attributes(connection: Connection, handle: Handle, values: Mapping[int, int | bytes]) -> None:
    """MQSET of an open local queue.

    Raises:
        MQIError: 2040 not open for set, 2067 a selector that cannot be set, the reason of ``SETTABLE`` for a bad value.
    """
    if not handle.options & int(OpenOption.SET):
        raise error_for(MQRC.NOT_OPEN_FOR_SET, "MQSET", handle.object_name)
    attributes = by_selector(QueueLocal)
    changes: dict[str, str | int] = {}
    for selector, value in values.items():
        attribute = attributes.get(int(selector))
        if attribute is None or int(selector) not in SETTABLE:
            raise error_for(MQRC.SELECTOR_ERROR, "MQSET", handle.object_name, f"selector {selector}")
        changes[attribute.field] = _checked(attribute, value, SETTABLE[int(selector)], handle.object_name)
    connection.check()
    connection.check_there(handle)
    repository = Repository(connection.group, connection.qmgr_name, caller=connection.token)
    repository.alter("QLOCAL", handle.name, changes)
    refresh_definition(connection, handle)


def _inquired(attribute: Attribute, value: str | int) -> int | bytes:
    found = attribute.inquired(value)
    return found if isinstance(found, int) else found.encode().ljust(attribute.mqsc.length)


def _checked(attribute: Attribute, value: int | bytes, reason: MQRC, name: str) -> str | int:
    """The field's value for what MQSET gives. Checked one by one, so that *reason* is that of the wrong one."""
    try:
        found = value.rstrip(b" \0").decode() if isinstance(value, bytes) else attribute.from_number(value)
        _ANY_QUEUE.with_changes({attribute.field: found})
    except ValueError as error:
        raise error_for(reason, "MQSET", name, str(error)) from None
    return found
