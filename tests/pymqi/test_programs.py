"""Whole programs as people write them with pymqi; only the import differs."""

from __future__ import annotations

import threading

import pytest

from sharedq import pymqi
from sharedq.pymqi import CMQC
from tests.support.members import TestGroup

pytestmark = pytest.mark.usefixtures("qsg")

CLIENT = ("SVRCONN.1", "mq.example.com(1414)")


def test_a_message_goes_to_a_queue_and_comes_back() -> None:
    qmgr = pymqi.connect("QM1", *CLIENT, "app", "secret")
    queue = pymqi.Queue(qmgr, "ORDERS")
    queue.put(b"one order")
    queue.close()

    queue = pymqi.Queue(qmgr, "ORDERS")
    assert queue.get() == b"one order"
    queue.close()
    qmgr.disconnect()


def test_a_reply_finds_the_program_that_asked(qsg: TestGroup) -> None:
    qsg.define_shared("ANSWERS")
    asking, answering = pymqi.connect("QM1"), pymqi.connect("QM1")
    question = pymqi.MD(
        MsgType=CMQC.MQMT_REQUEST,
        ReplyToQ=b"ANSWERS",
        Format=CMQC.MQFMT_STRING,
        Report=CMQC.MQRO_COPY_MSG_ID_TO_CORREL_ID,
    )
    pymqi.Queue(asking, b"ORDERS").put(b"how many?", question)

    received = pymqi.MD()
    assert pymqi.Queue(answering, "ORDERS").get(None, received) == b"how many?"
    assert received["MsgType"] == CMQC.MQMT_REQUEST
    replies = pymqi.Queue(answering, received.ReplyToQ)
    replies.put(b"noise", pymqi.MD(MsgType=CMQC.MQMT_REPLY, CorrelId=b"somebody else"))
    replies.put(b"seven", pymqi.MD(MsgType=CMQC.MQMT_REPLY, CorrelId=received.MsgId))

    mine = pymqi.MD(CorrelId=question.MsgId)
    options = pymqi.GMO(
        Version=CMQC.MQGMO_VERSION_2,
        Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING,
        WaitInterval=5000,
        MatchOptions=CMQC.MQMO_MATCH_CORREL_ID,
    )
    assert pymqi.Queue(asking, "ANSWERS").get(None, mine, options) == b"seven"


def test_replies_can_come_to_a_queue_made_for_them() -> None:
    qmgr = pymqi.connect("QM1")
    descriptor = pymqi.OD(ObjectName=b"SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName=b"REPLY.*")
    replies = pymqi.Queue(qmgr)
    replies.open(descriptor, CMQC.MQOO_INPUT_EXCLUSIVE)
    name = descriptor.ObjectName.strip()

    assert name.startswith(b"REPLY.")
    assert len(name) > len(b"REPLY.")
    qmgr.put1(name, b"found it")
    assert replies.get() == b"found it"


def test_a_loop_waits_for_messages_and_clears_the_identifiers_between_them() -> None:
    qmgr = pymqi.connect("QM1")
    queue = pymqi.Queue(qmgr, "ORDERS")
    descriptor = pymqi.MD()
    options = pymqi.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING, WaitInterval=50)

    def send() -> None:
        sender = pymqi.connect("QM1")
        for body in (b"a", b"b", b"c"):
            pymqi.Queue(sender, "ORDERS").put(body)
        sender.disconnect()

    sending = threading.Thread(target=send)
    sending.start()
    sending.join()
    received = []
    while True:
        try:
            received.append(queue.get(None, descriptor, options))
            descriptor.MsgId = CMQC.MQMI_NONE
            descriptor.CorrelId = CMQC.MQCI_NONE
            descriptor.GroupId = CMQC.MQGI_NONE
        except pymqi.MQMIError as error:
            if error.comp == CMQC.MQCC_FAILED and error.reason == CMQC.MQRC_NO_MSG_AVAILABLE:
                break
            raise
    assert received == [b"a", b"b", b"c"]


def test_a_waiting_get_is_woken_by_a_put() -> None:
    got: list[bytes] = []

    def receive() -> None:
        qmgr = pymqi.connect("QM1")
        options = pymqi.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=CMQC.MQWI_UNLIMITED)
        got.append(pymqi.Queue(qmgr, "ORDERS").get(None, None, options))
        qmgr.disconnect()

    receiving = threading.Thread(target=receive)
    receiving.start()
    pymqi.Queue(pymqi.connect("QM1"), "ORDERS").put(b"wake up")
    receiving.join(timeout=30)
    assert got == [b"wake up"]


def test_without_clearing_them_the_identifiers_select() -> None:
    """A trap that pymqi's documentation describes: a get leaves identifiers, and the next get asks for them."""
    queue = pymqi.Queue(pymqi.connect("QM1"), "ORDERS")
    queue.put(b"first")
    queue.put(b"second")
    descriptor = pymqi.MD()
    assert queue_get(queue, descriptor) == b"first"

    with pytest.raises(pymqi.MQMIError) as caught:
        queue_get(queue, descriptor)
    assert caught.value.reason == CMQC.MQRC_NO_MSG_AVAILABLE


def queue_get(queue: pymqi.Queue, descriptor: pymqi.MD) -> bytes:
    # The queue was opened by a put, for output alone.
    if queue.get_handle() is not None:
        queue.close()
        queue.open("ORDERS", CMQC.MQOO_INPUT_SHARED)
    return queue.get(None, descriptor)


def test_browsing_shows_messages_in_order_and_takes_none() -> None:
    qmgr = pymqi.connect("QM1")
    for body, priority in ((b"low", 1), (b"high", 9), (b"low too", 1)):
        qmgr.put1("ORDERS", body, pymqi.MD(Priority=priority))
    queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_BROWSE)
    options = pymqi.GMO(Options=CMQC.MQGMO_BROWSE_FIRST)
    seen = [queue.get(None, pymqi.MD(), options)]
    options.Options = CMQC.MQGMO_BROWSE_NEXT
    while len(seen) < 3:
        seen.append(queue.get(None, pymqi.MD(), options))
    assert seen == [b"high", b"low", b"low too"]

    with pytest.raises(pymqi.MQMIError, match="MQRC_NO_MSG_AVAILABLE"):
        queue.get(None, pymqi.MD(), options)
    assert pymqi.Queue(qmgr, "ORDERS").inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 3


def test_a_unit_of_work_is_kept_or_undone_as_a_whole() -> None:
    qmgr, other = pymqi.connect("QM1"), pymqi.connect("QM1")
    queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    under_syncpoint = pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT)
    queue.put(b"regretted", pymqi.MD(), under_syncpoint)
    qmgr.backout()
    queue.put(b"meant", pymqi.MD(), under_syncpoint)
    theirs = pymqi.Queue(other, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    with pytest.raises(pymqi.MQMIError):
        theirs.get()
    qmgr.commit()

    descriptor, options = pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT)
    assert theirs.get(None, descriptor, options) == b"meant"
    other.backout()
    again = pymqi.MD()
    assert theirs.get(None, again, options) == b"meant"
    assert (descriptor.BackoutCount, again.BackoutCount) == (0, 1)
    other.commit()


def test_a_message_can_expire(qsg: TestGroup) -> None:
    qmgr = pymqi.connect("QM1")
    descriptor = pymqi.MD()
    descriptor.Expiry = 1
    qmgr.put1("ORDERS", b"milk", descriptor)
    qsg.wait_redis_ms(150)
    with pytest.raises(pymqi.MQMIError) as caught:
        pymqi.Queue(qmgr, "ORDERS").get()
    assert caught.value.reason == CMQC.MQRC_NO_MSG_AVAILABLE


def test_groups_travel_in_version_2_of_the_descriptor() -> None:
    qmgr = pymqi.connect("QM1")
    sent = pymqi.MD(
        Version=CMQC.MQMD_VERSION_2, GroupId=b"flight", MsgSeqNumber=2, MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP
    )
    qmgr.put1("ORDERS", b"last", sent)
    received = pymqi.MD(Version=CMQC.MQMD_VERSION_2)
    pymqi.Queue(qmgr, "ORDERS").get(None, received)
    assert received.GroupId == b"flight".ljust(24, b"\0")
    # The last message of a group is in the group: both flags come back.
    assert (received.MsgSeqNumber, received.MsgFlags) == (2, sent.MsgFlags | CMQC.MQMF_MSG_IN_GROUP)


def test_headers_travel_in_front_of_the_data() -> None:
    qmgr = pymqi.connect("QM1")
    header = pymqi.RFH2(Format=CMQC.MQFMT_STRING, NameValueCCSID=1208)
    header.add_folder(b"<usr><region>EWR</region></usr>")
    queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    queue.put_rfh2(b"data", pymqi.MD(Format=CMQC.MQFMT_RF_HEADER_2), pymqi.PMO(), [header])

    found: list[pymqi.RFH2] = []
    descriptor = pymqi.MD()
    assert queue.get_rfh2(None, descriptor, pymqi.GMO(), found) == b"data"
    assert [each["usr"].strip() for each in found] == [b"<usr><region>EWR</region></usr>"]


def test_threads_share_a_connection() -> None:
    qmgr = pymqi.connect("QM1")
    failures: list[BaseException] = []

    def send(sender: int) -> None:
        try:
            queue = pymqi.Queue(qmgr, "ORDERS")
            for number in range(20):
                queue.put(f"{sender} {number}")
        except BaseException as error:  # noqa: BLE001 - a thread's failure must fail the test
            failures.append(error)

    threads = [threading.Thread(target=send, args=(sender,)) for sender in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []

    queue = pymqi.Queue(qmgr, "ORDERS")
    received = [queue.get() for _ in range(80)]
    for sender in range(4):
        mine = [body for body in received if body.startswith(b"%d " % sender)]
        assert mine == [b"%d %d" % (sender, number) for number in range(20)]
