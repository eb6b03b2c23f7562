"""A wrong value in any member of any structure of pymqi is a reason, or the exception with which pymqi packs nothing.

These are a TypeError for text where bytes are needed, and a struct.error for everything that a C structure has no place
for. The connection goes on in any case.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sharedq import pymqi
from sharedq.pymqi import BMHO, CD, CMHO, CMQC, DMHO, DMPO, GMO, MD, MHBO, OD, PD, PMO, SCO, SD, SMPO, SRO, MQOpts
from sharedq.pymqi.structures import pcf
from tests.support.accounts import assert_accounted
from tests.support.members import TestGroup
from tests.support.wrong_values import WRONG

#: Those that a program finds in messages, and those of messages to the command server: no call of the MQI takes them.
OF_MESSAGES = {"TM", "TMC2", "XQH", "RFH2", *(name for name in vars(pcf) if name.startswith("CF"))}
#: A call takes their members as its arguments.
AS_ARGUMENTS = {"IMPO"}
BOTH = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_INQUIRE | CMQC.MQOO_SET | CMQC.MQOO_BROWSE
HEADER = b"RFH \2\0\0\0\x24\0\0\0\x22\2\0\0\xb8\4\0\0        \0\0\0\0\xb8\4\0\0"


class Program:
    """A connection with one of everything, and calls with right structures."""

    def __init__(self, options: int) -> None:
        self.qmgr = qmgr = pymqi.connect("QM1", cno_options=options)
        self.hconn = qmgr._hconn()
        self.queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
        self.topic = pymqi.Topic(qmgr, topic_string="T", open_opts=CMQC.MQOO_OUTPUT)
        self.subscription = pymqi.Subscription(qmgr)
        self.subscription.sub(topic_string="T")
        self.handle = pymqi.MessageHandle(qmgr)
        self.handle.properties.set("colour", "red")
        number = self.handle.msg_handle
        self.calls: dict[str, tuple[Callable[..., Any], list[Any]]] = {
            "connect": (self.connect, [CD(), SCO()]),
            "open": (lambda od: pymqi.Queue(qmgr, od, BOTH).close(), [OD(ObjectName=b"ORDERS")]),
            "open a model queue": (
                lambda od: pymqi.Queue(qmgr, od, BOTH).close(),
                [OD(ObjectName=b"SYSTEM.DEFAULT.MODEL.QUEUE", Version=4)],
            ),
            "open a topic": (
                lambda od: pymqi.Topic(qmgr, topic_desc=od, open_opts=CMQC.MQOO_OUTPUT).close(),
                [_of_topic()],
            ),
            "put": (lambda md, pmo: self.queue.put(b"x", md, pmo), [MD(), PMO()]),
            "put with properties": (
                lambda md, pmo: self.queue.put(b"x", md, pmo),
                [MD(Version=2), PMO(Version=3, NewMsgHandle=number)],
            ),
            "put text": (lambda md: self.queue.put("x", md), [MD()]),
            "put after a header": (
                lambda md, rfh2: self.queue.put_rfh2(b"x", md, None, [rfh2]),
                [MD(Format=CMQC.MQFMT_RF_HEADER_2), pymqi.RFH2()],
            ),
            "put1": (lambda od, md, pmo: qmgr.put1(od, b"x", md, pmo), [OD(ObjectName=b"ORDERS"), MD(), PMO()]),
            "publish": (lambda md, pmo: self.topic.pub(b"x", md, pmo), [MD(), PMO()]),
            "get": (lambda md, gmo: self.queue.get(None, md, gmo), [MD(), GMO()]),
            "get with a handle": (
                lambda md, gmo: self.queue.get(100, md, gmo),
                [MD(Version=2), GMO(Version=4, MsgHandle=number)],
            ),
            "get without properties": (lambda md, gmo: self.queue.get_no_jms(100, md, gmo), [MD(), GMO()]),
            "get headers": (lambda md, gmo: self.queue.get_rfh2(None, md, gmo, []), [MD(), GMO()]),
            "get a publication": (lambda md, gmo: self.subscription.get(None, md, gmo), [MD(), GMO()]),
            "subscribe": (self.subscribe, [_of_subscription()]),
            "request": (self.subscription.request, [SRO()]),
            "make a handle": (lambda cmho: pymqi.MessageHandle(qmgr, cmho).dlt(), [CMHO()]),
            "delete a handle": (lambda dmho: pymqi.MessageHandle(qmgr).dlt(dmho), [DMHO()]),
            "set a property": (
                lambda pd, smpo: self.handle.properties.set("size", "5", pd=pd, smpo=smpo),
                [PD(), SMPO()],
            ),
            "delete a property": (lambda dmpo: self.handle.properties.dlt("size", dmpo), [DMPO()]),
            "from a buffer": (
                lambda bmho, md: self.handle.from_buffer(md, HEADER, bmho),
                [BMHO(), MD(Format=CMQC.MQFMT_RF_HEADER_2)],
            ),
            "to a buffer": (lambda mhbo, md: self.handle.to_buffer("%", md, mhbo), [MHBO(), MD()]),
        }

    def connect(self, cd: CD, sco: SCO) -> None:
        made = pymqi.QueueManager(None)
        made.connect_with_options("QM1", cd=cd, sco=sco)
        made.disconnect()

    def subscribe(self, sd: SD) -> None:
        made = pymqi.Subscription(self.qmgr)
        made.sub(sd)
        made.close(CMQC.MQCO_REMOVE_SUB, close_sub_queue=True)


def _of_topic() -> OD:
    od = OD(ObjectType=CMQC.MQOT_TOPIC, Version=4)
    od.set_vs("ObjectString", b"T")
    return od


def _of_subscription() -> SD:
    sd = SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED)
    sd.set_vs("ObjectString", b"T")
    return sd


def copy_of(structure: MQOpts) -> MQOpts:
    kind: Any = type(structure)
    copy: MQOpts = kind()
    copy.set(**structure.get())
    copy._strings = dict(structure._strings)
    return copy


def with_each_value(right: list[MQOpts], at: int) -> Iterator[tuple[str, list[MQOpts]]]:
    """The structures, with each wrong value in each member of the one at this place."""
    for name, *_, format_ in [(member[0], member[2]) for member in right[at]._members]:
        for value in WRONG:
            # A number in the place of a pointer, or a length of what it points to, is as wrong as in C.
            if hasattr(value, "__index__") and (format_ == "P" or name.endswith("VSLength")):
                continue
            given = [copy_of(each) for each in right]
            setattr(given[at], name, value)
            yield f"{type(right[at]).__name__}.{name} {value!r:.80}", given


def attempt(call: Callable[..., Any], given: list[MQOpts], said: str) -> None:
    try:
        call(*given)
    except pymqi.MQMIError as error:
        if error.reason in (CMQC.MQRC_CONNECTION_BROKEN, CMQC.MQRC_UNEXPECTED_ERROR):
            raise AssertionError(f"{said}: {error}") from error
    except (pymqi.PYIFError, struct.error):
        pass
    except TypeError as error:
        if "is text where bytes are needed" not in str(error):
            raise AssertionError(f"{said}: {error!r}") from error
    except Exception as error:
        raise AssertionError(f"{said}: {error!r}") from error


STRUCTURES = sorted(
    name
    for name, kind in vars(pymqi).items()
    if isinstance(kind, type) and issubclass(kind, MQOpts) and kind is not MQOpts and name == kind.__name__
)


@pytest.mark.parametrize(
    ("structure", "options"),
    [
        *((name, CMQC.MQCNO_NONE) for name in sorted({*STRUCTURES} - OF_MESSAGES - AS_ARGUMENTS | {"RFH2"})),
        # A connection that reconnects looks at the options itself.
        ("PMO", CMQC.MQCNO_RECONNECT),
        ("GMO", CMQC.MQCNO_RECONNECT),
    ],
)
def test_each_member_takes_each_wrong_value(qsg: TestGroup, structure: str, options: int) -> None:
    program, made = Program(options), 0
    connection = program.hconn.connection
    for name, (call, right) in program.calls.items():
        for at, each in enumerate(right):
            if type(each).__name__ != structure:
                continue
            for what, given in with_each_value(right, at):
                attempt(call, given, f"{name}: {what}")
                assert not connection.is_ended, f"{name}: {what}"
                made += 1
    # No structure is left out.
    assert made
    program.qmgr.backout()
    assert isinstance(program.queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH), int)
    assert_accounted(qsg.group)
