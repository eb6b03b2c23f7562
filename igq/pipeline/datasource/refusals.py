"""A stream that cannot be read. It raises its error when Spark first asks it for something.

If the error were raised earlier, while the reader is made, users would see a second error of PySpark's instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from pyspark.sql.datasource import DataSourceStreamReader


def made_or_refused(make: Callable[[], DataSourceStreamReader]) -> DataSourceStreamReader:
    """The reader that *make* makes, or one that raises its error later."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - the reader raises it later
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
