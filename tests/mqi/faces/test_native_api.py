"""The results of the native API besides reason codes, and its refusals of wrong types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sharedq import MQIError
from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.get.selection import ANYTHING
from sharedq.mqi.constants import MQRC, Format, GetOption, IntSelector, MsgFlag, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias, QueueModel
from tests.support.groups import BOTH, drain
from tests.support.members import TestGroup

pytestmark = pytest.mark.share


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    group.define_shared("Q")
    return group.connect()


@pytest.fixture
def queue(connection: QueueManagerConnection) -> Queue:
    return connection.open("Q", BOTH | OpenOption.INQUIRE | OpenOption.SET)


def refused(call: Callable[[], object]) -> MQIError:
    with pytest.raises(MQIError) as caught:
        call()
    return caught.value


def test_a_closed_queue_is_of_no_use_any_more(connection: QueueManagerConnection, queue: Queue) -> None:
    queue.put(b"there")
    queue.close()
    calls: list[Callable[[], object]] = [
        lambda: queue.put(b"late"),
        lambda: queue.put(b"late", options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE),
        lambda: queue.put_many([(MQMD(), b"late")]),
        queue.get,
        lambda: queue.get(GetOption.BROWSE_FIRST),
        lambda: queue.get_many(2),
        lambda: queue.take_unseen(2),
        queue.commit_and_get,
        lambda: queue.commit_and_get_many(2),
        queue.unlock,
        lambda: queue.inquire(IntSelector.CURRENT_Q_DEPTH),
        lambda: queue.set({IntSelector.INHIBIT_PUT: 1}),
        queue.close,
    ]
    for call in calls:
        assert refused(call).reason == MQRC.HOBJ_ERROR
    connection.commit()
    assert drain(connection.open("Q", BOTH)) == [b"there"]


def test_a_closed_queue_gives_no_context_either(connection: QueueManagerConnection, queue: Queue) -> None:
    source = connection.open("Q", BOTH | OpenOption.SAVE_ALL_CONTEXT)
    queue.put(b"x")
    source.get()
    source.close()
    target = connection.open("Q", OpenOption.OUTPUT | OpenOption.PASS_ALL_CONTEXT)
    passing = int(PutOption.PASS_ALL_CONTEXT)
    assert refused(lambda: target.put(b"y", options=passing, context=source)).reason == MQRC.CONTEXT_HANDLE_ERROR


WRONG: dict[str, tuple[dict[str, Any], MQRC, str]] = {
    "text in a name": ({"md": MQMD(reply_to_q="REPLY")}, MQRC.MD_ERROR, "reply_to_q is str, must be bytes"),  # type: ignore[arg-type]
    "... with a request": ({"md": MQMD(msg_type=1, reply_to_q="R")}, MQRC.MD_ERROR, "reply_to_q is str"),  # type: ignore[arg-type]
    "text in an identifier": ({"md": MQMD(correl_id="abc")}, MQRC.MD_ERROR, "correl_id is str"),  # type: ignore[arg-type]
    "text as a number": ({"md": MQMD(priority="3")}, MQRC.MD_ERROR, "priority is str, must be int"),  # type: ignore[arg-type]
    "text as options": ({"md": MQMD(report="COA")}, MQRC.MD_ERROR, "report is str, must be int"),  # type: ignore[arg-type]
    "no descriptor": ({"md": {"priority": 3}}, MQRC.MD_ERROR, "the descriptor is dict, must be MQMD"),
    "text as data": ({"body": "text"}, MQRC.BUFFER_ERROR, "the data is str, must be bytes"),
    "no data": ({"body": None}, MQRC.BUFFER_ERROR, "the data is NoneType, must be bytes"),
}


@pytest.mark.parametrize("how", ["put", "put_many", "put1", "asynchronous"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_type_is_named(connection: QueueManagerConnection, queue: Queue, wrong: str, how: str) -> None:
    given, reason, detail = WRONG[wrong]
    body, md = given.get("body", b"x"), given.get("md", MQMD())
    later = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
    calls: dict[str, Callable[[], object]] = {
        "put": lambda: queue.put(body, md),
        "put_many": lambda: queue.put_many([(MQMD(), b"good"), (md, body)]),
        "put1": lambda: connection.put1("Q", body, md),
        "asynchronous": lambda: queue.put(body, md, options=later),
    }
    error = refused(calls[how])
    assert error.reason == reason
    assert detail in error.detail
    queue.put(b"good", options=later)
    connection.commit()
    assert drain(queue) == [b"good"]


def test_so_it_is_in_what_a_get_is_to_match(queue: Queue) -> None:
    for md in (MQMD(correl_id="abc"), MQMD(msg_id=7)):  # type: ignore[arg-type]
        error = refused(lambda md=md: queue.get(match=md))  # type: ignore[misc]
        assert (error.reason, error.detail[-13:]) == (MQRC.MD_ERROR, "must be bytes")


SHARES_A_DESCRIPTOR = [
    GetOption.BROWSE_FIRST,
    GetOption.CONVERT,
    GetOption.NO_PROPERTIES,
    GetOption.LOGICAL_ORDER,
    GetOption.COMPLETE_MSG,
    GetOption.ALL_MSGS_AVAILABLE,
    GetOption.SYNCPOINT,
]


def test_no_get_changes_the_descriptor_that_gets_share(queue: Queue) -> None:
    sent = MQMD(version=2, format=Format.STRING, correl_id=b"C" * 24, coded_char_set_id=37)
    sent.group_id, sent.msg_flags = b"G" * 24, int(MsgFlag.LAST_MSG_IN_GROUP)
    for options in SHARES_A_DESCRIPTOR:
        queue.put(b"text", replace(sent))
        assert queue.get(options).md.correl_id == sent.correl_id
        assert MQMD(version=2) == ANYTHING


def test_names_are_text(connection: QueueManagerConnection, queue: Queue) -> None:
    calls: list[Callable[[], object]] = [
        lambda: connection.open(b"Q", BOTH),  # type: ignore[arg-type]
        lambda: connection.open("Q", BOTH, dynamic_name=b"X.*"),  # type: ignore[arg-type]
        lambda: connection.put1(b"Q", b"x"),  # type: ignore[arg-type]
    ]
    for call in calls:
        assert refused(call).reason == MQRC.OBJECT_NAME_ERROR
    assert drain(queue) == []


def test_a_put_that_is_warned_of_something_says_so(queue: Queue) -> None:
    warnings = []
    for priority in (12, 3):
        queue.put(b"x", MQMD(priority=priority))
        warnings.append(queue.warning)
    queue.put_many([(MQMD(), b"x"), (MQMD(priority=10), b"x")])
    assert [*warnings, queue.warning] == [MQRC.PRIORITY_EXCEEDS_MAXIMUM, MQRC.NONE, MQRC.PRIORITY_EXCEEDS_MAXIMUM]


def test_a_queue_returns_its_resolved_names(group: TestGroup, connection: QueueManagerConnection) -> None:
    group.define("QM1", QueueAlias(name="ALIAS", target="Q"))
    group.repository("QM1").define(QueueModel(name="MODEL"))
    alias = connection.open("ALIAS", BOTH)
    assert (alias.name, alias.resolved_name) == ("ALIAS", "Q")
    made = connection.open("MODEL", BOTH, dynamic_name="REPLY.*")
    assert made.resolved_name.startswith("REPLY.")
    connection.put1(made.resolved_name, b"answer")
    assert made.get().body == b"answer"
    assert refused(lambda: connection.open("MODEL", BOTH, dynamic_name="")).reason == MQRC.DYNAMIC_Q_NAME_ERROR
