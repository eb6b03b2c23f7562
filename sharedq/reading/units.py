"""The units of work that are open, in the whole group: for those who look for one that was forgotten.

The queue manager notes no time for a unit of work, so that a put costs no more. Where the first thing that a unit did
was a put, the put time of that message tells how old it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from sharedq.members.group import Group
from sharedq.messages.record import record_put_time_ms
from sharedq.redis.keys import StructureKeys, qmgr_of

_STATES = {"A": "ACTIVE", "C": "COMMITTING", "B": "BACKING OUT"}
#: Operations that are looked at to count the messages of one unit.
_OPERATIONS = 200


@dataclass(slots=True)
class OpenUnit:
    """A unit of work of a connection that has not ended.

    Attributes:
        id: of the unit of work; it begins with the owner token of the connection.
        qmgr: the manager of the connection.
        messages: that it put and got, in so far as its first operations say.
        has_more: there are further operations.
        begun_ms: when the message of its first put was put, by Redis' clock; None if it has begun with a get.
    """

    id: str
    qmgr: str
    appl_name: str
    pid: int
    state: str = "ACTIVE"
    structures: list[str] = field(default_factory=list)
    queues: list[str] = field(default_factory=list)
    messages: int = 0
    has_more: bool = False
    begun_ms: int | None = None


def open_units(group: Group) -> list[OpenUnit]:
    """Return the units of work of connections, by manager and id. Prepared ones are not among them.

    A structure whose server cannot be reached is passed over.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    owners = group.keys.owners
    flat = group.command(owners, "HGETALL", owners)
    connections = {token: json.loads(text) for token, text in zip(flat[::2], flat[1::2], strict=True)}
    found: dict[str, OpenUnit] = {}
    for name in group.structure_names():
        if group.can_reach(name):
            for token, elements in _lists(group, group.structure(name)):
                state, unit_id = elements[0][:1].decode(), elements[0][1:].decode()
                about = connections.get(token, {})
                qmgr = qmgr_of(token.decode())
                unit = found.setdefault(
                    unit_id, OpenUnit(unit_id, qmgr, str(about.get("appl", "")), int(about.get("pid", 0)))
                )
                unit.state = _STATES.get(state, state) if state != "A" else unit.state
                unit.structures.append(name)
                _add(group, group.structure(name), unit, elements[1:])
    return sorted(found.values(), key=lambda unit: (unit.qmgr, unit.id))


def _lists(group: Group, keys: StructureKeys) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield the connections with a unit of work in a structure, and the beginnings of its lists."""
    tokens: list[bytes] = group.command(keys.owners, "HKEYS", keys.owners)
    last = b"%d" % (_OPERATIONS + 1)
    commands = [(b"LRANGE", keys.unit_of_work.encode() + token, b"0", last) for token in tokens]
    replies = group.commands(keys.owners, commands) if commands else []
    yield from ((token, elements) for token, elements in zip(tokens, replies, strict=True) if elements)


def _add(group: Group, keys: StructureKeys, unit: OpenUnit, operations: list[bytes]) -> None:
    for position, operation in enumerate(operations[:_OPERATIONS]):
        what, queue, ids = operation.split(b"\n", 3)[:3]
        unit.messages += int(what[1:])
        if (name := queue.decode()) not in unit.queues:
            unit.queues.append(name)
        if position == 0 and what[:1] == b"P":
            record = group.command(keys.messages, "HGET", keys.messages, ids.split(b" ", 1)[0])
            put_ms = record_put_time_ms(record) if record else 0
            if put_ms:
                unit.begun_ms = min(put_ms, unit.begun_ms or put_ms)
    unit.has_more = unit.has_more or len(operations) > _OPERATIONS
