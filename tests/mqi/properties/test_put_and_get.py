"""Properties of messages on queues: put with a handle, got in a handle, in a header, or not at all."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sharedq import MessageHandle, Queue, verbs
from sharedq.mqi.constants import (
    MQCC,
    MQRC,
    CreateHandleOption,
    GetOption,
    MsgFlag,
    OpenOption,
    PropertyCopy,
    PutAction,
    PutOption,
)
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import (
    MQBMHO,
    MQCMHO,
    MQDMHO,
    MQDMPO,
    MQGMO,
    MQIMPO,
    MQMD,
    MQMHBO,
    MQOD,
    MQPD,
    MQPMO,
    MQSMPO,
)
from sharedq.objects.definitions.queues import QueueAlias
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.waits import until_waiting
from tests.unit.properties.test_headers import rfh2
from tests.unit.properties.test_message_handle import reason_of

pytestmark = pytest.mark.share

IN_HANDLE, NO_PROPERTIES = GetOption.PROPERTIES_IN_HANDLE, GetOption.NO_PROPERTIES
FORCE, COMPATIBILITY = GetOption.PROPERTIES_FORCE_MQRFH2, GetOption.PROPERTIES_COMPATIBILITY
ACCEPT = GetOption.ACCEPT_TRUNCATED_MSG
BROWSING = BOTH | OpenOption.BROWSE


@pytest.fixture
def queue(group: TestGroup) -> Queue:
    group.define_shared("Q")
    return group.connect().open("Q", BROWSING)


def handle_with(**values: Any) -> MessageHandle:
    handle = MessageHandle()
    for name, value in values.items():
        handle.set(name.replace("__", "."), value)
    return handle


def values_of(handle: MessageHandle) -> dict[str, Any]:
    return {each.name: each.value for each in handle.properties()}


@pytest.mark.rule(
    "mqi/properties", "MQPUT with a handle gives a message its properties; MQGET returns them in a handle."
)
def test_properties_travel_with_a_message(queue: Queue) -> None:
    md = MQMD(format=b"MQSTR", coded_char_set_id=819)
    put = queue.put(b"data", md, properties=handle_with(colour="red", count=5))
    assert (put.format, put.coded_char_set_id, put.encoding) == (b"MQSTR", 819, 0x222)
    got = handle_with(old=1)
    message = queue.get(properties=got)
    assert (message.body, message.data_length) == (b"data", 4)
    assert (message.md.format, message.md.coded_char_set_id, message.md.msg_id) == (b"MQSTR", 819, put.msg_id)
    assert values_of(got) == {"colour": "red", "count": 5}
    assert got.md.msg_id == put.msg_id


def test_a_message_without_properties_empties_the_handle(queue: Queue) -> None:
    queue.put(b"data")
    got = handle_with(old=1)
    assert queue.get(IN_HANDLE, properties=got).body == b"data"
    assert list(got) == []


@pytest.mark.rule("mqi/properties", "Each option of MQGMO, else PROPCTL, says where the properties are.")
@pytest.mark.parametrize(
    ("options", "properties", "in_header", "in_handle"),
    [
        (FORCE, {"a": 1}, True, False),
        (NO_PROPERTIES, {"a": 1}, False, False),
        (IN_HANDLE, {"a": 1}, False, True),
        (COMPATIBILITY, {"a": 1}, True, False),
        (COMPATIBILITY, {"mq_usr.a": 1}, False, False),
        (COMPATIBILITY, {"mq_usr.a": 1, "a": 2}, True, False),
        (COMPATIBILITY, {"mcd.Type": "x"}, True, False),
    ],
)
def test_an_option_says_where_they_are(
    queue: Queue, options: GetOption, properties: dict[str, Any], in_header: bool, in_handle: bool
) -> None:
    for _ in range(3):
        queue.put(
            b"data", properties=handle_with(**{name.replace(".", "__"): each for name, each in properties.items()})
        )
    for step in (GetOption.BROWSE_FIRST, GetOption.NONE):
        got = MessageHandle()
        message = queue.get(options | step, properties=got)
        assert message.body.endswith(b"data")
        assert (len(message.body) > 4, message.md.format == b"MQHRF2") == (in_header, in_header)
        assert values_of(got) == (properties if in_handle else {})
    if options != IN_HANDLE:
        message = queue.get(options)
        assert (len(message.body) > 4) == in_header


@pytest.mark.parametrize(
    ("control", "name", "in_header", "in_handle"),
    [
        ("COMPAT", "a", True, True),
        ("COMPAT", "mq_usr.a", False, True),
        ("NONE", "a", False, True),
        ("ALL", "mq_usr.a", True, True),
        ("FORCE", "mq_usr.a", True, False),
        ("V6COMPAT", "mq_usr.a", True, True),
    ],
)
@pytest.mark.parametrize("by_alias", [False, True])
def test_the_attribute_says_where_they_are(
    group: TestGroup, control: str, name: str, in_header: bool, in_handle: bool, by_alias: bool
) -> None:
    group.define_shared("Q", property_control="COMPAT" if by_alias else control)
    group.repository("QM1").define(QueueAlias(name="A", target="Q", property_control=control))  # type: ignore[arg-type]
    queue = group.connect().open("A" if by_alias else "Q", BROWSING)
    for _ in range(4):
        queue.put(b"data", properties=handle_with(**{name.replace(".", "__"): 1}))
    got = MessageHandle()
    assert queue.get(properties=got).body.endswith(b"data")
    assert values_of(got) == ({name: 1} if in_handle else {})
    assert (len(queue.get(GetOption.BROWSE_FIRST).body) > 4) == in_header
    assert (len(queue.get().body) > 4) == in_header
    assert [len(each.body) > 4 for each in queue.get_many(2)] == [in_header] * 2


@pytest.mark.rule("mqi/properties", "An MQRFH2 that a program puts itself carries properties as well.")
def test_a_header_put_as_data_has_properties(queue: Queue) -> None:
    header = rfh2([b"<usr><a dt='i4'>1</a></usr>", b"<psc>x</psc>"], order=">", encoding=0x111)
    queue.put(header + b"data", MQMD(format=b"MQHRF2", encoding=0x111))
    got = MessageHandle()
    message = queue.get(GetOption.BROWSE_FIRST, properties=got)
    assert (values_of(got), message.md.format) == ({"a": 1}, b"MQHRF2")
    assert (b"<psc>x</psc>" in message.body, b"<usr>" in message.body) == (True, False)
    assert queue.get().body == header + b"data"


@pytest.mark.rule("mqi/properties", "MQGET returns an MQRFH2 that is not valid as data, and no properties of it.")
@pytest.mark.parametrize("data", [b"no header", rfh2([b"<usr><a>"]), rfh2([b"<<usr>"])])
def test_a_malformed_header_is_data(queue: Queue, data: bytes) -> None:
    for _ in range(2):
        queue.put(data, MQMD(format=b"MQHRF2"))
    got = MessageHandle()
    message = queue.get(properties=got)
    assert (message.body, message.md.format, list(got)) == (data, b"MQHRF2", [])
    assert queue.get(NO_PROPERTIES).body == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no header", MQRC.RFH_ERROR),
        (rfh2([b"<usr><a>"]), MQRC.RFH_FORMAT_ERROR),
        (rfh2([], ccsid=0), MQRC.RFH_ERROR),
    ],
)
def test_a_put_with_a_handle_refuses_a_malformed_header(queue: Queue, data: bytes, reason: MQRC) -> None:
    md = MQMD(format=b"MQHRF2")
    assert reason_of(lambda: queue.put(data, md, properties=handle_with(a=1))) == reason
    assert md == MQMD(format=b"MQHRF2")
    assert reason_of(queue.get) == MQRC.NO_MSG_AVAILABLE


def test_the_handle_wins_over_the_header_that_is_put(queue: Queue) -> None:
    header = rfh2([b"<usr><a>1</a><b>2</b></usr>", b"<psc>x</psc>"])
    queue.put(header + b"data", MQMD(format=b"MQHRF2"), properties=handle_with(a="3"))
    got = MessageHandle()
    message = queue.get(properties=got)
    assert values_of(got) == {"a": "3", "b": "2"}
    assert message.body.endswith(b"data")
    assert b"<psc>x</psc>" in message.body


@pytest.mark.rule("mqi/properties", "The buffer of an MQGET needs room for what is returned, not for properties.")
def test_a_buffer_need_not_hold_the_properties(queue: Queue) -> None:
    for each in (b"data", b"longer data", b"cut short", b"data"):
        queue.put(each, properties=handle_with(a="x" * 100))
    got = MessageHandle()
    first = GetOption.BROWSE_FIRST
    assert queue.get(first, properties=got, max_length=4).body == b"data"
    assert (queue.get(properties=got, max_length=4).body, values_of(got)) == (b"data", {"a": "x" * 100})
    message = queue.get(properties=got, max_length=4)
    assert (message.reason, message.body, message.data_length) == (MQRC.TRUNCATED_MSG_FAILED, b"long", 11)
    assert queue.get(NO_PROPERTIES, max_length=11).body == b"longer data"
    message = queue.get(ACCEPT, properties=got, max_length=3)
    assert (message.reason, message.body, message.data_length) == (MQRC.TRUNCATED_MSG_ACCEPTED, b"cut", 9)
    assert queue.get(properties=got, max_length=4).body == b"data"
    assert reason_of(queue.get) == MQRC.NO_MSG_AVAILABLE


def test_data_are_converted_without_their_properties(queue: Queue) -> None:
    queue.put("Zürich".encode(), MQMD(format=b"MQSTR", coded_char_set_id=1208), properties=handle_with(a=1))
    got = MessageHandle()
    message = queue.get(GetOption.CONVERT, match=MQMD(coded_char_set_id=819), properties=got)
    assert (message.body, message.reason, values_of(got)) == ("Zürich".encode("latin-1"), MQRC.NONE, {"a": 1})


@pytest.mark.rule("mqi/properties", "MQACTP_FORWARD, REPLY and REPORT copy the properties whose CopyOptions say so.")
@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (PutAction.NEW, {"usual": 1, "all": 2, "reply": 3, "never": 4, "own": 5}),
        (PutAction.FORWARD, {"usual": 1, "all": 2, "own": 5}),
        (PutAction.REPLY, {"all": 2, "reply": 3, "own": 5}),
        (PutAction.REPORT, {"usual": 1, "all": 2, "own": 5}),
    ],
)
def test_an_action_copies_properties(queue: Queue, action: PutAction, expected: dict[str, int]) -> None:
    original, new, got = MessageHandle(), handle_with(own=5), MessageHandle()
    original.set("usual", 1)
    original.set("own", 0)
    for name, value, copies in (("all", 2, PropertyCopy.ALL), ("reply", 3, PropertyCopy.REPLY), ("never", 4, 0)):
        original.set(name, value, descriptor=MQPD(copy_options=int(copies)))
    queue.put(b"", original=original, properties=new, action=action)
    queue.get(properties=got)
    assert values_of(got) == expected
    assert values_of(new) == expected


def test_a_reply_takes_its_descriptor_from_the_handle(queue: Queue) -> None:
    sent = queue.put(b"", MQMD(msg_type=1, reply_to_q=b"Q", priority=4))
    original, got = MessageHandle(), MessageHandle()
    queue.get(properties=original)
    queue.put(b"answer", original=original, action=PutAction.REPLY, options=PutOption.MD_FOR_OUTPUT_ONLY)
    md = queue.get(properties=got).md
    assert (md.msg_type, md.correl_id, md.reply_to_q) == (2, sent.msg_id, b"")
    assert md.msg_id != sent.msg_id


def test_actions_and_segments_that_cannot_be_are_refused(queue: Queue) -> None:
    own = handle_with(a=1)
    assert reason_of(lambda: queue.put(b"", properties=own, action=7)) == MQRC.ACTION_ERROR
    assert reason_of(lambda: queue.put(b"", properties=own, action=PutAction.REPLY)) == MQRC.HMSG_ERROR
    md = MQMD(version=2, msg_flags=int(MsgFlag.SEGMENTATION_ALLOWED))
    assert reason_of(lambda: queue.put(b"", md, properties=own)) == MQRC.SEGMENTATION_NOT_ALLOWED
    assert reason_of(lambda: queue.get(IN_HANDLE)) == MQRC.HMSG_ERROR
    assert reason_of(lambda: queue.get(IN_HANDLE | FORCE, properties=own)) == MQRC.OPTIONS_ERROR
    assert values_of(own) == {"a": 1}


def test_a_put_that_fails_leaves_descriptor_and_handle(group: TestGroup) -> None:
    group.define_shared("SMALL", max_msg_length=10)
    queue, own, md = group.connect().open("SMALL", BOTH), handle_with(a=1), MQMD(format=b"MQSTR")
    with pytest.raises(MQIError) as caught:
        queue.put(b"longer data", md, properties=own)
    assert caught.value.reason == MQRC.MSG_TOO_BIG_FOR_Q
    assert (md, values_of(own)) == (MQMD(format=b"MQSTR"), {"a": 1})


def test_properties_hop_and_wait_and_commit(pair: TestGroup) -> None:
    there = pair.connect("QM2").open("IN", BOTH)
    here = pair.connect()
    with here.open("IN", OpenOption.OUTPUT, qmgr_name="QM2") as remote:
        remote.put(b"x", properties=handle_with(a=1), options=PutOption.SYNCPOINT)
        remote.put(b"y", MQMD(persistence=1), properties=handle_with(b=2), options=PutOption.SYNCPOINT)
        here.commit()
    del there
    with pair.connect("QM2").open("SYSTEM.QSG.TRANSMIT.QUEUE", BROWSING) as transmit:
        assert b"<usr><a dt='i8'>1</a></usr>" in transmit.get(GetOption.BROWSE_FIRST).body


def test_the_calls_of_the_mqi(group: TestGroup) -> None:
    """MQCRTMH to MQDLTMH, by numbers."""
    group.define_shared("Q")
    connection = group.connect().connection
    handle, *codes = verbs.mqopen(connection, MQOD(object_name=b"Q"), int(BOTH))
    assert handle is not None
    assert codes == [MQCC.OK, MQRC.NONE]
    sent, *codes = verbs.mqcrtmh(connection, MQCMHO())
    got, *_ = verbs.mqcrtmh(None, MQCMHO())
    assert codes == [MQCC.OK, MQRC.NONE]
    assert verbs.mqsetmp(connection, sent, MQSMPO(), "a", MQPD(), 1024, "red") == (MQCC.OK, MQRC.NONE)
    assert verbs.mqsetmp(connection, sent, MQSMPO(), "b", MQPD(), 64, 7) == (MQCC.OK, MQRC.NONE)
    pmo, md = MQPMO(version=3, original_msg_handle=sent), MQMD()
    assert verbs.mqput(connection, handle, md, pmo, b"data") == (MQCC.OK, MQRC.NONE)
    assert verbs.mqput1(connection, MQOD(object_name=b"Q"), MQMD(), pmo, b"more") == (MQCC.OK, MQRC.NONE)
    gmo = MQGMO(version=4, options=int(IN_HANDLE), msg_handle=got)
    assert verbs.mqget(connection, handle, MQMD(), gmo, 4) == (b"data", 4, MQCC.OK, MQRC.NONE)
    assert (gmo.returned_length, gmo.options) == (4, int(IN_HANDLE))
    impo, pd = MQIMPO(), MQPD()
    found, length, *codes = verbs.mqinqmp(connection, got, impo, "%", pd, 0, 10)
    assert found is not None
    assert (found.value, length, impo.returned_name, codes) == ("red", 3, "a", [MQCC.OK, MQRC.NONE])
    found, length, *codes = verbs.mqinqmp(connection, got, impo, "a", pd, 0, 2)
    assert (length, codes) == (3, [MQCC.FAILED, MQRC.PROPERTY_VALUE_TOO_BIG])
    md = MQMD()
    buffer, length, *codes = verbs.mqmhbuf(connection, got, MQMHBO(options=3), "%", md, 1000)
    assert (len(buffer), codes, md.format) == (length, [MQCC.OK, MQRC.NONE], b"MQHRF2")
    assert verbs.mqinqmp(connection, got, impo, "%", pd, 0, 10)[3] == MQRC.PROPERTY_NOT_AVAILABLE
    assert verbs.mqbufmh(connection, got, MQBMHO(), md, buffer + b"x") == (b"x", MQCC.OK, MQRC.NONE)
    assert verbs.mqmhbuf(connection, got, MQMHBO(), "%", MQMD(), 5)[1:] == (
        length,
        MQCC.FAILED,
        MQRC.PROPERTIES_TOO_BIG,
    )
    assert verbs.mqdltmp(connection, got, MQDMPO(), "a") == (MQCC.OK, MQRC.NONE)
    assert verbs.mqdltmp(connection, got, MQDMPO(), "a") == (MQCC.FAILED, MQRC.PROPERTY_NOT_AVAILABLE)
    assert verbs.mqdltmh(connection, sent, MQDMHO(options=1)) == (MQCC.FAILED, MQRC.OPTIONS_ERROR)
    assert verbs.mqdltmh(connection, sent, MQDMHO()) == (MQCC.OK, MQRC.NONE)
    assert verbs.mqdltmh(None, got, MQDMHO()) == (MQCC.OK, MQRC.NONE)


@pytest.mark.rule("mqi/properties", "A message handle that is not there is 2460.")
def test_a_handle_that_is_not_there_is_refused(group: TestGroup) -> None:
    group.define_shared("Q")
    connection, other = group.connect().connection, group.connect().connection
    handle, *_ = verbs.mqopen(connection, MQOD(object_name=b"Q"), int(BOTH))
    assert handle is not None
    of_other, *_ = verbs.mqcrtmh(other, MQCMHO())
    for number in (of_other, -1, 999_999):
        pmo, gmo = MQPMO(version=3, new_msg_handle=number), MQGMO(version=4, msg_handle=number)
        refused = (MQCC.FAILED, MQRC.HMSG_ERROR)
        assert verbs.mqput(connection, handle, MQMD(), pmo, b"") == refused
        assert verbs.mqget(connection, handle, MQMD(), gmo, 4)[2:] == refused
        assert verbs.mqsetmp(connection, number, MQSMPO(), "a", MQPD(), 1024, "") == refused
        assert verbs.mqinqmp(connection, number, MQIMPO(), "a", MQPD(), 0, 1)[2:] == refused
        assert verbs.mqdltmp(connection, number, MQDMPO(), "a") == refused
        assert verbs.mqbufmh(connection, number, MQBMHO(), MQMD(), b"")[1:] == refused
        assert verbs.mqmhbuf(connection, number, MQMHBO(), "a", MQMD(), 1)[2:] == refused
        assert verbs.mqdltmh(connection, number, MQDMHO()) == refused


@pytest.mark.parametrize("version", [0, 2])
def test_a_structure_of_no_version_is_refused(version: int) -> None:
    number, *_ = verbs.mqcrtmh(None, MQCMHO())
    assert verbs.mqcrtmh(None, MQCMHO(version=version)) == (-1, MQCC.FAILED, MQRC.CMHO_ERROR)
    assert verbs.mqdltmh(None, number, MQDMHO(version=version))[1] == MQRC.DMHO_ERROR
    assert verbs.mqsetmp(None, number, MQSMPO(version=version), "a", MQPD(), 1024, "")[1] == MQRC.SMPO_ERROR
    assert verbs.mqsetmp(None, number, MQSMPO(), "a", MQPD(version=version), 1024, "")[1] == MQRC.PD_ERROR
    assert verbs.mqinqmp(None, number, MQIMPO(version=version), "a", MQPD(), 0, 1)[3] == MQRC.IMPO_ERROR
    assert verbs.mqdltmp(None, number, MQDMPO(version=version), "a")[1] == MQRC.DMPO_ERROR
    assert verbs.mqbufmh(None, number, MQBMHO(version=version), MQMD(), b"")[2] == MQRC.BMHO_ERROR
    assert verbs.mqmhbuf(None, number, MQMHBO(version=version), "a", MQMD(), 1)[3] == MQRC.MHBO_ERROR
    assert verbs.mqdltmh(None, number, MQDMHO())[1] == MQRC.NONE


def test_half_of_a_surrogate_pair_is_no_property(queue: Queue) -> None:
    """It could not be written again: neither inquired, nor put."""
    hconn = queue.connection
    for entity in ("&#55296;", "&#xDFFF;", "&#57343;"):
        for element in (f"<a>{entity}</a>", f"<a dt='{entity}'>v</a>"):
            folder = f"<usr>{element}</usr>".encode()
            folder += b" " * (-len(folder) % 4)
            length = struct.pack("<i", len(folder))
            header = struct.pack("<4siiii8sii", b"RFH ", 2, 40 + len(folder), 546, 1208, b"MQSTR   ", 0, 1208)
            number, _, _ = verbs.mqcrtmh(hconn, MQCMHO())
            taken = verbs.mqbufmh(hconn, number, MQBMHO(), MQMD(format=b"MQHRF2  "), header + length + folder)
            assert taken[1:] == (MQCC.FAILED, MQRC.RFH_FORMAT_ERROR)


@pytest.mark.parametrize("name", ["NOT", "null", "JMSOwn"])
def test_a_property_that_no_get_returns_is_not_put(queue: Queue, name: str) -> None:
    unchecked = MessageHandle(CreateHandleOption.NO_VALIDATION)
    unchecked.set(name, "x")
    with pytest.raises(MQIError) as error:
        queue.put(b"x", properties=unchecked)
    assert error.value.reason == MQRC.PROPERTY_NAME_ERROR
    with pytest.raises(MQIError) as error:
        queue.get()
    assert error.value.reason == MQRC.NO_MSG_AVAILABLE


def test_a_handle_that_a_waiting_get_uses_is_in_use(group: TestGroup, queue: Queue) -> None:
    handle = MessageHandle()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.get, GetOption.WAIT, wait_ms=60_000, properties=handle)
        until_waiting(group, queue.name, 1)
        other = group.connect().open(queue.name, OpenOption.OUTPUT)
        calls: list[Callable[[], object]] = [
            lambda: handle.set("a", 1),
            lambda: handle.delete("a"),
            handle.inquire,
            lambda: handle.to_buffer("%", MQMD()),
            lambda: handle.from_buffer(MQMD(), b""),
            lambda: other.put(b"x", properties=handle),
            lambda: other.put(b"x", original=handle, action=PutAction.FORWARD),
        ]
        for call in calls:
            with pytest.raises(MQIError) as error:
                call()
            assert error.value.reason == MQRC.MSG_HANDLE_IN_USE
        other.put(b"x")
        assert waiting.result().body == b"x"
    handle.set("a", 1)


def test_threads_on_one_handle_are_done_or_refused() -> None:
    number, _, _ = verbs.mqcrtmh(None, MQCMHO())

    def work(its: int) -> set[MQRC]:
        name, said = f"p{its % 2}", set()
        for _ in range(2000):
            said.add(verbs.mqsetmp(None, number, MQSMPO(), name, MQPD(), 64, its)[-1])
            said.add(verbs.mqinqmp(None, number, MQIMPO(options=8), "%", MQPD(), 0, 10)[-1])
            said.add(verbs.mqdltmp(None, number, MQDMPO(), name)[-1])
        return said

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            said = set().union(*pool.map(work, range(4)))
    finally:
        sys.setswitchinterval(interval)
    assert said <= {MQRC.NONE, MQRC.MSG_HANDLE_IN_USE, MQRC.PROPERTY_NOT_AVAILABLE}
