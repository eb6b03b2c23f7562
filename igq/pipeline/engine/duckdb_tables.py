"""Functions on DuckDB's tables that an audit needs beside their methods. `spark_tables` has the same for Spark.

Each operation of SQLFrame copies the whole plan of its table, so long plans are computed and stored step by step.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from sqlframe.base.exceptions import SQLFrameException
from sqlframe.base.operations import Operation
from sqlframe.duckdb import Column, DuckDBDataFrame, DuckDBSession, Row, Window, WindowSpec, functions  # noqa: F401 - for jobs
from sqlframe.duckdb.table import DuckDBTable
from sqlglot import exp, generator
from sqlglot.errors import SqlglotError

from igq.pipeline.engine.spark_tables import __all__  # noqa: F401 - the one list of both engines
from igq.pipeline.errors import PipelineError, why_a_job_ends

DataFrame, SparkSession = DuckDBDataFrame, DuckDBSession
_numbers = count(1)


class _Functions:
    """Spark's functions: SQLFrame's, and those that it lacks on DuckDB."""

    @staticmethod
    def xxhash64(column: Column) -> Column:
        """The value itself: the audit only asks whether two are the same."""
        return column

    @staticmethod
    def unix_millis(time: Column | str) -> Column:
        """Milliseconds since 1970. SQLFrame's own function drops those of a second."""
        return Column.invoke_anonymous_function(time, "epoch_ms")

    @staticmethod
    def timestamp_millis(ms: Column) -> Column:
        """The time that is so many milliseconds after 1970."""
        return Column.invoke_anonymous_function(ms.cast("bigint"), "epoch_ms")

    @staticmethod
    def broadcast(table: DuckDBDataFrame) -> DuckDBDataFrame:
        """DuckDB chooses itself which table it copies."""
        return table

    def __getattr__(self, name: str) -> Any:
        return getattr(functions, name)


F = _Functions()


class _Frame(DuckDBDataFrame):
    """A table whose plan stays short, and with two methods because those of SQLFrame 4.10 give wrong results later.

    Attributes:
        told: its columns with their comments, if `as_table` has made it.
    """

    told: StructType | None = None

    def _convert_leaf_to_cte(self, *args: Any, **kwargs: Any) -> Any:
        """Make the plan so far a view, which DuckDB reads as part of each query.

        SQLFrame would carry the plan along, and copy it in each operation: nine tenths of the time of an audit.
        """
        is_short = self.last_op == Operation.INIT or not isinstance(self.expression, exp.Select)
        if is_short:
            return super()._convert_leaf_to_cte(*args, **kwargs)
        return _defined(self, "VIEW")._convert_leaf_to_cte(*args, **kwargs)

    def join(self, *args: Any, **kwargs: Any) -> Any:
        """A stored table: otherwise a column that both sides have may be taken from the wrong one."""
        return kept(super().join(*args, **kwargs))

    def fillna(self, value: Any, subset: Sequence[str]) -> DuckDBDataFrame:  # type: ignore[override]
        """Otherwise a select that follows sees the nulls again."""
        return self.withColumns({name: F.coalesce(name, F.lit(value)) for name in subset})


class _Table(_Frame, DuckDBTable):
    _df = _Frame


class _Session(DuckDBSession):
    _df = _Frame
    _table = _Table


@contextmanager
def duckdb_session() -> Iterator[Any]:
    """A database in memory within a ``with``. It has the methods of Spark's session.

    Raises:
        PipelineError: DuckDB refuses a query, or lacks memory; or SQLFrame cannot work with the sqlglot that is here.
    """
    if Path(generator.__file__).suffix != ".py":
        raise PipelineError("SQLFrame cannot use a compiled sqlglot: pip uninstall sqlglotc, or use --engine spark")
    session = _Session(duckdb.connect(config={"autoinstall_known_extensions": False}))
    try:
        yield session
    except (duckdb.Error, SQLFrameException, SqlglotError) as error:
        raise PipelineError(f"DuckDB: {why_a_job_ends(error)}") from error
    finally:
        session.stop()


def kept(table: DuckDBDataFrame) -> DuckDBDataFrame:
    """Compute *table* now, and store it."""
    return _defined(table, "TABLE")


def _defined(table: DuckDBDataFrame, what: Literal["TABLE", "VIEW"]) -> DuckDBDataFrame:
    name = f"t{next(_numbers)}"
    query = table.sql(optimize=False, pretty=False, dialect="duckdb")
    table.session._conn.execute(f"CREATE {what} {name} AS {query}")
    made = _stored(table.session, name)
    made.told = getattr(table, "told", None)
    return made


shortened = settled = kept


def _stored(session: DuckDBSession, name: str) -> _Frame:
    """Return the table *name*. SQLFrame would ask for its columns in a slower way."""
    rows = session._conn.execute(f"DESCRIBE {name}").fetchall()
    columns = {column: exp.DataType.build(kind, dialect="duckdb") for column, kind, *_ in rows}
    session.catalog._schema.add_table(name, columns, normalize=False)
    return _Frame(session, exp.select(*map(exp.column, columns)).from_(name))


def of_batches(session: Any, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Any:
    """A table of Arrow's batches. Its times are UTC, and have no zone, which DuckDB knows only in an extension."""
    name, rows = f"t{next(_numbers)}", pa.Table.from_batches(batches, schema)
    plain = [field.with_type(pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field for field in schema]
    session._conn.register("batches", rows.cast(pa.schema(plain)))
    session._conn.execute(f"CREATE TABLE {name} AS SELECT * FROM batches")
    session._conn.unregister("batches")
    return _stored(session, name)


def only(table: DuckDBDataFrame, chosen: Callable[[pa.RecordBatch], Sequence[bool]]) -> DuckDBDataFrame:
    """The rows that a function of batches chooses."""
    rows = table.toArrow()
    batches = [batch.filter(pa.array(chosen(batch), pa.bool_())) for batch in rows.to_batches()]
    found: DuckDBDataFrame = of_batches(table.session, batches, rows.schema)
    return found


def rows_of_files(session: DuckDBSession, files: Sequence[Path], schema: StructType) -> DuckDBDataFrame:
    """The rows of files of JSON lines, with the ``file`` of each. Lines that cannot be read are left out.

    As in Spark, a value of another type is a null; DuckDB's own reader would convert it, or take a name for a pattern.
    """
    columns: dict[str, list[Any]] = {name: [] for name in (*schema.fieldNames(), "file")}
    readers = {field.name: _READERS[field.dataType.typeName()] for field in schema.fields}
    for path in files:
        for row in _objects(path):
            for name, read in readers.items():
                columns[name].append(read(row.get(name)))
            columns["file"].append(str(path))
    kinds = pa.schema([*to_arrow_schema(schema, timezone="UTC"), pa.field("file", pa.string())])
    rows = pa.RecordBatch.from_arrays([pa.array(columns[kind.name], kind.type) for kind in kinds], schema=kinds)
    table: DuckDBDataFrame = of_batches(session, [rows], kinds)
    return table


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        for line in lines:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield row


def _number(bits: int) -> Callable[[Any], int | None]:
    least = -(1 << bits - 1)
    return lambda value: value if type(value) is int and least <= value < -least else None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    # Half of a surrogate pair is no character.
    return (value if isinstance(value, str) else json.dumps(value)).encode(errors="replace").decode()


def _time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (TypeError, ValueError):
        return None


_READERS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "integer": _number(32),
    "long": _number(64),
    "boolean": lambda value: value if isinstance(value, bool) else None,
    "timestamp": _time,
}


def percentiles(column: Column, parts: Sequence[float]) -> Column:
    """An array of values, each within which one of *parts* of the rows are."""
    return Column.invoke_anonymous_function(column, "quantile_disc", functions.array(*map(functions.lit, parts)))


def count_lines(_: DuckDBSession, path: Path) -> int:
    """How many lines of a file are not blank."""
    with path.open("rb") as lines:
        return sum(1 for line in lines if line.strip())


def of_rows(session: DuckDBSession, rows: Sequence[tuple[Any, ...]], schema: StructType) -> DuckDBDataFrame:
    """A table of some rows of this process."""
    kinds = to_arrow_schema(schema, timezone="UTC")
    columns = [dict(zip(schema.fieldNames(), row, strict=True)) for row in rows]
    return as_table(of_batches(session, [pa.RecordBatch.from_pylist(columns, schema=kinds)], kinds), schema)


def as_table(table: DuckDBDataFrame, schema: StructType) -> DuckDBDataFrame:
    """The columns of *schema*: in its order, of its types and with its comments."""
    kinds = {each.name: each.dataType.simpleString() for each in schema.fields}
    # Spark's word for a time with a zone, to which DuckDB would take a time from the zone of this machine.
    plain = {name: "timestamp_ntz" if kind == "timestamp" else kind for name, kind in kinds.items()}
    made = table.select(*(functions.col(name).cast(kind).alias(name) for name, kind in plain.items()))
    assert isinstance(made, _Frame)
    made.told = schema
    return made


def _as_spark_writes(table: DuckDBDataFrame) -> pa.Table:
    """The rows with times in UTC, and with the columns' comments where Spark looks for them."""
    rows, told = table.toArrow(), getattr(table, "told", None)
    kinds = [
        field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) else field
        for field in rows.schema
    ]
    comments = {"org.apache.spark.sql.parquet.row.metadata": told.json()} if told else None
    return rows.cast(pa.schema(kinds)).replace_schema_metadata(comments)


def write(table: DuckDBDataFrame, directory: Path) -> None:
    """Write a small table as one Parquet file, and replace what is in *directory*."""
    unfinished = directory.with_name(f"{directory.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    pq.write_table(_as_spark_writes(table), unfinished / "part-0.parquet")
    if directory.is_dir() and not directory.is_symlink():
        shutil.rmtree(directory)
    else:
        directory.unlink(missing_ok=True)
    unfinished.rename(directory)
