"""MessageHandle and its properties, as programs written for pymqi use them."""

from __future__ import annotations

from typing import Any

import pytest

from sharedq import pymqi
from sharedq.pymqi import CMQC
from tests.support.members import TestGroup

pytestmark = pytest.mark.usefixtures("qsg")

TEXT = "test_value" * 5


@pytest.fixture
def qmgr(qsg: TestGroup) -> pymqi.QueueManager:  # noqa: ARG001 - the group must be there
    return pymqi.connect("QM1")


def sent_and_got(qmgr: pymqi.QueueManager, value: Any, type_: int, length: int) -> pymqi.MessageHandle:
    """A property that went with a message; the handle that the message was got with."""
    sent = pymqi.MessageHandle(qmgr, pymqi.CMHO())
    sent.properties.set(b"test_name", value, value_length=length, property_type=type_)
    pmo = pymqi.PMO(Version=CMQC.MQPMO_CURRENT_VERSION)
    pmo.OriginalMsgHandle = sent.msg_handle
    md = pymqi.MD(Version=CMQC.MQMD_CURRENT_VERSION)
    pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT).put(b"", md, pmo)
    got = pymqi.MessageHandle(qmgr, pymqi.CMHO(Version=CMQC.MQCMHO_CURRENT_VERSION))
    gmo = pymqi.GMO(Version=CMQC.MQGMO_CURRENT_VERSION)
    gmo.Options = CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_PROPERTIES_IN_HANDLE
    gmo.MatchOptions = CMQC.MQMO_MATCH_MSG_ID
    gmo.MsgHandle = got.msg_handle
    wanted = pymqi.MD()
    wanted.MsgId = md.MsgId
    assert pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_AS_Q_DEF).get(None, wanted, gmo) == b""
    return got


@pytest.mark.parametrize(
    ("type_", "value", "length"),
    [
        (CMQC.MQTYPE_BYTE_STRING, TEXT.encode(), len(TEXT)),
        (CMQC.MQTYPE_STRING, TEXT, len(TEXT)),
        (CMQC.MQTYPE_STRING, TEXT, CMQC.MQVL_NULL_TERMINATED),
        (CMQC.MQTYPE_BOOLEAN, True, 4),
        (CMQC.MQTYPE_INT8, -127, 1),
        (CMQC.MQTYPE_INT16, -32768, 2),
        (CMQC.MQTYPE_INT32, -2147483647, 4),
        (CMQC.MQTYPE_INT64, -9223372036854775808, 8),
        (CMQC.MQTYPE_FLOAT32, 1.1754943508222875e-38, 4),
        (CMQC.MQTYPE_FLOAT64, 2.2250738585072014e-308, 8),
        (CMQC.MQTYPE_NULL, None, 0),
    ],
)
def test_a_property_goes_with_a_message(qmgr: pymqi.QueueManager, type_: int, value: Any, length: int) -> None:
    got = sent_and_got(qmgr, value, type_, length)
    assert got.properties.get(b"test_name") == value
    assert got.properties.get("test_name", max_value_length=100) == value
    assert got.properties["test_name"] == value


def test_what_is_not_there_or_too_long_is_told(qmgr: pymqi.QueueManager) -> None:
    got = sent_and_got(qmgr, TEXT, CMQC.MQTYPE_STRING, -1)
    with pytest.raises(pymqi.MQMIError) as caught:
        got.properties.get(b"test_name", max_value_length=25)
    assert caught.value.reason == CMQC.MQRC_PROPERTY_VALUE_TOO_BIG
    assert (caught.value.value, caught.value.dataLength) == (TEXT[:25], len(TEXT))
    with pytest.raises(pymqi.MQMIError) as caught:
        got.properties.get(b"test_nametest_name")
    assert (caught.value.reason, caught.value.value) == (CMQC.MQRC_PROPERTY_NOT_AVAILABLE, None)
    with pytest.raises(pymqi.MQMIError) as caught:
        got.properties.set("a b", "x")
    assert caught.value.reason == CMQC.MQRC_PROPERTY_NAME_ERROR


def test_strings_end_as_c_ends_them(qmgr: pymqi.QueueManager) -> None:
    handle = pymqi.MessageHandle(qmgr)
    handle.properties["a"] = "Zürich\0x"
    assert handle.properties["a"] == "Zürich"
    handle.properties.set("a", "Zürich", value_length=3)
    assert handle.properties["a"] == "Zü"
    handle.properties.set("a", b"bytes")
    assert handle.properties["a"] == "bytes"


@pytest.mark.share
def test_properties_are_iterated_converted_and_deleted(qmgr: pymqi.QueueManager) -> None:
    handle = pymqi.MessageHandle(qmgr)
    for name in ("a", "b"):
        handle.properties.set(name, 7, CMQC.MQTYPE_INT32, 4, pymqi.PD(CopyOptions=CMQC.MQCOPY_ALL))
    assert handle.properties.get("%") == 7
    assert handle.properties.get("%", impo_options=CMQC.MQIMPO_INQ_NEXT) == 7
    with pytest.raises(pymqi.MQMIError) as caught:
        handle.properties.get("%", impo_options=CMQC.MQIMPO_INQ_NEXT)
    assert caught.value.reason == CMQC.MQRC_PROPERTY_NOT_AVAILABLE
    convert = CMQC.MQIMPO_CONVERT_TYPE
    assert handle.properties.get("a", impo_options=convert, property_type=CMQC.MQTYPE_STRING) == "7"
    handle.properties.dlt("a")
    with pytest.raises(pymqi.MQMIError):
        handle.properties.get("a")
    handle.dlt()
    with pytest.raises(pymqi.MQMIError) as caught:
        handle.properties.get("b")
    assert caught.value.reason == CMQC.MQRC_HMSG_ERROR


def test_buffers_and_handles_of_no_connection(qmgr: pymqi.QueueManager) -> None:
    handle = pymqi.MessageHandle()
    handle.properties.set("a", "x", smpo=pymqi.SMPO(Options=CMQC.MQSMPO_APPEND_PROPERTY))
    md = pymqi.MD(Format=CMQC.MQFMT_STRING)
    buffer = handle.to_buffer("%", md)
    assert md.Format == CMQC.MQFMT_RF_HEADER_2
    other = pymqi.MessageHandle(qmgr)
    assert other.from_buffer(md, buffer + b"data") == b"data"
    assert (md.Format, other.properties["a"]) == (CMQC.MQFMT_STRING, "x")
    with pytest.raises(pymqi.MQMIError) as caught:
        other.from_buffer(pymqi.MD(Format=CMQC.MQFMT_RF_HEADER_2), b"none")
    assert caught.value.reason == CMQC.MQRC_RFH_ERROR


def test_a_get_without_properties_takes_them_off(qmgr: pymqi.QueueManager) -> None:
    handle = pymqi.MessageHandle(qmgr)
    handle.properties.set("a", "x")
    queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    for _ in range(2):
        queue.put(b"data", pymqi.MD(), pymqi.PMO(Version=3, NewMsgHandle=handle.msg_handle))
    md = pymqi.MD()
    assert (queue.get_no_rfh2(None, md), md.Format) == (b"data", CMQC.MQFMT_NONE)
    headers: list[pymqi.RFH2] = []
    assert queue.get_rfh2(None, pymqi.MD(), pymqi.GMO(), headers) == b"data"
    assert headers[0]["usr"].rstrip() == b"<usr><a>x</a></usr>"


@pytest.mark.parametrize(
    ("structure", "length"),
    [("CMHO", 12), ("DMHO", 12), ("PD", 24), ("SMPO", 20), ("IMPO", 64), ("DMPO", 12), ("BMHO", 12), ("MHBO", 12)],
)
def test_structures_have_ibms_lengths(structure: str, length: int) -> None:
    made = getattr(pymqi, structure)()
    assert (made.get_length(), len(made.pack())) == (length, length)
    assert made.StrucId.rstrip() == structure.encode()


def test_a_handle_of_a_connection_that_is_disconnected_is_of_no_use(qmgr: pymqi.QueueManager) -> None:
    other = pymqi.connect("QM1")
    handle = pymqi.MessageHandle(other)
    handle.properties.set("a", "x")
    other.disconnect()
    for call in (lambda: handle.properties.set("a", "y"), lambda: handle.properties.get("a"), handle.dlt):
        with pytest.raises(pymqi.MQMIError) as error:
            call()
        assert error.value.reason == CMQC.MQRC_HCONN_ERROR
    with pytest.raises(pymqi.PYIFError, match="not connected"):
        pymqi.MessageHandle(other)
    assert qmgr.is_connected


def test_a_string_that_is_no_utf_8_is_refused(qmgr: pymqi.QueueManager) -> None:
    handle = pymqi.MessageHandle(qmgr)
    with pytest.raises(pymqi.MQMIError) as error:
        handle.properties.set("a", b"\xff\xfe")
    assert error.value.reason == CMQC.MQRC_PROP_VALUE_NOT_CONVERTED
    for type_ in (CMQC.MQTYPE_STRING, CMQC.MQTYPE_BYTE_STRING):
        with pytest.raises(TypeError, match="no string"):
            handle.properties.set("a", 10**12, type_)
    with pytest.raises(pymqi.MQMIError) as error:
        handle.properties.get("a")
    assert error.value.reason == CMQC.MQRC_PROPERTY_NOT_AVAILABLE
