"""Topic and Subscription of pymqi's interface."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sharedq import pymqi
from sharedq.pymqi import CMQC, SD, PYIFError, QueueManager
from tests.support.backups import mqsc
from tests.support.members import TestGroup

pytestmark = [pytest.mark.usefixtures("qsg"), pytest.mark.share]


@pytest.fixture
def qmgr(qsg: TestGroup) -> QueueManager:
    qsg.define_shared("Q")
    return pymqi.connect("QM1")


def reason_of(call: Callable[[], object]) -> int:
    with pytest.raises(pymqi.MQMIError) as caught:
        call()
    return int(caught.value.reason)


def test_a_managed_subscription(qmgr: QueueManager) -> None:
    topic = pymqi.Topic(qmgr, topic_string="price/apples")
    subscription = topic.sub()
    topic.pub(b"1.20")
    options = pymqi.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_WAIT, WaitInterval=5000)
    assert subscription.get(None, pymqi.MD(), options) == b"1.20"
    assert reason_of(lambda: subscription.get(None)) == CMQC.MQRC_NO_MSG_AVAILABLE
    subscription.close(close_sub_queue=True)
    topic.close()
    with pytest.raises(PYIFError):
        topic.close()
    with pytest.raises(PYIFError):
        subscription.close()


def test_a_durable_subscription_by_its_descriptor(qmgr: QueueManager) -> None:
    descriptor = SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_DURABLE | CMQC.MQSO_MANAGED | CMQC.MQSO_RESUME)
    descriptor.set_vs("SubName", "prices")
    descriptor.set_vs("ObjectString", "price/#")
    subscription = pymqi.Subscription(qmgr, descriptor)
    assert descriptor["SubCorrelId"] != bytes(24)
    subscription.close(CMQC.MQCO_KEEP_SUB, True)
    topic = pymqi.Topic(qmgr)
    topic.open(topic_string="price/pears", open_opts=CMQC.MQOO_OUTPUT)
    topic.pub(b"1", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))
    again = pymqi.Subscription(qmgr)
    again.sub(sub_name="prices", sub_opts=CMQC.MQSO_RESUME | CMQC.MQSO_DURABLE)
    assert again.get() == b"1"
    assert again.get_sub_queue().inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 0
    again.close(CMQC.MQCO_REMOVE_SUB, True)
    assert reason_of(lambda: again.sub(sub_name="prices", sub_opts=CMQC.MQSO_RESUME)) == CMQC.MQRC_NO_SUBSCRIPTION


def test_a_queue_of_the_program(qmgr: QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "Q", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
    descriptor = SD(Options=CMQC.MQSO_CREATE)
    descriptor.set_vs("ObjectString", b"a")
    topic = pymqi.Topic(qmgr, topic_string=b"a")
    subscription = topic.sub(descriptor, queue)
    topic.pub(b"1")
    assert queue.get() == b"1"
    assert subscription.get_sub_queue() is queue
    subscription.close()


def test_retained_publications_and_requests(qmgr: QueueManager) -> None:
    topic = pymqi.Topic(qmgr, topic_string="a")
    topic.pub(b"1", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_RETAIN))
    subscription = topic.sub()
    assert subscription.get() == b"1"
    assert subscription.request() == 1
    assert subscription.get() == b"1"


def test_headers_of_publications(qmgr: QueueManager) -> None:
    topic = pymqi.Topic(qmgr, topic_string="a")
    subscription = topic.sub()
    header = pymqi.RFH2()
    header["Format"] = CMQC.MQFMT_STRING
    header.add_folder(b"<usr><a>1</a></usr>")
    topic.pub_rfh2(b"body", pymqi.MD(Format=CMQC.MQFMT_RF_HEADER_2), None, [header])
    found: list[pymqi.RFH2] = []
    assert subscription.get_rfh2(None, pymqi.MD(), None, found) == b"body"
    assert found[0]["usr"].rstrip() == b"<usr><a>1</a></usr>"


def test_what_is_refused(qmgr: QueueManager) -> None:
    with pytest.raises(PYIFError):
        pymqi.Topic(qmgr, topic_desc=pymqi.OD())
    assert reason_of(lambda: pymqi.Topic(qmgr, "NOWHERE").pub(b"1")) == CMQC.MQRC_UNKNOWN_OBJECT_NAME
    with pytest.raises(TypeError):
        pymqi.Topic(qmgr, topic_string="a").pub("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        pymqi.Subscription(qmgr).sub(pymqi.OD())  # type: ignore[arg-type]


def test_a_wrong_descriptor_is_the_publishers_mistake(qmgr: QueueManager) -> None:
    topic = pymqi.Topic(qmgr, topic_string="a")
    subscription = topic.sub()
    options = pymqi.PMO(Options=CMQC.MQPMO_RETAIN | CMQC.MQPMO_SYNCPOINT)
    assert reason_of(lambda: topic.pub(b"1", pymqi.MD(Expiry=-5))) == CMQC.MQRC_EXPIRY_ERROR
    assert reason_of(lambda: topic.pub(b"1", pymqi.MD(Expiry=-5), options)) == CMQC.MQRC_EXPIRY_ERROR
    assert reason_of(lambda: topic.pub(b"1", pymqi.MD(Priority=11))) == CMQC.MQRC_PRIORITY_EXCEEDS_MAXIMUM
    qmgr.commit()
    assert subscription.get() == b"1"
    assert reason_of(lambda: subscription.get(None)) == CMQC.MQRC_NO_MSG_AVAILABLE
    assert reason_of(subscription.request) == CMQC.MQRC_NO_RETAINED_MSG


def test_what_a_descriptor_returns(qmgr: QueueManager) -> None:
    made = SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_DURABLE | CMQC.MQSO_MANAGED, PubPriority=3, SubLevel=2)
    for name, value in (("SubName", "D"), ("ObjectString", "/r/2"), ("SubUserData", b"data")):
        made.set_vs(name, value)
    made.set_vs("ResObjectString", b" " * 50, vs_buffer_size=50)
    pymqi.Subscription(qmgr, made).close(CMQC.MQCO_KEEP_SUB, True)
    assert (made.get_vs("ResObjectString"), made.ResObjectStringVSLength) == (b"/r/2", 4)
    resumed = SD(Options=CMQC.MQSO_RESUME)
    resumed.set_vs("SubName", "D")
    resumed.set_vs("SubUserData", b"  ", vs_buffer_size=2)
    pymqi.Subscription(qmgr, resumed).close(CMQC.MQCO_REMOVE_SUB, True)
    assert (resumed.PubPriority, resumed.SubLevel, resumed.SubCorrelId) == (3, 2, made.SubCorrelId)
    assert (resumed.get_vs("SubUserData"), resumed.SubUserDataVSLength) == (b"da", 4)
    assert (resumed.get_vs("ResObjectString"), resumed.ResObjectStringVSLength) == (None, 4)
    assert resumed.Options & CMQC.MQSO_DURABLE
    assert not resumed.Options & CMQC.MQSO_RESUME


def test_a_buffer_is_never_longer_than_it_is(qmgr: QueueManager) -> None:
    made = SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED)
    made.set_vs("ObjectString", "/a/long/topic/string")
    made.set_vs("ResObjectString", b"   ", vs_buffer_size=5000)
    pymqi.Subscription(qmgr, made)
    assert made.get_vs("ResObjectString") == b"/a/"
    assert made.ResObjectStringVSLength == 20


def test_an_opened_topic_returns_its_whole_string(qmgr: QueueManager) -> None:
    od = pymqi.OD(ObjectType=CMQC.MQOT_TOPIC, Version=CMQC.MQOD_VERSION_4)
    od.set_vs("ObjectString", "/a")
    od.set_vs("ResObjectString", b" " * 10, vs_buffer_size=10)
    pymqi.Topic(qmgr, topic_desc=od, open_opts=CMQC.MQOO_OUTPUT).close()
    assert (od.get_vs("ResObjectString"), od.ResObjectStringVSLength) == (b"/a", 2)


def test_the_alternate_user_of_a_subscription(qsg: TestGroup, qmgr: QueueManager) -> None:
    options = CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED | CMQC.MQSO_ALTERNATE_USER_AUTHORITY
    descriptor = SD(Options=options, AlternateUserId=b"anna")
    descriptor.set_vs("ObjectString", "a")
    subscription = pymqi.Subscription(qmgr, descriptor)
    assert [each.subscription.user_id for each in qsg.repository("QM1").topics.subscriptions()] == ["anna"]
    subscription.close(close_sub_queue=True)


def test_puts_through_an_alias_of_a_topic_publish(qsg: TestGroup, qmgr: QueueManager) -> None:
    mqsc(qsg, "DEFINE TOPIC(PRICE) TOPICSTR('price/apples')\nDEFINE QALIAS(PRICES) TARGET(PRICE) TARGTYPE(TOPIC)")
    subscription = pymqi.Topic(qmgr, topic_string="price/#").sub()
    queue = pymqi.Queue(qmgr, "PRICES")
    queue.put(b"1")
    qmgr.put1("PRICES", b"2")
    assert [subscription.get(None), subscription.get(None)] == [b"1", b"2"]
    assert reason_of(lambda: queue.get(None)) == CMQC.MQRC_NOT_OPEN_FOR_INPUT
    queue.close()
    assert reason_of(lambda: pymqi.Queue(qmgr, "PRICES").get(None)) == CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE
