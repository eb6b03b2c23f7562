"""Puts by one member of a group and gets by the other, through ``ibmmq``. It is run with a Python of its own."""

# mypy: ignore-errors

import sys

import ibmmq as mq
from ibmmq import CMQC

try:
    import redis
except ImportError:
    redis = None
assert redis is None, "it shall need no Redis"

putter, getter = mq.connect("QM1"), mq.connect("QM2")
there = mq.OD()
there.ObjectName, there.ObjectQMgrName = "PRIVATE", "QM2"
to_private = mq.Queue(putter, there, CMQC.MQOO_OUTPUT)
shared = mq.Queue(putter, "SHARED", CMQC.MQOO_OUTPUT)
unit, wait = mq.PMO(), mq.GMO()
unit.Options = CMQC.MQPMO_SYNCPOINT
wait.Options, wait.WaitInterval = CMQC.MQGMO_WAIT | CMQC.MQGMO_SYNCPOINT, 30_000
for number in range(100):
    to_private.put(b"private %d" % number, mq.MD(), unit)
    shared.put(b"shared %d" % number, mq.MD(), unit)
putter.commit()
for name in ("private", "shared"):
    queue = mq.Queue(getter, name.upper(), CMQC.MQOO_INPUT_SHARED)
    got = [queue.get(None, mq.MD(), wait) for _ in range(100)]
    assert got == [b"%s %d" % (name.encode(), number) for number in range(100)], got
    getter.commit()
putter.disconnect()
getter.disconnect()
sys.stdout.write("done\n")
