"""Functions on DuckDB's tables that an audit needs beside their methods. `spark_tables` has the same for Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType
from sqlframe.base.exceptions import SQLFrameException
from sqlframe.duckdb import Column, DuckDBSession, Row, Window, WindowSpec, functions  # noqa: F401 - for jobs
from sqlglot import exp, generator
from sqlglot.errors import SqlglotError

from igq.pipeline.engine.spark_tables import __all__  # noqa: F401 - the one list of both engines
from igq.pipeline.errors import PipelineError, why_a_job_ends

SparkSession = DuckDBSession
_numbers = count(1)
#: Spark's words for joins, where DuckDB has others.
_JOINS = {"left_semi": "SEMI", "left_anti": "ANTI"}


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
    def broadcast(table: DataFrame) -> DataFrame:
        """DuckDB chooses itself which table it copies."""
        return table

    def __getattr__(self, name: str) -> Any:
        return getattr(functions, name)


F = _Functions()


class DataFrame:
    """A query with those methods of Spark's tables that jobs use. Each method puts one SELECT around the query.

    SQLFrame has such a table, too, which copies the whole plan in each step: that took half the time of an audit.

    Attributes:
        columns: the names, in order.
        told: the columns with their comments, if `as_table` has made it.
    """

    def __init__(
        self, session: DuckDBSession, query: str, columns: Iterable[str], told: StructType | None = None
    ) -> None:
        self.session = self.sparkSession = session
        self.query, self.columns, self.told = query, list(columns), told

    def select(self, *columns: Column | str) -> DataFrame:
        items = [(self.columns, "*") if isinstance(each, str) and each == "*" else _item(each) for each in columns]
        return self._by(f"SELECT {_list(sql for _, sql in items)} FROM ({self.query})", _flat(items))

    def where(self, condition: Column | str) -> DataFrame:
        return self._by(f"SELECT * FROM ({self.query}) WHERE {_spelled(Column(condition).expression)}", self.columns)

    def withColumns(self, columns: Mapping[str, Column]) -> DataFrame:  # noqa: N802 - Spark's name
        new = [name for name in columns if name not in self.columns]
        changed = _list(f"{_sql(column)} AS {_quoted(name)}" for name, column in columns.items() if name not in new)
        whole = f"* REPLACE ({changed})" if changed else "*"
        added = (f"{_sql(columns[name])} AS {_quoted(name)}" for name in new)
        return self._by(f"SELECT {_list([whole, *added])} FROM ({self.query})", [*self.columns, *new])

    def withColumn(self, name: str, column: Column) -> DataFrame:  # noqa: N802 - Spark's name
        return self.withColumns({name: column})

    def withColumnRenamed(self, old: str, new: str) -> DataFrame:  # noqa: N802 - Spark's name
        names = [new if name == old else name for name in self.columns]
        return self._by(f"SELECT * RENAME ({_quoted(old)} AS {_quoted(new)}) FROM ({self.query})", names)

    def fillna(self, value: Any, subset: Sequence[str]) -> DataFrame:
        return self.withColumns({name: F.coalesce(name, F.lit(value)) for name in subset})

    def drop(self, *names: str) -> DataFrame:
        there = [name for name in names if name in self.columns]
        if not there:
            return self
        rest = [name for name in self.columns if name not in there]
        return self._by(f"SELECT * EXCLUDE ({_list(map(_quoted, there))}) FROM ({self.query})", rest)

    def join(self, other: DataFrame, on: Column | str | Sequence[str], how: str = "inner") -> DataFrame:
        """Join and store the result, because jobs use a joined table several times."""
        how = _JOINS.get(how, how)
        keys: list[str] = []
        if isinstance(on, Column):
            condition = f"ON {_sql(on)}"
        else:
            keys = [on] if isinstance(on, str) else [*on]
            condition = f"USING ({_list(map(_quoted, keys))})"
        names = [*self.columns, *(name for name in other.columns if name not in keys and how not in _JOINS.values())]
        return kept(self._by(f"SELECT * FROM ({self.query}) {how} JOIN ({other.query}) {condition}", names))

    def groupBy(self, *keys: Column | str) -> _Groups:  # noqa: N802 - Spark's name
        return _Groups(self, keys)

    def agg(self, *figures: Column) -> DataFrame:
        return _Groups(self, ()).agg(*figures)

    def unionByName(self, other: DataFrame) -> DataFrame:  # noqa: N802 - Spark's name
        return self._by(f"({self.query}) UNION ALL BY NAME ({other.query})", self.columns)

    def distinct(self) -> DataFrame:
        return self._by(f"SELECT DISTINCT * FROM ({self.query})", self.columns)

    def orderBy(self, *columns: Column | str) -> DataFrame:  # noqa: N802 - Spark's name
        places = (_expression(each) for each in columns)
        # Spark has nulls first.
        ordered = (
            each if isinstance(each, exp.Ordered) else exp.Ordered(this=each, nulls_first=True) for each in places
        )
        return self._by(f"SELECT * FROM ({self.query}) ORDER BY {_list(map(_spelled, ordered))}", self.columns)

    def limit(self, rows: int) -> DataFrame:
        return self._by(f"SELECT * FROM ({self.query}) LIMIT {rows}", self.columns)

    def transform(self, made: Callable[..., DataFrame], *arguments: Any) -> DataFrame:
        return made(self, *arguments)

    def collect(self) -> list[Row]:
        found: list[Row] = self.session._collect(self.query)
        return found

    def count(self) -> int:
        return int(self._one(f"SELECT count(*) FROM ({self.query})"))

    def isEmpty(self) -> bool:  # noqa: N802 - Spark's name
        return not self._one(f"SELECT count(*) FROM (SELECT * FROM ({self.query}) LIMIT 1)")

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        return self.session._conn.sql(self.query).to_arrow_table()

    @property
    def schema(self) -> StructType:
        return self.told or from_arrow_schema(self.limit(0).toArrow().schema)

    def _by(self, query: str, columns: Iterable[str]) -> DataFrame:
        return DataFrame(self.session, query, columns)

    def _one(self, query: str) -> Any:
        return self.session._conn.execute(query).fetchall()[0][0]


class _Groups:
    """Rows of a table by their keys."""

    def __init__(self, table: DataFrame, keys: Sequence[Column | str]) -> None:
        self._table, self._keys = table, [_item(key) for key in keys]

    def agg(self, *figures: Column) -> DataFrame:
        items = [*self._keys, *map(_item, figures)]
        by = f" GROUP BY {_list(str(at + 1) for at in range(len(self._keys)))}" if self._keys else ""
        query = f"SELECT {_list(sql for _, sql in items)} FROM ({self._table.query}){by}"
        return DataFrame(self._table.session, query, _flat(items))

    def count(self) -> DataFrame:
        return self.agg(F.count("*").alias("count"))


def _expression(column: Column | str) -> Any:
    return _of_name(column) if isinstance(column, str) else column.expression


@lru_cache(maxsize=1024)
def _of_name(name: str) -> Any:
    return functions.col(name).expression


def _spelled(expression: Any) -> str:
    return str(expression.unalias().sql(dialect="duckdb", identify=True))


def _sql(column: Column | str) -> str:
    return _spelled(_expression(column))


def _item(column: Column | str) -> tuple[list[str], str]:
    """The name of a column in a SELECT, and its SQL."""
    expression = _expression(column)
    return [expression.alias_or_name], f"{_spelled(expression)} AS {_quoted(expression.alias_or_name)}"


def _flat(items: Iterable[tuple[list[str], str]]) -> list[str]:
    return [name for names, _ in items for name in names]


def _list(items: Iterable[str]) -> str:
    return ", ".join(items)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def duckdb_session() -> Iterator[Any]:
    """A database in memory within a ``with``. It has the methods of Spark's session.

    Raises:
        PipelineError: DuckDB refuses a query, or lacks memory; or SQLFrame cannot work with the sqlglot that is here.
    """
    if Path(generator.__file__).suffix != ".py":
        raise PipelineError("SQLFrame cannot use a compiled sqlglot: pip uninstall sqlglotc, or use --engine spark")
    session = DuckDBSession(duckdb.connect(config={"autoinstall_known_extensions": False}))
    try:
        yield session
    except (duckdb.Error, SQLFrameException, SqlglotError) as error:
        raise PipelineError(f"DuckDB: {why_a_job_ends(error)}") from error
    finally:
        session.stop()


def kept(table: DataFrame) -> DataFrame:
    """Compute *table* now, and store it."""
    name = f"t{next(_numbers)}"
    table.session._conn.execute(f"CREATE TABLE {name} AS {table.query}")
    return DataFrame(table.session, f"FROM {name}", table.columns, table.told)


shortened = settled = kept


def of_batches(session: Any, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Any:
    """A table of Arrow's batches. Its times are UTC, and have no zone, which DuckDB knows only in an extension."""
    name, rows = f"t{next(_numbers)}", pa.Table.from_batches(batches, schema)
    plain = [field.with_type(pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field for field in schema]
    session._conn.register("batches", rows.cast(pa.schema(plain)))
    session._conn.execute(f"CREATE TABLE {name} AS SELECT * FROM batches")
    session._conn.unregister("batches")
    return DataFrame(session, f"FROM {name}", schema.names)


def only(table: DataFrame, chosen: Callable[[pa.RecordBatch], Sequence[bool]]) -> Any:
    """The rows that a function of batches chooses."""
    rows = table.toArrow()
    batches = [batch.filter(pa.array(chosen(batch), pa.bool_())) for batch in rows.to_batches()]
    return of_batches(table.session, batches, rows.schema)


def rows_of_files(session: DuckDBSession, files: Sequence[Path], schema: StructType) -> Any:
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
    return of_batches(session, [rows], kinds)


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


def of_rows(session: DuckDBSession, rows: Sequence[tuple[Any, ...]], schema: StructType) -> DataFrame:
    """A table of some rows of this process."""
    kinds = to_arrow_schema(schema, timezone="UTC")
    columns = [dict(zip(schema.fieldNames(), row, strict=True)) for row in rows]
    return as_table(of_batches(session, [pa.RecordBatch.from_pylist(columns, schema=kinds)], kinds), schema)


def as_table(table: DataFrame, schema: StructType) -> DataFrame:
    """The columns of *schema*: in its order, of its types and with its comments."""
    kinds = {each.name: each.dataType.simpleString() for each in schema.fields}
    # Spark's word for a time with a zone, to which DuckDB would take a time from the zone of this machine.
    plain = {name: "timestamp_ntz" if kind == "timestamp" else kind for name, kind in kinds.items()}
    made = table.select(*(functions.col(name).cast(kind).alias(name) for name, kind in plain.items()))
    made.told = schema
    return made


def _as_spark_writes(table: DataFrame) -> pa.Table:
    """The rows with times in UTC, and with the columns' comments where Spark looks for them."""
    rows, told = table.toArrow(), table.told
    kinds = [
        field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) else field
        for field in rows.schema
    ]
    comments = {"org.apache.spark.sql.parquet.row.metadata": told.json()} if told else None
    return rows.cast(pa.schema(kinds)).replace_schema_metadata(comments)


def write(table: DataFrame, directory: Path) -> None:
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
