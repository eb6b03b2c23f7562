"""Every table that a job writes is one of `igq.pipeline.schemas`, with a comment at each column."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import StructType
from typer.testing import Result

from bench import journal_at_size
from igq.pipeline import schemas
from igq.pipeline.datasource.journal.source import JournalPart
from igq.pipeline.jobs.archive import archive_queue
from igq.pipeline.jobs.archives import Archive
from igq.pipeline.schemas import DONE, as_table
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.structures import MQMD
from tests.pipeline.jobs.test_deadletter import letter
from tests.support.groups import BOTH
from tests.support.members import TestGroup

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "jobs.md").read_text("utf-8")
pytestmark = pytest.mark.spark

Command = Callable[..., Result]
#: Each job that writes tables: its arguments, and the schema of each table. The table "" is in the directory itself.
WRITTEN: dict[str, dict[str, StructType]] = {
    "journal": {"": schemas.JOURNAL},
    "journal --input STORED": {"": schemas.JOURNAL},
    "audit --rows 5": {"findings": schemas.FINDINGS},
    "flow": {
        "queues": schemas.FLOW_QUEUES,
        "minutes": schemas.FLOW_MINUTES,
        "depth": schemas.FLOW_DEPTH,
        "agents": schemas.FLOW_AGENTS,
    },
    f"trace --correl-id {'c0' * 24}": {"trace": schemas.TRACE},
    "recovery": {
        "recoveries": schemas.RECOVERIES,
        "phases": schemas.RECOVERY_PHASES,
        "units": schemas.RECOVERY_UNITS,
        "messages": schemas.RECOVERY_MESSAGES,
    },
    "deadletter QM1": {"summary": schemas.DEAD_LETTER_SUMMARY, "messages": schemas.DEAD_LETTERS},
    "deadletter --input ARCHIVE": {"summary": schemas.DEAD_LETTER_SUMMARY, "messages": schemas.DEAD_LETTERS},
    "archive NEW --structure APPL1 --remove": {"done": schemas.DONE},
    "archive NEW --input ARCHIVE": {"done": schemas.DONE},
    "replay ARCHIVE": {"done": schemas.DONE, "parts": schemas.REPLAYED},
}


@pytest.fixture
def used(spark: SparkSession, group: TestGroup, tmp_path: Path) -> TestGroup:
    """A group with messages that were got, and a dead letter; and an archive of it."""
    group.define_structure()
    for name in ("ORDERS", "DEAD.QUEUE"):
        group.define_shared(name)
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": "DEAD.QUEUE"})
    connection = group.connect()
    orders = connection.open("ORDERS", BOTH)
    for _ in range(3):
        orders.put(b"order", MQMD(correl_id=b"\xc0" * 24))
    orders.get()
    letter(connection.open("DEAD.QUEUE", BOTH | OpenOption.SET_ALL_CONTEXT), "ORDERS", MQRC.Q_FULL, b"late")
    archive_queue(
        spark, group.settings, "ORDERS", "", Archive.open_or_make(tmp_path / "archive", group.group.name), "1"
    )
    return group


@pytest.mark.parametrize("job", WRITTEN)
def test_each_job_writes_tables_of_its_schema(
    spark: SparkSession, used: TestGroup, command: Command, tmp_path: Path, job: str
) -> None:
    output = tmp_path / "output"
    places = {"ARCHIVE": "archive", "NEW": "new", "STORED": "stored"}
    if "STORED" in job:
        JournalPart(used.group.name, str(used.settings.redis_url)).read(spark).write.parquet(str(tmp_path / "stored"))
    job_arguments = [str(tmp_path / places[word]) if word in places else word for word in job.split()]
    command(*job_arguments, "--group", used.group.name, "--url", str(used.settings.redis_url), "--output", str(output))

    tables = {path.name for path in output.iterdir() if path.is_dir()} or {""}
    assert tables == set(WRITTEN[job])
    for name, schema in WRITTEN[job].items():
        written = spark.read.parquet(str(output / name)).schema
        assert described(written) == described(schema), name
        told = spark.sql(f"DESCRIBE QUERY SELECT * FROM parquet.`{output / name}`").collect()
        assert all(row["comment"] for row in told)


def test_the_page_names_every_table_that_a_job_writes() -> None:
    for job, tables in WRITTEN.items():
        (row,) = re.findall(rf"^\| `{job.split()[0]}` \| .* \| (.*) \|$", PAGE, flags=re.M)
        assert [name for name in tables if name and f"`{name}`" not in row] == []


def test_an_archive_is_as_its_schema_says(spark: SparkSession, used: TestGroup, tmp_path: Path) -> None:
    """The columns that it is partitioned by are in the names of its directories."""
    archive = Archive.open(tmp_path / "archive")
    assert archive.group == used.group.name
    (file, *_) = archive.directory.rglob("*.parquet")

    stored = [
        *described(spark.read.parquet(str(file)).schema),
        *described(StructType([schemas.ARCHIVE["run"], schemas.ARCHIVE["day"]])),
    ]

    kept = [each for each in described(schemas.ARCHIVE) if each[0] != "queue"]
    assert stored == kept
    assert described(archive.read(spark).schema) == described(schemas.ARCHIVE)


def described(schema: StructType) -> list[tuple[str, str, str]]:
    """In Parquet every column can be null."""
    return [(field.name, field.dataType.simpleString(), json.dumps(field.metadata)) for field in schema.fields]


def test_every_column_of_every_schema_has_a_comment() -> None:
    tables = {name: value for name, value in vars(schemas).items() if isinstance(value, StructType)}

    assert len(tables) > len(WRITTEN)
    assert [where for name, table in tables.items() for where in without_comment(name, table)] == []


def without_comment(name: str, table: StructType) -> Iterator[str]:
    for field in table.fields:
        if not field.metadata.get("comment", "").strip():
            yield f"{name}.{field.name}"


def test_the_journal_that_is_made_up_to_measure_the_audit_has_all_columns(spark: SparkSession) -> None:
    made_up = journal_at_size.journal(spark, 540)
    assert [(each.name, each.dataType) for each in made_up.schema] == [
        (each.name, each.dataType) for each in schemas.JOURNAL
    ]
    assert made_up.count() == 540


def test_a_table_gets_its_schema_and_missing_columns_are_an_error(spark: SparkSession) -> None:
    table = spark.createDataFrame([(1, "Q", "x")], "messages INT, queue STRING, more STRING")

    shaped = as_table(table.withColumn("done", F.lit("archived")), DONE)

    assert described(shaped.schema) == described(DONE)
    assert [tuple(row) for row in shaped.collect()] == [("Q", "archived", 1)]
    with pytest.raises(AnalysisException, match="done"):
        as_table(table, DONE)
