"""Tables that a job keeps for a time, and then gives up. Other tables of the session stay."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class _Kept:
    """The tables that `keeping` gives up at its end.

    Attributes:
        scratch: the folder of the tables that were written; None until there is one.
        written: how many tables were written.
    """

    scratch: Path | None
    tables: list[DataFrame] = field(default_factory=list)
    written: int = 0

    def give_up(self) -> None:
        for table in self.tables:
            table.unpersist()
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)


_kept: ContextVar[_Kept | None] = ContextVar("_kept", default=None)


@contextmanager
def keeping(scratch: Path | None = None) -> Iterator[None]:
    """Give up at the end what `kept` and `settled` have kept within.

    Args:
        scratch: a folder for the tables that `settled` writes. It is removed at the end, and before that if a killed
            job has left it. The workers of a cluster must reach it too. None for a temporary one on this machine.
    """
    mine = _Kept(scratch)
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)
    token = _kept.set(mine)
    try:
        yield
    finally:
        _kept.reset(token)
        mine.give_up()


def kept(table: DataFrame) -> DataFrame:
    """Compute *table* once, as long as `keeping` lasts; without that, as long as the session does."""
    mine = _kept.get()
    if mine is not None:
        mine.tables.append(table)
    return table.persist()


def settled(table: DataFrame) -> DataFrame:
    """Compute *table* now, write it, and read it back without the plan that made it, as long as `keeping` lasts.

    Spark's `localCheckpoint` does the same in the memory of the executors, and loses the table with one of them.

    Raises:
        RuntimeError: no `keeping` is under way.
    """
    mine = _kept.get()
    if mine is None:
        raise RuntimeError("a table can be settled only while tables are kept")
    if mine.scratch is None:
        mine.scratch = Path(mkdtemp(prefix="igq-"))
    path = str(mine.scratch / str(mine.written))
    mine.written += 1
    table.write.parquet(path)
    return table.sparkSession.read.schema(table.schema).parquet(path)
