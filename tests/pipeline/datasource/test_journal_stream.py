"""`format("igq.journal")`, streaming: every event once beside any writes and deaths, or the loss is an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from igq.pipeline.datasource.journal import stream as journal_stream
from igq.pipeline.datasource.journal.ranges import JournalPartition
from igq.pipeline.datasource.journal.source import JournalSource
from igq.pipeline.datasource.journal.stream import JournalStreamReader, Offset
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import JOURNAL
from sharedq.reading.journal import JournalError, JournalTrimmedError
from sharedq.redis.keys import structure_keys
from tests.pipeline.support import GROUP, HandWrittenJournal
from tests.support.scenes import until

OWNER = "EWR.3.1.2"
#: A structure and a message number.
Event = tuple[str, int]


def reader_of(url: str, **more: str) -> JournalStreamReader:
    options = {"url": url, "group": GROUP, "entriesPerPartition": "3", **more}
    return JournalStreamReader(JOURNAL, SourceOptions(options, journal_stream.OPTIONS))


def events(reader: JournalStreamReader, start: Offset, end: Offset) -> list[Event]:
    found: list[Event] = []
    for partition in reader.partitions(start, end):
        for batch in reader.read(partition):
            columns = (batch.column(name).to_pylist() for name in ("structure", "message_number"))
            found += zip(*columns, strict=True)
    return found


def follow(reader: JournalStreamReader, at: Offset, limit: ReadLimit) -> tuple[list[list[Event]], Offset]:
    """Batch after batch, as Spark asks, until there is nothing more."""
    batches = []
    while (end := reader.latestOffset(at, limit)) != at:
        batches.append(events(reader, at, end))
        at = end
    return batches, at


def write(journal: HandWrittenJournal, structure: str, numbers: range, ms: int | None = None) -> list[Event]:
    for number in numbers:
        journal.put(structure, "Q", OWNER, [str(number)], ms=None if ms is None else ms + number // 4)
    return [(structure, number) for number in numbers]


def trim(journal: HandWrittenJournal, structure: str, left: int) -> None:
    journal.client.xtrim(structure_keys(GROUP, structure).journal, maxlen=left, approximate=False)


# -- the driver's calls, in Spark's order ------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [ReadMaxRows(1), ReadMaxRows(7), ReadMaxRows(10_000), ReadAllAvailable()])
def test_batches_together_hold_every_event_once(redis_url: str, journal: HandWrittenJournal, limit: ReadLimit) -> None:
    journal.define("APPL1", "APPL2", "EMPTY")
    written = write(journal, "APPL1", range(1, 31), ms=1_000) + write(journal, "APPL2", range(1, 11), ms=1_003)
    reader = reader_of(redis_url)

    batches, end = follow(reader, reader.initialOffset(), limit)

    assert sorted(event for batch in batches for event in batch) == sorted(written)
    if isinstance(limit, ReadMaxRows):
        assert max(map(len, batches)) <= limit.max_rows
    more = write(journal, "EMPTY", range(1, 3)) + write(journal, "APPL2", range(11, 12))
    journal.define("NEW")
    more += write(journal, "NEW", range(1, 3))
    batches, _ = follow(reader_of(redis_url), end, limit)
    assert sorted(event for batch in batches for event in batch) == sorted(more)


def test_a_limited_batch_ends_at_one_moment_in_all_structures(redis_url: str, journal: HandWrittenJournal) -> None:
    journal.define("APPL1", "APPL2")
    for number in range(1, 41):
        journal.put("APPL1", "Q", OWNER, [str(number)], ms=1_000 + 10 * number)
        # Its first half, in the first moment.
        journal.put("APPL2", "Q", OWNER, [str(number)], ms=1_000 + 10 * max(1, number - 20))
    reader = reader_of(redis_url)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadMaxRows(20))
    ends = {name: int(place["after"].partition("-")[0]) for name, place in end.items()}
    assert ends["APPL1"] <= max(ends.values())
    assert ends["APPL1"] == 1_010 == ends["APPL2"]
    assert len(events(reader, start, end)) <= 20


def test_a_batch_is_the_same_however_often_and_late_it_is_tried(redis_url: str, journal: HandWrittenJournal) -> None:
    journal.define("APPL1", "APPL2")
    write(journal, "APPL1", range(1, 11))
    write(journal, "APPL2", range(1, 6))
    reader = reader_of(redis_url)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadMaxRows(8))
    seen = events(reader, start, end)
    assert len(seen) <= 8
    write(journal, "APPL1", range(11, 21))
    again = reader_of(redis_url)
    # The first batch's start is in no checkpoint: Spark asks for it again.
    assert again.initialOffset() == start
    assert events(again, start, end) == seen
    assert again.partitions(end, end) == []


def test_a_writer_at_work_loses_and_doubles_nothing_at_the_boundaries(
    redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1", "APPL2")
    reader = reader_of(redis_url)
    at, seen = reader.initialOffset(), list[Event]()
    with writer(redis_url, 400) as thread:
        while thread.is_alive():
            batches, at = follow(reader, at, ReadMaxRows(16))
            seen += [event for batch in batches for event in batch]
    batches, _ = follow(reader, at, ReadMaxRows(16))
    seen += [event for batch in batches for event in batch]
    assert sorted(seen) == [(name, number) for name in ("APPL1", "APPL2") for number in range(1, 401)]


@contextmanager
def writer(url: str, count: int) -> Iterator[threading.Thread]:
    """Writes this many events into each of APPL1 and APPL2 meanwhile."""

    def run() -> None:
        with redis.Redis.from_url(url, protocol=2) as client:
            journal = HandWrittenJournal(client)
            for number in range(1, count + 1):
                for structure in ("APPL1", "APPL2"):
                    journal.put(structure, "Q", OWNER, [str(number)])

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield thread
    finally:
        thread.join()


def test_available_now_ends_with_what_was_there_when_it_began(redis_url: str, journal: HandWrittenJournal) -> None:
    journal.define("APPL1")
    there = write(journal, "APPL1", range(1, 11))
    reader = reader_of(redis_url)
    reader.prepareForTriggerAvailableNow()
    write(journal, "APPL1", range(11, 15))
    journal.define("NEW")
    write(journal, "NEW", range(1, 3))
    batches, _ = follow(reader, reader.initialOffset(), ReadMaxRows(4))
    assert [event for batch in batches for event in batch] == there


@pytest.mark.parametrize(
    ("start", "first"),
    [("-", 1), ("1005", 5), ("1005-0", 5), ("1005-1", 6), ("1970-01-01T00:00:01.008", 8), ("1100", 11)],
)
def test_it_starts_at_the_given_place(redis_url: str, journal: HandWrittenJournal, start: str, first: int) -> None:
    journal.define("APPL1", "NEW")
    for number in range(1, 11):
        journal.put("APPL1", "Q", OWNER, [str(number)], ms=1_000 + number)
    reader = reader_of(redis_url, start=start)
    at = reader.initialOffset()
    journal.put("APPL1", "Q", OWNER, ["11"])
    journal.put("NEW", "Q", OWNER, ["1"])
    batches, end = follow(reader, at, ReadMaxRows(3))
    assert [number for batch in batches for name, number in batch if name == "APPL1"] == list(range(first, 12))
    assert end["APPL1"]["entries"] == 11
    assert end["NEW"]["entries"] == 1


# -- trimmed -----------------------------------------------------------------------------------------------------------


def test_a_stream_begins_after_entries_that_are_trimmed_next(redis_url: str, journal: HandWrittenJournal) -> None:
    journal.define("APPL1")
    write(journal, "APPL1", range(1, 111), ms=1_000)
    trim(journal, "APPL1", 100)
    reader = reader_of(redis_url)
    at = reader.initialOffset()
    trim(journal, "APPL1", 92)
    batches, end = follow(reader, at, ReadMaxRows(40))
    assert [number for batch in batches for _, number in batch] == list(range(21, 111))
    assert end["APPL1"]["entries"] == 110


def test_trimming_after_the_checkpoint_is_reported_exactly(redis_url: str, journal: HandWrittenJournal) -> None:
    journal.define("APPL1")
    write(journal, "APPL1", range(1, 11), ms=1_000)
    reader = reader_of(redis_url)
    at = reader.latestOffset(reader.initialOffset(), ReadMaxRows(6))
    assert at == {"APPL1": {"after": "1001-2", "entries": 6}}
    # Entries that it has read do not matter to it.
    trim(journal, "APPL1", 4)
    assert len(follow(reader, at, ReadMaxRows(100))[0][0]) == 4
    trim(journal, "APPL1", 3)
    end = {"APPL1": {"after": "1002-2", "entries": 10}}
    for act in (lambda: reader.latestOffset(at, ReadMaxRows(100)), lambda: reader.partitions(at, end)):
        with pytest.raises(JournalTrimmedError) as caught:
            act()
        assert str(caught.value) == (
            "the journal of APPL1 was trimmed after 1001-2 (1970-01-01T00:00:01Z), the oldest entry there is "
            "1002-0 (1970-01-01T00:00:01Z); begin there, or set failOnDataLoss to false to continue without "
            "the lost entries"
        )
    careless = reader_of(redis_url, failOnDataLoss="false")
    batches, _ = follow(careless, at, ReadMaxRows(2))
    assert [number for batch in batches for _, number in batch] == [8, 9, 10]


@pytest.mark.parametrize("anew", [2, 10, 25], ids=["less than was read", "as much", "more"])
def test_a_journal_trimmed_to_nothing_or_begun_again_is_an_error(
    redis_url: str, journal: HandWrittenJournal, anew: int
) -> None:
    journal.define("APPL1")
    write(journal, "APPL1", range(1, 11), ms=1_000)
    reader, careless = reader_of(redis_url), reader_of(redis_url, failOnDataLoss="false")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadMaxRows(100))
    trim(journal, "APPL1", 0)
    assert reader.latestOffset(end, ReadMaxRows(100)) == end
    with pytest.raises(JournalTrimmedError, match=r"trimmed after 0-0 \(.*\), nothing is in it now; set"):
        reader.latestOffset(start, ReadMaxRows(100))
    assert careless.latestOffset(start, ReadMaxRows(100)) == start
    journal.client.delete(structure_keys(GROUP, "APPL1").journal)
    there = write(journal, "APPL1", range(1, anew + 1))
    with pytest.raises(JournalTrimmedError):
        reader.latestOffset(end, ReadMaxRows(100))
    assert follow(careless, end, ReadMaxRows(100))[0] == [there]


def test_trimming_while_a_worker_reads_is_reported(redis_url: str, journal: HandWrittenJournal) -> None:
    journal.define("APPL1")
    write(journal, "APPL1", range(1, 31), ms=1_000)
    reader = reader_of(redis_url, entriesPerPartition="1000")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadMaxRows(100))
    (partition,) = reader.partitions(start, end)
    assert isinstance(partition, JournalPartition)
    trim(journal, "APPL1", 29)
    with pytest.raises(JournalTrimmedError, match="was trimmed while it was read, entry 1000-0 is gone"):
        list(reader.read(partition))


@pytest.mark.spark
def test_a_table_whose_start_was_trimmed_away_is_refused_in_one_line(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1")
    write(journal, "APPL1", range(1, 11), ms=1_000)
    trim(journal, "APPL1", 4)
    spark.dataSource.register(JournalSource)
    table = spark.read.format("igq.journal").options(url=redis_url, group=GROUP)
    # The beginning means the oldest entry that exists.
    assert table.load().count() == 4
    assert table.option("start", "1001-3").load().count() == 4
    with pytest.raises(Exception, match=r"trimmed after 1001-2 \(.*\), the oldest entry there is 1001-3 \("):
        table.option("start", "1001-2").load().count()
    assert table.option("start", "1001-2").option("failOnDataLoss", "false").load().count() == 4


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"start": "+"}, "start=\\+: give a time"),
        ({"start": "tomorrow"}, "'tomorrow' is no place in the journal"),
        ({"end": "5"}, "unknown option end"),
        ({"maxEntriesPerTrigger": "0"}, "maxEntriesPerTrigger=0: allowed"),
        ({"failOnDataLoss": "perhaps"}, "failOnDataLoss=perhaps: allowed: true, false"),
    ],
)
def test_a_wrong_option_is_named(redis_url: str, more: dict[str, str], what: str) -> None:
    with pytest.raises((PipelineError, JournalError), match=what):
        reader_of(redis_url, **more)


# -- with Spark --------------------------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_query_killed_beside_a_writer_loses_and_doubles_nothing(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal, tmp_path: Path
) -> None:
    """Driver, Java and workers are killed at the same time, twice, at any point."""
    journal.define("APPL1", "APPL2")
    copied = tmp_path / "copied"
    with writer(redis_url, 3_000):
        for files in (1, 6):
            query = start_program(redis_url, tmp_path)
            least = files + len(list(copied.glob("*.parquet")))
            until(
                lambda least=least, query=query: (  # type: ignore[misc]
                    len(list(copied.glob("*.parquet"))) >= least or query.poll() is not None
                ),
                "files arrive",
                200,
            )
            assert query.poll() is None, "it has ended already"
            os.killpg(query.pid, signal.SIGKILL)
            query.wait()
    assert start_program(redis_url, tmp_path).wait(timeout=200) == 0

    rows = spark.read.parquet(str(copied)).select("structure", "message_number").collect()
    assert sorted(map(tuple, rows)) == [(name, number) for name in ("APPL1", "APPL2") for number in range(1, 3_001)]


def start_program(url: str, directory: Path) -> subprocess.Popen[bytes]:
    program = Path(__file__).parents[1] / "journal_program.py"
    at = (url, GROUP, str(directory), str(directory / "copied"), str(directory / "checkpoint"))
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.Popen([sys.executable, str(program), *at], env=environment, start_new_session=True)


def test_the_progress_says_where_the_journals_end(journal: HandWrittenJournal, redis_url: str) -> None:
    journal.define("APPL1")
    write(journal, "APPL1", range(1, 8))
    reader = reader_of(redis_url)
    start = reader.initialOffset()
    end = reader.reportLatestOffset()
    assert end == reader.latestOffset(start, ReadAllAvailable())
    assert len(events(reader, start, end)) == 7


def test_a_stream_begins_at_a_time_by_its_name_of_kafkas_source(journal: HandWrittenJournal, redis_url: str) -> None:
    journal.define("APPL1")
    for number in range(6):
        journal.put("APPL1", "Q", "QM1.1", [str(number + 1)], ms=1_000 * number + 1)
    reader = reader_of(redis_url, startingTimestamp="3001")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadMaxRows(100))
    assert events(reader, start, end) == [("APPL1", 4), ("APPL1", 5), ("APPL1", 6)]
