"""The short way of a message for another manager whose queue is in another structure: its put makes the agent's hop.

Where the destination is in the agent's own structure, one script does that (structure/put_plain). Here it takes two:
the first finds the agent waiting, and then there is nothing before the message, neither on the agent's queue nor in its
hands; the second puts the message at its destination. What others send in between was sent at the same time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from sharedq.arrival import Arrival, find_arrival
from sharedq.connection import Connection
from sharedq.handle import Handle
from sharedq.link import Reply
from sharedq.mqi.errors import MQIError
from sharedq.objects.authorities import AUTHORITIES, Authorities
from sharedq.opening import TRANSMIT_QUEUE_CHECKED
from sharedq.put_calls import AGENT_WAITS, PutArguments, asking_call, put_call
from sharedq.record import arrived_record, record_length
from sharedq.resolution import read_versions, resolve

#: Where nobody waited at the destination, the agent may as well move what follows, seconds.
_NOBODY_WAITED_S = 0.01
#: Where the destination is no such queue, or refused a message, it is looked for again, seconds.
_LOOK_AGAIN_S = 60


@dataclass(slots=True)
class ShortWay:
    """What a handle knows of its short way.

    Attributes:
        arrival: its queue in another structure, which stands for the name as long as its version does: while there is
            a shared queue no manager has one of that name. None where none is known.
        asks_at_s: when the agent is asked again (monotonic).
    """

    arrival: Arrival | None = None
    asks_at_s: float = 0.0


def put_lone(
    connection: Connection, handle: Handle, arguments: Sequence[PutArguments], details: Sequence[str]
) -> tuple[Handle, Reply]:
    """Put one plain message for another manager, outside a unit of work.

    Returns:
        The handle of the queue that it was put on, and the script's reply.

    Raises:
        MQIError: as for the put scripts.
    """
    way = handle.short_way
    if way is None:
        # Looked for at the second message: many a handle has only one. Not where it may be on another server than the
        # agent's queue: what is sent must not wait for a server that only the destination needs.
        handle.short_way = ShortWay(asks_at_s=math.inf if connection.group.deployment().is_cluster else 0.0)
    elif time.monotonic() >= way.asks_at_s:
        put = _put_or_ask(connection, handle, way, arguments, details)
        if put is not None:
            return put
    return handle, connection.call(*put_call(connection, handle, arguments, details, in_unit=False))


def _put_or_ask(
    connection: Connection, handle: Handle, way: ShortWay, arguments: Sequence[PutArguments], details: Sequence[str]
) -> tuple[Handle, Reply] | None:
    """As `put_lone`; None: it was not put, nor refused."""
    if way.arrival is None or way.arrival.handle.structure.has_failed:
        _look(connection, handle, way)
    arrival = way.arrival
    record = arguments[0][2]
    if arrival is None or record_length(record) > arrival.handle.facts.max_msg_length:
        return None
    reply = connection.call(*asking_call(connection, handle, arguments, details))
    if reply[0] != AGENT_WAITS:
        return handle, reply
    arguments = [(arrival.base(record), "", arrived_record(record))]
    (reply,) = connection.call_apart([put_call(connection, arrival.handle, arguments, details, in_unit=False)])
    if reply[0]:
        # The name may stand for another queue by now; or else the agent finds out why this one refuses the message.
        way.arrival, way.asks_at_s = None, time.monotonic() + _LOOK_AGAIN_S
        return None
    is_awaited = len(reply) > 2
    way.asks_at_s = 0.0 if is_awaited else time.monotonic() + _NOBODY_WAITED_S
    return arrival.handle, reply


def _look(connection: Connection, handle: Handle, way: ShortWay) -> None:
    """Look for the queue that messages arrive at."""
    assert handle.route is not None
    way.arrival, way.asks_at_s = None, time.monotonic() + _LOOK_AGAIN_S
    arrival = find_arrival(connection, handle.target_qmgr.decode(), handle.destination)
    if arrival is None:
        return
    structure = arrival.handle.structure.keys
    if structure.name == handle.structure.keys.name:
        way.asks_at_s = math.inf
        return
    checked = (*handle.route.checked, TRANSMIT_QUEUE_CHECKED, AUTHORITIES)
    try:
        values = read_versions(connection, structure, checked)
        # A command writes what it is about before it tells the structures, one by one. What is not written now had not
        # been told to this one either; what has been told to it alone must not be taken for known.
        route = resolve(connection, handle.object_name, handle.object_q_mgr_name, handle.opened_at)
        is_known = route == handle.route and not Authorities(connection.group).exist()
    except MQIError:
        connection.check()
        return
    if is_known:
        arrival.handle.checks = tuple(part for pair in zip(checked, values, strict=True) for part in pair)
        way.arrival, way.asks_at_s = arrival, 0.0
