"""A wrong value in any argument of any call of pymqi is an error of pymqi's: no other exception of Python.

The calls are found in the classes; each argument of each call takes each wrong value. The connection goes on after it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from typing import Any

import pytest

from sharedq import pymqi
from sharedq.pymqi import CD, CMQC, CMQCFC, GMO, IMPO, MD, OD, PD, PMO, RFH2, SCO, SD, SMPO, SRO, MQOpts
from sharedq.pymqi.connection.message_handle import MessageHandle
from tests.pymqi.test_wrong_structures import BOTH, HEADER, STRUCTURES
from tests.support.accounts import assert_accounted
from tests.support.members import TestGroup
from tests.support.wrong_values import WRONG

#: Its classes and functions, but for the errors and for what looks at one value alone.
PURE = {"Error", "MQMIError", "PYIFError", "ByteString", "default", "is_unicode", "padded_count", "py23long"}
#: Under two names.
OTHER_NAMES = {"commonQArgs", "makeQDesc", "connectWithOptions", "connectTCPClient", "get_no_rfh2", "getHandle"}
#: Any value is right, or a wrong one is seen by a later call.
WITHOUT_ARGUMENTS = {"stringifyKeys"}
FOLDER = b"<usr><colour>red</colour></usr>"


def public_calls() -> set[str]:
    """Every function and method with an argument."""
    found = set()
    for name in pymqi.__all__:
        kind = getattr(pymqi, name)
        if name in PURE | OTHER_NAMES or not callable(kind) or (isinstance(kind, type) and name != kind.__name__):
            continue
        if not isinstance(kind, type):
            found.add(name)
            continue
        for method, function in inspect.getmembers(kind, callable):
            is_own = method not in OTHER_NAMES | WITHOUT_ARGUMENTS and (method == "__init__" or method[0] != "_")
            if is_own and inspect.isroutine(function) and function.__module__ != "builtins":
                parameters = list(inspect.signature(function).parameters)
                if [each for each in parameters if each != "self"]:
                    found.add(f"{_owner(kind, method)}.{method}")
    found |= {f"properties.{name}" for name in ("get", "set", "dlt", "__getitem__", "__setitem__")}
    return found


def _owner(kind: type, method: str) -> str:
    """The class that defines a method: one is enough of all that inherit it."""
    return next(each.__name__ for each in kind.__mro__ if method in vars(each)).lstrip("_")


class Program:
    """A connection with one of everything, and calls with right arguments, by the names of `public_calls`."""

    def __init__(self) -> None:
        self.qmgr = qmgr = pymqi.connect("QM1")
        self.queue = queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
        self.topic = topic = pymqi.Topic(qmgr, topic_string="T", open_opts=CMQC.MQOO_OUTPUT)
        self.subscription = subscription = pymqi.Subscription(qmgr)
        subscription.sub(topic_string="T")
        self.handle = handle = pymqi.MessageHandle(qmgr)
        handle.properties.set("colour", "red")
        self.commands = commands = pymqi.PCFExecute(qmgr, response_wait_interval=1)
        properties = handle.properties
        self.kept: list[pymqi.Queue] = []
        self.calls: dict[str, tuple[Callable[..., Any], list[Any]]] = {
            "connect": (
                lambda *given: pymqi.connect(*given[:8], conn_tag=given[8], cno_options=given[9]).disconnect(),
                ["QM1", "CH", "", "me", "secret", True, "utf8", 1208, b"", CMQC.MQCNO_NONE],
            ),
            "QueueManager.__init__": (
                lambda *given: pymqi.QueueManager(*given).disconnect(),
                ["QM1", True, "utf8", 1208],
            ),
            "QueueManager.connect": (self.connected("connect"), ["QM1"]),
            "QueueManager.connect_with_options": (
                lambda name, cd, sco, user, password, opts, tag: self.connected("connect_with_options")(
                    name, cd=cd, sco=sco, user=user, password=password, opts=opts, conn_tag=tag
                ),
                ["QM1", CD(), SCO(), "me", "secret", CMQC.MQCNO_NONE, b""],
            ),
            "QueueManager.connect_tcp_client": (
                self.connected("connect_tcp_client"),
                ["QM1", CD(), "CH", "host(1414)", "me", "secret"],
            ),
            "QueueManager.put1": (qmgr.put1, ["ORDERS", b"x", MD(), PMO()]),
            "QueueManager.inquire": (qmgr.inquire, [CMQC.MQCA_Q_MGR_NAME]),
            "Queue.__init__": (lambda *given: pymqi.Queue(*given).close(), [qmgr, "ORDERS", BOTH]),
            "Queue.open": (self.opened, ["ORDERS", BOTH]),
            "Queue.put": (queue.put, [b"x", MD(), PMO()]),
            "Queue.put_rfh2": (queue.put_rfh2, [b"x", MD(Format=CMQC.MQFMT_RF_HEADER_2), PMO(), [RFH2()]]),
            "Queue.get": (queue.get, [100, MD(), GMO()]),
            "Queue.get_no_jms": (queue.get_no_jms, [100, MD(), GMO()]),
            "Queue.get_rfh2": (queue.get_rfh2, [100, MD(), GMO(), []]),
            "Queue.close": (lambda options: pymqi.Queue(qmgr, "ORDERS", BOTH).close(options), [CMQC.MQCO_NONE]),
            "Queue.inquire": (queue.inquire, [CMQC.MQIA_CURRENT_Q_DEPTH]),
            "Queue.set": (queue.set, [CMQC.MQIA_INHIBIT_GET, CMQC.MQQA_GET_ALLOWED]),
            "Queue.set_handle": (self.handed, [queue.get_handle()]),
            "Topic.__init__": (
                lambda *given: pymqi.Topic(*given).close(),
                [qmgr, "", "T", None, CMQC.MQOO_OUTPUT],
            ),
            "Topic.open": (
                lambda *given: self.opened_topic(*given).close(),
                ["", "T", None, CMQC.MQOO_OUTPUT],
            ),
            "Topic.pub": (topic.pub, [b"x", MD(), PMO()]),
            "Topic.pub_rfh2": (topic.pub_rfh2, [b"x", MD(Format=CMQC.MQFMT_RF_HEADER_2), PMO(), [RFH2()]]),
            "Topic.sub": (lambda *given: topic.sub(*given).close(), [_of_subscription(), None]),
            "Topic.close": (self.closed_topic, [CMQC.MQCO_NONE]),
            "Subscription.__init__": (
                lambda *given: pymqi.Subscription(*given).close(),
                [qmgr, _of_subscription(), "", None, None, "", "T"],
            ),
            "Subscription.sub": (
                self.subscribed,
                [_of_subscription(), None, "", CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED, "", "T"],
            ),
            "Subscription.get": (subscription.get, [100, MD(), GMO()]),
            "Subscription.get_rfh2": (subscription.get_rfh2, [100, MD(), GMO(), []]),
            "Subscription.request": (subscription.request, [SRO()]),
            "Subscription.close": (self.unsubscribed, [CMQC.MQCO_NONE, True, CMQC.MQCO_NONE]),
            "PCFExecute.__init__": (
                lambda *given: pymqi.PCFExecute(*given).disconnect(),
                [
                    "QM1",
                    True,
                    b"SYSTEM.DEFAULT.MODEL.QUEUE",
                    b"PYMQPCF.*",
                    b"SYSTEM.ADMIN.COMMAND.QUEUE",
                    5000,
                    False,
                ],
            ),
            "PCFExecute.command": (commands.MQCMD_PING_Q_MGR, [{CMQC.MQCA_Q_NAME: b"A"}, [pymqi.Filter(1).equal(1)]]),
            "PCFExecute.parameter": (
                lambda key, value: commands.MQCMD_INQUIRE_Q({key if isinstance(key, Hashable) else None: value}),
                [CMQC.MQCA_Q_NAME, b"A"],
            ),
            "PCFExecute.parameters": (
                lambda one, filter_: commands.MQCMD_INQUIRE_Q([one], [filter_]),
                [pymqi.CFST(), pymqi.Filter(1).equal(1)],
            ),
            "PCFExecute.list": (
                lambda one, other: commands.MQCMD_INQUIRE_Q({CMQCFC.MQIACF_Q_ATTRS: [one, other]}),
                [1, 2],
            ),
            "PCFExecute.stringify_keys": (commands.stringify_keys, [{1: b"x"}]),
            "PCFExecute.unpack": (commands.unpack, [pymqi.CFH().pack()]),
            "Filter.__init__": (lambda given: pymqi.Filter(given).like(b"A*"), [CMQC.MQCA_Q_NAME]),
            "FilterOperator.__init__": (pymqi.FilterOperator, [CMQC.MQCA_Q_NAME, "like"]),
            "StringFilter.structure": (
                lambda *given: pymqi.StringFilter(*given).structure().pack(),
                [CMQC.MQCA_Q_NAME, b"A*", CMQCFC.MQCFOP_LIKE],
            ),
            "IntegerFilter.structure": (
                lambda *given: pymqi.IntegerFilter(*given).structure().pack(),
                [CMQC.MQIA_Q_TYPE, 1, CMQCFC.MQCFOP_EQUAL],
            ),
            "AttributeFilter.__init__": (
                pymqi.StringFilter,
                [CMQC.MQCA_Q_NAME, b"A*", CMQCFC.MQCFOP_LIKE],
            ),
            "MessageHandle.__init__": (lambda *given: MessageHandle(*given).dlt(), [qmgr, pymqi.CMHO()]),
            "MessageHandle.dlt": (lambda given: MessageHandle(qmgr).dlt(given), [pymqi.DMHO()]),
            "MessageHandle.from_buffer": (
                handle.from_buffer,
                [MD(Format=CMQC.MQFMT_RF_HEADER_2), HEADER, pymqi.BMHO()],
            ),
            "MessageHandle.to_buffer": (handle.to_buffer, ["%", MD(), pymqi.MHBO()]),
            "properties.get": (properties.get, ["colour", None, 64, CMQC.MQIMPO_INQ_FIRST, 0, CMQC.MQTYPE_AS_SET]),
            "properties.set": (
                properties.set,
                ["size", "5", CMQC.MQTYPE_STRING, CMQC.MQVL_NULL_TERMINATED, PD(), SMPO()],
            ),
            "properties.__getitem__": (properties.__getitem__, ["colour"]),
            "properties.__setitem__": (properties.__setitem__, ["shape", "round"]),
            "properties.dlt": (properties.dlt, ["shape", pymqi.DMPO()]),
            "MQOpts.__init__": (MQOpts, [[("Version", 1, pymqi.MQLONG_TYPE)]]),
            "MQOpts.unpack": (MD().unpack, [MD().pack()]),
            "MQOpts.set": (lambda given: _packed(MD(), Version=given), [1]),
            "MQOpts.set_vs": (_pointed, ["ObjectString", b"T", 0, 0, 0]),
            "MQOpts.get_vs": (OD().get_vs, ["ObjectString"]),
            "MQOpts.return_vs": (OD().return_vs, ["ObjectString", b"T"]),
            "MQOpts.pack": (lambda given: _packed(GMO(), Options=given), [0]),
            "RFH2.add_folder": (lambda given: RFH2().add_folder(given), [FOLDER]),
            "RFH2.pack": (RFH2().pack, [CMQC.MQENC_NATIVE]),
            "RFH2.unpack": (RFH2().unpack, [HEADER, CMQC.MQENC_NATIVE]),
            "RFH2.read": (RFH2().read, [HEADER, 0, CMQC.MQENC_NATIVE]),
            "make_q_desc": (lambda given: pymqi.make_q_desc(given).pack(), ["ORDERS"]),
            "common_q_args": (pymqi.common_q_args, [MD(), PMO()]),
            "ensure_bytes": (pymqi.ensure_bytes, ["x"]),
            "ensure_not_unicode": (pymqi.ensure_not_unicode, [b"x"]),
        }
        for name in ("MD", "GMO", "PMO", "OD", "CD", "SCO", "SD", "SRO", "CMHO", "PD", "RFH2", "CFH"):
            self.calls[f"{name}.__init__"] = (self.made(getattr(pymqi, name)), [1])
        for name, members in PARAMETERS.items():
            self.calls[f"{name}.__init__"] = (
                self.parameter(getattr(pymqi, name), list(members)),
                list(members.values()),
            )

    @staticmethod
    def made(kind: Any) -> Callable[..., Any]:
        return lambda given: kind(Version=given).pack()

    @staticmethod
    def parameter(kind: Any, members: list[str]) -> Callable[..., Any]:
        return lambda *given: kind(**dict(zip(members, given, strict=True))).pack()

    @staticmethod
    def connected(method: str) -> Callable[..., Any]:
        def connect(*args: Any, **kwargs: Any) -> None:
            made = pymqi.QueueManager(None)
            getattr(made, method)(*args, **kwargs)
            made.disconnect()

        return connect

    def opened(self, *given: Any) -> None:
        queue = pymqi.Queue(self.qmgr)
        queue.open(*given)
        queue.close()

    def handed(self, number: Any) -> None:
        queue = pymqi.Queue(self.qmgr)
        queue.set_handle(number)
        # A dropped queue closes what it was handed.
        self.kept.append(queue)
        queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)

    def opened_topic(self, *given: Any) -> pymqi.Topic:
        topic = pymqi.Topic(self.qmgr)
        topic.open(*given)
        return topic

    def closed_topic(self, options: Any) -> None:
        pymqi.Topic(self.qmgr, topic_string="T", open_opts=CMQC.MQOO_OUTPUT).close(options)

    def subscribed(self, *given: Any) -> None:
        made = pymqi.Subscription(self.qmgr)
        made.sub(*given)
        made.close(CMQC.MQCO_REMOVE_SUB, close_sub_queue=True)

    def unsubscribed(self, *given: Any) -> None:
        made = pymqi.Subscription(self.qmgr)
        made.sub(topic_string="T")
        made.close(*given)


#: A parameter of PCF with its members.
PARAMETERS: dict[str, dict[str, Any]] = {
    "CFBF": {"Parameter": 1, "Operator": 1, "FilterValue": b"x", "FilterValueLength": 1},
    "CFBS": {"Parameter": 1, "String": b"x", "StringLength": 1},
    "CFGR": {"Parameter": 1, "ParameterCount": 1},
    "CFIF": {"Parameter": 1, "Operator": 1, "FilterValue": 1},
    "CFIL": {"Parameter": 1, "Values": [1], "Count": 1},
    "CFIL64": {"Parameter": 1, "Values": [1], "Count": 1},
    "CFIN": {"Parameter": 1, "Value": 1},
    "CFIN64": {"Parameter": 1, "Value": 1},
    "CFSF": {"Parameter": 1, "Operator": 1, "FilterValue": b"x", "FilterValueLength": 1},
    "CFSL": {"Parameter": 1, "Strings": [b"x"], "StringLength": 1, "Count": 1},
    "CFST": {"Parameter": 1, "String": b"x", "StringLength": 1},
}


def _of_subscription() -> SD:
    sd = SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED)
    sd.set_vs("ObjectString", b"T")
    return sd


def _packed(structure: MQOpts, **members: Any) -> bytes:
    structure.set(**members)
    return structure.pack()


def _pointed(*given: Any) -> bytes:
    od = OD()
    od.set_vs(*given)
    return od.pack()


def attempt(call: Callable[..., Any], given: list[Any], said: str) -> str:
    try:
        call(*given)
    except pymqi.MQMIError as error:
        if error.reason in (CMQC.MQRC_CONNECTION_BROKEN, CMQC.MQRC_UNEXPECTED_ERROR):
            return f"{said}: {error}"
    except pymqi.Error:
        pass
    except Exception as error:  # noqa: BLE001
        return f"{said}: {error!r}"
    return ""


@pytest.mark.usefixtures("qsg")
def test_each_call_is_tried() -> None:
    tried = set(Program().calls)
    # Structures that only have other members than those that are tried.
    alike = {f"{name}.__init__" for name in (*STRUCTURES, "Declared")}
    assert public_calls() - tried - alike == set()


def test_each_argument_takes_each_wrong_value(qsg: TestGroup) -> None:
    program = Program()
    connection, wrong = program.qmgr._hconn().connection, []
    for name, (call, right) in program.calls.items():
        for at in range(len(right)):
            for value in [*WRONG, MD(), RFH2(), IMPO(), program.queue, program.qmgr]:
                given = [*right[:at], value, *right[at + 1 :]]
                wrong.append(attempt(call, given, f"{name} argument {at} {value!r:.60}"))
                assert not connection.is_ended, f"{name} argument {at} {value!r:.60}"
    assert "\n".join(filter(None, wrong)) == ""
    program.qmgr.backout()
    assert isinstance(program.queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH), int)
    assert_accounted(qsg.group)
