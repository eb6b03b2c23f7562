"""The way of a message, by journals that real calls and a real agent wrote."""

from __future__ import annotations

import json

import pytest

from igq.tools.trace import Identifiers, MessageWay, trace
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.reading import journal_pages
from tests.support.agents import AgentOfQM2, drain
from tests.support.killed import igq
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

Event = tuple[str, str | None, str | None, str]


def told(way: MessageWay) -> list[Event]:
    return [(step.row.event, step.row.queue, step.row.target_queue, step.outcome) for step in way.steps]


@pytest.fixture
def shared(group: TestGroup) -> TestGroup:
    group.define_shared("Q")
    group.define_shared("R")
    return group


def test_a_message_is_followed_with_its_units_of_work(shared: TestGroup) -> None:
    connection = shared.connect()
    md = connection.put1("Q", b"one", MQMD(correl_id=b"c" * 24), options=PutOption.SYNCPOINT)
    connection.put1("Q", b"other")
    connection.commit()
    with connection.open("Q", OpenOption.INPUT_SHARED) as queue:
        for end in (connection.backout, connection.commit):
            queue.get(GetOption.SYNCPOINT, match=MQMD(correl_id=b"c" * 24))
            end()
    expected = [("put", "Q", None, "committed"), ("get", "Q", None, "backed out"), ("get", "Q", None, "committed")]
    for wanted in (Identifiers(msg_id=md.msg_id), Identifiers(correl_id=b"c" * 24), Identifiers(md.msg_id, b"c" * 24)):
        way = trace(shared.group, wanted)
        assert told(way) == expected
        assert {step.msg_id for step in way.steps} == {md.msg_id.hex()}
        assert way.stored == {}
    assert told(trace(shared.group, Identifiers(b"\1" * 24))) == []
    assert told(trace(shared.group, Identifiers(md.msg_id, b"d" * 24))) == []


def test_what_is_not_ended_is_told_as_that(shared: TestGroup) -> None:
    connection = shared.connect()
    md = connection.put1("Q", b"one", MQMD(group_id=b"g" * 24, version=2, msg_flags=8))
    with connection.open("Q", OpenOption.INPUT_SHARED) as queue:
        queue.get(GetOption.SYNCPOINT)
        connection.prepare(b"xid")
        way = trace(shared.group, Identifiers(group_id=md.group_id))
        assert told(way) == [("put", "Q", None, "done"), ("get", "Q", None, "in doubt")]
        connection.backout_prepared(b"xid")
        queue.get(GetOption.SYNCPOINT)
        way = trace(shared.group, Identifiers(group_id=md.group_id))
        assert [outcome for *_, outcome in told(way)] == ["done", "backed out", "not ended"]
        assert list(way.stored.values()) == ["Q"]
    connection.backout()


def test_a_hop_is_followed_into_the_queue_of_the_other_manager(group: TestGroup) -> None:
    group.add_member("QM2")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    group.define_private("QM2", "ORDERS")
    agent = AgentOfQM2(group)
    md = group.connect("QM1").put1("ORDERS", b"hop", MQMD(persistence=1), qmgr_name="QM2")
    agent.serve()
    drain(group.connect("QM2"), "ORDERS")
    steps = told(trace(group.group, Identifiers(md.msg_id)))
    assert [event for event, *_ in steps] == ["put", "transfer", "get"]
    assert (steps[0][1], steps[1][2], steps[2][1]) == ("SYSTEM.QSG.TRANSMIT.QUEUE", "ORDERS", "ORDERS")
    at_queue = told(trace(group.group, Identifiers(md.msg_id), queue="ORDERS"))
    assert [event for event, *_ in at_queue] == ["transfer", "get"]


def test_one_of_many_is_found_across_pages(shared: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_pages, "READ_ENTRIES", 7)
    connection = shared.connect()
    sent = [connection.put1("Q", b"%d" % number) for number in range(50)]
    drain(connection, "Q")
    counts: list[int] = []
    for number in (0, 6, 7, 49):
        way = trace(shared.group, Identifiers(sent[number].msg_id), tell=counts.append)
        assert told(way) == [("put", "Q", None, "done"), ("get", "Q", None, "done")]
    assert sum(counts) == 4 * way.entries
    middle = way.steps[0].row.stream_id
    assert told(trace(shared.group, Identifiers(sent[49].msg_id), start=middle)) == told(way)
    assert told(trace(shared.group, Identifiers(sent[0].msg_id), start=middle)) == [("get", "Q", None, "done")]


def test_a_trimmed_journal_is_told_of(shared: TestGroup) -> None:
    connection = shared.connect()
    md = connection.put1("Q", b"one", MQMD(msg_id=b"m" * 24))
    keys = shared.group.structure("APPL1")
    shared.group.client().xtrim(keys.journal, maxlen=0, approximate=False)
    connection.put1("Q", b"two")
    way = trace(shared.group, Identifiers(md.msg_id))
    assert (told(way), way.trimmed) == ([], ["APPL1"])


def test_the_command_shows_a_table_and_json(shared: TestGroup) -> None:
    connection = shared.connect()
    connection.put1("Q", b"one", MQMD(msg_id=b"order-17".ljust(24, b"\0")))
    shown = igq(shared, "trace", "--msg-id", "order-17")
    assert (shown.returncode, shown.stdout.count(" put ")) == (0, 1)
    assert "is still there; it came to Q" in shown.stderr
    as_json = json.loads(igq(shared, "trace", "--msg-id", "order-17", "--json").stdout)
    assert [step["event"] for step in as_json["steps"]] == ["put"]
    assert as_json["stored"][0]["queue"] == "Q"
    nothing = igq(shared, "trace", "--correl-id", "nobody")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    wrong = igq(shared, "trace", "--msg-id", "x", "--from", "soon")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
