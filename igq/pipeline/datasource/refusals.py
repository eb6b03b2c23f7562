"""A stream that cannot be read, which says so when Spark first asks it for something.

Raised any earlier, while the reader is made, the error is followed by one of PySpark's own, which is what users see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from pyspark.sql.datasource import DataSourceStreamReader


def made_or_refused(make: Callable[[], DataSourceStreamReader]) -> DataSourceStreamReader:
    """What *make* makes, or why it does not."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised soon
        return RefusedStream(error)


class RefusedStream(DataSourceStreamReader):
    """Answers every question with *error*."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def initialOffset(self) -> NoReturn:  # noqa: N802 - Spark's name
        raise self._error

    def latestOffset(self, *_: Any) -> NoReturn:  # noqa: N802 - Spark's name
        raise self._error

    def partitions(self, *_: Any) -> NoReturn:
        raise self._error

    def read(self, *_: Any) -> NoReturn:
        raise self._error
