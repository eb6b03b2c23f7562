"""`flow`, `trace` and the stored journal: the tables on small journals, and the commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from typer.testing import Result

from igq.pipeline.datasource.journal.source import JournalPart
from igq.pipeline.jobs.flow import batches, flow_tables, stays
from igq.pipeline.jobs.trace import trace, trace_message
from igq.pipeline.schemas import JOURNAL
from sharedq.redis.keys import structure_keys
from tests.pipeline.support import GROUP, HandWrittenJournal, detail

pytestmark = pytest.mark.spark

TRANSMIT = "SYSTEM.QSG.TRANSMIT.QUEUE"
#: A whole minute.
T0 = 1_800_000_000_000
CORREL, FAMILY = "c0" * 24, "f0" * 24
LETTER = detail(is_dead_letter=True)
PUTTER, AGENT, GETTER = "EWR.1.1.1", "JFK.1.9.1", "JFK.1.5.1"

Command = Callable[..., Result]


@pytest.fixture
def journey(journal: HandWrittenJournal) -> HandWrittenJournal:
    """Two messages through JFK's part of the transmit queue: one is got, one is got, backed out and got again."""
    journal.define("APPL1", "@JFK")
    unit, first, second = f"{PUTTER}/1", f"{GETTER}/1", f"{GETTER}/2"
    details = [detail(CORREL, group=FAMILY), detail("c1" * 24, group=FAMILY, seq=2)]
    journal.put("@JFK", TRANSMIT, PUTTER, ["1.4x", "2.4x"], unit=unit, details=details, ms=T0)
    journal.end("@JFK", "commit", unit, 2, ms=T0 + 10)
    journal.transfer("@JFK", TRANSMIT, "GATE", AGENT, ["1.4x", "2.4x"], ms=T0 + 15)
    journal.get("@JFK", "GATE", GETTER, ["1.4x", "2.4x"], unit=first, ms=T0 + 20)
    journal.end("@JFK", "backout", first, 2, recoverer="LGA.1.1.1", ms=T0 + 5_000)
    journal.get("@JFK", "GATE", GETTER, ["1.4x"], unit=second, ms=T0 + 61_000)
    journal.end("@JFK", "commit", second, 1, ms=T0 + 61_015)
    return journal


def read(spark: SparkSession, url: str) -> DataFrame:
    return JournalPart(GROUP, url).read(spark)


def flow(journal: DataFrame) -> dict[str, DataFrame]:
    return flow_tables(stays(journal), batches(journal))


def test_a_message_stays_on_each_queue_of_its_way(
    spark: SparkSession, redis_url: str, journey: HandWrittenJournal
) -> None:
    assert journey.numbers["@JFK"] == 2
    rows = {(row.queue, row.message_number): row for row in stays(read(spark, redis_url)).collect()}

    assert set(rows) == {(TRANSMIT, 1), (TRANSMIT, 2), ("GATE", 1), ("GATE", 2)}
    there, got = rows["GATE", 2], rows["GATE", 1]
    assert (got.arrived_ms - T0, got.arrived_by, got.left_ms - T0, got.left_by) == (15, "transfer", 61_015, "get")
    assert (got.put_qmgr, got.get_qmgr, got.is_recovered) == ("JFK", "JFK", False)
    assert (there.left_ms, there.left_by) == (None, None)
    hop = rows[TRANSMIT, 1]
    assert (hop.arrived_ms - T0, hop.put_qmgr, hop.left_ms - T0, hop.left_by) == (10, "EWR", 15, "transfer")


def test_an_uncommitted_put_makes_no_stay(spark: SparkSession, redis_url: str, journal: HandWrittenJournal) -> None:
    journal.define("APPL1")
    journal.put("APPL1", "Q", PUTTER, ["1"], unit=f"{PUTTER}/1", ms=T0)
    journal.put("APPL1", "Q", PUTTER, ["2"], unit=f"{PUTTER}/2", ms=T0)
    journal.end("APPL1", "backout", f"{PUTTER}/2", 1, ms=T0 + 1)
    journal.put("APPL1", "Q", PUTTER, ["3"], ms=T0 + 2)
    journal.expire("APPL1", "Q", GETTER, ["3"])
    journal.put("APPL1", "Q", PUTTER, ["4"], unit=f"{PUTTER}/3", ms=T0 + 3)
    journal.undo("APPL1", "Q", f"{PUTTER}/3", ["4"], ms=T0 + 3)
    journal.end("APPL1", "commit", f"{PUTTER}/3", 0, ms=T0 + 4)

    (row,) = stays(read(spark, redis_url)).collect()

    assert (row.message_number, row.left_by) == (3, "expire")


def test_a_message_back_from_a_getter_has_not_left(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1")
    journal.put("APPL1", "Q", PUTTER, ["1", "2"], ms=T0)
    journal.get("APPL1", "Q", GETTER, ["1", "2"], ms=T0 + 1)
    journal.give_back("APPL1", "Q", GETTER, ["1", "2"], ms=T0 + 1)
    journal.get("APPL1", "Q", PUTTER, ["2"], ms=T0 + 9)

    rows = {row.message_number: row for row in stays(read(spark, redis_url)).collect()}

    assert {number: (row.arrived_by, row.left_by) for number, row in rows.items()} == {
        1: ("put", None),
        2: ("put", "get"),
    }
    assert (rows[2].left_ms - T0, rows[2].get_qmgr) == (9, "EWR")


def test_flow_counts_messages_and_times_by_queue_hop_and_minute(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1", "@JFK")
    for number in range(1, 101):
        journal.put("APPL1", "Q", PUTTER, [str(number)], ms=T0)
    for number in range(1, 91):
        journal.get("APPL1", "Q", GETTER, [str(number)], ms=T0 + number * 1_000)
    journal.get("APPL1", "Q", GETTER, ["900"], ms=T0 + 90_500)

    tables = flow(read(spark, redis_url))

    (queue,) = tables["queues"].collect()
    assert (queue.queue, queue.qmgr, queue.hop, queue.messages) == ("Q", "JFK", "delivery", 91)
    assert queue.per_second == pytest.approx(91 / 89.5, abs=0.1)
    assert (queue.p50_ms, queue.p90_ms, queue.max_ms) == (45_000, 81_000, 90_000)
    first, second = tables["minutes"].collect()
    assert (first.messages, first.max_ms, second.messages, second.max_ms) == (59, 59_000, 32, 90_000)
    # One message was there before the journal begins.
    assert [(row.arrived, row.left, row.depth) for row in tables["depth"].collect()] == [(100, 59, 42), (0, 32, 10)]


def test_flow_distinguishes_hops_from_deliveries(
    spark: SparkSession, redis_url: str, journey: HandWrittenJournal
) -> None:
    assert journey.numbers
    rows = flow(read(spark, redis_url))["queues"].collect()
    assert [(row.queue, row.hop, row.messages, row.p50_ms) for row in rows] == [
        ("GATE", "delivery", 1, 61_000),
        (TRANSMIT, "agent's hop", 2, 5),
    ]


def test_flow_shows_arrivals_on_and_departures_from_a_dead_letter_queue(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("@JFK")
    unit = f"{AGENT}/1"
    journal.get("@JFK", TRANSMIT, AGENT, ["1.4x"], unit=unit, ms=T0)
    journal.put("@JFK", "DEAD", AGENT, ["2"], unit=unit, details=[LETTER], ms=T0)
    journal.end("@JFK", "commit", unit, 2, ms=T0 + 5)
    journal.put("@JFK", "DEAD", PUTTER, ["3"], ms=T0 + 6)
    journal.get("@JFK", "DEAD", GETTER, ["2"], ms=T0 + 25)

    tables = flow(read(spark, redis_url))

    found = [(row.queue, row.hop, row.messages, row.p50_ms) for row in tables["queues"].collect()]
    assert found == [("DEAD", "dead letter", 1, 20), (TRANSMIT, "agent's hop", 1, None)]
    (dead, _) = tables["depth"].orderBy("queue").collect()
    assert (dead.queue, dead.arrived, dead.dead_letters, dead.left, dead.depth) == ("DEAD", 2, 1, 1, 1)


def test_flow_shows_the_agents_batches_and_those_tried_again(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("@JFK", "APPL1")
    journal.transfer("@JFK", TRANSMIT, "GATE", AGENT, ["1.4x", "2.4x", "3.4x"], ms=T0 + 10)
    journal.transfer("@JFK", TRANSMIT, "GATE", AGENT, ["4.4x"], ms=T0 + 20)
    for number, (event, recoverer) in enumerate([("backout", ""), ("backout", "LGA.1.1.1"), ("commit", "")]):
        unit, begun = f"{AGENT}/{number}", T0 + 60_000 + 1_000 * number
        journal.get("@JFK", TRANSMIT, AGENT, ["5.4x", "6.4x"], unit=unit, ms=begun)
        journal.put("APPL1", "FAR", AGENT, [f"{number + 1}"], unit=unit, ms=begun + 1)
        journal.put("@JFK", "DEAD", AGENT, [f"{number + 11}"], unit=unit, details=[LETTER], ms=begun + 2)
        journal.end("@JFK", event, unit, 2, recoverer=recoverer, ms=begun + 700)
    journal.get("@JFK", TRANSMIT, AGENT, ["7.4x"], unit=f"{AGENT}/9", ms=T0 + 70_000)

    first, second = flow(read(spark, redis_url))["agents"].drop("minute").collect()

    assert first.asDict() == {
        "qmgr": "JFK",
        "batches": 2,
        "messages": 4,
        "mean_batch": 2.0,
        "largest_batch": 3,
        "dead_letters": 0,
        "backed_out": 0,
        "ended_by_peers": 0,
        "took_ms": None,
    }
    assert second.asDict() == {
        "qmgr": "JFK",
        "batches": 1,
        "messages": 2,
        "mean_batch": 2.0,
        "largest_batch": 2,
        "dead_letters": 1,
        "backed_out": 2,
        "ended_by_peers": 1,
        "took_ms": 700,
    }


def test_trace_follows_a_message_through_every_queue(
    spark: SparkSession, redis_url: str, journey: HandWrittenJournal
) -> None:
    assert journey.numbers
    rows = trace(read(spark, redis_url), "correl_id", CORREL).collect()

    assert [(row.event, row.queue, row.outcome, row.qmgr) for row in rows] == [
        ("put", TRANSMIT, "committed", "EWR"),
        ("transfer", TRANSMIT, "done", "JFK"),
        ("get", "GATE", "backed out", "JFK"),
        ("get", "GATE", "committed", "JFK"),
    ]
    assert {row.correl_id for row in rows} == {CORREL}
    assert rows[2].recovered
    assert rows[1].target_queue == "GATE"


def test_trace_follows_a_group_and_what_an_agent_put_again(
    spark: SparkSession, redis_url: str, journey: HandWrittenJournal
) -> None:
    """An agent gets and puts a message for another structure. The message keeps its MsgId."""
    msg_id = (b"CSQ EWR         " + b"\x00\x02" + b"\x00\x00\x00\x00\x00\x02").hex()
    unit = f"{AGENT}/1"
    journey.get("@JFK", "GATE", AGENT, ["2.4x"], unit=unit, ms=T0 + 70_000)
    journey.put("APPL1", "FAR", AGENT, ["77x"], unit=unit, details=[detail(msg_id=msg_id)], ms=T0 + 70_001)

    rows = trace(read(spark, redis_url), "group_id", FAMILY).collect()

    assert len({row.msg_id for row in rows}) == 2
    assert [(row.event, row.queue, row.outcome) for row in rows][-2:] == [
        ("get", "GATE", "not ended"),
        ("put", "FAR", "not ended"),
    ]
    assert trace(read(spark, redis_url), "msg_id", "00" * 24).collect() == []


def test_trace_follows_a_single_message_also_one_whose_put_is_unknown(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1")
    journal.put("APPL1", "Q", PUTTER, ["1", "2.4x"], ms=T0)
    journal.get("APPL1", "Q", GETTER, ["1"], unit=f"{GETTER}/1", ms=T0 + 1)
    journal.prepare("APPL1", f"{GETTER}/1", ms=T0 + 1)
    journal.get("APPL1", "Q", GETTER, ["2.4x", "9"], ms=T0 + 2)
    table = read(spark, redis_url)

    def told(message_id: str) -> list[tuple[str, str]]:
        return [(row.event, row.outcome) for row in trace_message(table, "APPL1", message_id).collect()]

    assert told("1") == [("put", "done"), ("get", "in doubt")]
    assert told("2.4x") == [("put", "done"), ("get", "done")]
    assert told("9") == [("get", "done")]
    assert told("2") == []


# -- commands ----------------------------------------------------------------------------------------------------------


def test_the_commands_show_tables_and_write_them(
    spark: SparkSession, redis_url: str, journey: HandWrittenJournal, command: Command, tmp_path: Path
) -> None:
    assert journey.numbers
    at = ("--group", GROUP, "--url", redis_url)

    shown = command("flow", *at, "--output", str(tmp_path / "flow"))
    assert "agent's hop" in shown.stdout
    assert spark.read.parquet(str(tmp_path / "flow" / "minutes")).count() == 2
    page = (tmp_path / "flow" / "report.html").read_text("utf-8")
    assert "Delivered: 1 messages. Moved by agents on the way: 2. Most on one queue: 2, on " in page
    assert page.count("data:image/png;base64,") == 2
    shown = command("trace", *at, "--correl-id", CORREL.upper(), "--rows", "2")
    assert "... and more; --rows shows more than 2" in shown.stdout
    assert "committed" in shown.stdout


@pytest.mark.parametrize("job", [("flow",), ("trace", "--group-id", FAMILY), ("trace", "--message", "@JFK/1.4x")])
def test_the_engine_that_a_job_chooses_gives_the_tables_of_spark(
    spark: SparkSession,
    redis_url: str,
    journey: HandWrittenJournal,
    command: Command,
    tmp_path: Path,
    job: tuple[str, ...],
) -> None:
    journey.get("@JFK", "GATE", AGENT, ["2.4x"], ms=T0 + 70_000)
    at = (*job, "--group", GROUP, "--url", redis_url)
    by_spark = command(*at, "--engine", "spark", "--output", str(tmp_path / "spark"))
    told = os.environ | {
        "IGQ_DATA_DIR": str(tmp_path / "data"),
        "COLUMNS": "200",
        "JAVA_HOME": "/nowhere",
        "TZ": "America/New_York",
    }
    whole = [sys.executable, "-m", "igq.pipeline", *at, "--output", str(tmp_path / "duckdb")]
    by_itself = subprocess.run(whole, env=told, capture_output=True, text=True, check=True)

    assert by_itself.stdout == by_spark.stdout
    assert "Spark" not in by_itself.stderr
    for table in sorted(path.name for path in (tmp_path / "spark").iterdir() if path.is_dir()):
        found = [spark.read.parquet(str(tmp_path / engine / table)) for engine in ("spark", "duckdb")]
        assert found[1].collect() == found[0].collect(), table
        assert [field.metadata for field in found[1].schema] == [field.metadata for field in found[0].schema]


def test_a_stored_journal_is_the_journal(
    spark: SparkSession, redis_url: str, journey: HandWrittenJournal, command: Command, tmp_path: Path
) -> None:
    at = ("--group", GROUP, "--url", redis_url)
    stored = tmp_path / "stored"

    left = tmp_path / "stored.unfinished" / "_temporary"
    left.mkdir(parents=True)
    shown = command("journal", *at, "--output", str(stored))
    assert not left.parent.exists()
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["@JFK", "get", "3"] in [line[:3] for line in lines]
    assert ["@JFK", "transfer", "2", "2027-01-15", "08:00:00.015"] in [line[:5] for line in lines]

    assert spark.read.parquet(str(stored)).exceptAll(read(spark, redis_url)).isEmpty()
    journey.client.delete("{QT01:@JFK}:journal")
    shown = command("flow", *at, "--input", str(stored), "--from", str(T0 + 15), "--to", str(T0 + 30_000))
    assert "(none)" not in shown.stdout
    assert "GATE" in shown.stdout
    assert "61,0" not in shown.stdout
    # No server is started for it either.
    assert "GATE" in command("flow", "--input", str(stored)).stdout
    command("journal", "--input", str(stored), "--to", str(T0 + 19), "--output", str(tmp_path / "cut"))
    cut = spark.read.parquet(str(tmp_path / "cut"))
    assert {row.event for row in cut.select("event").collect()} == {"put", "commit", "transfer"}
    assert not (tmp_path / "data" / "redis").exists()


@pytest.mark.parametrize("arguments", ["flow", "journal --output NEW", f"trace --correl-id {CORREL}", "recovery"])
def test_a_journal_without_its_beginning_is_reported(
    redis_url: str,
    journey: HandWrittenJournal,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    journey.define("GONE", "IDLE")
    journey.put("APPL1", "Q", PUTTER, ["1"], ms=T0)
    journey.put("GONE", "Q", PUTTER, ["1"], ms=T0)
    journey.client.xtrim(structure_keys(GROUP, "@JFK").journal, maxlen=4, approximate=False)
    journey.client.xtrim(structure_keys(GROUP, "GONE").journal, maxlen=0, approximate=False)
    job = arguments.split(maxsplit=1)[0]

    shown = command(*arguments.split(), "--group", GROUP, "--url", redis_url)

    (line,) = (line for line in shown.stderr.splitlines() if "were trimmed" in line)
    assert line == (
        f"{job}: journals were trimmed, so the tables lack their beginning: "
        "@JFK has events from 2027-01-15T08:00:00Z on, GONE has none any more, or less when read"
    )


def test_a_whole_journal_or_one_read_from_a_time_is_not_reported(
    redis_url: str, journey: HandWrittenJournal, command: Command, tmp_path: Path
) -> None:
    at = ("--group", GROUP, "--url", redis_url)
    shown = command("journal", *at, "--output", str(tmp_path / "stored"))
    assert "were trimmed" not in shown.stderr
    journey.client.xtrim(structure_keys(GROUP, "@JFK").journal, maxlen=1, approximate=False)
    for arguments in (("--from", str(T0 + 61_015)), ("--input", str(tmp_path / "stored"))):
        assert "were trimmed" not in command("trace", "--correl-id", CORREL, *at, *arguments).stderr


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("flow", "--from", "yesterday"), "'yesterday' is no place in the journal"),
        (("flow", "--from", "2026-02-01", "--to", "2026-01-31"), "--from, --to: the end ("),
        (("flow", "--group", "toolong"), "--group=toolong: allowed: 1 to 4"),
        (("flow", "--group", "NONE"), "Redis knows no group NONE"),
        (("flow", "--input", "/nowhere"), "input /nowhere: no such directory"),
        (("flow", "--output", "/"), "output directory /: exists; name a new one"),
        (("flow", "--url", "unix:///nowhere/at/all"), "Redis cannot be reached: "),
        (("journal", "--output", "/"), "output directory /: exists"),
        (("trace",), "give one of --msg-id, --correl-id, --group-id and --message"),
        (("trace", "--message", "7"), "--message 7: allowed: STRUCTURE/ID, as the findings of an audit name it"),
        (("trace", "--msg-id", "00", "--group-id", "00"), "give one of"),
        (("trace", "--msg-id", "xyz"), "--msg-id xyz: allowed: pairs of hexadecimal digits, 24 at most"),
    ],
)
def test_an_impossible_request_is_one_line(
    redis_url: str, journal: HandWrittenJournal, command: Command, arguments: tuple[str, ...], what: str
) -> None:
    journal.define("APPL1")
    url = () if "--url" in arguments else ("--url", redis_url)
    shown = command(*arguments, *url, status=2)

    (line,) = shown.stderr.splitlines()
    assert line.startswith(f"igq pipeline {arguments[0]}: ")
    assert what in line


def test_input_that_is_no_journal_is_named(spark: SparkSession, command: Command, tmp_path: Path) -> None:
    spark.range(3).write.parquet(str(tmp_path / "other"))
    (tmp_path / "empty").mkdir()
    url = ("--url", "unix:///nowhere/at/all")
    shown = command("flow", *url, "--input", str(tmp_path / "other"), status=2)
    assert "is no journal, it has no column" in shown.stderr
    shown = command("flow", *url, "--input", str(tmp_path / "empty"), status=2)
    assert "holds no Parquet files" in shown.stderr


@pytest.mark.parametrize("which", ["first", "last"])
def test_a_file_of_the_input_that_was_cut_off_is_named_with_the_cause(
    spark: SparkSession, command: Command, tmp_path: Path, which: str
) -> None:
    """Spark looks for the columns in the first one, and at the others when it reads."""
    spark.createDataFrame([EVENT] * 8, JOURNAL).repartition(2).write.parquet(str(tmp_path / "stored"))
    files = sorted((tmp_path / "stored").glob("*.parquet"))
    cut = files[0 if which == "first" else -1]
    assert len(files) == 2
    cut.write_bytes(cut.read_bytes()[:500])
    cut.with_name(f".{cut.name}.crc").unlink()

    shown = command("flow", "--input", str(tmp_path / "stored"), status=2)

    *_, line = shown.stderr.splitlines()
    assert line.startswith("igq pipeline flow: ")
    assert f"{cut} cannot be read: is not a Parquet file" in line


def test_an_input_whose_columns_have_other_types_is_named(
    spark: SparkSession, command: Command, tmp_path: Path
) -> None:
    stored = tmp_path / "stored"
    table = spark.createDataFrame([EVENT], JOURNAL)
    table.withColumn("length", F.col("length").cast("string")).write.parquet(str(stored))

    shown = command("flow", "--input", str(stored), status=2)

    assert shown.stderr.splitlines()[-1] == (
        f"igq pipeline flow: input {stored}: is no journal, its column length is string, not bigint"
    )


def test_a_journal_stored_without_the_column_chosen_is_read(spark: SparkSession, tmp_path: Path) -> None:
    stored = tmp_path / "stored"
    table = spark.createDataFrame([EVENT], JOURNAL).drop("chosen", "dead_letter")
    names = F.explode(F.array(F.lit("APPL1"), F.lit("@QM1")))
    table.withColumn("structure", names).write.parquet(str(stored))

    found = JournalPart(GROUP, "", stored=stored).read(spark).select("structure", "chosen", "dead_letter")

    # Then the order on shared queues cannot be judged, and that on private ones can as before.
    assert {tuple(row) for row in found.collect()} == {("APPL1", True, False), ("@QM1", False, False)}


VALUES = {"string": "1-1", "timestamp": datetime(2026, 1, 31, tzinfo=UTC), "int": 1, "bigint": 1, "boolean": True}
EVENT = tuple(VALUES[field.dataType.simpleString()] for field in JOURNAL.fields)
