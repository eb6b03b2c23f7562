"""Event messages: which are written, when, where, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from igq.events import formats
from igq.events.writer import EventWriter, is_told_of
from sharedq.calls.handles.connect import connect_to
from sharedq.members.event_notes import Giver
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC, Format, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.structures import MQMD
from sharedq.objects.store.local_queues import LocalQueues
from tests.igq.events.scene import Events
from tests.support.agents import AgentOfQM2
from tests.support.members import TestGroup
from tests.support.waits import until_waiting

LIMITS: dict[str, Any] = {"max_depth": 10, "depth_high_limit": 80, "depth_low_limit": 20, "depth_high_event": "ENABLED"}

Putter = Callable[[Any, int], None]


def put_alone(queue: Any, count: int) -> None:
    for _ in range(count):
        queue.put(b"x")


def put_in_unit(queue: Any, count: int) -> None:
    for _ in range(count):
        queue.put(b"x", options=PutOption.SYNCPOINT)


def put_looked_at(queue: Any, count: int) -> None:
    for _ in range(count):
        queue.put(b"x", MQMD(correl_id=b"c" * 24))


def take(queue: Any, count: int) -> None:
    for _ in range(count):
        queue.get(GetOption.NO_SYNCPOINT)


def take_in_unit(queue: Any, count: int) -> None:
    for _ in range(count):
        queue.get(GetOption.SYNCPOINT)


def both(group: TestGroup, name: str = "Q", **attributes: Any) -> tuple[Any, Any]:
    group.define_shared(name, **{**LIMITS, **attributes})
    connection = group.connect("QM1")
    return connection, connection.open(name, OpenOption.OUTPUT | OpenOption.INPUT_SHARED)


@pytest.mark.rule("mqi/events", "A depth event disables itself and enables the opposite one.")
@pytest.mark.parametrize("put", [put_alone, put_in_unit, put_looked_at])
@pytest.mark.parametrize("get", [take, take_in_unit])
def test_high_and_low_come_in_turns(events: Events, put: Putter, get: Putter) -> None:
    connection, queue = both(events.group)
    put(queue, 7)
    assert events.names() == []
    put(queue, 1)
    connection.commit()
    assert events.names() == ["MQRC_Q_DEPTH_HIGH"]
    put(queue, 2)
    get(queue, 3)
    put(queue, 1)
    connection.commit()
    assert events.names() == []
    get(queue, 5)
    assert events.names() == []
    get(queue, 1)
    connection.commit()
    assert events.names() == ["MQRC_Q_DEPTH_LOW"]
    put(queue, 6)
    connection.commit()
    assert events.names() == ["MQRC_Q_DEPTH_HIGH"]


def test_a_full_queue_is_told_once(events: Events) -> None:
    _, queue = both(events.group, depth_high_event="DISABLED")
    put_alone(queue, 10)
    for _ in range(3):
        with pytest.raises(MQIError, match="Q_FULL"):
            queue.put(b"x")
    ((fields, md),) = events.read(formats.PERFM_QUEUE)
    assert (fields["event"], fields["reason"], fields["baseObjectName"]) == ("PERFM_EVENT", 2053, "Q")
    assert (md.format, md.put_appl_type, md.put_appl_name) == (Format.EVENT, 7, b"QM1")
    take(queue, 8)
    assert events.names() == ["MQRC_Q_DEPTH_LOW"]
    put_alone(queue, 8)
    with pytest.raises(MQIError, match="Q_FULL"):
        queue.put(b"x")
    assert events.names() == ["MQRC_Q_DEPTH_HIGH", "MQRC_Q_FULL"]


def test_the_definition_shows_what_is_enabled(events: Events) -> None:
    _, queue = both(events.group)
    put_alone(queue, 8)
    shown = events.group.repository("QM1").definition("QLOCAL", "Q")
    assert shown is not None
    assert (shown.depth_high_event, shown.depth_low_event) == ("DISABLED", "ENABLED")  # type: ignore[attr-defined]
    events.group.repository("QM1").alter("QLOCAL", "Q", {"depth_low_limit": 50})
    take(queue, 3)
    assert events.names() == ["MQRC_Q_DEPTH_HIGH", "MQRC_Q_DEPTH_LOW"]


def test_an_alter_takes_back_no_event_of_its_moment(events: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    _, queue = both(events.group)
    put_alone(queue, 7)
    alter, tries = LocalQueues.alter, list[bool]()

    def put_first(*arguments: Any) -> bool:
        if not tries:
            queue.put(b"the eighth")
        tries.append(alter(*arguments))
        return tries[-1]

    monkeypatch.setattr(LocalQueues, "alter", put_first)
    events.group.repository("QM1").alter("QLOCAL", "Q", {"description": "altered"})
    assert tries == [False, True]
    put_alone(queue, 1)
    assert events.names() == ["MQRC_Q_DEPTH_HIGH"]


@pytest.mark.parametrize("count", [1, 8, 60])
def test_messages_that_hop_are_counted(events: Events, count: int) -> None:
    group = events.group
    group.add_member("QM2")
    for name in ("QM1", "QM2"):
        group.repository(name).alter_qmgr(name, {"igq": "ENABLED", "performance_event": "ENABLED"})
    limits: dict[str, Any] = {**LIMITS, "max_depth": 100, "depth_high_limit": 8}
    group.define_private("QM2", "Q", **limits)
    agent = AgentOfQM2(group)
    for _ in range(count):
        events.reader.put1("Q", b"x", MQMD(persistence=1), qmgr_name="QM2")
    agent.move()
    other = group.connect("QM2").connection
    EventWriter(group.group, "QM2", lambda: other, lambda *_, **__: None).look()
    with group.connect("QM2").open(formats.PERFM_QUEUE, OpenOption.INPUT_SHARED) as source:
        if count < 8:
            with pytest.raises(NoMsgAvailable):
                source.get(GetOption.NO_SYNCPOINT)
            return
        message = read(source.get(GetOption.NO_SYNCPOINT).body)
        assert message.header.reason == MQRC.Q_DEPTH_HIGH


@pytest.mark.parametrize("fields", [{}, {"correl_id": b"c" * 24}], ids=["plain", "looked at"])
def test_a_commit_that_carries_puts_and_a_get_counts_both(events: Events, fields: dict[str, Any]) -> None:
    connection, queue = both(events.group)
    events.group.define_shared("FROM", **LIMITS, depth_low_event="ENABLED")
    source = connection.open("FROM", OpenOption.OUTPUT | OpenOption.INPUT_SHARED)
    put_alone(source, 4)
    assert events.names() == []
    for _ in range(2):
        source.get(GetOption.SYNCPOINT)
        for _ in range(4):
            queue.put(b"x", MQMD(**fields), options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
        connection.commit()
    assert sorted(events.names()) == ["MQRC_Q_DEPTH_HIGH", "MQRC_Q_DEPTH_LOW"]
    # A put that the full queue refuses is told of in the same way.
    source.get(GetOption.SYNCPOINT)
    for _ in range(3):
        queue.put(b"x", MQMD(**fields), options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    with pytest.raises(MQIError, match="Q_FULL"):
        connection.commit()
    assert "MQRC_Q_FULL" in events.names()


@pytest.mark.parametrize("fields", [{}, {"correl_id": b"c" * 24}], ids=["plain", "looked at"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_message_that_a_waiting_get_is_handed_does_not_fill_the_queue(
    events: Events, fields: dict[str, Any], count: int
) -> None:
    _, queue = both(events.group, depth_high_limit=10)
    with ThreadPoolExecutor(count) as pool:
        waiters = [events.group.connect("QM1").open("Q", OpenOption.INPUT_SHARED) for _ in range(count)]
        futures = [pool.submit(each.get, GetOption.WAIT | GetOption.NO_SYNCPOINT, wait_ms=60_000) for each in waiters]
        until_waiting(events.group, "Q", count)
        for _ in futures:
            queue.put(b"x", MQMD(**fields))
        for future in futures:
            future.result()
    assert events.names() == []


def test_nothing_is_noted_without_perfmev(events: Events) -> None:
    events.group.repository("QM1").alter_qmgr("QM1", {"performance_event": "DISABLED"})
    _, queue = both(events.group)
    put_alone(queue, 10)
    shown = events.group.repository("QM1").definition("QLOCAL", "Q")
    assert shown.depth_high_event == "ENABLED"  # type: ignore[union-attr]
    assert events.names() == []


@pytest.mark.rule("mqi/events", "One member writes the event about a shared queue, once for the group.")
def test_one_member_writes_the_event_of_a_shared_queue(events: Events) -> None:
    events.group.add_member("QM2")
    events.group.repository("QM2").alter_qmgr("QM2", {"performance_event": "ENABLED"})
    other = events.group.connect("QM2").connection
    writer = EventWriter(events.group.group, "QM2", lambda: other, lambda *_, **__: None)
    _, queue = both(events.group)
    put_alone(queue, 8)
    writer.look()
    assert events.names() == []
    with events.group.connect("QM2").open(formats.PERFM_QUEUE, OpenOption.INPUT_SHARED) as source:
        assert read(source.get(GetOption.NO_SYNCPOINT).body).header.reason == MQRC.Q_DEPTH_HIGH


@pytest.mark.parametrize("name", ["INHIBITED", "NOWHERE"])
def test_refused_calls_are_told(events: Events, name: str) -> None:
    events.group.define_shared("INHIBITED", put="DISABLED", get="DISABLED")
    connection = events.group.connect("QM1")
    if name == "NOWHERE":
        with pytest.raises(MQIError, match="UNKNOWN_OBJECT_NAME"):
            connection.open(name, OpenOption.OUTPUT)
        ((fields, _),) = events.read(formats.QMGR_QUEUE)
        assert (fields["reasonName"], fields["qName"]) == ("MQRC_UNKNOWN_OBJECT_NAME", name)
        return
    queue = connection.open(name, OpenOption.OUTPUT | OpenOption.INPUT_SHARED)
    with pytest.raises(MQIError, match="PUT_INHIBITED"):
        queue.put(b"x")
    with pytest.raises(MQIError, match="GET_INHIBITED"):
        queue.get(GetOption.NO_SYNCPOINT)
    assert events.names(formats.QMGR_QUEUE) == ["MQRC_PUT_INHIBITED", "MQRC_GET_INHIBITED"]


@pytest.mark.rule("mqi/events", "A refused MQCONN (2035) causes Not Authorized type 1, a refused MQOPEN type 2.")
def test_a_connection_without_authority_is_told(events: Events) -> None:
    """Its user may leave a note, and not become a member."""
    group, user = events.group, f"U{events.group.settings.group}"
    client = group.group.client()
    client.execute_command("ACL", "SETUSER", user, "on", ">secret", "~*", "&*", "+@all", "-zadd")
    try:
        at = urlsplit(str(group.settings.redis_url))
        url = at._replace(netloc=f"{user}:secret@{at.netloc}").geturl()
        for name in ("QM1", group.settings.group):
            own = Group(group.settings.model_copy(update={"redis_url": url}))
            with pytest.raises(MQIError, match="NOT_AUTHORIZED"):
                connect_to(own, name, appl_name="shop")
            own.leave()
    finally:
        client.execute_command("ACL", "DELUSER", user)
    found = [fields for fields, _ in events.read(formats.QMGR_QUEUE)]
    assert len(found) == 2
    for fields in found:
        assert (fields["reasonName"], fields["reasonQualifier"]) == ("MQRC_NOT_AUTHORIZED", "CONN_NOT_AUTHORIZED")
        assert (fields["applName"], fields["userIdentifier"]) == ("shop", Giver().user)
        assert "qName" not in fields


def test_refused_calls_are_not_noted_unless_asked_for(events: Events) -> None:
    events.group.repository("QM1").alter_qmgr("QM1", {"local_event": "DISABLED"})
    with pytest.raises(MQIError):
        events.group.connect("QM1").open("NOWHERE", OpenOption.OUTPUT)
    assert events.names(formats.QMGR_QUEUE) == []


def test_messages_of_the_log_become_events(events: Events) -> None:
    said: list[tuple[str, dict[str, object]]] = [
        ("CSQY022I", {}),
        ("CSQE011I", {"target": "QM2.4"}),
        ("CSQE014I", {"target": "QM2.4", "units_of_work": 1, "messages": 2}),
        ("CSQM065E", {"error": "no\n", "retry": 1, "wait_s": 1}),
        ("IGQ0021I", {}),
        ("CSQE035E", {"structure": "APPL1"}),
        ("CSQE131I", {"structure": "APPL1"}),
        ("CSQY009I", {"mode": "quiesce", "timeout_s": 30}),
        ("CSQY002I", {"mode": "immediate"}),
    ]
    for message_id, fields in said:
        assert is_told_of(message_id, fields)
        events.writer.tell(message_id, fields, 1_000_000_000_000)
    found = events.read(formats.QMGR_QUEUE)
    assert [fields["reasonName"].partition("_")[2] for fields, _ in found] == [
        "Q_MGR_ACTIVE",
        "RECOVERY_BEGUN",
        "RECOVERY_ENDED",
        "AGENT_IN_RETRY",
        "AGENT_LEFT_RETRY",
        "CF_STRUC_FAILED",
        "STRUCTURE_USABLE",
        "Q_MGR_NOT_ACTIVE",
    ]
    assert found[1][0]["objectName"] == "QM2.4"
    assert found[5][0]["cfStrucName"] == "APPL1"
    assert found[7][0]["reasonQualifier"] == "Q_MGR_QUIESCING"
    assert (found[0][1].put_date, found[0][1].put_time) == (b"20010909", b"01464000")


@pytest.mark.rule("mqi/events", "An event that its queue does not take is dropped; no call fails for it.")
def test_an_event_that_cannot_be_put_is_dropped(events: Events) -> None:
    repository = events.group.repository("QM1")
    repository.alter("QLOCAL", formats.PERFM_QUEUE, {"put": "DISABLED"})
    _, queue = both(events.group)
    put_alone(queue, 8)
    events.writer.look()
    repository.alter("QLOCAL", formats.PERFM_QUEUE, {"put": "ENABLED"})
    assert events.names() == []
    repository.delete("QLOCAL", formats.QMGR_QUEUE)
    events.writer.tell("CSQY022I", {}, 0)
