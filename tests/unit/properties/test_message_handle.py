"""A message handle: setting, inquiring and deleting properties, and the buffers that carry them."""

from __future__ import annotations

from typing import Any

import pytest

from sharedq import MessageHandle
from sharedq.mqi.constants import (
    MQRC,
    BufferToHandleOption,
    DeletePropertyOption,
    HandleToBufferOption,
    InquirePropertyOption,
    PropertyCopy,
    PropertyType,
    SetPropertyOption,
)
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD, MQPD
from sharedq.properties.values import Value

NEXT = InquirePropertyOption.INQ_NEXT
VALUES: list[tuple[PropertyType, Value]] = [
    (PropertyType.NULL, None),
    (PropertyType.BOOLEAN, True),
    (PropertyType.BOOLEAN, False),
    (PropertyType.BYTE_STRING, b"\0\xff"),
    (PropertyType.BYTE_STRING, b""),
    (PropertyType.INT8, -128),
    (PropertyType.INT16, -32768),
    (PropertyType.INT32, -2147483648),
    (PropertyType.INT64, -(1 << 63)),
    (PropertyType.FLOAT32, 1.1754943508222875e-38),
    (PropertyType.FLOAT64, 2.2250738585072014e-308),
    (PropertyType.STRING, " Zürich <&>'\" "),
    (PropertyType.STRING, ""),
]


def reason_of(call: Any, *args: Any, **named: Any) -> MQRC:
    with pytest.raises(MQIError) as caught:
        call(*args, **named)
    return caught.value.reason


@pytest.mark.rule("mqi/properties", "A property keeps its name, its type and its value, also through a buffer.")
@pytest.mark.parametrize(("type_", "value"), VALUES, ids=lambda each: getattr(each, "name", None))
def test_a_property_comes_back_through_a_buffer(type_: PropertyType, value: Value) -> None:
    sent, got = MessageHandle(), MessageHandle()
    sent.set("name", value, type_)
    md = MQMD(format=b"MQSTR", coded_char_set_id=819)
    buffer = sent.to_buffer("%", md)
    assert got.from_buffer(md, buffer + b"data") == b"data"
    found = got.inquire("name")
    assert (found.name, found.type_, found.value) == ("name", type_, value)
    assert (md.format, md.coded_char_set_id, md.encoding) == (b"MQSTR", 819, 0x222)


def test_a_header_is_written_as_clients_of_ibm_write_it() -> None:
    handle = MessageHandle()
    handle.set("colour", "red")
    handle.set("count", 5, PropertyType.INT32)
    handle.set("none", None)
    handle.set("JMSType", "t")
    handle.set("mq_usr.a.b", 1.5)
    md = MQMD(format=b"MQSTR", encoding=0x111, coded_char_set_id=500)
    buffer = handle.to_buffer("%", md)
    assert (md.format, md.coded_char_set_id, md.encoding) == (b"MQHRF2", 1208, 0x111)
    assert buffer[:36] == b"RFH " + b"".join(
        number.to_bytes(4, "big") for number in (2, len(buffer), 0x111, 500)
    ) + b"MQSTR   " + (0).to_bytes(4, "big") + (1208).to_bytes(4, "big")
    folders = buffer[36:]
    assert folders.startswith((28).to_bytes(4, "big") + b"<mcd><Type>t</Type></mcd>   ")
    assert b"<usr><colour>red</colour><count dt='i4'>5</count><none xsi:nil='true'></none></usr>" in folders
    assert b"<mq_usr><a><b dt='r8'>1.5</b></a></mq_usr>" in folders
    assert len(buffer) % 4 == 0


@pytest.mark.rule("mqi/properties", "A reserved word, a JMS name or a wrong character in a name is 2442.")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", MQRC.PROPERTY_NAME_LENGTH_ERR),
        ("a" * 4096, MQRC.PROPERTY_NAME_LENGTH_ERR),
        *(
            (name, MQRC.PROPERTY_NAME_ERROR)
            for name in (
                *("1a", "a b", "a.", ".a", "a..b", "a<b", "a=b", "a%", "\U0001f600", "a.1"),
                *("null", "usr.NOT", "Between", "JMSOther", "usr.JMSType", "JMSPriority", "Root.a", "Body.a"),
                *("mq.a.b", "MQx.a.b", "Root.MQMD.Nothing"),
            )
        ),
    ],
)
def test_a_name_that_no_property_may_have_is_refused(name: str, reason: MQRC) -> None:
    assert reason_of(MessageHandle().set, name, "x") == reason


@pytest.mark.parametrize("name", ["a", "_a", "$a", "Zürich", "a.b.c", "mq_usr.a.b", "mq.a", "Root1.a", "nullable"])
def test_any_other_name_can_be_set_and_is_listed(name: str) -> None:
    handle = MessageHandle()
    handle.set(name, "x")
    assert list(handle) == [name]
    got, md = MessageHandle(), MQMD()
    got.from_buffer(md, handle.to_buffer("%", md))
    assert list(got) == [name]


def test_without_validation_reserved_names_can_be_set() -> None:
    handle = MessageHandle(options=1)
    handle.set("NOT", "x")
    assert handle.get("NOT") == "x"
    assert reason_of(handle.set, "a b", "x") == MQRC.PROPERTY_NAME_ERROR


@pytest.mark.parametrize(
    ("type_", "value", "reason"),
    [
        (3, "x", MQRC.PROPERTY_TYPE_ERROR),
        (PropertyType.AS_SET, "x", MQRC.PROPERTY_TYPE_ERROR),
        (PropertyType.STRING, b"x", MQRC.PROPERTY_TYPE_ERROR),
        (PropertyType.INT32, True, MQRC.PROPERTY_TYPE_ERROR),
        (PropertyType.INT32, "5", MQRC.PROPERTY_TYPE_ERROR),
        (PropertyType.NULL, "", MQRC.PROPERTY_TYPE_ERROR),
        (PropertyType.INT8, 128, MQRC.PROPERTY_VALUE_TOO_BIG),
        (PropertyType.FLOAT32, 1e300, MQRC.PROPERTY_VALUE_TOO_BIG),
        (PropertyType.STRING, "\ud800", MQRC.PROP_VALUE_NOT_CONVERTED),
    ],
)
def test_a_value_of_another_type_is_refused(type_: int, value: Value, reason: MQRC) -> None:
    assert reason_of(MessageHandle().set, "name", value, type_) == reason


@pytest.mark.rule("mqi/properties", "A property whose name would be a group of another one's name is 2498.")
def test_mixed_content_is_refused() -> None:
    handle = MessageHandle()
    handle.set("x.y", "1")
    assert reason_of(handle.set, "x.y.z", "2") == MQRC.MIXED_CONTENT_NOT_ALLOWED
    handle.set("usr.g.z", "1")
    assert reason_of(handle.set, "g", "2") == MQRC.MIXED_CONTENT_NOT_ALLOWED
    assert (
        reason_of(handle.set, "x.y.z", "2", options=SetPropertyOption.APPEND_PROPERTY) == MQRC.MIXED_CONTENT_NOT_ALLOWED
    )
    assert list(handle) == ["x.y", "usr.g.z"]


@pytest.mark.rule("mqi/properties", "usr.NAME and NAME are one property.")
def test_the_folder_usr_need_not_be_named() -> None:
    handle = MessageHandle()
    handle.set("usr.a", "1")
    handle.set("a", "2")
    assert (list(handle), handle.get("usr.a")) == (["a"], "2")
    assert handle.inquire("usr.%").name == "a"


@pytest.mark.rule("mqi/properties", "A name with % at its end is inquired one property after the other, then 2471.")
def test_properties_are_inquired_one_after_the_other() -> None:
    handle = MessageHandle()
    for name in ("a.x", "b", "a.y", "ab"):
        handle.set(name, name)
    found = [handle.inquire("%").name, *(handle.inquire("%", options=NEXT).name for _ in range(3))]
    assert found == ["a.x", "b", "a.y", "ab"]
    assert reason_of(handle.inquire, "%", options=NEXT) == MQRC.PROPERTY_NOT_AVAILABLE
    assert handle.inquire("a.%").name == "a.x"
    assert handle.inquire("a.%", options=NEXT).name == "a.y"
    assert reason_of(handle.inquire, "a.%", options=NEXT) == MQRC.PROPERTY_NOT_AVAILABLE
    # A refused inquiry leaves the cursor where it was.
    assert handle.inquire("b", options=InquirePropertyOption.INQ_PROP_UNDER_CURSOR).name == "a.y"


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("x", 0, MQRC.PROPERTY_NOT_AVAILABLE),
        ("%", 16, MQRC.PROPERTY_NOT_AVAILABLE),
        ("a%b", 0, MQRC.PROPERTY_NAME_ERROR),
        ("", 0, MQRC.PROPERTY_NAME_LENGTH_ERR),
        ("%", 8 | 16, MQRC.OPTIONS_ERROR),
        ("%", 64, MQRC.OPTIONS_ERROR),
    ],
)
def test_an_inquiry_that_finds_nothing_says_why(name: str, options: int, reason: MQRC) -> None:
    handle = MessageHandle()
    handle.set("ab", 1)
    assert reason_of(handle.inquire, name, options=options) == reason


@pytest.mark.rule("mqi/properties", "A property is set at, before or after the cursor, or at the end.")
def test_properties_are_set_around_the_cursor() -> None:
    handle = MessageHandle()
    handle.set("a", 1)
    handle.set("b", 2)
    assert reason_of(handle.set, "c", 3, options=SetPropertyOption.SET_PROP_UNDER_CURSOR) == MQRC.PROPERTY_NOT_AVAILABLE
    handle.inquire("b")
    handle.set("before", 0, options=SetPropertyOption.SET_PROP_BEFORE_CURSOR)
    handle.set("after", 0, options=SetPropertyOption.SET_PROP_AFTER_CURSOR)
    handle.set("b", 4, options=SetPropertyOption.SET_PROP_UNDER_CURSOR)
    handle.set("a", 5, options=SetPropertyOption.APPEND_PROPERTY)
    handle.set("a", 6)
    assert list(handle) == ["a", "before", "b", "after", "a"]
    assert [each.value for each in handle.properties()] == [6, 0, 4, 0, 5]
    assert reason_of(handle.set, "a", 1, options=3) == MQRC.OPTIONS_ERROR


def test_properties_are_deleted_by_name_or_at_the_cursor() -> None:
    handle = MessageHandle()
    for name in ("a", "b", "c"):
        handle.set(name, name)
    handle.inquire("b")
    handle.delete("", options=DeletePropertyOption.DEL_PROP_UNDER_CURSOR)
    handle.delete("usr.a")
    assert list(handle) == ["c"]
    at_cursor = DeletePropertyOption.DEL_PROP_UNDER_CURSOR
    assert reason_of(handle.delete, "", options=at_cursor) == MQRC.PROPERTY_NOT_AVAILABLE
    assert reason_of(handle.delete, "a") == MQRC.PROPERTY_NOT_AVAILABLE
    assert reason_of(handle.delete, "a", options=2) == MQRC.OPTIONS_ERROR


CONVERSIONS: list[tuple[Value, PropertyType, PropertyType, Value | MQRC]] = [
    (5, PropertyType.INT32, PropertyType.STRING, "5"),
    (5, PropertyType.INT32, PropertyType.INT8, 5),
    (500, PropertyType.INT32, PropertyType.INT8, MQRC.PROP_CONV_NOT_SUPPORTED),
    (0, PropertyType.INT32, PropertyType.BOOLEAN, False),
    (5, PropertyType.INT32, PropertyType.FLOAT64, MQRC.PROP_CONV_NOT_SUPPORTED),
    (True, PropertyType.BOOLEAN, PropertyType.STRING, "TRUE"),
    (True, PropertyType.BOOLEAN, PropertyType.INT64, 1),
    (1.5, PropertyType.FLOAT32, PropertyType.FLOAT64, 1.5),
    (0.1, PropertyType.FLOAT64, PropertyType.FLOAT32, MQRC.PROP_CONV_NOT_SUPPORTED),
    (1.5, PropertyType.FLOAT32, PropertyType.INT32, MQRC.PROP_CONV_NOT_SUPPORTED),
    (b"\1\xab", PropertyType.BYTE_STRING, PropertyType.STRING, "01AB"),
    ("01", PropertyType.STRING, PropertyType.BYTE_STRING, MQRC.PROP_CONV_NOT_SUPPORTED),
    (" 12 ", PropertyType.STRING, PropertyType.INT16, 12),
    ("x", PropertyType.STRING, PropertyType.INT16, MQRC.PROP_NUMBER_FORMAT_ERROR),
    ("99999", PropertyType.STRING, PropertyType.INT16, MQRC.PROP_NUMBER_FORMAT_ERROR),
    ("false", PropertyType.STRING, PropertyType.BOOLEAN, False),
    ("1e3", PropertyType.STRING, PropertyType.FLOAT64, 1000.0),
    ("infinite", PropertyType.STRING, PropertyType.FLOAT64, MQRC.PROP_NUMBER_FORMAT_ERROR),
    (None, PropertyType.NULL, PropertyType.STRING, MQRC.PROP_CONV_NOT_SUPPORTED),
]


@pytest.mark.rule("mqi/properties", "MQIMPO_CONVERT_TYPE converts a value if nothing of it is lost, else 2470 or 2472.")
@pytest.mark.parametrize(("value", "type_", "wanted", "expected"), CONVERSIONS)
def test_a_value_is_converted(value: Value, type_: PropertyType, wanted: PropertyType, expected: Value | MQRC) -> None:
    handle = MessageHandle()
    handle.set("a", value, type_)
    convert = InquirePropertyOption.CONVERT_TYPE
    if isinstance(expected, MQRC):
        assert reason_of(handle.inquire, "a", options=convert, wanted=wanted) == expected
    else:
        found = handle.inquire("a", options=convert, wanted=wanted)
        assert (found.type_, found.value) == (wanted, expected)
    assert handle.inquire("a", wanted=wanted).value == value


@pytest.mark.rule("mqi/properties", "Root.MQMD.FIELD is a field of the handle's descriptor, of the field's type.")
def test_fields_of_the_descriptor_are_properties() -> None:
    handle = MessageHandle()
    handle.set("Root.MQMD.Priority", 5, PropertyType.INT32)
    handle.set("Root.MQMD.ReplyToQ", "ANSWERS")
    handle.set("Root.MQMD.CorrelId", b"\1")
    assert (handle.md.priority, handle.md.reply_to_q, handle.md.correl_id) == (5, b"ANSWERS", b"\1".ljust(24, b"\0"))
    assert handle.get("Root.MQMD.Priority") == 5
    assert handle.inquire("JMSReplyTo").value == "ANSWERS"
    assert list(handle) == []
    assert reason_of(handle.set, "Root.MQMD.Priority", "5") == MQRC.PROPERTY_TYPE_ERROR
    assert reason_of(handle.set, "Root.MQMD.CorrelId", bytes(25)) == MQRC.PROPERTY_VALUE_TOO_BIG
    assert reason_of(handle.set, "Root.MQMD.BackoutCount", 1, PropertyType.INT32) == MQRC.PROPERTY_NAME_ERROR
    names = [handle.inquire("Root.MQMD.%").name]
    while True:
        try:
            names.append(handle.inquire("Root.MQMD.%", options=NEXT).name)
        except MQIError:
            break
    assert (len(names), len(set(names))) == (27, 27)


def test_a_property_descriptor_is_kept_and_checked() -> None:
    handle, got, md = MessageHandle(), MessageHandle(), MQMD()
    wanted = MQPD(context=1, copy_options=int(PropertyCopy.REPLY | PropertyCopy.REPORT))
    handle.set("a", "x", descriptor=wanted)
    got.from_buffer(md, handle.to_buffer("a", md))
    assert got.inquire("a").descriptor == wanted
    for wrong in (MQPD(version=2), MQPD(context=7), MQPD(copy_options=0x100), MQPD(options=1)):
        assert reason_of(handle.set, "a", "y", descriptor=wrong) == MQRC.PD_ERROR
    assert handle.get("a") == "x"


def test_buffers_take_what_is_asked_for() -> None:
    handle, md = MessageHandle(), MQMD()
    handle.set("a", "1")
    handle.set("mq_usr.b", "2")
    both = HandleToBufferOption.PROPERTIES_IN_MQRFH2 | HandleToBufferOption.DELETE_PROPERTIES
    buffer = handle.to_buffer("mq_usr.%", md, options=both)
    assert (list(handle), b"<usr>" in buffer) == (["a"], False)
    got = MessageHandle()
    kept = got.from_buffer(md, buffer, options=BufferToHandleOption.NONE)
    assert (kept, list(got), md.format) == (buffer, ["mq_usr.b"], b"MQHRF2")
    assert reason_of(handle.to_buffer, "x", MQMD()) == MQRC.PROPERTY_NOT_AVAILABLE
    assert reason_of(handle.to_buffer, "a", MQMD(), options=0) == MQRC.OPTIONS_ERROR
    assert reason_of(handle.to_buffer, "a%b", MQMD()) == MQRC.PROPERTY_NAME_ERROR
    assert reason_of(got.from_buffer, md, buffer, options=2) == MQRC.OPTIONS_ERROR
    assert reason_of(MessageHandle, 7) == MQRC.OPTIONS_ERROR
