"""Logging of a library: through structlog if the program has set it up, else through the standard ``logging``.

Without a configuration structlog prints every event on standard output, which belongs to the program. A program that
has not imported structlog has not configured it, and this module does not import it: that would take a long time.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from sharedq.display.text import visible


class LibraryLogger:
    """Events with fields, at the levels that libraries need."""

    def __init__(self, name: str) -> None:
        self._name = name

    def debug(self, event: str, **fields: Any) -> None:
        """An event that helps to find a fault."""
        self._log(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """Something worth knowing was done."""
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Something did not go as it should; the program goes on."""
        self._log(logging.WARNING, event, fields)

    def _log(self, level: int, event: str, fields: dict[str, Any]) -> None:
        if "structlog" in sys.modules:
            import structlog

            if structlog.is_configured():
                structlog.get_logger(self._name).log(level, event, **fields)
                return
        details = "".join(f" {name}={value}" for name, value in fields.items())
        logging.getLogger(self._name).log(level, "%s", visible(f"{event}{details}"))
