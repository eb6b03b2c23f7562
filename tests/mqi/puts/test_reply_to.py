"""The destination of replies if the program leaves ReplyToQMgr blank: its queue manager fills it in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.outgoing import descriptor
from sharedq.calls.unit.commit import commit
from sharedq.mqi.constants import MQRC, Feedback, MsgFlag, OpenOption, PutOption, Report
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias, QueueRemote
from tests.support.agents import drain
from tests.support.groups import BOTH
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

#: The ways to put a message. Each one fills in the descriptor.
WAYS = ("one", "many", "later", "grouped", "put1")


@pytest.fixture
def queue(group: TestGroup) -> Queue:
    group.define_shared("Q")
    group.define("QM1", QueueRemote(name="ANSWERS", remote_queue="ORDERS.REPLY", remote_qmgr="QM2"))
    group.define("QM1", QueueRemote(name="ALIAS.OF.QM2", remote_queue="", remote_qmgr="QM2"))
    group.define("QM1", QueueAlias(name="ALIAS", target="Q"))
    return group.connect().open("Q", BOTH)


def put(queue: Queue, way: str, md: MQMD) -> None:
    """Put a message in one of these ways."""
    match way:
        case "many":
            queue.put_many([(md, b"x")])
        case "later":
            queue.put(b"x", md, options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
            commit(queue.connection)
        case "grouped":
            md.version, md.msg_flags, md.group_id = 2, int(MsgFlag.LAST_MSG_IN_GROUP), b"g" * 24
            queue.put(b"x", md)
        case "put1":
            QueueManagerConnection(queue.connection).put1("Q", b"x", md)
        case _:
            queue.put(b"x", md)


@pytest.mark.rule(
    "mqi/reports", "A ReplyToQ without ReplyToQMgr is resolved by a remote definition of that name, else is local."
)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ((b"ANSWERS", b""), (b"ORDERS.REPLY", b"QM2")),
        ((b"ANSWERS".ljust(48), b" " * 48), (b"ORDERS.REPLY", b"QM2")),
        ((b"ANSWERS\0old", b"\0old"), (b"ORDERS.REPLY", b"QM2")),
        ((b"ANSWERS", b"QM1"), (b"ANSWERS", b"QM1")),
        ((b"NOWHERE", b""), (b"NOWHERE", b"QM1")),
        ((b"ALIAS", b""), (b"ALIAS", b"QM1")),
        ((b"ALIAS.OF.QM2", b""), (b"ALIAS.OF.QM2", b"QM1")),
        ((b"", b""), (b"", b"")),
    ],
)
def test_the_message_says_where_replies_go(
    queue: Queue, way: str, given: tuple[bytes, bytes], stored: tuple[bytes, bytes]
) -> None:
    md = MQMD(reply_to_q=given[0], reply_to_q_mgr=given[1])
    put(queue, way, md)
    got = queue.get().md
    assert (got.reply_to_q.rstrip(), got.reply_to_q_mgr.rstrip()) == stored
    assert (md.reply_to_q.rstrip(), md.reply_to_q_mgr.rstrip()) == stored


def test_a_definition_that_changes_counts_when_it_is_looked_up_again(
    group: TestGroup, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptor, "REMEMBERED_S", 0.0)
    for name, qmgr in ((b"ORDERS.REPLY", b"QM2"), (b"OTHERS", b"QM3")):
        md = queue.put(b"x", MQMD(reply_to_q=b"ANSWERS"))
        assert (md.reply_to_q, md.reply_to_q_mgr) == (name, qmgr)
        group.repository("QM1").alter("QREMOTE", "ANSWERS", {"remote_queue": "OTHERS", "remote_qmgr": "QM3"})


def test_one_look_serves_many_requests(queue: Queue) -> None:
    client = queue.connection.group.client()
    queue.put(b"x", MQMD(reply_to_q=b"ANSWERS"))
    before = client.info("commandstats")["cmdstat_evalsha"]["calls"]
    for _ in range(20):
        queue.put(b"x", MQMD(reply_to_q=b"ANSWERS"))
    assert client.info("commandstats")["cmdstat_evalsha"]["calls"] - before <= 20 + 1


@pytest.mark.rule("mqi/reports", "A put that fails leaves the reply fields of the descriptor unchanged.")
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("options", [0, int(PutOption.NEW_MSG_ID | PutOption.NEW_CORREL_ID)])
def test_a_put_that_fails_leaves_the_descriptor_as_it_was(group: TestGroup, many: bool, options: int) -> None:
    group.define_shared("FULL", max_depth=0)
    group.define("QM1", QueueRemote(name="ANSWERS", remote_queue="ORDERS.REPLY", remote_qmgr="QM2"))
    full = group.connect().open("FULL", OpenOption.OUTPUT)
    md = MQMD(
        reply_to_q=b"ANSWERS",
        report=int(Report.COD),
        msg_id=b"M" * 24,
        correl_id=b"C" * 24,
        user_identifier=b"somebody",
        put_appl_name=b"something",
        put_date=b"20260101",
    )
    asked = replace(md)
    with pytest.raises(MQIError) as refused:
        full.put_many([(md, b"x")], options=options) if many else full.put(b"x", md, options=options)
    assert refused.value.reason == MQRC.Q_FULL
    assert md == asked


def test_a_report_goes_where_the_definition_says(group: TestGroup, queue: Queue) -> None:
    group.define_private("QM1", "ORDERS.REPLY")
    group.repository("QM1").alter("QREMOTE", "ANSWERS", {"remote_qmgr": "QM1"})
    queue.put(b"x", MQMD(reply_to_q=b"ANSWERS", report=int(Report.COA)))
    assert [report.md.feedback for report in drain(group.connect(), "ORDERS.REPLY")] == [Feedback.COA]
