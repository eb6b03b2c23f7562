"""Holds a durable subscription open until its input ends."""

# mypy: ignore-errors

import sys

import ibmmq as mq
from ibmmq import CMQC

description = mq.SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_RESUME | CMQC.MQSO_DURABLE | CMQC.MQSO_MANAGED)
description.set_vs("SubName", "UNITTEST kept")
description.set_vs("ObjectString", "kept")
# Without a name it would be closed.
connection = mq.connect("QM1")
subscription = mq.Subscription(connection)
subscription.sub(sub_desc=description)
print("held", flush=True)
sys.stdin.read()
