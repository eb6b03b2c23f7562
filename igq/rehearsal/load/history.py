"""A program's history: every call before and after it was made, so that a check knows what may have happened.

A line says that a call was ``invoked``, or how it ended: ``ok``, ``failed`` (it changed nothing), ``mixed`` (committed,
except for its part in a structure that has failed) or ``unknown`` (the connection broke before the reply). A call that
a killed program had invoked has no second line; its outcome is unknown, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from igq.rehearsal.load.records import LineFile, now_ms
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError

INVOKED, OK, FAILED, MIXED, UNKNOWN = "invoked", "ok", "failed", "mixed", "unknown"
#: 2009: either the reply was lost, or the connection was shut out. Nothing here tells which.
_PHASES = {MQRC.CONNECTION_BROKEN: UNKNOWN, MQRC.OUTCOME_MIXED: MIXED}


class History:
    """Writes the history of one program. Without a path it keeps none."""

    def __init__(self, path: Path | None, program: str) -> None:
        self._program = program
        self._file = LineFile(path) if path is not None else None
        self._number = 0

    @contextmanager
    def call(self, verb: str, **what: Any) -> Iterator[dict[str, Any]]:
        """Record the call made inside the ``with`` block. Entries of the yielded dict are recorded with its end."""
        if self._file is None:
            yield {}
            return
        self._number += 1
        line = {"t_ms": now_ms(), "program": self._program, "pid": os.getpid(), "call": self._number, "verb": verb}
        self._file.write([{**line, "phase": INVOKED, **what}])
        result: dict[str, Any] = {}
        phase = UNKNOWN
        try:
            yield result
            phase = OK
        except MQIError as error:
            phase = _PHASES.get(error.reason, FAILED)
            result["reason"] = int(error.reason)
            raise
        finally:
            self._file.write([{**line, "t_ms": now_ms(), "phase": phase, **result}])
