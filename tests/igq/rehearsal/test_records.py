"""The files of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from igq.errors import CommandError
from igq.rehearsal.load.records import (
    ExpectedWriter,
    History,
    LineFile,
    Timeline,
    last_row,
    read_lines,
    read_timeline,
    write_expected,
)
from igq.rehearsal.load.rows.sources import RowSource
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for

pytestmark = pytest.mark.share


def test_a_torn_last_line_is_skipped_and_ended_by_the_next_append(tmp_path: Path) -> None:
    path = tmp_path / "sent.jsonl"
    with LineFile(path) as file:
        file.write([{"n": 1}, {"n": 2}])
    with path.open("a") as torn:
        torn.write('{"n": 3, "out')

    assert last_row(path) == {"n": 2}
    with LineFile(path) as file:
        file.write([{"n": 4}])
    assert list(read_lines(path)) == [{"n": 1}, {"n": 2}, {"n": 4}]


def test_the_last_row_of_a_long_file_is_found_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with LineFile(path) as file:
        file.write({"n": number, "pad": "x" * 100} for number in range(3_000))
    assert (last_row(path) or {})["n"] == 2_999


def test_there_is_no_last_row_without_a_file(tmp_path: Path) -> None:
    assert last_row(tmp_path / "none") is None
    assert list(read_lines(tmp_path / "none")) == []


def test_expected_has_both_copies_of_each_row(tmp_path: Path) -> None:
    path = tmp_path / "expected.jsonl"
    count = write_expected(RowSource("made-up", 500, seed=3).days(), path)
    rows = list(read_lines(path))

    assert count == len(rows) == 1_000
    assert {(row["row"], row["path"]) for row in rows} == {(n, path) for n in range(500) for path in ("igq", "shared")}
    assert {row["queue"] for row in rows if row["path"] == "igq"} == {"DEPARTURES"}
    assert all(row["target"] not in ("", row["source"]) for row in rows if row["path"] == "igq")


def test_the_timeline_is_read_in_order_of_time(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path)
    timeline.add("resolved", "LGA", by="EWR", t_ms=30)
    timeline.add("killed", "LGA", t_ms=10)
    timeline.close()
    assert [event["event"] for event in read_timeline(tmp_path)] == ["killed", "resolved"]


@pytest.mark.parametrize(
    ("reason", "phase"), [(MQRC.CONNECTION_BROKEN, "unknown"), (MQRC.NO_MSG_AVAILABLE, "failed"), (None, "ok")]
)
def test_a_history_has_a_line_before_and_one_after_each_call(tmp_path: Path, reason: MQRC | None, phase: str) -> None:
    path = tmp_path / "history.jsonl"
    history = History(path, "EWR-putter")

    def call() -> None:
        with history.call("MQCMIT", unit_of_work="EWR.1.5.1/0") as result:
            result["messages"] = 3
            if reason is not None:
                raise error_for(reason, "MQCMIT", "EWR")

    if reason is None:
        call()
    else:
        with pytest.raises(Exception, match=reason.name):
            call()

    invoked, ended = read_lines(path)
    assert (invoked["phase"], ended["phase"]) == ("invoked", phase)
    assert invoked["unit_of_work"] == "EWR.1.5.1/0"
    assert invoked["call"] == ended["call"]
    assert ended["messages"] == 3


def test_a_source_is_written_and_read_as_text() -> None:
    for source in (RowSource("flights", None), RowSource("made-up", 20, 7)):
        assert RowSource.parse(str(source)) == source


def test_the_same_seed_makes_the_same_load() -> None:
    first, again, other = (list(RowSource("made-up", 300, seed).days()) for seed in (1, 1, 2))
    assert first == again != other


def test_expected_is_written_beside_the_load(tmp_path: Path) -> None:
    with ExpectedWriter(RowSource("made-up", 300, seed=3), tmp_path) as writer:
        assert writer.count() == 600
    assert len(list(read_lines(tmp_path / "expected.jsonl"))) == 600


def test_a_waiter_for_the_list_learns_of_an_unreadable_input(tmp_path: Path) -> None:
    source = RowSource("no-such-kind", 1)
    with ExpectedWriter(source, tmp_path) as writer, pytest.raises(CommandError, match="no-such-kind"):
        writer.count()
