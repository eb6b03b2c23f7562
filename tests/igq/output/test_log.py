"""The file of a manager's log: its permissions, its times, and its rotation."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog

from igq.output.log import log_message, start_log

pytestmark = pytest.mark.share


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def test_only_its_user_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        start_log("QM1", tmp_path)
    finally:
        os.umask(before)
    assert (tmp_path / "QM1.log").stat().st_mode & 0o777 == 0o600


def test_an_operators_permissions_stay(tmp_path: Path) -> None:
    (tmp_path / "QM1.log").touch(mode=0o640)
    (tmp_path / "QM1.log").chmod(0o640)
    start_log("QM1", tmp_path)
    assert (tmp_path / "QM1.log").stat().st_mode & 0o777 == 0o640


def test_times_say_their_zone(tmp_path: Path) -> None:
    log, _ = start_log("QM1", tmp_path)
    log.info("CSQ3104I")
    log.warning("something", why="else")
    for line in (tmp_path / "QM1.log").read_text().splitlines():
        assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z ", line)


def test_it_goes_on_in_the_file_that_has_its_name(tmp_path: Path) -> None:
    log, file = start_log("QM1", tmp_path)
    path, old = tmp_path / "QM1.log", tmp_path / "QM1.log.1"
    log.info("one")
    path.rename(old)
    log.info("two")
    file.reopen()
    log.info("three")
    assert [line.split()[-1] for line in old.read_text().splitlines()] == ["one", "two"]
    assert [line.split()[-1] for line in path.read_text().splitlines()] == ["three"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_log_that_cannot_be_reopened_goes_on(tmp_path: Path) -> None:
    log, file = start_log("QM1", tmp_path)
    (tmp_path / "QM1.log").rename(tmp_path / "old")
    (tmp_path / "QM1.log").mkdir()
    with pytest.raises(OSError, match="directory"):
        file.reopen()
    log.info("one")
    assert (tmp_path / "old").read_text().endswith("one\n")


def json_lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "QM1.log").read_text().splitlines()]


def test_json_has_the_message_and_its_fields(tmp_path: Path) -> None:
    log, _ = start_log("QM1", tmp_path, "json")
    log_message(log, "CSQM065E", {"error": ValueError("no"), "retry": 2, "wait_s": 20.0})
    log_message(log, "CSQ3104I", {})
    first, second = json_lines(tmp_path)
    at = datetime.fromisoformat(first.pop("time"))
    assert at.utcoffset() == timedelta(0)
    assert first == {
        "level": "error",
        "manager": "QM1",
        "id": "CSQM065E",
        "text": "QM1 IGQ agent: no; retry 2 in 20 s",
        "error": "no",
        "retry": 2,
        "wait_s": 20.0,
    }
    assert (second["level"], second["text"]) == ("info", "QM1 queue manager stopped")


def test_json_of_anything_is_one_valid_line(tmp_path: Path) -> None:
    log, _ = start_log("QM1", tmp_path, "json")
    hostile = 'a\n{}\x1b[31m\u2028\udcff"\\'
    try:
        raise ValueError(hostile)
    except ValueError:
        log.exception(hostile, text=hostile, id=1, time=float("nan"), name=b"x")
    (line,) = json_lines(tmp_path)
    assert line["text"] == line["text_"] == hostile.replace("\udcff", "\\udcff")
    assert (line["id"], line["id_"], line["time_"], line["name"]) == ("", 1, "nan", "b'x'")
    assert "ValueError" in line["exception"]
    assert (tmp_path / "QM1.log").read_text().isascii()


@pytest.mark.parametrize("format_", ["text", "json"])
def test_level_says_what_is_left_out(tmp_path: Path, format_: str) -> None:
    log, _ = start_log("QM1", tmp_path, format_, "error")
    log_message(log, "CSQ3104I", {})
    log.warning("something")
    assert (tmp_path / "QM1.log").read_text() == ""
    log_message(log, "IGQ0001E", {"why": "x"})
    assert "IGQ0001E" in (tmp_path / "QM1.log").read_text()
