"""The trigger messages of a manager: a thread for each structure whose queues are triggered."""

from __future__ import annotations

import threading
import time
from typing import Final

import structlog

from igq.triggers.writer import TriggerWriter
from sharedq.calls.handles.connect import disconnect
from sharedq.members.group import Group
from sharedq.members.process import KeptProcess
from sharedq.mqi.errors import MQIError
from sharedq.redis.keys import private_structure
from sharedq.redis.link import Link
from sharedq.scripts.reads import trigger_holder, wait_for_trigger
from sharedq.session.connection import Connection

#: Seconds that a wait for marks lasts at most. Then those that were kept are looked at again, sooner if they are few.
_WAIT_S: Final = 15.0
_WAIT_LEAST_S: Final = 2.0
_KEPT_PER_S: Final = 100
#: Seconds until the next look where another manager writes, or after trouble: more after each, up to the most.
_AGAIN_S: Final = 2.0
_AGAIN_MOST_S: Final = 60.0
_STOP_S: Final = 5.0


class Triggers:
    """Writes the trigger messages of one manager until `stop`. `look` is called from one thread, again and again."""

    def __init__(self, group: Group, process: KeptProcess) -> None:
        self._group, self._process = group, process
        self._by_structure: dict[str, _Thread] = {}

    def look(self) -> None:
        """Begin where queues have TRIGGER. Raises MQIError: 2009, the administration structure cannot be reached."""
        own, others = private_structure(self._process.qmgr), private_structure("")
        names = self._group.structure_names()
        for name in self._by_structure.keys() - set(names):
            # It was deleted.
            self._by_structure.pop(name).stop()
        for name in names:
            if name in self._by_structure or (name.startswith(others) and name != own):
                continue
            try:
                is_triggered = trigger_holder(self._group, self._group.structure(name)) is not None
            except MQIError:
                # Its server does not answer now; the next look finds it.
                continue
            if is_triggered:
                self._by_structure[name] = _Thread(self._group, self._process, name)

    def stop(self) -> bool:
        """End every thread. Another manager finishes their work, or this one does after its next start.

        Returns:
            False if a thread lasts too long: its connection is left to recovery.
        """
        threads, self._by_structure = list(self._by_structure.values()), {}
        for each in threads:
            each.stop()
        has_ended = [each.join() for each in threads]
        return all(has_ended)


class _Thread:
    def __init__(self, group: Group, process: KeptProcess, structure: str) -> None:
        self._group, self._process, self._structure = group, process, structure
        self._is_over = threading.Event()
        self._link: Link | None = None
        self._thread = threading.Thread(target=self._keep, name=f"triggers of {structure}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        if self._link is not None:
            self._link.interrupt()

    def join(self) -> bool:
        self._thread.join(_STOP_S)
        return not self._thread.is_alive()

    def _keep(self) -> None:
        # Links of its own, over which nobody else has to wait.
        group, delay_s = Group(self._group.settings), _AGAIN_S
        while not self._is_over.is_set() and self._process.is_alive:
            connection, begun_s = None, time.monotonic()
            try:
                group.adopt(self._group.read_record(), is_running=True)
                self._process.tell_abandoned()
                connection = Connection(group, self._process, appl_name="trigger messages", is_internal=True)
                self._serve(group, connection)
            except MQIError as error:
                structlog.get_logger().debug("triggers_interrupted", structure=self._structure, error=str(error))
            except Exception:  # noqa: BLE001 - logged; it begins again
                structlog.get_logger().exception("triggers_failed", structure=self._structure)
            if connection is not None and not connection.is_ended:
                try:
                    disconnect(connection)
                except MQIError as error:
                    structlog.get_logger().debug("triggers_not_disconnected", error=str(error))
            delay_s = min(_AGAIN_MOST_S, 2 * delay_s) if time.monotonic() - begun_s < _AGAIN_MOST_S else _AGAIN_S
            self._is_over.wait(delay_s)
        group.leave()

    def _serve(self, group: Group, connection: Connection) -> None:
        """Raises MQIError: why that cannot go on."""
        writer, keys = TriggerWriter(group, self._structure, connection), group.structure(self._structure)
        self._link = group.new_link()
        while not self._is_over.is_set():
            done = writer.take()
            if done is None:
                self._is_over.wait(_AGAIN_S)
            elif done == 0:
                wait_s = min(_WAIT_S, _WAIT_LEAST_S + writer.kept / _KEPT_PER_S) if writer.kept else _WAIT_S
                wait_for_trigger(self._link, keys, writer.last, int(wait_s * 1000))
