"""Faults other than signals to the group's processes: faults of Redis and changes of definitions."""

from __future__ import annotations

import os
import signal

from igq.errors import CommandError
from igq.rehearsal.load.queues import do_mqsc
from igq.rehearsal.load.scene import Scene
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError

_BACK_TIMEOUT_S = 60.0
#: Seconds between two flushes: enough for scripts to be loaded again and used.
_FLUSH_S = 0.05


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
