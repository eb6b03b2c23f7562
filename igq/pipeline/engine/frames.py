"""The data frames of the chosen engine. The audit is written once, with Spark's names, and runs on either.

SQLFrame has Spark's classes and functions on DuckDB. A job of a few hundred thousand rows takes a seventh of the time
there, because no Java starts. `__all__` of the two modules of tables is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from igq.pipeline.engine.choice import is_duckdb

if TYPE_CHECKING or not is_duckdb():
    from igq.pipeline.engine.spark_tables import *  # noqa: F403
else:
    from igq.pipeline.engine.duckdb_tables import *  # noqa: F403
