"""Filters that the server applies, and those that are left to Spark. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from igq.pipeline.datasource.queue.reader import push
from sharedq.reading.queue import ALL, ReadFilter

ID, OTHER = b"i" * 24, b"o" * 24
PRIORITY, PUT_AT = ("priority",), ("put_at",)


def at(ms: int, micros: int = 0) -> datetime:
    return datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000 + micros)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (EqualTo(("correl_id",), ID), ReadFilter(correl_id=ID)),
        (EqualTo(("group_id",), bytearray(ID)), ReadFilter(group_id=ID)),
        (EqualNullSafe(("group_id",), ID), ReadFilter(group_id=ID)),
        (EqualTo(PRIORITY, 5), ReadFilter(priority_min=5, priority_max=5)),
        (EqualNullSafe(PRIORITY, 5), ReadFilter(priority_min=5, priority_max=5)),
        (GreaterThan(PRIORITY, 5), ReadFilter(priority_min=6)),
        (GreaterThanOrEqual(PRIORITY, -3), ReadFilter()),
        (LessThan(PRIORITY, 5), ReadFilter(priority_max=4)),
        (LessThanOrEqual(PRIORITY, 5), ReadFilter(priority_max=5)),
        (EqualTo(PUT_AT, at(7001)), ReadFilter(put_from_ms=7001, put_until_ms=7001)),
        (GreaterThan(PUT_AT, at(7001)), ReadFilter(put_from_ms=7002)),
        (GreaterThan(PUT_AT, at(7001, 1)), ReadFilter(put_from_ms=7002)),
        (GreaterThanOrEqual(PUT_AT, at(7001)), ReadFilter(put_from_ms=7001)),
        (GreaterThanOrEqual(PUT_AT, at(7001, 1)), ReadFilter(put_from_ms=7002)),
        (LessThan(PUT_AT, at(7001)), ReadFilter(put_until_ms=7000)),
        (LessThan(PUT_AT, at(7001, 1)), ReadFilter(put_until_ms=7001)),
        (LessThanOrEqual(PUT_AT, at(7001)), ReadFilter(put_until_ms=7001)),
        (LessThanOrEqual(PUT_AT, at(7001, 1)), ReadFilter(put_until_ms=7001)),
    ],
)
def test_pushed_filters_are_exact(asked: Filter, wanted: ReadFilter) -> None:
    assert push([asked]) == (wanted, [])


def test_a_msg_id_leads_there_and_is_compared_again() -> None:
    asked = EqualTo(("msg_id",), ID)
    assert push([asked]) == (ReadFilter(msg_id=ID), [asked])


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (EqualTo(PRIORITY, 9), ReadFilter(priority_min=9)),
        (EqualTo(PRIORITY, 77), ReadFilter(priority_min=9)),
        (GreaterThan(PRIORITY, 9), ReadFilter(priority_min=9)),
        (GreaterThanOrEqual(PRIORITY, 77), ReadFilter(priority_min=9)),
        (LessThanOrEqual(PRIORITY, 9), ReadFilter()),
        (LessThan(PRIORITY, 77), ReadFilter()),
    ],
)
def test_priorities_above_the_highest_are_pushed_as_it_and_compared_again(asked: Filter, wanted: ReadFilter) -> None:
    assert push([asked]) == (wanted, [asked])


@pytest.mark.parametrize("asked", [GreaterThan(PRIORITY, 8), GreaterThanOrEqual(PRIORITY, 9)])
def test_the_highest_and_above_is_exact(asked: Filter) -> None:
    assert push([asked]) == (ReadFilter(priority_min=9), [])


def test_several_filters_narrow_each_other() -> None:
    asked = [GreaterThan(PRIORITY, 2), LessThan(PRIORITY, 8), GreaterThan(PRIORITY, 4), EqualTo(("correl_id",), ID)]
    assert push(asked) == (ReadFilter(correl_id=ID, priority_min=5, priority_max=7), [])


@pytest.mark.parametrize(
    "asked",
    [
        EqualTo(("correl_id",), b"short"),
        EqualTo(("correl_id",), None),
        EqualNullSafe(("correl_id",), None),
        EqualTo(("format",), "MQSTR"),
        In(("msg_id",), (ID, OTHER)),
        IsNotNull(PRIORITY),
        Not(EqualTo(PRIORITY, 5)),
        EqualTo(PRIORITY, 5.0),
        In(PRIORITY, (1, 2)),
        EqualTo(PUT_AT, at(7001, 1)),
        EqualTo(PUT_AT, datetime(2026, 1, 1)),  # noqa: DTZ001
        In(PUT_AT, (at(1),)),
    ],
)
def test_filters_that_are_not_understood_are_left_to_spark(asked: Any) -> None:
    assert push([asked]) == (ALL, [asked])


def test_a_second_identifier_of_a_kind_is_left_to_spark() -> None:
    first, second = EqualTo(("group_id",), ID), EqualTo(("group_id",), OTHER)
    assert push([first, second]) == (ReadFilter(group_id=ID), [second])
