"""A stream whose workers write Parquet files: each message once in the table, whatever is tried again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.parquet.sink import Files, ParquetStreamWriter
from igq.pipeline.datasource.parquet.source import ParquetSource
from igq.pipeline.datasource.parquet.stream import PARQUET_OPTIONS, ParquetStreamReader
from igq.pipeline.datasource.queue.layout import chosen
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import PARQUET_FILES
from sharedq.calls.unit.in_doubt import prepared_units
from tests.pipeline.streams import EVERYTHING, in_doubt, open_orders
from tests.support.groups import browse_all
from tests.support.members import TestGroup


def reader_of(group: TestGroup, table: Path | str, **more: str) -> ParquetStreamReader:
    told = {"url": str(group.settings.redis_url), "group": group.group.name, "qmgr": "QM1", "queue": "ORDERS"}
    told |= {"stream": "lake", "rowsPerPartition": "5", "path": str(table), **more}
    return ParquetStreamReader(
        chosen(told.get("columns", ""), told.get("properties", "")), SourceOptions(told, PARQUET_OPTIONS)
    )


def written(reader: ParquetStreamReader) -> list[str]:
    """Do one batch as Spark's workers do it. Returns the files."""
    start = reader.initialOffset()
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    return files_of(reader, start, end)


def files_of(reader: ParquetStreamReader, start: dict[str, object], end: dict[str, object]) -> list[str]:
    rows = [batch for part in reader.partitions(start, end) for batch in reader.read(part)]
    return [path for batch in rows for path in batch.column("file").to_pylist()]


def bodies_in(table: Path) -> list[bytes]:
    return [body for file in table.glob("*.parquet") for body in parquet.read_table(file)["data"].to_pylist()]


def commit(files: list[str]) -> None:
    ParquetStreamWriter(PARQUET_FILES, overwrite=False).commit([Files((path,)) for path in files], 0)


@pytest.mark.spark
def test_a_query_moves_each_message_into_the_table_once(spark: SparkSession, group: TestGroup, tmp_path: Path) -> None:
    orders, table = open_orders(group), tmp_path / "lake"
    spark.dataSource.register(ParquetSource)
    told = {"url": str(group.settings.redis_url), "group": group.group.name, "qmgr": "QM1", "queue": "ORDERS"}
    files = spark.readStream.format("igq.parquet").options(
        **told, stream="lake 1", columns="data,priority", maxMessagesPerTrigger="5"
    )
    query = files.load(f"file://{table}").writeStream.format("igq.parquet")
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    query.start().awaitTermination()

    found = spark.read.parquet(str(table))
    assert found.columns == ["priority", "data"]
    assert sorted(bytes(row.data) for row in found.collect()) == sorted(EVERYTHING)
    assert (browse_all(orders), in_doubt(group)) == ([], 0)


def test_nothing_is_seen_before_the_batch_is_committed(group: TestGroup, tmp_path: Path) -> None:
    open_orders(group)
    reader = reader_of(group, tmp_path)
    files = written(reader)

    assert bodies_in(tmp_path) == []
    commit(files)
    assert sorted(bodies_in(tmp_path)) == sorted(EVERYTHING)
    commit(files)
    assert sorted(bodies_in(tmp_path)) == sorted(EVERYTHING)
    reader.stop()


@pytest.mark.parametrize("stream", [".", "..", "a.b", "%2E"])
def test_a_stream_of_any_name_leaves_other_files_of_the_table_alone(
    group: TestGroup, tmp_path: Path, stream: str
) -> None:
    open_orders(group)
    table = tmp_path / "lake"
    table.mkdir()
    (table / "older.parquet").write_bytes(b"older")
    reader = reader_of(group, table, stream=stream)
    files = written(reader)
    commit(files)
    reader.stop()

    assert (table / "older.parquet").read_bytes() == b"older"
    names = {path.name for path in table.iterdir()} - {"older.parquet", "_igq_unfinished"}
    assert names == {Path(path).name for path in files}


@pytest.mark.parametrize(("first", "then"), [("5", "3"), ("3", "12"), ("1", "2")])
def test_a_repeated_batch_with_other_partitions_replaces_its_files(
    group: TestGroup, tmp_path: Path, first: str, then: str
) -> None:
    open_orders(group)
    reader = reader_of(group, tmp_path, rowsPerPartition="1")
    start = reader.initialOffset()
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    for rows in (first, then):
        reader._rows = int(rows)
        commit(files_of(reader, start, end))
        assert sorted(bodies_in(tmp_path)) == sorted(EVERYTHING)
    reader.stop()


def test_files_of_a_batch_that_went_back_never_come_into_the_table(group: TestGroup, tmp_path: Path) -> None:
    orders = open_orders(group)
    first = reader_of(group, tmp_path, rowsPerPartition="2")
    left = written(first)
    first.stop()
    with group.connect() as connection:
        for unit in prepared_units(group.group):
            connection.backout_prepared(unit.xid, qmgr=unit.qmgr)
    assert sorted(browse_all(orders)) == sorted(EVERYTHING)
    reader = reader_of(group, tmp_path)
    commit(written(reader))

    assert sorted(bodies_in(tmp_path)) == sorted(EVERYTHING)
    assert not any(Path(path).exists() for path in left)
    reader.stop()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"path": "lake"}, "path=lake: allowed"),
        ({"path": "s3a://bucket/lake"}, "path=s3a://bucket/lake: allowed"),
        ({"compression": "lzo"}, "compression=lzo: allowed: snappy"),
        ({"path": ""}, "the option path is missing"),
    ],
)
def test_a_wrong_option_is_named(group: TestGroup, more: dict[str, str], said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        reader_of(group, **{"table": "/lake", **more})


def test_the_sink_takes_only_files_of_such_a_stream(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="there is no column file"):
        ParquetStreamWriter(StructType([StructField("data", StringType())]), overwrite=False)
    with pytest.raises(PipelineError, match="only adds files"):
        ParquetStreamWriter(PARQUET_FILES, overwrite=True)
    other = tmp_path / "other.parquet"
    parquet.write_table(pa.table({"data": [b"1"]}), other)
    with pytest.raises(PipelineError, match="is not of a stream"):
        commit([str(other)])
    assert other.exists()


def test_a_file_that_the_driver_cannot_see_is_an_error(tmp_path: Path) -> None:
    directory = tmp_path / "_igq_unfinished" / "lake"
    directory.mkdir(parents=True)
    with pytest.raises(PipelineError, match="the driver and all workers must share"):
        commit([str(directory / "1-0.parquet")])
