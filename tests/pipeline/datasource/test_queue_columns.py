"""Columns of many records equal the decoding of each record. No Spark, no server."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from igq.pipeline.datasource.queue.arrow_batches import batches
from igq.pipeline.schemas import QUEUE
from sharedq.messages.message import message_number
from sharedq.messages.record import (
    decode_descriptor,
    encode_record,
    record_body,
    record_destination,
    record_length,
    record_put_time_ms,
)
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD
from sharedq.reading.queue import QueuePart, Slice
from tests.support.examples import examples

SCHEMA = to_arrow_schema(QUEUE, timezone="UTC")
PLACE = QueuePart("ORDERS", "APPL1", 7)
NOW_MS = 1_790_000_000_000
_NUMBER = st.integers(-(2**31), 2**31 - 1)
_NAME = st.sampled_from([b"", b"A", b"NAME.OF.1", b"\xe4\xff"])
_ID = st.one_of(st.just(NULL_ID), st.binary(min_size=24, max_size=24))
_TIMES = st.sampled_from(
    [(b"", b""), (b"20260131", b"23595999"), (b"19991231", b"00000000"), (b"sometime", b"or other"), (b"20260230", b"")]
)


@st.composite
def messages(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Id and record of any message."""
    put_date, put_time = draw(_TIMES)
    md = MQMD(
        version=2,
        report=draw(st.sampled_from([0, 64])),
        msg_type=draw(st.sampled_from([1, 8])),
        expiry=draw(st.sampled_from([-1, -1, 1, 36_000])),
        feedback=draw(st.one_of(st.just(0), _NUMBER)),
        encoding=draw(st.sampled_from([0x222, 273])),
        coded_char_set_id=draw(st.sampled_from([1208, 850])),
        format=draw(_NAME)[:8],
        priority=draw(st.integers(0, 9) | st.integers(10, 2**31 - 1)),
        persistence=draw(st.integers(0, 1)),
        msg_id=draw(_ID),
        correl_id=draw(_ID),
        reply_to_q=draw(_NAME),
        user_identifier=draw(_NAME),
        accounting_token=draw(st.sampled_from([b"\0" * 32, b"t" * 32])),
        put_date=put_date,
        put_time=put_time,
    )
    if draw(st.booleans()):
        md.group_id, md.msg_flags = draw(_ID), draw(st.sampled_from([8, 24, 2, 6]))
        md.msg_seq_number, md.offset, md.original_length = draw(_NUMBER), draw(_NUMBER), draw(_NUMBER)
    body = draw(st.binary(max_size=20))
    destination = draw(st.sampled_from([None, None, b"TARGET"]))
    record = encode_record(md, body, b"QM1", draw(st.integers(1, 2**42)), destination)
    if record[0] & 2:
        # As a script stores it, by Redis' clock.
        ends_ms = int.from_bytes(record[5:13]) + NOW_MS
        record = record[:5] + ends_ms.to_bytes(8) + record[13:]
    record = record[:2] + bytes([draw(st.integers(0, 255))]) + record[3:]
    number, mark = draw(st.integers(1, 2**48 - 1)), draw(st.sampled_from([b"", b"x", b".12", b".3x"]))
    return b"%d%b" % (number, mark), record


def slice_of(some: list[tuple[bytes, bytes]], *, has_data: bool, is_run: bool) -> Slice:
    heads = [record[: len(record) - record_length(record)] for _, record in some]
    return Slice(
        PLACE,
        NOW_MS + 50,
        b" ".join(message_id for message_id, _ in some),
        b"100" if is_run else b" ".join(b"%d" % (100 + at) for at in range(len(some))),
        [record for _, record in some] if has_data else heads,
        b"" if has_data else b" ".join(b"%d" % record_length(record) for _, record in some),
    )


def expected(message_id: bytes, record: bytes, position: int) -> dict[str, Any]:
    md = asdict(decode_descriptor(record, message_number(message_id), PLACE.number, NOW_MS + 50))
    row: dict[str, Any] = {
        name: value.decode("latin-1") if isinstance(value, bytes) else value for name, value in md.items()
    }
    row |= {name: None if md[name] == NULL_ID else md[name] for name in ("msg_id", "correl_id", "group_id")}
    put_ms = record_put_time_ms(record)
    row |= {
        "queue": PLACE.queue,
        "structure": PLACE.structure,
        "position": position,
        "message_id": message_id.decode(),
        "accounting_token": md["accounting_token"],
        "put_at": datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=put_ms) if put_ms else None,
        "destination": record_destination(record).decode() or None,
        "length": record_length(record),
        "data": record_body(record),
    }
    return row


@settings(max_examples=examples(150))
@given(some=st.lists(messages(), min_size=1, max_size=12), is_run=st.booleans())
def test_every_column_is_what_the_record_says(some: list[tuple[bytes, bytes]], is_run: bool) -> None:
    (batch,) = batches(iter([slice_of(some, has_data=True, is_run=is_run)]), SCHEMA)
    assert batch.schema == SCHEMA
    batch.validate(full=True)
    rows = [expected(message_id, record, 100 + at) for at, (message_id, record) in enumerate(some)]
    assert batch.to_pylist() == [{name: row[name] for name in SCHEMA.names} for row in rows]


@settings(max_examples=examples(30))
@given(one=messages(), data=st.lists(st.binary(min_size=3, max_size=3), min_size=1, max_size=6))
def test_records_that_are_all_alike_are_no_exception(one: tuple[bytes, bytes], data: list[bytes]) -> None:
    message_id, record = one
    some = [(message_id, record[: len(record) - record_length(record)] + body) for body in data]
    (batch,) = batches(iter([slice_of(some, has_data=True, is_run=True)]), SCHEMA)
    rows = [expected(message_id, record, 100 + at) for at, (_, record) in enumerate(some)]
    assert batch.to_pylist() == [{name: row[name] for name in SCHEMA.names} for row in rows]


def test_an_expiry_that_its_field_cannot_hold_makes_no_queue_unreadable() -> None:
    """Earlier versions accepted it."""
    record = encode_record(MQMD(version=2, priority=0, persistence=0, expiry=1), b"", b"QM1", 1, None)
    late = record[:5] + (NOW_MS + (1 << 50)).to_bytes(8) + record[13:]
    (batch,) = batches(iter([slice_of([(b"1", late)], has_data=True, is_run=True)]), SCHEMA)
    assert batch.column("expiry").to_pylist() == [2**31 - 1]


@settings(max_examples=examples(30))
@given(some=st.lists(messages(), min_size=1, max_size=6))
def test_without_data_different_lengths_are_distinguished(some: list[tuple[bytes, bytes]]) -> None:
    schema = pa.schema([SCHEMA.field(name) for name in ("length", "msg_id", "put_at")])
    (batch,) = batches(iter([slice_of(some, has_data=False, is_run=True)] * 2), schema)
    rows = [expected(message_id, record, 0) for message_id, record in some] * 2
    assert batch.to_pylist() == [{name: row[name] for name in schema.names} for row in rows]


@pytest.mark.parametrize(("rows", "sizes"), [(25_000, [20_000, 5_000]), (0, [0])])
def test_batches_are_of_the_size_that_spark_likes(rows: int, sizes: list[int]) -> None:
    record = encode_record(MQMD(priority=5, persistence=1), b"body", b"QM1", 1)
    slices = [slice_of([(b"1", record)] * 500, has_data=True, is_run=True)] * (rows // 500)
    assert [batch.num_rows for batch in batches(iter(slices), SCHEMA)] == sizes


def test_long_messages_end_a_batch_early() -> None:
    record = encode_record(MQMD(priority=5, persistence=1), bytes(3 << 20), b"QM1", 1)
    slices = [slice_of([(b"1", record)], has_data=True, is_run=True)] * 7
    assert [batch.num_rows for batch in batches(iter(slices), SCHEMA)] == [3, 3, 1]
