"""`sharedq.reading.journal`: positions, ranges and the contents of structures."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sharedq.reading.journal import (
    Extent,
    JournalError,
    clip,
    held,
    parse_position,
    read_entries,
    read_extent,
    split,
    structure_numbers,
)
from sharedq.redis.deployment import Deployment
from sharedq.redis.keys import structure_keys
from tests.pipeline.support import GROUP, HandWrittenJournal


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("-", "-"),
        ("+", "+"),
        ("1700000000000", "1700000000000"),
        ("1700000000000-3", "1700000000000-3"),
        ("2023-11-14T22:13:20", "1700000000000"),
        ("2023-11-14T23:13:20.5+01:00", "1700000000500"),
        ("2023-11-14", "1699920000000"),
        ("1969-12-31T23:59:59", "0"),
    ],
)
def test_a_position_is_an_id_milliseconds_or_a_time(text: str, position: str) -> None:
    assert parse_position(text) == position


@pytest.mark.parametrize("text", ["", "now", "12-", "1-2-3", "-5"])
def test_anything_else_is_no_position(text: str) -> None:
    with pytest.raises(ValueError, match="no place in the journal"):
        parse_position(text)


def test_clipping_takes_whole_milliseconds_at_both_ends() -> None:
    extent = Extent("10-5", "20-0", 7, True)

    assert clip(extent, "-", "+") == ("10-5", "20-0")
    assert clip(extent, "12", "15") == ("12-0", f"15-{2**64 - 1}")
    assert clip(extent, "21", "+") is None
    assert clip(extent, "-", "9") is None


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 100])
def test_ranges_follow_each_other_without_gap_or_overlap(parts: int) -> None:
    ranges = split("10-5", "20-3", parts)

    assert len(ranges) <= parts
    assert (ranges[0][0], ranges[-1][1]) == ("10-5", "20-3")
    for (_, end), (start, _) in pairwise(ranges):
        ms, _, sequence = end.partition("-")
        assert int(sequence) == 2**64 - 1
        assert start == f"{int(ms) + 1}-0"


def test_reading_in_small_pieces_gives_every_entry_once(journal: HandWrittenJournal) -> None:
    journal.define("APPL1")
    written = [journal.put("APPL1", "Q", "EWR.1.1.1", [str(n)], ms=1_000 + n // 3) for n in range(1, 21)]

    entries = read_entries(journal.client, structure_keys(GROUP, "APPL1"), count=4)

    assert [entry.stream_id for entry in entries] == written


def test_the_extent_shows_whether_the_beginning_is_still_there(journal: HandWrittenJournal) -> None:
    journal.define("APPL1")
    keys = structure_keys(GROUP, "APPL1")
    assert read_extent(journal.client, keys) is None
    first, second = (journal.put("APPL1", "Q", "EWR.1.1.1", [n]) for n in "12")

    assert read_extent(journal.client, keys) == Extent(first, second, 2, True)

    journal.client.xtrim(keys.journal, maxlen=1, approximate=False)
    assert read_extent(journal.client, keys) == Extent(second, second, 1, False)


def test_held_answers_for_each_message_in_the_order_asked(journal: HandWrittenJournal) -> None:
    journal.store("APPL1", "2x", "3.1")

    assert held(journal.client, structure_keys(GROUP, "APPL1"), ["1", "2x", "3.1", "3"]) == [False, True, True, False]


def test_an_unknown_group_is_named(redis_url: str, journal: HandWrittenJournal) -> None:
    journal.define("APPL1")

    assert structure_numbers(Deployment(redis_url), GROUP) == {"APPL1": 1}
    with pytest.raises(JournalError, match="Redis knows no group NONE"):
        structure_numbers(Deployment(redis_url), "NONE")


def test_a_server_that_is_not_there_is_one_line() -> None:
    with pytest.raises(JournalError, match=r"^the journal cannot be read, Redis cannot be reached: .*$"):
        structure_numbers(Deployment("unix:///nowhere/at/all"), GROUP)
