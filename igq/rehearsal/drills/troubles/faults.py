"""Faults other than signals to the group's processes: faults of Redis, changes of definitions,
large units of work, and units that are left in doubt.
"""

from __future__ import annotations

import os
import signal

from igq.errors import CommandError
from igq.rehearsal.load.queues import BULK_QUEUE, define_bulk_queue, do_mqsc
from igq.rehearsal.load.scene import Scene
from sharedq.api import QueueManagerConnection
from sharedq.calls.handles.connect import connect_to
from sharedq.calls.unit.in_doubt import PreparedUnit, prepared_units
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC, OpenOption, Persistence, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.repository import Repository
from sharedq.reading.journal import read_entries

_BACK_TIMEOUT_S = 60.0
#: Seconds between two flushes: enough for scripts to be loaded again and used.
_FLUSH_S = 0.05
COMMIT, BACKOUT = "COMMIT", "BACKOUT"
#: The journal's event for each action.
_EVENTS = {COMMIT: "commit", BACKOUT: "backout"}
#: Messages of a unit of work: the default of MAXUMSGS.
_UNIT_MESSAGES = 10_000
_CALL_MESSAGES = 500


def kill_server(scene: Scene) -> int:
    """Send SIGKILL to the embedded server. Returns its process id after another one has taken its place.

    Raises:
        CommandError: there is no embedded server, or none comes back.
        MQIError: 2009, the server could not be reached before.
    """
    if not scene.settings.is_embedded:
        raise CommandError("the embedded server is to be killed, but IGQ_REDIS_URL names another server", 2)
    pid = int(_info(scene, "server", "process_id"))
    os.kill(pid, signal.SIGKILL)

    def is_back() -> bool:
        try:
            return int(_info(scene, "server", "process_id")) != pid
        except MQIError:
            return False

    scene.watch.wait(is_back, "the embedded server to come back", _BACK_TIMEOUT_S, asks_group=True)
    return pid


def kill_channel_server(scene: Scene, qmgr: str) -> None:
    """Send SIGKILL to a manager's channel server, as soon as there is one. Returns after its end.

    Raises:
        CommandError: there is none.
    """
    manager = scene.managers[qmgr]
    scene.watch.wait(lambda: bool(manager.channel_servers()), f"a channel server of {qmgr}", _BACK_TIMEOUT_S)
    killed = set(manager.signal_channel_servers(signal.SIGKILL))
    scene.watch.wait(lambda: not killed & set(manager.channel_servers()), "its end", _BACK_TIMEOUT_S)


def flush_scripts(scene: Scene, times: int) -> None:
    """Make Redis forget its scripts, again and again."""
    key = scene.group.keys.group
    for _ in range(times):
        scene.group.command(key, "SCRIPT", "FLUSH")
        scene.watch.wait_a_while(lambda: False, _FLUSH_S)


def alter_igq(scene: Scene, qmgr: str, value: str) -> None:
    """Enter ``ALTER QMGR IGQ(...)``. If the outcome is unknown, enter it again: that does no harm.

    Raises:
        CommandError: the command was refused, or Redis does not come back.
    """

    def is_altered() -> bool:
        try:
            do_mqsc(scene.group, qmgr, f"ALTER QMGR IGQ({value})")
        except MQIError as error:
            if error.reason != MQRC.CONNECTION_BROKEN:
                raise
            return False
        return True

    scene.watch.wait(is_altered, f"IGQ({value}) at {qmgr}", _BACK_TIMEOUT_S, asks_group=True)


def limit_memory(scene: Scene, *, is_lifted: bool) -> int:
    """Limit Redis' memory to what it uses now, or lift the limit. Returns the limit in bytes, 0 for none."""
    key = scene.group.keys.group
    limit = 0 if is_lifted else int(_info(scene, "memory", "used_memory"))
    scene.group.command(key, "CONFIG", "SET", "maxmemory", limit)
    return limit


def _info(scene: Scene, section: str, field: str) -> str:
    key = scene.group.keys.group
    text: bytes = scene.group.command(key, "INFO", section)
    for line in text.decode().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return value
    raise CommandError(f"INFO {section} names no {field}")


def expect_in_doubt(group: Group, qmgr: str, units: list[str]) -> list[PreparedUnit]:
    """Return the units of work in doubt at *qmgr*. They must be *units*, and no part of them may have ended.

    Raises:
        CommandError: there are others, or some have ended or begun to.
    """
    found = prepared_units(group, qmgr)
    there = [unit.id for unit in found if unit.outcome is None]
    if sorted(there) != sorted(units):
        wanted, is_there = (", ".join(names) or "nothing" for names in (units, there))
        raise CommandError(f"{wanted} was to be in doubt, but {is_there} is")
    for unit in units:
        if ended := _ends_of(group, unit):
            raise CommandError(f"{unit} is in doubt, but has ended: {ended}")
    return found


def resolve(group: Group, unit: PreparedUnit, action: str, at: str) -> None:
    """Enter RESOLVE INDOUBT at the manager *at*. Every structure must have done that and nothing else.

    Raises:
        CommandError: the command was refused, or the unit of work has ended in another way.
        MQIError: 2009, Redis cannot be reached.
    """
    other = "" if at == unit.qmgr else f" QMNAME({unit.qmgr})"
    do_mqsc(group, at, f"RESOLVE INDOUBT('{unit.appl_name}') ACTION({action}) NID({unit.nid}){other}")
    expected = {structure: {_EVENTS[action]} for structure in unit.structures}
    if (ended := _ends_of(group, unit.id)) != expected:
        raise CommandError(f"{unit.id} was to end by {action} in {', '.join(unit.structures)}, but ended so: {ended}")


def _ends_of(group: Group, unit: str) -> dict[str, set[str]]:
    """Return by structure how a unit of work has ended there, from the journals."""
    client = group.client()
    found: dict[str, set[str]] = {}
    for name in group.structure_names():
        for entry in read_entries(client, group.structure(name)):
            event = entry.fields[b"e"].decode()
            if event in _EVENTS.values() and entry.fields.get(b"u") == unit.encode():
                found.setdefault(name, set()).add(event)
    return found


class Bulk:
    """Units of work of one program, attached to the manager *qmgr* and run in the drill's own process."""

    def __init__(self, group: Group, qmgr: str, structure: str) -> None:
        define_bulk_queue(group, structure)
        self._group, self._qmgr = group, qmgr
        self._connections: list[QueueManagerConnection] = []

    def put(self, messages: int) -> None:
        """Put *messages* under syncpoint. Raises MQIError: a call failed."""
        for position in range(0, messages, _CALL_MESSAGES):
            if position % _UNIT_MESSAGES == 0:
                self._connections.append(QueueManagerConnection(connect_to(self._group, self._qmgr)))
                queue = self._connections[-1].open(BULK_QUEUE, OpenOption.OUTPUT)
            count = min(_CALL_MESSAGES, messages - position)
            batch = [(MQMD(persistence=int(Persistence.PERSISTENT)), b"bulk") for _ in range(count)]
            queue.put_many(batch, options=PutOption.SYNCPOINT)

    def must_be_lost(self) -> None:
        """Try to commit what the group has meanwhile recovered.

        Raises:
            CommandError: a commit succeeded, or messages are left.
        """
        for connection in self._connections:
            try:
                connection.commit()
            except MQIError as error:
                if error.reason != MQRC.CONNECTION_BROKEN:
                    raise
            else:
                raise CommandError(f"unit of work {connection.connection.unit.id} was committed after its recovery")
        status = Repository(self._group, self._qmgr).queue_status(BULK_QUEUE)
        if status.depth or status.uncommitted_gets:
            raise CommandError(f"{status.depth} messages of recovered units of work are on {BULK_QUEUE}")
