"""A wrong argument of any call is one clear error. The connection, its unit of work and every key stay as they were.

The calls are made with random values in the place of right ones: other types, and values beyond what fits.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from sharedq import MessageHandle, MQIError, verbs
from sharedq.api import QueueManagerConnection
from sharedq.callbacks.calls import mqcb, mqctl
from sharedq.callbacks.structures import MQCBD, MQCTLO
from sharedq.mqi.constants import MQCC, MQRC, CloseOption, GetOption, ObjectType, OpenOption, PutOption, SubOption
from sharedq.mqi.structures import (
    MQBMHO,
    MQCMHO,
    MQCNO,
    MQDMHO,
    MQDMPO,
    MQGMO,
    MQIMPO,
    MQMD,
    MQMHBO,
    MQOD,
    MQPD,
    MQPMO,
    MQSD,
    MQSMPO,
    MQSRO,
    MQSTS,
)
from sharedq.mqi.xa import XAError
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from tests.support.accounts import assert_accounted
from tests.support.groups import BOTH, drain
from tests.support.members import TestGroup

OPEN = int(BOTH | OpenOption.INQUIRE | OpenOption.SET | OpenOption.BROWSE)
TEXTS: list[Any] = ["x", "", "é", "\ud800", "a\0b", "%", "x" * 20_000]
DATA: list[Any] = [b"", b"x", b"\xff\xfe", bytes(24), b"A" * 60, b"a//#", b"MQHRF2  ", bytearray(b"x"), b"QM1"]
NUMBERS: list[Any] = [0, 1, -1, 2, 3, 9, 99, 255, 1208, 2**31 - 1, 2**31, -(2**31) - 1, 2**63, 2**80, 2**32 - 1]
OTHERS: list[Any] = [None, 1.5, float("nan"), True, [], {}, (), object(), MQMD(), MQGMO(), MQPMO(), print, type]
VALUES = TEXTS + DATA + NUMBERS + OTHERS
#: Wrong arguments may never be answered with these: lost, or an error without a reason.
NEVER = {MQRC.CONNECTION_BROKEN, MQRC.UNEXPECTED_ERROR}


class Program:
    """A connection with one of everything, and calls with right arguments."""

    def __init__(self, group: TestGroup, dice: random.Random) -> None:
        self.dice = dice
        self.api = group.connect()
        self.hconn = self.api.connection
        self.kept = self.api.open("KEPT", OpenOption.OUTPUT)
        self.queue = self.api.open("Q", OPEN)
        self.private = self.api.open("P", OPEN)
        self.api_topic = self.api.open_topic("a/b")
        self.subscription = self.api.subscribe("a/#")
        self.topic, _, _ = verbs.mqopen(
            self.hconn, MQOD(4, int(ObjectType.TOPIC), object_string=b"a/b"), int(OpenOption.OUTPUT)
        )
        self.sub, _, _ = verbs.mqsub(
            self.hconn, MQSD(object_string=b"a/#", options=int(SubOption.CREATE | SubOption.MANAGED))
        )
        self.qmgr, _, _ = verbs.mqopen(self.hconn, MQOD(object_type=int(ObjectType.Q_MGR)), int(OpenOption.INQUIRE))
        self.message, _, _ = verbs.mqcrtmh(self.hconn, MQCMHO())
        self.properties = MessageHandle()
        self.properties.set("colour", "red")
        self.group = group
        self.calls = self.of_verbs() | self.of_api()

    def of_verbs(self) -> dict[str, tuple[Callable[..., Any], list[Any]]]:
        c, q, m = self.hconn, self.queue.handle, self.message
        header = b"RFH \2\0\0\0\x24\0\0\0\x22\2\0\0\xb8\4\0\0        \0\0\0\0\xb8\4\0\0"
        return {
            "mqconnx": (self.connected, [self.group.group, "QM1", MQCNO(), "program"]),
            "mqopen": (self.opened, [c, MQOD(4, object_name=b"Q", selection_string="a = 1"), OPEN]),
            "mqopen of a model": (self.opened, [c, MQOD(object_name=b"SYSTEM.DEFAULT.MODEL.QUEUE"), OPEN]),
            "mqopen of a topic": (self.opened, [c, MQOD(4, 8, object_string=b"a/b"), int(OpenOption.OUTPUT)]),
            "mqclose": (verbs.mqclose, [c, self.api.open("Q", OPEN).handle, 0]),
            "mqput": (verbs.mqput, [c, q, MQMD(), MQPMO(), b"x"]),
            "mqput to a topic": (verbs.mqput, [c, self.topic, MQMD(), MQPMO(), b"x"]),
            "mqput with properties": (verbs.mqput, [c, q, MQMD(), MQPMO(3, new_msg_handle=m), b"x"]),
            "mqput later": (
                verbs.mqput,
                [c, q, MQMD(), MQPMO(options=int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)), b"x"],
            ),
            "mqput1": (verbs.mqput1, [c, MQOD(object_name=b"P"), MQMD(), MQPMO(), b"x"]),
            "mqget": (verbs.mqget, [c, q, MQMD(), MQGMO(), 100]),
            "mqget converted": (verbs.mqget, [c, q, MQMD(), MQGMO(options=int(GetOption.CONVERT)), 100]),
            "mqget with a handle": (verbs.mqget, [c, q, MQMD(), MQGMO(4, msg_handle=m), 100]),
            "mqget of a topic's queue": (verbs.mqget, [c, self.subscription.queue.handle, MQMD(), MQGMO(), 100]),  # type: ignore[union-attr]
            "mqinq": (verbs.mqinq, [c, q, [3, 2016]]),
            "mqinq of a queue manager": (verbs.mqinq, [c, self.qmgr, [2015]]),
            "mqset": (verbs.mqset, [c, self.private.handle, {10: 0}]),
            "mqsub": (
                self.subscribed,
                [c, MQSD(object_string=b"b/#", options=int(SubOption.CREATE | SubOption.MANAGED)), None],
            ),
            "mqsubrq": (verbs.mqsubrq, [c, self.sub, 1, MQSRO()]),
            "mqstat": (verbs.mqstat, [c, MQSTS(), 0]),
            "mqbegin": (verbs.mqbegin, [c]),
            "mqcrtmh": (verbs.mqcrtmh, [c, MQCMHO()]),
            "mqdltmh": (verbs.mqdltmh, [c, verbs.mqcrtmh(c, MQCMHO())[0], MQDMHO()]),
            "mqsetmp": (verbs.mqsetmp, [c, m, MQSMPO(), "size", MQPD(), 64, 5]),
            "mqsetmp of the descriptor": (verbs.mqsetmp, [c, m, MQSMPO(), "Root.MQMD.Format", MQPD(), 1024, "F"]),
            "mqinqmp": (verbs.mqinqmp, [c, m, MQIMPO(), "%", MQPD(), 0, 100]),
            "mqdltmp": (verbs.mqdltmp, [c, m, MQDMPO(), "size"]),
            "mqbufmh": (verbs.mqbufmh, [c, m, MQBMHO(), MQMD(format=b"MQHRF2  "), header]),
            "mqmhbuf": (verbs.mqmhbuf, [c, m, MQMHBO(), "%", MQMD(), 1000]),
            "mqxcnvc": (verbs.mqxcnvc, [c, 0, 1208, b"abc", 37, 10]),
            "mqcb": (mqcb, [c, 0x100, MQCBD(callback_function=print), q, MQMD(), MQGMO()]),
            "mqcb of none": (mqcb, [c, 0x200, MQCBD(), q, MQMD(), MQGMO()]),
            "mqctl": (lambda ctlo: mqctl(c, 0x4, ctlo), [MQCTLO()]),
            "mqctl of no operation": (lambda operation: mqctl(c, operation), [-1]),
        }

    def of_api(self) -> dict[str, tuple[Callable[..., Any], list[Any]]]:
        connection, queue = self.api, self.queue
        return {
            "connect": (self.reconnected, ["QM1", b"", 0, "program"]),
            "open": (self.api_opened, ["Q", OPEN, "", "CSQ.*", "a = 1"]),
            "put1": (
                lambda name, body, md, qmgr, options, handle: connection.put1(
                    name, body, md, qmgr_name=qmgr, options=options, properties=handle
                ),
                ["P", b"x", MQMD(), "", 0, self.properties],
            ),
            "open_topic": (
                lambda string, name, options: connection.open_topic(string, name=name, options=options).close(),
                ["a/b", "", OpenOption.OUTPUT],
            ),
            "subscribe": (self.api_subscribed, ["c/#", "", "", 34, None, MQSD()]),
            "put": (
                lambda body, md, options, context, handle, original, action: queue.put(
                    body, md, options=options, context=context, properties=handle, original=original, action=action
                ),
                [b"x", MQMD(), 0, None, self.properties, None, 0],
            ),
            "put of data alone": (lambda body, md, options: queue.put(body, md, options=options), [b"x", MQMD(), 0]),
            "put_many": (
                lambda md, body, options: queue.put_many([(MQMD(), b"good"), (md, body)], options=options),
                [MQMD(), b"x", 0],
            ),
            "put_many of": (queue.put_many, [[(MQMD(), b"good")]]),
            "put_many of one": (lambda md, body: queue.put_many([(md, body)]), [MQMD(), b"x"]),
            "get": (
                lambda options, match, match_options, token, length, handle: queue.get(
                    options,
                    match=match,
                    match_options=match_options,
                    msg_token=token,
                    max_length=length,
                    properties=handle,
                ),
                [0, MQMD(), 3, bytes(16), 100, self.properties],
            ),
            "get_many": (queue.get_many, [2, 0]),
            "take_unseen": (queue.take_unseen, [2]),
            "unlock": (queue.unlock, []),
            "inquire": (queue.inquire, [3, 2016]),
            "set": (self.private.set, [{10: 0}]),
            "close": (connection.open("Q", OPEN).close, [0]),
            "publish": (
                lambda body, md, options: self.api_topic.publish(body, md, options=options),
                [b"x", MQMD(), 0],
            ),
            "request": (self.subscription.request, []),
            "get of a subscription": (self.subscription.get, [0]),
            "set of a property": (MessageHandle().set, ["size", 5, 64]),
            "inquire of a property": (
                lambda name, options, wanted: self.properties.inquire(name, options=options, wanted=wanted),
                ["%", 0, 0],
            ),
            "delete of a property": (MessageHandle().delete, ["size"]),
            "get of a property": (self.properties.get, ["colour"]),
            "to_buffer": (self.properties.to_buffer, ["%", MQMD()]),
            "from_buffer": (MessageHandle().from_buffer, [MQMD(), b"x"]),
            "MessageHandle": (MessageHandle, [0]),
            "commit_prepared": (connection.commit_prepared, [b"nothing"]),
        }

    # -- calls that make something, which goes again -------------------------------------------------------------

    def connected(self, *arguments: Any) -> Any:
        made, *codes = verbs.mqconnx(*arguments)
        if made is not None:
            verbs.mqdisc(made)
        return codes

    def reconnected(self, name: Any, tag: Any, options: Any, appl_name: Any) -> None:
        from sharedq.calls.handles.connect import connect_to

        QueueManagerConnection(
            connect_to(self.group.group, name, tag=tag, options=options, appl_name=appl_name)
        ).disconnect()

    def opened(self, *arguments: Any) -> Any:
        made, *codes = verbs.mqopen(*arguments)
        if made is not None:
            verbs.mqclose(self.hconn, made)
        return codes

    def subscribed(self, *arguments: Any) -> Any:
        made, *codes = verbs.mqsub(*arguments)
        if made is not None:
            verbs.mqclose(self.hconn, made, int(CloseOption.REMOVE_SUB))
        return codes

    def api_opened(self, name: Any, options: Any, qmgr: Any, dynamic: Any, selector: Any) -> None:
        self.api.open(name, options, qmgr_name=qmgr, dynamic_name=dynamic, selector=selector).close()

    def api_subscribed(self, string: Any, topic: Any, name: Any, options: Any, queue: Any, descriptor: Any) -> None:
        self.api.subscribe(string, topic=topic, name=name, options=options, queue=queue, descriptor=descriptor).close(
            512
        )

    # -- wrong arguments -----------------------------------------------------------------------------------------

    def make_one(self) -> str:
        """Make one call with wrong arguments; its name and arguments."""
        name = self.dice.choice(list(self.calls))
        call, right = self.calls[name]
        given = [replace(each) if hasattr(each, "__dataclass_fields__") and hasattr(each, "version") else each
                 for each in right]  # fmt: skip
        for _ in range(self.dice.choice([0, 1, 1, 1, 2])):
            at = self.dice.randrange(len(given)) if given else 0
            if given and given[at] not in (self.hconn, self.group.group):
                given[at] = self.wrong(given[at])
        if name == "mqctl of no operation" and given[0] in (1, 2):
            # They start consumers, and the second one waits for them.
            return name
        for each in given:
            if isinstance(each, MQGMO) and isinstance(each.options, int):
                each.options &= ~int(GetOption.WAIT)
        said = f"{name}{str([each for each in given if not isinstance(each, Handle | Connection)])[:2000]}"
        codes = self.codes_of(call, given, said)
        assert not set(codes) & NEVER, f"{said}: {codes}"
        assert not self.hconn.is_ended, said
        return said

    def codes_of(self, call: Callable[..., Any], given: list[Any], said: str) -> list[Any]:
        try:
            found = call(*given)
        except MQIError as error:
            return [error.reason]
        except XAError:
            return []
        except Exception as error:
            raise AssertionError(f"{said}: {error!r}") from error
        return [each for each in found if isinstance(each, MQRC)] if isinstance(found, tuple | list) else []

    def wrong(self, right: Any) -> Any:
        if hasattr(right, "__dataclass_fields__") and hasattr(right, "version") and self.dice.random() < 0.9:
            field = self.dice.choice(fields(right))
            kind = type(getattr(right, field.name))
            alike = [each for each in VALUES if type(each) is kind] + [2 ** self.dice.randrange(32)]
            setattr(right, field.name, self.dice.choice(alike if self.dice.random() < 0.6 else VALUES))
            return right
        if isinstance(right, list | dict) and self.dice.random() < 0.7:
            value = self.dice.choice(VALUES)
            if isinstance(right, list):
                return [*right, value]
            return {self.dice.choice([9, 10, 24, 2023, 3, "x", None]): value}
        if isinstance(right, int) and self.dice.random() < 0.5:
            return self.dice.choice([*NUMBERS, 2 ** self.dice.randrange(32)]) & ~int(GetOption.WAIT)
        return self.dice.choice(VALUES)


def attack(group: TestGroup, seed: int, calls: int, *, each_time: int) -> None:
    for name in ("Q", "KEPT"):
        group.define_shared(name)
    group.define_private("QM1", "P")
    program = Program(group, random.Random(seed))
    program.kept.put(b"important", options=PutOption.SYNCPOINT)
    for number in range(calls):
        said = program.make_one()
        if number % each_time == 0:
            assert verbs.mqinq(program.hconn, program.queue.handle, [3])[1] == MQCC.OK, said
            assert_accounted(group.group)
    program.api.commit()
    assert drain(group.connect().open("KEPT", BOTH)) == [b"important"]
    assert_accounted(group.group)


@pytest.mark.parametrize("seed", range(4))
def test_wrong_arguments_change_nothing(group: TestGroup, seed: int) -> None:
    attack(group, seed, 300, each_time=10)


@pytest.mark.slow
def test_twenty_thousand_wrong_arguments_change_nothing(group: TestGroup) -> None:
    attack(group, 4, 20_000, each_time=100)
