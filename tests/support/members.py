"""A group whose members are registered by the product's own scripts, without manager processes.

Nobody renews their leases, so these outlast any test, however slow the machine. A test that needs real managers starts
real ones.
"""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

from sharedq.api import QueueManagerConnection
from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.objects.definitions.managers import CFStruct
from sharedq.objects.definitions.queues import QueueAlias, QueueLocal, QueueRemote
from sharedq.objects.repository import Repository
from sharedq.objects.system import define_system_objects
from sharedq.session.connection import Connection
from sharedq.settings.values import Settings
from tests.support.accounts import assert_accounted
from tests.support.copied_keys import Held, read_keys, write_keys

#: The longest lease that a group's settings allow. Programs renew every 200 seconds, so hardly within a test.
LEASE_MS = 600_000
_numbers = itertools.count(os.getpid() * 37 % 30_000)
#: The objects of the first member of a group, as its start defines them, by server, member and structure.
_first_objects: dict[tuple[str, str, str], Held] = {}
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def new_group_name() -> str:
    """A group name that no other test of this run uses."""
    number = next(_numbers)
    return "T" + "".join(_DIGITS[number // 36**place % 36] for place in (2, 1, 0))


class TestGroup:
    """A group in a test: members, queues, connections."""

    __test__ = False
    #: Whether each group is accounted for at its end (`tests.support.accounts`).
    is_accounted = False

    def __init__(self, url: str, data_dir: Path, **settings: Any) -> None:
        self.settings = Settings(
            redis_url=url, data_dir=data_dir, **{"group": new_group_name(), "lease_ms": LEASE_MS, **settings}
        )
        self.group = Group(self.settings)
        self._processes: list[Process] = []
        self._connections: list[Connection] = []

    def add_member(self, name: str) -> None:
        """A running member, with the objects that a starting manager defines."""
        keys = self.group.keys
        info = json.dumps({"pid": os.getpid(), "host": "test"})
        status, incarnation = self.group.call(
            "admin/join", [keys.group, keys.members, keys.leases, keys.fence], [name, self.settings.lease_ms, info, 0]
        )[:2]
        assert status == 0
        self._define_first_objects(name)
        running = [name, incarnation, json.dumps({"state": "RUNNING"})]
        self.group.call("admin/member_state", [keys.members, keys.fence], running)

    def _define_first_objects(self, name: str) -> None:
        """Define what a starting manager defines. The first member of a group on a known server copies it: a third."""
        keys, client = self.group.keys, self.group.client()
        kind = (str(self.settings.redis_url), name, self.settings.default_structure)
        is_first = kind[0].startswith("unix:") and not client.exists(keys.directory, keys.structures)
        if is_first and kind in _first_objects:
            write_keys(client, self.group.name, _first_objects[kind])
            return
        before = read_keys(client, self.group.name) if is_first else {}
        repository = self.repository(name)
        repository.prepare_manager(name)
        define_system_objects(repository, self.settings.default_structure)
        if is_first:
            after = read_keys(client, self.group.name)
            _first_objects[kind] = {key: value for key, value in after.items() if before.get(key) != value}

    def repository(self, qmgr: str) -> Repository:
        """The object definitions as *qmgr* sees them."""
        return Repository(self.group, qmgr)

    def define_structure(self, name: str = "APPL1") -> None:
        """An application structure."""
        self.repository("QM1").define_structure(CFStruct(name=name), replace=True)

    def define_shared(self, name: str, structure: str = "APPL1", **attributes: Any) -> None:
        """A shared local queue."""
        definition = QueueLocal(name=name, disposition="SHARED", structure=structure, **attributes)
        self.repository("QM1").define(definition)

    def define_private(self, qmgr: str, name: str, **attributes: Any) -> None:
        """A private local queue of *qmgr*."""
        self.repository(qmgr).define(QueueLocal(name=name, **attributes))

    def define(self, qmgr: str, definition: QueueLocal | QueueAlias | QueueRemote) -> None:
        """Any definition."""
        self.repository(qmgr).define(definition)

    def process(self, qmgr: str = "QM1") -> Process:
        """One more program of *qmgr*, with its own lease."""
        process = Process.register(self.group, qmgr)
        self._processes.append(process)
        return process

    @property
    def process_count(self) -> int:
        """The number of programs so far."""
        return len(self._processes)

    def end_processes(self, after: int) -> None:
        """End all programs but the first *after* ones, as if they had died. None of their threads runs any more."""
        for process in self._processes[after:]:
            process.stop_renewing()
            process._thread.join()
        del self._processes[after:]

    def connect(self, qmgr: str = "QM1", process: Process | None = None, *, tag: str = "") -> QueueManagerConnection:
        """A connection, by default of its own program."""
        connection = Connection(self.group, process or self.process(qmgr), tag=tag, is_internal=True)
        self._connections.append(connection)
        return QueueManagerConnection(connection)

    def wait_redis_ms(self, duration_ms: int) -> None:
        """Let Redis' clock advance. It alone decides about expiry, so a test can only wait for it."""
        key = f"{self.group.keys.tag}:nobody-pushes-here"
        self.group.client().blpop([key], timeout=duration_ms / 1000)

    def close(self) -> None:
        """End everything that a test left open. Raises AssertionError: something is left that nothing explains."""
        try:
            if self.is_accounted:
                assert_accounted(self.group)
        finally:
            self._end()

    def _end(self) -> None:
        for connection in self._connections:
            connection.interrupt()
        # Sockets that wait for a collection of garbage add up, and py4j's callback server takes none above 1023.
        for connection in self._connections:
            connection.drop()
        for process in self._processes:
            process.stop_renewing()
        self.group.leave()
