"""Tables that are kept while something is made of them, and given up after that; no others of the session are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_kept: ContextVar[list[DataFrame] | None] = ContextVar("_kept", default=None)


@contextmanager
def keeping() -> Iterator[None]:
    """What `kept` is told within is given up at the end."""
    tables: list[DataFrame] = []
    token = _kept.set(tables)
    try:
        yield
    finally:
        _kept.reset(token)
        for table in tables:
            table.unpersist()


def kept(table: DataFrame) -> DataFrame:
    """Compute *table* once, as long as `keeping` lasts; without that, as long as the session does."""
    tables = _kept.get()
    if tables is not None:
        tables.append(table)
    return table.persist()
