"""Moves of an agent, backups, recoveries of structures and repairs do not hold Redis, however much there is of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recovery.accounting.repair import repair
from recovery.resolution import recover
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from tests.lua.redis_time import Meter
from tests.support.agents import AgentOfQM2
from tests.support.backups import lose, mqsc
from tests.support.groups import BOTH, LMIG, MIG
from tests.support.members import TestGroup
from tests.support.server import Server

pytestmark = [pytest.mark.slow, pytest.mark.invariant(4)]

DEEP: dict[str, Any] = {"max_depth": 999_999_999, "max_msg_length": 104_857_600}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server("--appendonly", "no")
    yield server
    server.close()


def done(group: TestGroup, command: str) -> None:
    status, out = mqsc(group, command)
    assert status == 0, out


@pytest.fixture
def group(server: Server, tmp_path: Path) -> Iterator[TestGroup]:
    """QM1 and QM2, which have a dead-letter queue."""
    group = TestGroup(server.url, tmp_path, journal_max_entries=1_000_000)
    for name in ("QM1", "QM2"):
        group.add_member(name)
    done(group, "DEFINE CFSTRUCT(APPL1) CFLEVEL(5) RECOVER(YES) REPLACE")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    for name in ("QM1", "QM2"):
        group.repository(name).alter_qmgr(name, {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    yield group
    group.close()


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    return group.connect()


#: Descriptors and bodies of the messages that an agent moves, and the queues that they are for.
MOVED: dict[str, tuple[Callable[[int], MQMD], int, int, int]] = {
    "plain": (lambda _: MQMD(persistence=1), 10, 5_000, 1),
    "for many queues": (lambda _: MQMD(persistence=1), 10, 5_000, 50),
    "with identifiers": (lambda at: MQMD(correl_id=b"%024d" % at, msg_id=b"%024d" % at, expiry=90_000), 10, 3_000, 20),
    "of groups": (
        lambda at: MQMD(
            version=2, group_id=b"%024d" % (at // 2), msg_seq_number=1 + at % 2, msg_flags=(MIG, LMIG)[at % 2]
        ),
        10,
        3_000,
        5,
    ),
    "of 100 KB": (lambda _: MQMD(persistence=1), 100_000, 200, 5),
}


@pytest.mark.parametrize("kind", MOVED)
def test_moves_of_an_agent_do_not_hold_redis(group: TestGroup, server: Server, kind: str) -> None:
    make, length, count, queues = MOVED[kind]
    for number in range(queues):
        group.define_private("QM2", f"Q{number}", **DEEP)
    sender, agent = group.connect("QM1"), AgentOfQM2(group)

    def act() -> None:
        for number in range(queues):
            messages = [(make(at), b"x" * length) for at in range(count // queues)]
            with sender.open(f"Q{number}", OpenOption.OUTPUT, qmgr_name="QM2") as queue:
                for from_ in range(0, len(messages), 500):
                    queue.put_many(messages[from_ : from_ + 500])
        agent.serve()
        for number in range(queues):
            group.repository("QM2").clear(f"Q{number}")

    Meter(server).check(act)


#: Fields of the messages of a structure that is backed up, and how many there are of which length.
STORED: dict[str, tuple[dict[str, object], int, int]] = {
    "short": ({}, 10, 20_000),
    "with identifiers": ({"correl_id": b"c" * 24, "expiry": 900_000}, 10, 10_000),
    "of 1 KB": ({}, 1_000, 10_000),
    "of 1 MB": ({}, 1_000_000, 30),
}


@pytest.mark.parametrize("kind", STORED)
def test_a_backup_and_the_recovery_from_it_do_not_hold_redis(
    group: TestGroup, connection: QueueManagerConnection, server: Server, kind: str
) -> None:
    fields, length, count = STORED[kind]
    group.define_shared("Q", **DEEP)
    with connection.open("Q", OpenOption.OUTPUT) as queue:
        for _ in range(0, count, 500):
            queue.put_many([(MQMD(persistence=1, **fields), b"x" * length)] * min(500, count))  # type: ignore[arg-type]
    connection.disconnect()

    def act() -> None:
        done(group, "BACKUP CFSTRUCT(APPL1)")
        lose(group)
        done(group, "RECOVER CFSTRUCT(APPL1)")

    Meter(server).check(act)


def test_repairs_do_not_hold_redis(group: TestGroup, connection: QueueManagerConnection, server: Server) -> None:
    """Entries of an owner that does not exist, messages without their index entries, a wrong counter."""
    group.define_shared("Q", **DEEP)
    keys, client = group.group.structure("APPL1"), group.group.client()
    names = keys.queue("Q")

    def act() -> None:
        with connection.open("Q", OpenOption.OUTPUT) as queue:
            queue.put_many([(MQMD(persistence=1, correl_id=b"c" * 24), b"x")] * 300)
        process = group.process()
        unknown = group.connect(process=process)
        for _ in range(250):
            unknown.open("Q", BOTH)
        client.hdel(keys.owners, unknown.connection.token)
        client.delete(names.index)
        client.hset(names.queue, "nw", 7)
        process.stop_renewing()
        recover(group.group, connection.connection, process.token, force=True)
        assert repair(group.group, connection.connection)[1] == []
        group.repository("QM1").clear("Q")

    Meter(server).check(act)


@pytest.mark.parametrize(("connections", "calls", "batch"), [(9, 1_000, 1), (40, 5, 500)])
def test_the_search_for_a_lost_message_does_not_hold_redis(
    group: TestGroup, connection: QueueManagerConnection, server: Server, connections: int, calls: int, batch: int
) -> None:
    """Among all units of work: of many operations, and of operations with many messages."""
    group.define_shared("Q", **DEEP)
    # The message goes there, because its record names no queue.
    group.repository("QM1").make_transmit_parts("QM1")
    keys, client = group.group.structure("APPL1"), group.group.client()
    open_units = [group.connect() for _ in range(connections)]
    for each in open_units:
        with each.open("Q", OpenOption.OUTPUT) as queue:
            for _ in range(calls):
                queue.put_many([(MQMD(persistence=1, msg_id=b""), b"x")] * batch, options=PutOption.SYNCPOINT)

    def act() -> None:
        connection.put1("Q", b"lost", MQMD(persistence=1))
        client.delete(keys.queue("Q").available)
        assert repair(group.group, connection.connection)[1] == []

    Meter(server).check(act)
    for each in open_units:
        each.backout()


@pytest.mark.parametrize("holds", ["locks", "marks", "handles"])
def test_the_release_of_what_a_dead_program_holds_does_not_hold_redis(
    group: TestGroup, connection: QueueManagerConnection, server: Server, holds: str
) -> None:
    group.define_shared("Q", **DEEP)
    with connection.open("Q", OpenOption.OUTPUT) as queue:
        queue.put_many([(MQMD(correl_id=b"c" * 24), b"x")] * 2_000)
    options = {"locks": GetOption.LOCK, "marks": GetOption.MARK_BROWSE_HANDLE, "handles": GetOption(0)}[holds]

    def act() -> None:
        process = group.process()
        dead = group.connect(process=process)
        for _ in range(200):
            queue = dead.open("Q", BOTH | OpenOption.BROWSE)
            for number in range(1 if holds == "locks" else 10):
                queue.get((GetOption.BROWSE_NEXT if number else GetOption.BROWSE_FIRST) | options)
        process.stop_renewing()
        recover(group.group, connection.connection, process.token, force=True)

    Meter(server).check(act)
