"""Works with the queue Q of QM1 through ``ibmmq``. It is run with a Python of its own."""

# mypy: ignore-errors

import time

import ibmmq as mq
from ibmmq import CMQC


def reason_of(call, *arguments):
    """The reason that a call fails with; 0: it does not."""
    try:
        call(*arguments)
    except mq.MQMIError as error:
        return error.reason
    return 0


def depth(queue):
    """Messages on the queue."""
    return queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)


def messages(qmgr, queue):
    """Put, browse, get, units of work, large and asynchronous messages."""
    md = mq.MD()
    queue.put(b"hello", md)
    assert depth(queue) == 1
    browse, found = mq.GMO(), mq.MD()
    browse.Options = CMQC.MQGMO_BROWSE_FIRST
    assert queue.get(None, found, browse) == b"hello"
    assert found.MsgId == md.MsgId
    assert queue.get() == b"hello"
    assert reason_of(queue.get) == CMQC.MQRC_NO_MSG_AVAILABLE
    unit = mq.PMO()
    unit.Options = CMQC.MQPMO_SYNCPOINT
    queue.put(b"unit", mq.MD(), unit)
    qmgr.backout()
    assert depth(queue) == 0
    unit.Options |= CMQC.MQPMO_ASYNC_RESPONSE
    for _ in range(50):
        queue.put(b"unit", mq.MD(), unit)
    qmgr.commit()
    assert qmgr.stat(CMQC.MQSTAT_TYPE_ASYNC_ERROR).PutSuccessCount == 50
    assert [queue.get() for _ in range(50)] == [b"unit"] * 50
    large = bytes(3_000_000)
    qmgr.put1("Q", large)
    assert queue.get() == large


def properties(qmgr, queue):
    """Properties of a message, put and got."""
    handle, got = mq.MessageHandle(qmgr), mq.MessageHandle(qmgr)
    handle.properties.set("color", "blue")
    handle.properties.set("number", 5, CMQC.MQTYPE_INT32, 4)
    pmo = mq.PMO(Version=CMQC.MQPMO_VERSION_3)
    pmo.OriginalMsgHandle = handle.msg_handle
    queue.put(b"", mq.MD(), pmo)
    gmo = mq.GMO(Version=CMQC.MQGMO_VERSION_4)
    gmo.MsgHandle, gmo.Options = got.msg_handle, CMQC.MQGMO_PROPERTIES_IN_HANDLE
    queue.get(None, mq.MD(), gmo)
    assert (got.properties.get("color"), got.properties.get("number")) == ("blue", 5)


def callbacks(qmgr, queue):
    """Messages that come to a function, one of which stops the calls."""
    got = []

    def take(**arguments):
        got.append(arguments["msg"])

    descriptor, gmo = mq.CBD(), mq.GMO()
    descriptor.CallbackFunction, gmo.Options = take, CMQC.MQGMO_NO_SYNCPOINT
    queue.cb(operation=CMQC.MQOP_REGISTER, md=mq.MD(), gmo=gmo, cbd=descriptor)
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    other = mq.connect("QM1")
    for number in range(20):
        other.put1("Q", b"%d" % number)
    while len(got) < 20:
        time.sleep(0.001)
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    queue.cb(operation=CMQC.MQOP_DEREGISTER, cbd=descriptor)
    other.put1("Q", b"after")
    other.disconnect()
    assert got == [b"%d" % number for number in range(20)]
    assert queue.get() == b"after"


def publications(qmgr):
    """A managed subscription, and a publication for it."""
    descriptor = mq.SD()
    descriptor.Options = CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED | CMQC.MQSO_NON_DURABLE
    descriptor.set_vs("ObjectString", "prices/tea")
    subscription = mq.Subscription(qmgr)
    subscription.sub(sub_desc=descriptor)
    topic = mq.Topic(qmgr, topic_string="prices/tea")
    topic.open(open_opts=CMQC.MQOO_OUTPUT)
    topic.pub(b"4.20")
    assert subscription.get() == b"4.20"
    topic.close()
    subscription.close(close_sub_queue=True)


def main():
    """Connect, work, disconnect."""
    qmgr = mq.connect("QM1")
    options = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_INQUIRE | CMQC.MQOO_BROWSE
    queue = mq.Queue(qmgr, "Q", options)
    messages(qmgr, queue)
    properties(qmgr, queue)
    callbacks(qmgr, queue)
    publications(qmgr)
    assert reason_of(mq.Queue(qmgr, "NONE.SUCH").put, b"") == CMQC.MQRC_UNKNOWN_OBJECT_NAME
    queue.close()
    qmgr.disconnect()


main()
