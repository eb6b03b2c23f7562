"""Columns of many journal entries equal the expansion of each entry. No Spark, no server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from igq.pipeline.datasource.journal.columns import journal_batch, journal_batches
from igq.pipeline.schemas import JOURNAL
from sharedq.reading.journal import EVENTS, JournalEntry, JournalError, expand
from tests.support.examples import examples

SCHEMA = to_arrow_schema(JOURNAL, timezone="UTC")
_HEX_ID = st.one_of(st.just(""), st.binary(min_size=24, max_size=24).map(lambda value: value.hex().upper()))
_MESSAGE_ID = st.builds(
    lambda number, mark: f"{number}{mark}", st.integers(1, 2**48 - 1), st.sampled_from(["", "x", ".7", ".7x"])
)
#: The last is a part of the queue before it.
_QUEUE = st.sampled_from(["ORDERS", "SYSTEM.QSG.TRANSMIT.QUEUE", "SYSTEM.QSG.TRANSMIT.QUEUE@QM2"])


@st.composite
def details(draw: st.DrawFn) -> str:
    numbers = (draw(st.integers(1, 999)), draw(st.integers(0, 2**27)), draw(st.integers(0, 3)), draw(st.integers(0, 9)))
    return ",".join([draw(_HEX_ID), draw(_HEX_ID), draw(_HEX_ID), *map(str, numbers)])


@st.composite
def entries(draw: st.DrawFn) -> JournalEntry:
    event = draw(st.sampled_from(sorted(EVENTS)))
    fields = {"e": event, "o": draw(st.sampled_from(["QM1.1.2.3", "LONGERNAME.9.9", "@"])), "q": draw(_QUEUE)}
    if event == "prepare":
        fields |= {"u": "QM1.1.2.3/7"}
    elif event in ("commit", "backout"):
        fields |= {"u": "QM1.1.2.3/7", "n": str(draw(st.integers(0, 500))), "r": draw(st.sampled_from(["", "1"]))}
    else:
        ids = draw(st.lists(_MESSAGE_ID, min_size=0 if event == "clear" else 1, max_size=4))
        fields |= {"i": " ".join(ids), "u": draw(st.sampled_from(["", "QM1.1.2.3/7"]))}
        if event == "put":
            fields["d"] = "\n".join(draw(details()) for _ in ids)
        if event == "transfer":
            fields["t"] = "TARGET"
        if event == "get" and draw(st.booleans()):
            fields["c"] = "1"
    stream_id = f"{draw(st.integers(1, 2**42))}-{draw(st.integers(0, 9))}"
    return JournalEntry(stream_id, {name.encode(): value.encode() for name, value in fields.items()})


def rows_of(some: list[JournalEntry]) -> list[dict[str, Any]]:
    rows = []
    for entry in some:
        for row in expand(entry, "APPL1", 5):
            values = row._asdict()
            values["time"] = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=values.pop("time_us"))
            rows.append({name: values[name] for name in SCHEMA.names})
    return rows


@settings(max_examples=examples(150))
@given(some=st.lists(entries(), max_size=8))
def test_every_column_is_what_the_entry_says(some: list[JournalEntry]) -> None:
    batch = journal_batch(some, "APPL1", 5, SCHEMA)
    assert batch.schema == SCHEMA
    batch.validate(full=True)
    assert batch.to_pylist() == rows_of(some)


@pytest.mark.parametrize(("entries", "sizes"), [(0, [0]), (6, [6]), (5_000, [20_000, 20_000, 10_000])])
def test_batches_are_of_the_size_that_spark_likes(entries: int, sizes: list[int]) -> None:
    messages = 10 if entries > 10 else 1
    ids = " ".join(str(number) for number in range(1, messages + 1)).encode()
    some = [JournalEntry(f"{at}-0", {b"e": b"get", b"o": b"QM1.1", b"i": ids}) for at in range(entries)]
    assert [batch.num_rows for batch in journal_batches(some, "APPL1", 5, SCHEMA)] == sizes


@pytest.mark.parametrize(
    "fields",
    [
        {"e": "unheard", "o": "QM1.1"},
        {"e": "get", "i": "7"},
        {"e": "get", "o": "QM1.1", "i": "seven"},
        {"e": "put", "o": "QM1.1", "i": "7"},
        {"e": "put", "o": "QM1.1", "i": "7 8", "d": ",,,1,10,1,5"},
        {"e": "put", "o": "QM1.1", "i": "7", "d": ",,,1,10,1"},
        {"e": "put", "o": "QM1.1", "i": "7", "d": ",,,one,10,1,5"},
    ],
)
def test_an_entry_that_is_not_in_the_format_is_named(fields: dict[str, str]) -> None:
    bad = JournalEntry("5-1", {name.encode(): value.encode() for name, value in fields.items()})
    good = JournalEntry("4-1", {b"e": b"get", b"o": b"QM1.1", b"i": b"7"})
    with pytest.raises(JournalError, match="journal of APPL1, entry 5-1: not in the format"):
        journal_batch([good, bad], "APPL1", 5, SCHEMA)


def test_a_part_of_a_queue_is_called_as_its_users_call_it() -> None:
    fields = {
        b"e": b"transfer",
        b"o": b"QM2.1.2.3",
        b"q": b"SYSTEM.QSG.TRANSMIT.QUEUE@QM2",
        b"t": b"FAR",
        b"i": b"1.1 2.1",
    }
    entries = [JournalEntry("1-0", fields), JournalEntry("2-0", fields | {b"q": b"FAR"})]
    batch = journal_batch(entries, "APPL1", 5, SCHEMA)
    assert batch.column("queue").to_pylist() == 2 * ["SYSTEM.QSG.TRANSMIT.QUEUE"] + 2 * ["FAR"]
