"""Records: every field of a descriptor comes back, and scripts find their fields."""

from __future__ import annotations

import struct
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedq.messages.record import (
    RECORD_CORREL_ID,
    RECORD_DESTINATION,
    RECORD_EXPIRY,
    RECORD_GROUP,
    RECORD_MSG_ID,
    RECORD_PERSISTENT,
    RECORD_REPORT,
    RECORD_TELLS_EXPIRY,
    decode_descriptor,
    encode_record,
    generated_number,
    record_body,
    record_destination,
    record_flags,
)
from sharedq.mqi.constants import MQRC, MsgFlag, Report
from sharedq.mqi.errors import MQIError
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD
from tests.support.examples import examples

#: 2013-01-01 05:15:00.670 UTC
PUT_TIME_MS = 1_357_017_300_670
NOW_MS = PUT_TIME_MS + 5_000
NUMBER = 2**40 + 7
STRUCTURE = 3

longs = st.integers(-(2**31), 2**31 - 1)
identifiers = st.just(NULL_ID) | st.binary(min_size=24, max_size=24)


def characters(size: int) -> st.SearchStrategy[bytes]:
    return st.just(b"") | st.binary(max_size=size).map(lambda value: value.rstrip(b" \0"))


def moments() -> st.SearchStrategy[tuple[bytes, bytes]]:
    """Put dates and times: blank, real ones, and any text that a program may write there."""
    real = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9999, 12, 31)).map(  # noqa: DTZ001
        lambda moment: (
            moment.strftime("%Y%m%d").encode().rjust(8, b"0"),
            moment.strftime("%H%M%S").encode() + b"%02d" % (moment.microsecond // 10_000),
        )
    )
    return st.just((b"", b"")) | real | st.tuples(characters(8), characters(8))


@st.composite
def descriptors(draw: st.DrawFn) -> MQMD:
    put_date, put_time = draw(moments())
    return MQMD(
        version=draw(st.sampled_from([1, 2])),
        report=draw(st.just(0) | longs),
        msg_type=draw(st.just(8) | longs),
        expiry=draw(st.just(-1) | st.integers(1, 999_999_999)),
        feedback=draw(longs),
        encoding=draw(st.just(0x222) | longs),
        coded_char_set_id=draw(st.sampled_from([0, 1208]) | longs),
        format=draw(characters(8)),
        priority=draw(st.integers(0, 9) | st.integers(10, 2**31 - 1)),
        persistence=draw(st.integers(0, 1)),
        msg_id=draw(identifiers),
        correl_id=draw(identifiers),
        reply_to_q=draw(characters(48)),
        reply_to_q_mgr=draw(characters(48)),
        user_identifier=draw(characters(12)),
        accounting_token=draw(st.just(bytes(32)) | st.binary(min_size=32, max_size=32)),
        appl_identity_data=draw(characters(32)),
        put_appl_type=draw(longs),
        put_appl_name=draw(characters(28)),
        put_date=put_date,
        put_time=put_time,
        appl_origin_data=draw(characters(4)),
        group_id=draw(identifiers),
        msg_seq_number=draw(st.just(1) | longs),
        offset=draw(st.just(0) | longs),
        msg_flags=draw(st.just(0) | st.integers(0, 31) | longs),
        original_length=draw(st.just(-1) | longs),
    )


def stored(record: bytes, now_ms: int = PUT_TIME_MS) -> bytes:
    """The work of the script that puts: an expiry time becomes absolute."""
    if not record_flags(record) & RECORD_EXPIRY:
        return record
    (left_ms,) = struct.unpack_from(">Q", record, 5)
    return record[:5] + struct.pack(">Q", now_ms + left_ms) + record[13:]


@settings(max_examples=examples(200))
@given(
    descriptors(),
    st.binary(max_size=300),
    st.binary(max_size=12),
    st.none() | st.binary(min_size=1, max_size=48),
)
def test_everything_but_the_backout_count_comes_back(
    md: MQMD, body: bytes, origin: bytes, destination: bytes | None
) -> None:
    record = stored(encode_record(md, body, origin, PUT_TIME_MS, destination))

    found, data = decode_descriptor(record, NUMBER, STRUCTURE, PUT_TIME_MS), record_body(record)

    expected = replace(md)
    if md.msg_id == NULL_ID:
        expected.msg_id = found.msg_id
        assert found.msg_id[:16] == b"CSQ " + origin.ljust(12)
        assert generated_number(found.msg_id, STRUCTURE) == NUMBER
    if not md.coded_char_set_id:
        expected.coded_char_set_id = 1208
    if not md.put_date and not md.put_time:
        expected.put_date, expected.put_time = b"20130101", b"05150067"
    assert found == expected
    assert data == body
    assert record_destination(record) == (destination or b"")


@given(descriptors())
def test_flags_say_what_scripts_must_know(md: MQMD) -> None:
    record = encode_record(md, b"", b"EWR", PUT_TIME_MS)
    grouped = MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT | MsgFlag.MSG_IN_GROUP | MsgFlag.LAST_MSG_IN_GROUP

    assert record_flags(record) == (
        (RECORD_PERSISTENT if md.persistence else 0)
        | (RECORD_EXPIRY if md.expiry != -1 else 0)
        | (RECORD_CORREL_ID if md.correl_id != NULL_ID else 0)
        | (RECORD_MSG_ID if md.msg_id != NULL_ID else 0)
        | (RECORD_GROUP if md.group_id != NULL_ID or md.msg_flags & grouped else 0)
        | (RECORD_REPORT if md.report else 0)
        | (RECORD_TELLS_EXPIRY if md.report & Report.EXPIRATION and md.expiry != -1 else 0)
    )


def test_scripts_find_the_parts_where_the_keyspace_document_puts_them() -> None:
    md = MQMD(
        priority=7,
        persistence=1,
        expiry=30,
        correl_id=b"c" * 24,
        msg_id=b"m" * 24,
        group_id=b"g" * 24,
        msg_seq_number=2,
        offset=5,
        msg_flags=MsgFlag.MSG_IN_GROUP,
        report=Report.COA,
    )

    record = encode_record(md, b"body", b"EWR", PUT_TIME_MS, b"DEPARTURES")

    flags, priority, backout_count, length = struct.unpack_from(">BBBH", record)
    assert (flags, priority, backout_count) == (127, 7, 0)
    assert record[length:] == b"body"
    assert struct.unpack_from(">Q", record, 5) == (3_000,)
    assert record[13:61] == b"c" * 24 + b"m" * 24
    assert record[61:101] == b"g" * 24 + struct.pack(">IIIi", 2, 5, 8, -1)
    assert record[101:112] == b"\x0aDEPARTURES"
    assert record_flags(record) & RECORD_DESTINATION


def test_backout_count_is_the_byte_that_scripts_raise() -> None:
    record = encode_record(MQMD(priority=0, persistence=0, backout_count=9), b"", b"EWR", PUT_TIME_MS)

    assert decode_descriptor(record, 1, 1, NOW_MS).backout_count == 0
    assert decode_descriptor(record[:2] + b"\xff" + record[3:], 1, 1, NOW_MS).backout_count == 255


@pytest.mark.parametrize(
    ("passed_ms", "left"), [(0, 50), (1, 50), (99, 50), (100, 49), (4_901, 1), (4_999, 1), (6_000, 1)]
)
def test_expiry_is_the_time_that_is_left_in_tenths_begun(passed_ms: int, left: int) -> None:
    record = stored(encode_record(MQMD(priority=0, persistence=0, expiry=50), b"", b"EWR", PUT_TIME_MS))

    assert decode_descriptor(record, 1, 1, PUT_TIME_MS + passed_ms).expiry == left


def test_put_time_is_rendered_in_utc_to_the_hundredth() -> None:
    start = datetime(2012, 12, 31, 23, 59, 59, 990_000, tzinfo=UTC)
    for step_ms, expected in ((0, (b"20121231", b"23595999")), (10, (b"20130101", b"00000000"))):
        moment = start + timedelta(milliseconds=step_ms)
        put_time_ms = round(moment.timestamp() * 1000)
        md = decode_descriptor(encode_record(MQMD(priority=0, persistence=0), b"", b"EWR", put_time_ms), 1, 1, NOW_MS)
        assert (md.put_date, md.put_time) == expected


def test_no_put_time_leaves_date_and_time_blank() -> None:
    md = decode_descriptor(encode_record(MQMD(priority=0, persistence=0), b"", b"EWR", 0), 1, 1, NOW_MS)

    assert (md.put_date, md.put_time) == (b"", b"")


def test_messages_with_equal_descriptors_do_not_share_theirs() -> None:
    record = encode_record(MQMD(priority=0, persistence=0, format=b"MQSTR"), b"", b"EWR", PUT_TIME_MS)

    first = decode_descriptor(record, 1, 1, NOW_MS)
    first.format, first.reply_to_q = b"CHANGED", b"CHANGED"

    assert decode_descriptor(record, 1, 1, NOW_MS).format == b"MQSTR"
    assert decode_descriptor(record, 1, 1, NOW_MS).reply_to_q == b""


def test_identifiers_that_are_short_are_filled_with_nulls() -> None:
    """Programs that come from pymqi write them without the padding."""
    record = encode_record(
        MQMD(priority=0, persistence=0, correl_id=b"ORDER 1", msg_id=b"", group_id=bytes(3)),
        b"",
        b"EWR",
        PUT_TIME_MS,
    )

    assert record_flags(record) == RECORD_CORREL_ID
    assert decode_descriptor(record, 1, 1, NOW_MS).correl_id == b"ORDER 1".ljust(24, b"\0")


def test_masks_with_the_top_bit_set_are_kept_as_ibms_32_bits() -> None:
    record = encode_record(MQMD(priority=0, persistence=0, report=0x8000_0001), b"", b"EWR", PUT_TIME_MS)

    assert decode_descriptor(record, 1, 1, NOW_MS).report == 0x8000_0001 - 2**32


@pytest.mark.parametrize(
    "md",
    [
        MQMD(priority=0, report=2**32),
        MQMD(priority=0, expiry=-2),
        MQMD(priority=-1),
        MQMD(priority=0, correl_id=b"x" * 25),
        MQMD(priority=0, format=b"TOO LONG."),
        MQMD(priority=0, reply_to_q="text"),  # type: ignore[arg-type]
        MQMD(priority=0, msg_id="text"),  # type: ignore[arg-type]
    ],
    ids=["report", "expiry", "priority", "correl_id", "format", "reply_to_q", "msg_id"],
)
def test_a_value_that_does_not_fit_is_a_bad_descriptor(md: MQMD) -> None:
    with pytest.raises(MQIError) as caught:
        encode_record(md, b"", b"EWR", PUT_TIME_MS)

    assert caught.value.reason == MQRC.MD_ERROR


@pytest.mark.parametrize(
    ("msg_id", "expected"),
    [
        (b"CSQ " + b"EWR".ljust(12) + struct.pack(">HHI", 3, 1, 2), 2**32 + 2),
        (b"CSQ " + b"EWR".ljust(12) + struct.pack(">HHI", 4, 1, 2), None),
        (b"CSQ " + b"EWR".ljust(12) + struct.pack(">HHI", 3, 0, 0), None),
        (b"AMQ " + b"EWR".ljust(12) + struct.pack(">HHI", 3, 1, 2), None),
        (b"CSQ short", None),
        (NULL_ID, None),
    ],
)
def test_generated_identifiers_tell_the_message_number(msg_id: bytes, expected: int | None) -> None:
    assert generated_number(msg_id, 3) == expected


def test_names_too_long_for_a_msg_id_are_cut_as_ibm_cuts_them() -> None:
    record = encode_record(MQMD(priority=0, persistence=0), b"", b"QUEUE.MANAGER.1", PUT_TIME_MS)

    assert decode_descriptor(record, 1, 1, NOW_MS).msg_id[:16] == b"CSQ QUEUE.MANAGE"


def test_a_plain_persistent_message_costs_few_bytes_beside_its_data() -> None:
    md = MQMD(priority=0, persistence=1, format=b"MQSTR", user_identifier=b"user", put_appl_type=6)

    assert len(encode_record(md, bytes(256), b"EWR", PUT_TIME_MS)) <= 256 + 40


def test_every_field_of_the_descriptor_is_drawn() -> None:
    """A field that is added to MQMD must be added to the round trip above."""
    assert len(fields(MQMD)) == 28
