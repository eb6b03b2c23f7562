"""Rows as messages: fields that a column overrides, and values that cannot be put."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from igq.pipeline.datasource.queue.rows import check_columns, messages
from igq.pipeline.errors import PipelineError
from sharedq.messages.context import default_appl_name, fill_in_context
from sharedq.mqi.structures import MQMD
from tests.pipeline.schemas import schema_of

pytestmark = pytest.mark.share


def test_columns_override_the_descriptor_and_nulls_leave_it() -> None:
    schema = schema_of(data="string", priority="integer", correl_id="binary", format="string", msg_seq_number="long")
    values = {
        "data": ["zwölf", "2"],
        "priority": [7, None],
        "correl_id": [b"c", None],
        "format": ["MQSTR", None],
        "msg_seq_number": [2, None],
    }
    batch = pa.RecordBatch.from_pydict(values, schema=to_arrow_schema(schema))

    (first, body), (second, _) = messages(batch)

    assert body == "zwölf".encode()
    assert (first.priority, first.correl_id, first.format) == (7, b"c".ljust(24, b"\0"), b"MQSTR")
    assert (first.msg_seq_number, first.version) == (2, 2)
    assert second == MQMD(version=2)


@pytest.mark.parametrize("put_appl_name", [None, ["a", "a", "a"], [None, None, None], ["a", None, "b"]])
@pytest.mark.parametrize("priority", [None, [3, 3, 3], [None, None, None], [3, None, 3], [1, 2, 3]])
@pytest.mark.parametrize("correl_id", [None, [b"C", b"C", b"C"], [None, None, None], [b"C", b"D", None]])
def test_values_that_rows_share_are_in_each_of_them(
    put_appl_name: list[str | None] | None,
    priority: list[int | None] | None,
    correl_id: list[bytes | None] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_000_000_000.5)
    given: dict[str, Any] = {"put_appl_name": put_appl_name, "priority": priority, "correl_id": correl_id}
    columns = {name: values for name, values in given.items() if values is not None}
    kept: dict[str, Callable[[Any], object]] = {
        "put_appl_name": str.encode,
        "priority": int,
        "correl_id": lambda each: each.ljust(24, b"\0"),
    }
    kinds = {"put_appl_name": pa.string(), "priority": pa.int32(), "correl_id": pa.binary()}
    batch = pa.RecordBatch.from_pydict(
        {name: pa.array(values, kinds[name]) for name, values in columns.items()} | {"data": [b"1", b"2", b"3"]}
    )
    for row, (md, body) in enumerate(messages(batch)):
        expected = MQMD(version=2)
        if put_appl_name is not None:
            fill_in_context(expected, 0, default_appl_name())
            expected.put_date, expected.put_time = b"20010909", b"01464050"
        for name, values in columns.items():
            value = values[row]
            if value is not None:
                setattr(expected, name, kept[name](value))
        assert (md, body) == (expected, b"%d" % (row + 1))
    assert [len(list(messages(batch.slice(0, rows)))) for rows in (0, 1, 3)] == [0, 1, 3]
    # A put fills the descriptor in, with the same values if all rows share it.
    is_shared = all(values.count(values[0]) == 3 for values in columns.values())
    assert len({id(md) for md, _ in list(messages(batch))}) == (1 if is_shared else 3)


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"priority": "integer"}, "there is no column data"),
        ({"data": "integer"}, "column data is int, must be binary"),
        ({"data": "binary", "prio": "integer"}, "there is no column prio in a descriptor; allowed: queue"),
        ({"data": "binary", "priority": "string"}, "column priority is string, must be int"),
        ({"data": "binary", "format": "binary"}, "column format is binary, must be string"),
    ],
)
def test_columns_that_cannot_be_put_are_named(columns: dict[str, str], what: str) -> None:
    with pytest.raises(PipelineError, match=what):
        check_columns(schema_of(**columns))


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("data", None, "data is null in a row"),
        ("correl_id", b"x" * 25, "correl_id has 25 bytes in a row, at most 24 fit"),
        ("format", "日本", "format has a character in a row that is not in ISO 8859-1"),
        ("expiry", 1 << 40, "expiry has a number in a row that does not fit into 32 bits"),
    ],
)
def test_values_that_cannot_be_put_are_named(column: str, value: Any, what: str) -> None:
    batch = pa.RecordBatch.from_pydict({"data": [b"1"]} | {column: [value]})
    with pytest.raises(PipelineError, match=what):
        list(messages(batch))
