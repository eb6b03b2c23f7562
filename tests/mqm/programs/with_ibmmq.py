"""Works with the queue Q of QM1 through ``ibmmq``. It is run with a Python of its own."""

# mypy: ignore-errors

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


def main():
    """Connect, work, disconnect."""
    qmgr = mq.connect("QM1")
    options = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_INQUIRE | CMQC.MQOO_BROWSE
    queue = mq.Queue(qmgr, "Q", options)
    messages(qmgr, queue)
    properties(qmgr, queue)
    assert reason_of(mq.Queue(qmgr, "NONE.SUCH").put, b"") == CMQC.MQRC_UNKNOWN_OBJECT_NAME
    queue.close()
    qmgr.disconnect()


main()
