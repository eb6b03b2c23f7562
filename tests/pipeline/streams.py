"""Drivers of streaming queries, their batches, and the managers' watch over them."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import redis

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue import reader as queue_reader
from igq.pipeline.datasource.queue import stream as queue_stream
from igq.pipeline.datasource.queue.layout import chosen
from igq.pipeline.datasource.queue.reader import QueueReader
from igq.pipeline.datasource.queue.stream import Offset, QueueStreamReader
from recovery.resolution import recover
from sharedq.api import Queue
from sharedq.calls.unit.in_doubt import prepared_units
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, LMIG, MIG, put_member
from tests.support.members import LEASE_MS, TestGroup
from tests.support.scenes import until

EVERYTHING = [b"%d" % number for number in range(9)] + [b"m0", b"m1", b"m2"]

#: Dots in the owner token of a connection: manager, incarnation, process, connection.
_CONNECTION_DOTS = 3


def open_orders(group: TestGroup) -> Queue:
    """The queue of these tests: twelve messages, three of them a group. There is a queue COPY, too."""
    group.define_structure()
    group.define_shared("ORDERS")
    group.define_shared("COPY")
    queue = group.connect().open("ORDERS", BOTH)
    for number in range(9):
        queue.put(b"%d" % number, MQMD(correl_id=b"c%d".ljust(24, b"\0") % number))
    for number in range(3):
        put_member(queue, b"g", number + 1, b"m%d" % number, LMIG if number == 2 else MIG)
    return queue


def table_rows(group: TestGroup, **more: str) -> list[dict[str, Any]]:
    """The rows of a batch read, as Spark's processes make them."""
    told = {"url": str(group.settings.redis_url), "group": group.group.name, **more}
    schema = chosen(told.get("columns", "all"), told.get("properties", ""))
    reader = QueueReader(schema, SourceOptions(told, queue_reader.OPTIONS))
    found = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    return [row for batch in found for row in batch.to_pylist()]


class Drivers:
    """Drivers of one query, one after the other."""

    def __init__(self, group: TestGroup) -> None:
        self.group = group
        self._all: list[QueueStreamReader] = []

    def start(self, **more: str) -> QueueStreamReader:
        """Start one more. The one before has died, and its connections were recovered."""
        for reader in self._all:
            die(reader)
        told = {"url": str(self.group.settings.redis_url), "group": self.group.group.name, "qmgr": "QM1"}
        told |= {"queue": "ORDERS", "stream": "billing", "rowsPerPartition": "3", **more}
        if "queue" not in more and more.keys() & {"queues", "queuePattern"}:
            del told["queue"]
        schema = chosen(told.get("columns", "all"), told.get("properties", ""))
        reader = QueueStreamReader(schema, SourceOptions(told, queue_stream.OPTIONS))
        self._all.append(reader)
        return reader

    def close(self) -> None:
        for reader in self._all:
            reader.stop()


class Checkpoint:
    """The checkpoint of a query with our sources and one of another kind, as Spark writes it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory
        self._write("metadata", '{"id":"0"}')

    def begin(self, batch: int, *offsets: Offset) -> None:
        lines = ["v1", '{"batchWatermarkMs":0}', "17", *(json.dumps(offset) for offset in offsets), "-"]
        self._write(f"offsets/{batch}", "\n".join(lines))
        self._write(f"offsets/.{batch}.crc", "crc")

    def end(self, batch: int) -> None:
        self._write(f"commits/{batch}", 'v1\n{"nextBatchWatermarkMs":0}')

    def _write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def die(reader: QueueStreamReader) -> None:
    """Its claims stay, and its name is free: as after the recovery of a driver that was killed."""
    rest(reader)
    reader._ahead._work = None
    reader._claims.let_go()


def rest(reader: QueueStreamReader) -> None:
    """Return when no background work is left."""
    if reader._ahead._work is not None:
        reader._ahead._work.claimed.exception()


def rows(reader: QueueStreamReader, start: Offset, end: Offset) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for partition in reader.partitions(start, end):
        for batch in reader.read(partition):
            found += batch.to_pylist()
    return found


def bodies(reader: QueueStreamReader, start: Offset, end: Offset) -> list[bytes]:
    return [row["data"] for row in rows(reader, start, end)]


def in_doubt(group: TestGroup) -> int:
    return sum(unit.messages for unit in prepared_units(group.group))


def others(group: TestGroup) -> list[int]:
    """Other processes that are connected, or were and still need a recovery."""
    told: Any = group.group.client().hvals(group.group.keys.processes)
    return [pid for pid in (json.loads(text)["pid"] for text in told) if pid != os.getpid()]


def wait_for_survivor(directory: Path, step: str) -> None:
    """Wait until the survivor at *step* has gone on and ended."""
    told = directory / f"{step}, outlived"
    until(lambda: told.exists() and told.read_text(), "it goes on", 120)
    until(lambda: is_dead(int(told.read_text())), "it ends", 120)


class Watch:
    """The work of the managers, which these tests lack: they live on, and each resolves what its dead programs left.

    Spark kills the worker in which the source of a query lives when that ends, and a killed driver's go with it.
    """

    def __init__(self, group: TestGroup, *, but: str = "") -> None:
        self._group, self._ended = group, threading.Event()
        members = [member for member in group.group.members() if member.name != but]
        self._managers = [f"{member.name}.{member.incarnation}" for member in members]
        self._but, self._peer = but, members[0].name
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(0.2):
            # A test may kill Redis.
            with suppress(MQIError, redis.ConnectionError):
                self._look()

    def _look(self) -> None:
        keys, client = self._group.group.keys, self._group.group.client()
        client.zadd(keys.leases, dict.fromkeys(self._managers, time.time() * 1000 + LEASE_MS), xx=True)
        for token in self._abandoned():
            self._recover(token)
        programs: Any = client.hgetall(keys.processes)
        for token, text in programs.items():
            if is_dead(json.loads(text)["pid"]):
                client.zadd(keys.leases, {token: 1}, xx=True)
                self._recover(token.decode())

    def _recover(self, token: str) -> None:
        # A manager recovers its own programs. A peer recovers those of a dead one.
        manager = token.partition(".")[0]
        with self._group.connect(self._peer if manager == self._but else manager) as connection:
            recover(self._group.group, connection.connection, token)

    def _abandoned(self) -> list[str]:
        """Connections that a living program has lost."""
        found: Any = self._group.group.client().zrangebyscore(self._group.group.keys.leases, 0, time.time() * 1000)
        return [token for token in map(bytes.decode, found) if token.count(".") == _CONNECTION_DOTS]


def is_dead(pid: int) -> bool:
    """Whether a process has ended, even if its parent has not waited for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
