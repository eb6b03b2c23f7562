"""Which engine this process uses. The choice is made once, before a module that makes tables is imported."""

from __future__ import annotations

import sys

#: The engine that all jobs have.
SPARK = "spark"
#: The engine of an audit that needs no Java.
DUCKDB = "duckdb"

_chosen = SPARK


def choose(engine: str) -> None:
    """Use *engine* in this process.

    Raises:
        RuntimeError: a module has made its tables for the other one.
    """
    global _chosen
    if engine != _chosen and "igq.pipeline.engine.frames" in sys.modules:
        raise RuntimeError(f"this process uses {_chosen}")
    _chosen = engine


def is_duckdb() -> bool:
    """Whether tables are DuckDB's."""
    return _chosen == DUCKDB
