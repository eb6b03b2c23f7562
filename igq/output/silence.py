"""No log, for commands that make calls like any program. They do not import structlog, which takes long."""

from __future__ import annotations

import logging


def log_nothing() -> None:
    """Log nothing: the error that ends a call says what is wrong.

    Anything that the library logs besides, mostly a lost lease, would be a second line about the same error.
    """
    logging.disable()
