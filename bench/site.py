"""One server with one group on it, and the queues that the lines use."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import redis

from bench.harness import BODY, Effort, pin_server
from bench.streams import PlainStreams, ThinStreams
from sharedq import MQIError
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup
from tests.support.server import Server

QMGR = "QM1"
#: No lease may run out while a line loads a million messages.
LEASE_MS = 600_000
_OPEN = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
_names = itertools.count(1)


class Site:
    """A server of its own with ``appendfsync`` as given, and groups on it. The journal is off unless asked for."""

    def __init__(self, fsync: str, effort: Effort) -> None:
        self.fsync, self.effort = fsync, effort
        self.server = Server("--maxmemory-policy", "noeviction", fsync=fsync)
        self.client: redis.Redis = self.server.client()
        pin_server(int(self.client.info("server")["process_id"]))
        self.streams = ThinStreams(self.server.url)
        self.plain_streams = PlainStreams(self.server.url)
        self._groups: list[TestGroup] = []
        self._group: TestGroup | None = None

    @property
    def url(self) -> str:
        """The URL of the server."""
        return self.server.url

    @property
    def group(self) -> TestGroup:
        """The group of most lines."""
        if self._group is None:
            self._group = self.new_group(journal=False)
        return self._group

    def new_group(self, **settings: Any) -> TestGroup:
        """A group with one member, registered by the product's own scripts: its manager does nothing here."""
        group = TestGroup(self.url, Path(self.server.path), **{"lease_ms": LEASE_MS, **settings})
        self._groups.append(group)
        group.add_member(QMGR)
        return group

    def connect(self, group: TestGroup | None = None) -> QueueManagerConnection:
        """A separate connection, as a program has one."""
        return (group or self.group).connect(QMGR)

    def open_new(
        self, connection: QueueManagerConnection, group: TestGroup | None = None, *, options: OpenOption = _OPEN
    ) -> Queue:
        """A new shared queue, open for input and output, or with *options*."""
        name = f"BENCH.{next(_names)}"
        (group or self.group).define_shared(name)
        return connection.open(name, options)

    def renew_leases(self) -> None:
        """Let the managers of all groups live on: nobody renews their leases, and some lines take long."""
        for group in self._groups:
            keys, ends_ms = group.group.keys, int(self.client.time()[0]) * 1000 + 10 * LEASE_MS
            member = group.group.member(QMGR)
            assert member is not None
            self.client.zadd(keys.leases, {f"{QMGR}.{member.incarnation}": ends_ms}, xx=True)

    def close(self) -> None:
        """Stop everything and remove the data."""
        for group in self._groups:
            group.close()
        self.server.close()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def persistent() -> MQMD:
    """A descriptor of a persistent message."""
    return MQMD(persistence=1)


def fill(queue: Queue, count: int) -> None:
    """Put *count* persistent messages."""
    for first in range(0, count, 100):
        queue.put_many([(persistent(), BODY) for _ in range(min(100, count - first))], options=PutOption.NO_SYNCPOINT)


def drain(queue: Queue) -> None:
    """Take everything off a queue."""
    while True:
        try:
            queue.get_many(100)
        except MQIError as error:
            if error.reason != MQRC.NO_MSG_AVAILABLE:
                raise
            return
