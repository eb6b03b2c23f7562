"""The way of each message that is put: not every message of a handle goes to the queue that the handle has open.

* Messages that are too long for SYSTEM.QSG.TRANSMIT.QUEUE go through a conventional transmission queue.
* An alias with SPREAD stands for several local queues. MQOO_BIND_ON_OPEN: the handle keeps to one of them.
  MQOO_BIND_ON_GROUP: messages with one GroupId, or else with one CorrelId, go to one of them, whichever program puts
  them. MQOO_BIND_NOT_FIXED: single messages go to each in turn. Groups and segments stay together in any case.

Source: IBM MQ, "MQOO options relating to cluster queues", for the words; that a CorrelId counts is igq's own rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import TypeVar

from sharedq.calls.handles.open import NEXT_MAY_TAKE_IT, find_queue, find_route, open_route
from sharedq.calls.routes.refresh import refresh_definition
from sharedq.calls.routes.resolution import conventional_route, read_versions, resolve, resolve_checked
from sharedq.logical import GROUP_FLAGS
from sharedq.messages.context import new_identifier
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.options import NOT_FOR_PUTS
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.store.parts import Place
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.route import Route

_LOGICAL_ORDER = int(PutOption.LOGICAL_ORDER)
_ON_GROUP = int(OpenOption.BIND_ON_GROUP)
#: One of the checks: the definition of the transmit queue, for which these messages are too long.
TRANSMIT_QUEUE_CHECKED = f"DEF {SYSTEM_QSG_TRANSMIT_QUEUE}"
_CONVENTIONAL = Place("", "")
T = TypeVar("T")


def for_length(connection: Connection, handle: Handle, length: int) -> Handle:
    """Return the handle for a put of *length* bytes. A message too long for SYSTEM.QSG.TRANSMIT.QUEUE goes through the
    conventional transmission queue, if there is one.

    Raises:
        MQIError: 2041, the handle's name leads elsewhere now; 2373, 2346 the other way's structure has failed.
    """
    if not handle.is_intra_group or length <= handle.definition.facts.max_msg_length:
        return handle
    way = handle.puts.ways.get(_CONVENTIONAL)
    if way is None or way.structure.has_failed:
        assert handle.definition.route is not None
        try:
            route = conventional_route(connection, handle.definition.route, handle.opened_at)
        except MQIError as error:
            if error.reason in (MQRC.CONNECTION_BROKEN, MQRC.CF_STRUC_FAILED, MQRC.CF_STRUC_IN_USE):
                raise
            return handle
        way = _open_way(connection, handle, _CONVENTIONAL, route, _checks_elsewhere(connection, handle, route))
    return way


def places_for(connection: Connection, handle: Handle, md: MQMD, options: int) -> Iterator[Place]:
    """Yield the places of an alias with SPREAD for a message: one, or all, any of which may take it."""
    route = handle.definition.route
    assert route is not None
    key = _key(connection, handle, md, options)
    if key is not None:
        # Rendezvous hashing: every program comes to the same place, and one place more or less moves few keys.
        yield max(route.spread, key=lambda place: blake2b(place.queue.encode() + key, digest_size=8).digest())
        return
    handle.puts.turn += 1
    for number in range(len(route.spread)):
        yield route.spread[(handle.puts.turn + number) % len(route.spread)]


def _key(connection: Connection, handle: Handle, md: MQMD, options: int) -> bytes | None:
    """Return what other messages have in common that must stay together with this one. None: it is alone."""
    flags, open_group = int(md.msg_flags) if md.version > 1 else 0, handle.order.puts
    handle.puts.next_group_id = b""
    if options & _LOGICAL_ORDER and open_group.is_open:
        return _whole(open_group.group_id)
    if flags & GROUP_FLAGS:
        group_id = _whole(md.group_id)
        if not options & _LOGICAL_ORDER and group_id != NULL_ID:
            return group_id
        # This message begins a group, whose GroupId decides about the later members, too.
        handle.puts.next_group_id = new_identifier(connection.origin)
        return handle.puts.next_group_id
    key = common_key(handle, md)
    return key if isinstance(key, bytes) else None


def common_key(handle: Handle, md: MQMD) -> object:
    """Return what messages have in common that may be put in one call: their CorrelId, or None where they may go
    anywhere. A member of a group, or a segment, has nothing in common with any other.
    """
    if md.version > 1 and int(md.msg_flags) & GROUP_FLAGS:
        return object()
    correl_id = _whole(md.correl_id)
    return correl_id if handle.puts.binding == _ON_GROUP and correl_id != NULL_ID else None


def _whole(identifier: bytes) -> bytes:
    """Return an identifier as a getter sees it, at full length: a program may leave out the zeros at its end."""
    return identifier if len(identifier) == len(NULL_ID) else identifier.ljust(len(NULL_ID), b"\0")


def way_to(connection: Connection, handle: Handle, place: Place) -> Handle:
    """Return the handle for puts to one of the places of an alias with SPREAD.

    Raises:
        MQIError: 2041, the handle's name leads elsewhere now; or why that queue cannot be opened.
    """
    if place == (handle.structure.keys.name, handle.name):
        connection.check_usable(handle)
        return handle
    way = handle.puts.ways.get(place)
    if way is None or way.structure.has_failed:
        known = handle.definition.route
        assert known is not None
        known = replace(known, structure=place.structure, queue=place.queue)
        way = _open_place(connection, handle, place, known)
    way.puts.next_group_id = handle.puts.next_group_id
    return way


def _open_place(connection: Connection, handle: Handle, place: Place, known: Route) -> Handle:
    name, qmgr_name = handle.object_name, handle.object_q_mgr_name
    route, checks = resolve_checked(connection, name, qmgr_name, handle.opened_at, known)
    if not route.leads_where(known):
        raise _leads_elsewhere(handle)
    return _open_way(connection, handle, place, route, checks)


def find_way(connection: Connection, handle: Handle, known: Route | None) -> Handle:
    """Return a handle for puts of this connection where *handle*, perhaps of another one, leads (`find_queue`).

    Raises:
        MQIError: 2041, the name leads elsewhere now; those of `find_queue`.
    """
    name, qmgr_name = handle.object_name.encode(), handle.object_q_mgr_name.encode()
    way = find_queue(connection, name, qmgr_name, handle.opened_at, known)
    assert way.definition.route is not None
    assert handle.definition.route is not None
    if not way.definition.route.leads_where(handle.definition.route):
        raise _leads_elsewhere(handle)
    way.options = handle.options
    way.puts.alternate_user = handle.puts.alternate_user
    return way


def put_on_any(
    connection: Connection, handle: Handle, places: Iterator[Place], in_unit: bool, put_on: Callable[[Handle], T]
) -> T:
    """Put on the first of *places*, queues of an alias with SPREAD, that takes it.

    Args:
        put_on: makes the put by the handle that it is given.
    """
    refusal: MQIError | None = None
    for place in places:
        try:
            return by_way(connection, handle, way_to(connection, handle, place), in_unit, put_on)
        except MQIError as error:
            if error.reason not in NEXT_MAY_TAKE_IT:
                raise
            refusal = refusal or error
    assert refusal is not None
    raise refusal


def by_way(connection: Connection, handle: Handle, way: Handle, in_unit: bool, put_on: Callable[[Handle], T]) -> T:
    """Put by the handle's own way or another one, which goes on with the handle's group."""
    if way is handle:
        return put_on(handle)
    way.order = handle.order
    try:
        return put_on(way)
    finally:
        # A put that was refused in its middle has put something, too.
        connection.unit.retain(handle, "puts", way.order, in_unit=in_unit)


def _open_way(connection: Connection, handle: Handle, place: Place, route: Route, checks: tuple[str, ...]) -> Handle:
    where = (handle.object_name, handle.object_q_mgr_name, handle.opened_at, route, checks)
    way: Handle | None
    if handle.number:
        way = open_route(connection, *where, handle.options & ~NOT_FOR_PUTS)
    else:
        # No queue registers the handle, so nobody would close what a queue registers for it.
        way = find_route(connection, *where)
        way.options = handle.options
    if way is None:
        raise _leads_elsewhere(handle)
    way.puts.alternate_user = handle.puts.alternate_user
    handle.puts.ways[place] = way
    # The inner handle ends with the outer one, which alone counts for MAXHANDS.
    connection.handles.pop(way.number, None)
    return way


def _checks_elsewhere(connection: Connection, handle: Handle, route: Route) -> tuple[str, ...]:
    """Return the versions that *handle* checks, as the structure of *route* has them: IGQ, the definitions that its
    name led through, and that of SYSTEM.QSG.TRANSMIT.QUEUE.

    An ALTER changes the directory and the queue first, the structures last. If both are unchanged now, no ALTER had
    reached the structure when it answered.
    """
    checked = (*route.checked, TRANSMIT_QUEUE_CHECKED)
    values = read_versions(connection, connection.access(route.structure).keys, checked)
    refresh_definition(connection, handle)
    assert handle.definition.route is not None
    now = resolve(connection, handle.object_name, handle.object_q_mgr_name, handle.opened_at)
    if not now.leads_where(handle.definition.route):
        raise _leads_elsewhere(handle)
    return tuple(part for pair in zip(checked, values, strict=True) for part in pair)


def _leads_elsewhere(handle: Handle) -> MQIError:
    return error_for(MQRC.OBJECT_CHANGED, "MQPUT", handle.object_name, "its name leads elsewhere now")
