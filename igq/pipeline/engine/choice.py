"""Which engine this process uses. The choice is made once, before a module that makes tables is imported."""

from __future__ import annotations

import sys
from typing import Final, Literal

#: The engine that all jobs have, and the engine of an audit that needs no Java.
Engine = Literal["spark", "duckdb"]
#: As a user says it: an engine, or that the job chooses.
AnyEngine = Literal["auto", "spark", "duckdb"]
SPARK: Final = "spark"
DUCKDB: Final = "duckdb"

_chosen: Engine = SPARK


def choose(engine: Engine) -> None:
    """Use *engine* in this process. Raises RuntimeError: a module has made its tables for the other one."""
    global _chosen
    if made_for() not in (None, engine):
        raise RuntimeError(f"this process uses {_chosen}")
    _chosen = engine


def made_for() -> Engine | None:
    """The engine that modules of this process have made their tables for; None: they have made none yet."""
    return _chosen if "igq.pipeline.engine.frames" in sys.modules else None


def is_duckdb() -> bool:
    """Whether tables are DuckDB's."""
    return _chosen == DUCKDB
