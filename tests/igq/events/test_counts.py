"""Counts of a queue with PERFMEV(ENABLED): for RESET QSTATS, and for the events about the service interval."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from igq.events import formats
from igq.monitoring.collector import GroupCollector
from sharedq.mqi.constants import GetOption, MsgFlag, OpenOption, PutOption
from sharedq.mqi.limits import MAX_COUNT
from sharedq.mqi.structures import MQMD, copied
from tests.igq.events.scene import Events, mqsc
from tests.igq.events.test_writer import both, put_alone, put_in_unit, put_looked_at, take, take_in_unit
from tests.support.accounts import assert_accounted
from tests.support.agents import AgentOfQM2
from tests.support.members import TestGroup
from tests.support.waits import until_waiting

pytestmark = pytest.mark.share

PLAIN = {"depth_high_event": "DISABLED", "depth_max_event": "DISABLED"}


@pytest.fixture
def events(group: TestGroup) -> Events:
    group.repository("QM1").alter_qmgr("QM1", {"performance_event": "ENABLED"})
    return Events(group)


def counted(group: TestGroup, name: str = "Q", qmgr: str = "QM1") -> tuple[int, int, int] | None:
    """Take the highest depth, puts and gets."""
    repository = group.repository(qmgr)
    found = repository.reset_counts(repository.display_queues(name, ("QLOCAL",)))
    return next(((counts.highest_depth, counts.puts, counts.gets) for counts in found.values()), None)


@pytest.mark.rule("mqi/events", "MSGSIN and MSGSOUT count uncommitted work, and a backout takes nothing back.")
@pytest.mark.parametrize("put", [put_alone, put_in_unit, put_looked_at])
@pytest.mark.parametrize("get", [take, take_in_unit])
def test_puts_and_gets_are_counted(events: Events, put: Callable[[Any, int], None], get: Any) -> None:
    connection, queue = both(events.group, **PLAIN)
    put(queue, 3)
    connection.commit()
    get(queue, 2)
    connection.backout()
    assert counted(events.group) == (3, 3, 2)
    left = 3 if get is take_in_unit else 1
    assert counted(events.group) == (left, 0, 0)
    put(queue, 1)
    connection.backout()
    assert counted(events.group) == (left + 1, 1, 0)


@pytest.mark.parametrize("fields", [{}, {"correl_id": b"c" * 24}], ids=["plain", "looked at"])
def test_a_commit_with_puts_and_a_get_counts_them(events: Events, fields: dict[str, Any]) -> None:
    connection, queue = both(events.group, **PLAIN)
    events.group.define_shared("FROM")
    source = connection.open("FROM", OpenOption.OUTPUT | OpenOption.INPUT_SHARED)
    put_alone(source, 4)
    for _ in range(2):
        source.get(GetOption.SYNCPOINT)
        for _ in range(4):
            queue.put(b"x", MQMD(**fields), options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
        connection.commit()
    # The second commit has brought the next get along, or that comes with the next call.
    assert counted(events.group) == (8, 8, 0)
    counts = counted(events.group, "FROM")
    assert counts is not None
    assert counts[:2] == (4, 4)
    assert counts[2] in (2, 3)


@pytest.mark.parametrize(
    "md", [MQMD(correl_id=b"c" * 24), MQMD(msg_flags=MsgFlag.LAST_MSG_IN_GROUP, version=2)], ids=["c", "g"]
)
def test_gets_of_groups_and_chosen_ones_are_counted(events: Events, md: MQMD) -> None:
    _, queue = both(events.group, **PLAIN)
    queue.put(b"x", copied(md))
    queue.get(GetOption.NO_SYNCPOINT, match=MQMD(correl_id=md.correl_id))
    assert counted(events.group) == (1, 1, 1)


@pytest.mark.parametrize("md", [MQMD(), MQMD(correl_id=b"c" * 24)], ids=["plain", "looked at"])
@pytest.mark.parametrize("count", [1, 3])
def test_what_a_waiting_get_is_handed_is_counted(events: Events, md: MQMD, count: int) -> None:
    _, queue = both(events.group, **PLAIN, service_interval_event="OK", service_interval_ms=999_999_999)
    waiter = events.group.connect("QM1").open("Q", OpenOption.INPUT_SHARED)
    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(waiter.get, GetOption.WAIT | GetOption.NO_SYNCPOINT, wait_ms=60_000)
        until_waiting(events.group, "Q", 1)
        with queue.connection.lock:
            for _ in range(count):
                queue.put(b"x", copied(md))
        got.result()
    # It had not to wait long: that event has reset the counts.
    assert events.names() == ["MQRC_Q_SERVICE_INTERVAL_OK"]
    assert counted(events.group) == (count - 1, count - 1, 0)


@pytest.mark.parametrize("md", [MQMD(), MQMD(correl_id=b"c" * 24)], ids=["plain", "looked at"])
@pytest.mark.parametrize("how", [0, PutOption.ASYNC_RESPONSE], ids=["sent", "brought along"])
@pytest.mark.parametrize("is_spanning", [False, True], ids=["one structure", "several"])
def test_what_a_commit_hands_to_a_waiting_get_is_counted(
    events: Events, md: MQMD, how: int, *, is_spanning: bool
) -> None:
    connection, queue = both(events.group, **PLAIN)
    events.group.define_private("QM1", "OTHER")
    waiter = events.group.connect("QM1").open("Q", OpenOption.INPUT_SHARED)
    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(waiter.get, GetOption.WAIT | GetOption.NO_SYNCPOINT, wait_ms=60_000)
        until_waiting(events.group, "Q", 1)
        for _ in range(3):
            queue.put(b"x", copied(md), options=PutOption.SYNCPOINT | how)
        if is_spanning:
            connection.put1("OTHER", b"x", options=PutOption.SYNCPOINT)
        connection.commit()
        got.result()
    assert counted(events.group) == (3, 3, 1)


@pytest.mark.parametrize("md", [MQMD(), MQMD(correl_id=b"c" * 24)], ids=["plain", "looked at"])
@pytest.mark.parametrize("way", [0, PutOption.SYNCPOINT, PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE])
@pytest.mark.parametrize("how", [GetOption.NO_SYNCPOINT, GetOption.SYNCPOINT])
def test_what_is_handed_to_a_waiting_get_counts_once(events: Events, md: MQMD, way: PutOption, how: GetOption) -> None:
    connection, queue = both(events.group, **PLAIN)
    events.group.define_shared("FROM")
    source = connection.open("FROM", OpenOption.OUTPUT | OpenOption.INPUT_SHARED)
    waiter = events.group.connect("QM1").open("Q", OpenOption.INPUT_SHARED)
    with ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            # With a get in the unit of work a buffered put and its commit are one call.
            source.put(b"x")
            source.get(GetOption.SYNCPOINT)
            got = pool.submit(waiter.get, GetOption.WAIT | how, wait_ms=60_000)
            until_waiting(events.group, "Q", 1)
            queue.put(b"x", copied(md), options=way)
            connection.commit()
            got.result()
    counts = counted(events.group)
    assert counts is not None
    assert counts[1:] == (2, 2)


@pytest.mark.parametrize("count", [1, 5])
def test_a_hop_counts_at_its_destination(events: Events, count: int) -> None:
    group = events.group
    group.add_member("QM2")
    for name in ("QM1", "QM2"):
        group.repository(name).alter_qmgr(name, {"igq": "ENABLED", "performance_event": "ENABLED"})
    group.define_private("QM2", "Q", max_depth=100)
    agent = AgentOfQM2(group)
    for _ in range(count):
        events.reader.put1("Q", b"x", MQMD(persistence=1), qmgr_name="QM2")
    agent.move()
    assert counted(group, qmgr="QM2") == (count, count, 0)


def test_nothing_is_counted_without_perfmev(group: TestGroup) -> None:
    _, queue = both(group, **PLAIN)
    put_alone(queue, 2)
    key = group.group.structure("APPL1").queue("Q").queue
    assert not {b"ev", b"qi", b"et"} & set(group.group.command(key, "HKEYS", key))
    assert counted(group) is None
    assert "PERFMEV(DISABLED)" in mqsc(group, "RESET QSTATS(Q)")
    group.repository("QM1").alter_qmgr("QM1", {"performance_event": "ENABLED"})
    put_alone(queue, 1)
    assert counted(group) == (3, 1, 0)
    group.repository("QM1").alter_qmgr("QM1", {"performance_event": "DISABLED"})
    assert not {b"ev", b"qi", b"et"} & set(group.group.command(key, "HKEYS", key))


@pytest.mark.rule("mqi/events", "Calls of a manager without PERFMEV(ENABLED) are not counted.")
def test_calls_of_a_manager_without_perfmev_are_not_counted(events: Events) -> None:
    events.group.add_member("QM2")
    both(events.group, **PLAIN)
    put_alone(events.group.connect("QM2").open("Q", OpenOption.OUTPUT), 2)
    assert counted(events.group) == (2, 0, 0)


def test_an_event_says_the_counts_and_resets_them(events: Events) -> None:
    _, queue = both(events.group)
    put_alone(queue, 7)
    take(queue, 2)
    put_alone(queue, 3)
    ((fields, _),) = events.read(formats.PERFM_QUEUE)
    assert (fields["highQDepth"], fields["msgEnqCount"], fields["msgDeqCount"]) == (8, 10, 2)
    assert counted(events.group) == (8, 0, 0)


def test_counts_that_no_mqlong_holds_are_told_as_the_highest(events: Events) -> None:
    _, queue = both(events.group)
    key = events.group.group.structure("APPL1").queue("Q").queue
    counts = ("qi", 1 << 31, "qo", 1 << 40)
    put_alone(queue, 1)
    events.group.group.command(key, "HSET", key, *counts)
    put_alone(queue, 7)
    ((fields, _),) = events.read(formats.PERFM_QUEUE)
    assert (fields["highQDepth"], fields["msgEnqCount"], fields["msgDeqCount"]) == (8, MAX_COUNT, MAX_COUNT)
    events.group.group.command(key, "HSET", key, *counts)
    answer = mqsc(events.group, "RESET QSTATS(Q)")
    assert f"MSGSIN({MAX_COUNT})" in answer
    assert f"MSGSOUT({MAX_COUNT})" in answer


def test_reset_qstats_answers_each_queue(events: Events) -> None:
    _, queue = both(events.group, **PLAIN)
    events.group.define_private("QM1", "QP")
    put_alone(queue, 2)
    take(queue, 1)
    answer = mqsc(events.group, "RESET QSTATS(Q*)")
    assert answer.count("CSQM201I: RESET QSTATS details.") == 2
    for each in ("QSTATS(Q)", "QSGDISP(SHARED)", "HIQDEPTH(2)", "MSGSIN(2)", "MSGSOUT(1)", "QSTATS(QP)", "RESETINT(0)"):
        assert each in answer
    assert "HIQDEPTH(1)" in mqsc(events.group, "RESET QSTATS(Q)")
    assert "2085" in mqsc(events.group, "RESET QSTATS(NOWHERE)")
    assert "CSQM297I" in mqsc(events.group, "RESET QSTATS(NO*)")


# -- service interval ------------------------------------------------------------------------------------------------


def age(group: TestGroup, by_ms: int) -> None:
    """Let the service timer of Q have started earlier."""
    key = group.group.structure("APPL1").queue("Q").queue
    started = group.group.command(key, "HGET", key, "st")
    group.group.command(key, "HSET", key, "st", int(started) - by_ms)


INTERVAL: dict[str, Any] = {**PLAIN, "service_interval_event": "HIGH", "service_interval_ms": 3_600_000}


@pytest.mark.rule("mqi/events", "A get or a put that finds the service timer past QSVCINT causes an event.")
@pytest.mark.parametrize("call", [put_alone, take, put_looked_at, take_in_unit])
def test_a_late_call_is_told_once(events: Events, call: Any) -> None:
    _, queue = both(events.group, **INTERVAL)
    put_alone(queue, 3)
    assert events.names() == []
    age(events.group, 4_000_000)
    call(queue, 1)
    ((fields, _),) = events.read(formats.PERFM_QUEUE)
    assert fields["reasonName"] == "MQRC_Q_SERVICE_INTERVAL_HIGH"
    assert fields["msgEnqCount"] + fields["msgDeqCount"] == 4
    shown = events.group.repository("QM1").definition("QLOCAL", "Q")
    assert shown.service_interval_event == "OK"  # type: ignore[union-attr]
    put_alone(queue, 1)
    assert events.names() == []


@pytest.mark.rule("mqi/events", "A get within QSVCINT causes the event that all is well again; a put never does.")
def test_a_get_in_time_ends_it(events: Events) -> None:
    _, queue = both(events.group, **INTERVAL)
    put_alone(queue, 3)
    age(events.group, 4_000_000)
    take(queue, 1)
    put_alone(queue, 1)
    assert events.names() == ["MQRC_Q_SERVICE_INTERVAL_HIGH"]
    take(queue, 1)
    assert events.names() == ["MQRC_Q_SERVICE_INTERVAL_OK"]
    age(events.group, 4_000_000)
    put_alone(queue, 1)
    assert events.names() == ["MQRC_Q_SERVICE_INTERVAL_HIGH"]


@pytest.mark.rule("mqi/events", "While a queue is empty, its service timer is off.")
def test_an_empty_queue_is_never_late(events: Events) -> None:
    _, queue = both(events.group, **INTERVAL)
    put_alone(queue, 1)
    take(queue, 1)
    key = events.group.group.structure("APPL1").queue("Q").queue
    assert events.group.group.command(key, "HGET", key, "st") is None
    put_alone(queue, 1)
    assert events.names() == []


def test_qsvciev_none_ends_the_timer(events: Events) -> None:
    _, queue = both(events.group, **INTERVAL)
    put_alone(queue, 1)
    events.group.repository("QM1").alter("QLOCAL", "Q", {"service_interval_event": "NONE"})
    put_alone(queue, 1)
    key = events.group.group.structure("APPL1").queue("Q").queue
    assert events.group.group.command(key, "HGET", key, "st") is None


# -- what arms the queues --------------------------------------------------------------------------------------------


def test_a_start_completes_what_an_interrupted_alter_began(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    _, queue = both(group, **PLAIN)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("sharedq.objects.store.structures.Directory.scan", die)
        with pytest.raises(KeyboardInterrupt):
            group.repository("QM1").alter_qmgr("QM1", {"performance_event": "ENABLED"})
    put_alone(queue, 1)
    assert counted(group) is None
    group.repository("QM1").prepare_manager("QM1")
    put_alone(queue, 1)
    assert counted(group) == (2, 1, 0)


def test_a_queue_counts_while_any_manager_asks_for_it(events: Events) -> None:
    group = events.group
    group.add_member("QM2")
    both(group, **PLAIN)
    for name, state in (("QM2", "ENABLED"), ("QM1", "DISABLED")):
        group.repository(name).alter_qmgr(name, {"performance_event": state})
    assert counted(group, qmgr="QM2") == (0, 0, 0)
    group.repository("QM2").alter_qmgr("QM2", {"performance_event": "DISABLED"})
    assert counted(group, qmgr="QM2") is None


def test_every_field_is_accounted_for(events: Events) -> None:
    _, queue = both(events.group, **{**INTERVAL, "depth_high_event": "ENABLED"})
    put_alone(queue, 9)
    take(queue, 2)
    assert_accounted(events.group.group)


def test_metrics_have_the_counts(events: Events) -> None:
    _, queue = both(events.group, **PLAIN)
    events.group.define_shared("OTHER")
    put_alone(queue, 3)
    take(queue, 1)
    samples = {
        (sample.name, sample.labels["queue"]): sample.value
        for family in text_string_to_metric_families(GroupCollector(events.group.group).text().decode())
        for sample in family.samples
        if "queue" in sample.labels
    }
    names = ("ibmmq_queue_hi_depth", "ibmmq_queue_mqput_mqput1_count", "ibmmq_queue_mqget_count")
    assert [samples[name, "Q"] for name in names] == [3, 3, 1]
    assert [samples[name, "OTHER"] for name in names] == [0, 0, 0]
    events.group.repository("QM1").alter_qmgr("QM1", {"performance_event": "DISABLED"})
    text = GroupCollector(events.group.group).text().decode()
    assert not [name for name in names if name in text]
