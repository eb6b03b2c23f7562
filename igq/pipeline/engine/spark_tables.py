"""Functions on Spark's tables that an audit needs beside their methods. `duckdb_tables` has the same for DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import StructType

from igq.pipeline.schemas import as_table
from igq.pipeline.spark.interim_tables import kept, settled

__all__ = [
    "Column",
    "DataFrame",
    "F",
    "Row",
    "SparkSession",
    "Window",
    "WindowSpec",
    "as_table",
    "count_lines",
    "kept",
    "of_rows",
    "only",
    "percentiles",
    "rows_of_files",
    "settled",
    "shortened",
    "write",
]


def shortened(table: DataFrame) -> DataFrame:
    """The table as it is: Spark makes one plan of many steps."""
    return table


def only(table: DataFrame, chosen: Callable[[pa.RecordBatch], Sequence[bool]]) -> DataFrame:
    """The rows that a function of batches chooses. The workers call it."""

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.filter(pa.array(chosen(batch)))

    return kept(table.mapInArrow(rows, table.schema))


def rows_of_files(session: SparkSession, files: Sequence[Path], schema: StructType) -> DataFrame:
    """The rows of files of JSON lines, with the ``file`` of each. A line that cannot be read is a row of nulls."""
    # Spark refuses a pattern without files, but a program that was killed early leaves none.
    names = [str(path) for path in files]
    table = session.read.schema(schema).json(names) if names else of_rows(session, [], schema)
    return table.withColumn("file", F.input_file_name())


def percentiles(column: Column, parts: Sequence[float]) -> Column:
    """An array of values, each within which one of *parts* of the rows are, to a ten-thousandth of the rows."""
    return F.percentile_approx(column, list(parts), 10_000)


def count_lines(session: SparkSession, path: Path) -> int:
    """How many lines of a file are not blank."""
    return session.read.text(str(path)).where(F.trim("value") != "").count()


def of_rows(session: SparkSession, rows: Sequence[tuple[Any, ...]], schema: StructType) -> DataFrame:
    """A table of some rows of this process."""
    return session.createDataFrame(rows, schema)


def write(table: DataFrame, directory: Path) -> None:
    """Write a small table as one Parquet file, and replace what is in *directory*."""
    table.coalesce(1).write.mode("overwrite").parquet(str(directory))
