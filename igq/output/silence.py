"""No log, for commands that make calls like any program. They do not import structlog, which takes long."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


def log_nothing() -> None:
    """Log nothing: the error that ends a call says what is wrong.

    Anything that the library logs besides, mostly a lost lease, would be a second line about the same error.
    """
    logging.disable()


@contextmanager
def silence_ends() -> Iterator[None]:
    """Log again afterwards: a process may run several commands, and do other work after them."""
    before = logging.root.manager.disable
    try:
        yield
    finally:
        logging.disable(before)
