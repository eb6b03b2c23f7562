"""MQPUT for another manager: each script that stores messages refuses the same, and leaves the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sharedq import MQIError, Queue
from sharedq.calls.unit.commit import commit
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from tests.support.members import TestGroup
from tests.support.scenes import contents, on_queue
from tests.support.server import Server

CORREL_ID = b"c" * 24
Way = Callable[[Queue], object]


def later(queue: Queue) -> None:
    queue.put(b"1", options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    commit(queue.connection)


def in_unit(queue: Queue) -> None:
    queue.put(b"1", options=PutOption.SYNCPOINT)
    commit(queue.connection)


WAYS: dict[str, Way] = {
    "alone": lambda queue: queue.put(b"1"),
    "several": lambda queue: queue.put_many([(MQMD(), b"1"), (MQMD(), b"2")]),
    "with a CorrelId": lambda queue: queue.put(b"1", MQMD(correl_id=CORREL_ID)),
    "of two priorities": lambda queue: queue.put_many([(MQMD(priority=1), b"1"), (MQMD(priority=2), b"2")]),
    "long": lambda queue: queue.put(b"1" * 20_000),
    "in a unit of work": in_unit,
    "asynchronous": later,
}


def set_igq(*states: str) -> Callable[[TestGroup], None]:
    def act(group: TestGroup) -> None:
        for state in states:
            group.repository("QM1").alter_qmgr("QM1", {"igq": state})

    return act


def alter(group: TestGroup) -> None:
    group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"description": "altered"})


def fill(group: TestGroup) -> None:
    """The handle knows only this many."""
    with group.connect("QM1") as connection, connection.open("T", OpenOption.OUTPUT, qmgr_name="QM2") as queue:
        for _ in range(3):
            queue.put(b"there")


SITUATIONS: dict[str, tuple[Callable[[TestGroup], None], MQRC]] = {
    "IGQ disabled": (set_igq("DISABLED"), MQRC.OBJECT_CHANGED),
    "IGQ disabled and enabled": (set_igq("DISABLED", "ENABLED"), MQRC.OBJECT_CHANGED),
    "altered": (alter, MQRC.OBJECT_CHANGED),
    "full": (fill, MQRC.Q_FULL),
}


def held_and_put(group: TestGroup) -> tuple[dict[bytes, object], int]:
    """The group's contents, and the number of puts in its journal: a failed commit leaves an entry there, too."""
    journal = group.group.structure("@QM2").journal
    entries: Any = group.group.client().xrange(journal)
    held = {key: value for key, value in contents(group).items() if key != journal.encode()}
    return held, sum(fields[b"e"] == b"put" for _, fields in entries)


@pytest.fixture
def pair(group: TestGroup) -> TestGroup:
    """QM1 and QM2, whose part of the transmit queue takes three messages."""
    group.add_member("QM2")
    group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_depth": 3})
    return group


@pytest.mark.rule("igq/invalidation", "An invalid handle is refused by every kind of put, and nothing is changed.")
@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_refuses_the_same_puts_and_changes_nothing(pair: TestGroup, way: str, situation: str) -> None:
    queue = pair.connect("QM1").open("T", OpenOption.OUTPUT, qmgr_name="QM2")
    happens, reason = SITUATIONS[situation]
    happens(pair)
    before = held_and_put(pair)
    for _ in range(2):
        with pytest.raises(MQIError) as caught:
            WAYS[way](queue)
        error: MQIError | None = caught.value
        if caught.value.reason == MQRC.BACKED_OUT:
            # The commit reports that an asynchronous put failed, and MQSTAT reports why.
            assert way == "asynchronous"
            error = queue.connection.take_put_status().first_failure
        assert error is not None
        assert error.reason == reason
        assert held_and_put(pair) == before


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("journal", [True, False])
def test_every_way_puts_a_message_where_it_belongs(
    redis_server: Server, tmp_path: Path, way: str, journal: bool
) -> None:
    group = TestGroup(redis_server.url, tmp_path, journal=journal)
    try:
        group.add_member("QM1")
        group.add_member("QM2")
        queue = group.connect("QM1").open("T", OpenOption.OUTPUT, qmgr_name="QM2")
        WAYS[way](queue)
        keys, client = group.group.structure("@QM2"), group.group.client()
        transmit = keys.queue(SYSTEM_QSG_TRANSMIT_QUEUE)
        ids: Any = client.zrange(transmit.available, 0, -1)
        bodies = [body for body, _ in on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2")]
        expected = {"several": [b"1", b"2"], "of two priorities": [b"2", b"1"], "long": [b"1" * 20_000]}
        assert bodies == expected.get(way, [b"1"])
        look = b"x" if way == "with a CorrelId" else b""
        numbers = sorted(int(each.partition(b".")[0]) for each in ids)
        assert numbers == list(range(numbers[0], numbers[0] + len(ids)))
        assert set(ids) == {b"%d.1%b" % (number, look) for number in numbers}
        assert client.hgetall(keys.destinations) == {b"#": b"1", b"T": b"1", b"#1": b"T"}
        assert client.hexists(transmit.queue, "lg") == (way == "long")
        entries: Any = client.xrange(keys.journal)
        puts = [fields for _, fields in entries if fields[b"e"] == b"put"]
        assert len(puts) == journal == bool(entries)
        for fields in puts:
            assert sorted(fields[b"i"].split()) == sorted(ids)
            assert (fields[b"q"], fields[b"o"]) == (
                SYSTEM_QSG_TRANSMIT_QUEUE.encode(),
                queue.connection.token.encode(),
            )
            assert len(fields[b"d"].splitlines()) == len(ids)
    finally:
        group.close()
