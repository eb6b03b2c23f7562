"""`format("igq.journal")` against a real server."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession

from igq.pipeline.datasource.journal.source import JournalPart, JournalSource
from igq.pipeline.schemas import JOURNAL
from sharedq.reading.journal_reach import read_reaches
from sharedq.redis.deployment import Deployment
from sharedq.redis.keys import structure_keys
from tests.pipeline.support import GROUP, HandWrittenJournal, detail

pytestmark = pytest.mark.spark

OWNER = "EWR.3.1.2"
UNIT = f"{OWNER}/7"


def read(spark: SparkSession, url: str, **options: str) -> DataFrame:
    spark.dataSource.register(JournalSource)
    reader = spark.read.format("igq.journal").option("url", url).option("group", GROUP)
    return reader.options(**options).load()


@pytest.mark.share
def test_every_event_becomes_rows_with_the_columns_of_the_schema(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1", "@JFK")
    correl, group = "ab" * 24, "cd" * 24
    put_id = journal.put(
        "APPL1",
        "FLIGHTS",
        OWNER,
        ["1", "2x"],
        unit=UNIT,
        details=[detail(correl, group=group, seq=2), detail()],
    )
    journal.end("APPL1", "commit", UNIT, 2)
    journal.transfer("@JFK", "SYSTEM.QSG.TRANSMIT.QUEUE", "DEPARTURES", "JFK.1.2.1", ["9.5x"])
    journal.end("APPL1", "backout", "LGA.1.1.1/4", 3, recoverer="JFK.1.1.1")

    table = read(spark, redis_url)
    rows = {(row.structure, row.event, row.message_number): row.asDict() for row in table.collect()}

    assert table.schema == JOURNAL
    ms = int(put_id.partition("-")[0])
    assert rows["APPL1", "put", 1] == {
        "event": "put",
        "time": datetime.fromtimestamp(ms / 1000, UTC).astimezone().replace(tzinfo=None),
        "stream_id": put_id,
        "position": 0,
        "structure": "APPL1",
        "qmgr": "EWR",
        "owner": OWNER,
        "queue": "FLIGHTS",
        "target_queue": None,
        "unit_of_work": UNIT,
        "message_number": 1,
        "message_id": "1",
        # "CSQ ", the manager's name in 12 bytes, structure 1, message 1.
        "msg_id": (b"CSQ EWR         " + b"\x00\x01" + b"\x00\x00\x00\x00\x00\x01").hex() + "",
        "correl_id": correl,
        "group_id": group,
        "msg_seq_number": 2,
        "length": 10,
        "persistent": True,
        "priority": 5,
        "recovered": False,
        "messages": 2,
        "dead_letter": False,
        "chosen": False,
        "logical": False,
    }
    second = rows["APPL1", "put", 2]
    assert (second["message_id"], second["position"], second["correl_id"]) == ("2x", 1, None)
    commit = rows["APPL1", "commit", None]
    assert (commit["unit_of_work"], commit["messages"], commit["message_id"]) == (UNIT, 2, None)
    moved = rows["@JFK", "transfer", 9]
    assert (moved["queue"], moved["target_queue"]) == ("SYSTEM.QSG.TRANSMIT.QUEUE", "DEPARTURES")
    undone = rows["APPL1", "backout", None]
    assert (undone["recovered"], undone["qmgr"], undone["unit_of_work"]) == (True, "JFK", "LGA.1.1.1/4")


def test_partitions_together_hold_every_entry_once(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1")
    for number in range(1, 501):
        journal.put("APPL1", "Q", OWNER, [str(number)], ms=1_000_000 + number // 5)

    table = read(spark, redis_url, entriesPerPartition="50")

    assert table.rdd.getNumPartitions() == 10
    assert sorted(row.message_number for row in table.select("message_number").collect()) == list(range(1, 501))


@pytest.mark.share
def test_start_and_end_are_included_and_take_positions_and_times(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1", "APPL2")
    for number in range(10):
        journal.put("APPL1", "Q", OWNER, [str(number + 1)], ms=1_000 * number + 1)
    journal.put("APPL2", "Q", OWNER, ["1"], ms=1)

    def numbers(**options: str) -> list[int]:
        found = read(spark, redis_url, structures="APPL1", **options).select("message_number").collect()
        return sorted(row.message_number for row in found)

    assert numbers() == list(range(1, 11))
    assert numbers(start="3001", end="5001") == [4, 5, 6]
    assert numbers(start="3001-1", end="5001-0") == [5, 6]
    assert numbers(start="1970-01-01T00:00:08") == [9, 10]
    assert numbers(end="1970-01-01T01:00:01.001+01:00") == [1, 2]
    assert numbers(start="99999") == []
    # As Spark's source for Kafka names them.
    assert numbers(startingTimestamp="3001", endingTimestamp="5001") == [4, 5, 6]
    assert numbers(startingTimestamp="1970-01-01T00:00:08", end="8001") == [9]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"structures": "NONE"}, "has no structure NONE"),
        ({"start": "yesterday"}, "'yesterday' is no place in the journal"),
        ({"startingTimestamp": "yesterday"}, "'yesterday' is no place in the journal"),
        ({"start": "1", "startingTimestamp": "1"}, "start and startingTimestamp: allowed: one of them"),
        ({"end": "1", "endingTimestamp": "1"}, "end and endingTimestamp: allowed: one of them"),
        ({"entriesPerPartition": "0"}, "entriesPerPartition=0"),
    ],
)
@pytest.mark.share
def test_a_wrong_option_is_named(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal, options: dict[str, str], what: str
) -> None:
    journal.define("APPL1")

    with pytest.raises(Exception, match=what):
        read(spark, redis_url, **options).collect()


def test_an_entry_that_is_not_in_the_format_is_named(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1")
    stream_id = journal.put("APPL1", "Q", OWNER, ["1", "2"], details=[detail()])

    with pytest.raises(Exception, match=rf"entry {stream_id}: not in the format \(2 messages, 1 descriptions\)"):
        read(spark, redis_url).collect()


def test_a_journal_without_entries_is_an_empty_table(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1")

    assert read(spark, redis_url).collect() == []


def test_trimming_before_a_read_from_the_beginning_is_reported(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    """A job has reported by then which journals have lost their beginning."""
    journal.define("APPL1", "APPL2", "IDLE")
    for name in ("APPL1", "APPL2"):
        for number in range(1, 6):
            journal.put(name, "Q", OWNER, [str(number)], ms=1_000)
    trim(journal, "APPL1", 4)
    part = JournalPart(GROUP, redis_url)
    assert part.read(spark).count() == 9

    table, later = part.read(spark), part.read(spark, start="1000-3")
    trim(journal, "APPL2", 3)

    with pytest.raises(Exception, match="the journal of APPL2 was trimmed before it could be read from its beginning"):
        table.collect()
    assert later.count() == 4
    assert part.read(spark).count() == 7


def test_a_journal_being_trimmed_is_read_from_its_present_beginning(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1", "APPL2")
    for name in ("APPL1", "APPL2"):
        for number in range(1, 31):
            journal.put(name, "Q", OWNER, [str(number)], ms=1_000 + number)
    trim(journal, "APPL2", 25)

    table = JournalPart(GROUP, redis_url).read(spark)
    trim(journal, "APPL2", 20)

    found = {row["structure"]: row["count"] for row in table.groupBy("structure").count().collect()}
    assert found == {"APPL1": 30, "APPL2": 20}


def test_trimming_after_the_report_is_an_error_before_the_table_exists_too(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1")
    for number in range(1, 6):
        journal.put("APPL1", "Q", OWNER, [str(number)], ms=1_000)
    told = read_reaches(Deployment(redis_url), GROUP)
    assert JournalPart(GROUP, redis_url, reaches=told).read(spark).count() == 5

    trim(journal, "APPL1", 4)

    with pytest.raises(Exception, match="the journal of APPL1 was trimmed before it could be read from its beginning"):
        JournalPart(GROUP, redis_url, reaches=told).read(spark).collect()


def trim(journal: HandWrittenJournal, structure: str, left: int) -> None:
    journal.client.xtrim(structure_keys(GROUP, structure).journal, maxlen=left, approximate=False)
