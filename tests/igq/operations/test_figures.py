"""The figures of a group are those that its queues, structures and members have."""

from __future__ import annotations

import pytest
import redis

from sharedq.messages.record import PRIORITY_STEP
from sharedq.mqi.constants import MsgFlag, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.reading.figures import FigureReader, GroupFigures, QueueFigures
from sharedq.redis.keys import private_structure
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

INPUT = OpenOption.INPUT_SHARED


def of(figures: GroupFigures, name: str) -> QueueFigures:
    return next(queue for queue in figures.queues if queue.name == name)


@pytest.fixture
def reader(group: TestGroup) -> FigureReader:
    group.define_shared("Q")
    return FigureReader(group.group)


def put_at(group: TestGroup, name: str, date: bytes, time: bytes, **fields: object) -> None:
    """Put a message whose descriptor says when it was put."""
    md = MQMD(put_date=date, put_time=time, **fields)  # type: ignore[arg-type]
    with group.connect().open(name, OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT) as queue:
        queue.put(b"x", md, options=PutOption.SET_ALL_CONTEXT)


def ms(hour: int) -> int:
    """That hour of 2026-01-02, in ms since 1970."""
    return 1_767_312_000_000 + hour * 3_600_000


def test_depth_and_uncommitted_work_and_handles(group: TestGroup, reader: FigureReader) -> None:
    connection = group.connect()
    connection.put1("Q", b"kept")
    with connection.open("Q", INPUT | OpenOption.OUTPUT) as queue:
        queue.put(b"uncommitted", options=PutOption.SYNCPOINT)

        found = of(reader.read(), "Q").state

        assert (found.depth, found.uncommitted, found.open_input, found.open_output) == (2, 1, 1, 1)
        connection.commit()
    assert of(reader.read(), "Q").state.uncommitted == 0


def test_a_unit_of_work_is_seen_while_it_is_open(group: TestGroup, reader: FigureReader) -> None:
    connection = group.connect()
    connection.put1("Q", b"x", options=PutOption.SYNCPOINT)

    units = [unit for structure in reader.read().structures for unit in structure.units]

    assert [manager for _, manager in units] == ["QM1"]
    connection.commit()
    assert not [unit for structure in reader.read().structures for unit in structure.units]


@pytest.mark.parametrize(
    "fields",
    [{}, {"expiry": 9_000_000}, {"correl_id": b"C" * 24}, {"msg_id": b"M" * 24, "correl_id": b"C" * 24}],
    ids=["plain", "expiry", "correl", "both"],
)
def test_the_oldest_is_the_first_that_was_put(
    group: TestGroup, reader: FigureReader, fields: dict[str, object]
) -> None:
    assert of(reader.read(), "Q").oldest_ms is None
    put_at(group, "Q", b"20260102", b"01000000", **fields)
    put_at(group, "Q", b"20260102", b"02000000", **fields)

    assert of(reader.read(), "Q").oldest_ms == ms(1)
    with group.connect().open("Q", INPUT) as queue:
        queue.get()
        assert of(reader.read(), "Q").oldest_ms == ms(2)
        queue.get()
    assert of(reader.read(), "Q").oldest_ms is None


def test_the_oldest_may_come_after_messages_of_greater_priority(group: TestGroup, reader: FigureReader) -> None:
    put_at(group, "Q", b"20260102", b"01000000", priority=0)
    put_at(group, "Q", b"20260102", b"03000000", priority=9)
    put_at(group, "Q", b"20260102", b"02000000", priority=4)
    assert PRIORITY_STEP == 1 << 48
    assert of(reader.read(), "Q").oldest_ms == ms(1)

    with group.connect().open("Q", INPUT) as queue:
        oldest = queue.get(match_options=0).md
        assert oldest.priority == 9

    assert of(reader.read(), "Q").oldest_ms == ms(1)


def test_the_oldest_may_be_a_member_of_a_group(group: TestGroup, reader: FigureReader) -> None:
    in_group = {"group_id": b"G" * 24, "msg_flags": int(MsgFlag.MSG_IN_GROUP), "msg_seq_number": 1, "version": 2}
    put_at(group, "Q", b"20260102", b"01000000", **in_group)
    put_at(group, "Q", b"20260102", b"02000000")

    assert of(reader.read(), "Q").oldest_ms == ms(1)
    assert of(reader.read(), "Q").oldest_ms == ms(1)


def test_a_message_that_does_not_say_when_it_was_put_has_no_age(group: TestGroup, reader: FigureReader) -> None:
    put_at(group, "Q", b"yesterda", b"noon    ")

    assert of(reader.read(), "Q").oldest_ms is None


def test_large_messages_on_many_queues_are_all_looked_at(group: TestGroup, reader: FigureReader) -> None:
    """One call of the script reads only so many bytes."""
    connection = group.connect()
    names = [f"LARGE.{number}" for number in range(5)]
    for name in names:
        group.define_shared(name)
        connection.put1(name, b"x" * 600_000)

    found = reader.read()

    assert all(of(found, name).oldest_ms is not None for name in names)


def test_an_altered_definition_is_seen(group: TestGroup, reader: FigureReader) -> None:
    assert of(reader.read(), "Q").definition.max_depth == 999_999_999

    group.repository("QM1").alter("QLOCAL", "Q", {"max_depth": 7})

    assert of(reader.read(), "Q").definition.max_depth == 7


def test_the_transmit_queue_is_one_queue(group: TestGroup, reader: FigureReader) -> None:
    group.add_member("QM2")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    group.define_private("QM2", "THERE")
    group.connect().put1("THERE", b"x", MQMD(persistence=1), qmgr_name="QM2")

    found = of(reader.read(), "SYSTEM.QSG.TRANSMIT.QUEUE")

    assert (found.state.depth, found.qmgr, found.definition.usage) == (1, "", "XMITQ")
    assert found.oldest_ms is not None


def test_a_deleted_queue_is_gone(group: TestGroup, reader: FigureReader) -> None:
    reader.read()
    group.repository("QM1").delete("QLOCAL", "Q")

    assert "Q" not in {queue.name for queue in reader.read().queues}


def test_journal_and_node_are_told(group: TestGroup, reader: FigureReader) -> None:
    group.connect().put1("Q", b"x")

    found = reader.read()

    applied = next(each for each in found.structures if each.name == "APPL1")
    assert (applied.journal_entries, applied.journal_bytes is not None, applied.is_reachable) == (1, True, True)
    assert (applied.node, len(found.nodes)) == (found.nodes[0].name, 1)
    assert (found.nodes[0].used_memory or 0) > 0
    assert found.nodes[0].round_trip_s > 0
    assert private_structure("QM1") in {each.name for each in found.structures}


@pytest.mark.usefixtures("reader")
def test_a_user_without_info_and_memory_gets_the_rest(group: TestGroup) -> None:
    url = group.settings.redis_url
    assert url is not None
    with redis.Redis.from_url(url) as client:
        client.acl_setuser("fewer", enabled=True, passwords=["+pw"], keys=["*"], channels=["*"], categories=["+@all"])
        for command in ("-info", "-memory"):
            client.execute_command("ACL", "SETUSER", "fewer", command)
    mark = "&" if "?" in url else "?"
    settings = group.settings.model_copy(update={"redis_url": f"{url}{mark}username=fewer&password=pw"})
    group.connect().put1("Q", b"x")
    with_fewer = TestGroup(str(settings.redis_url), settings.data_dir, group=settings.group)

    found = FigureReader(with_fewer.group).read()

    with_fewer.group.leave()
    applied = next(each for each in found.structures if each.name == "APPL1")
    assert (applied.journal_entries, applied.journal_bytes) == (1, None)
    assert (found.nodes[0].used_memory, of(found, "Q").state.depth) == (None, 1)
