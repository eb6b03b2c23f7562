"""Clients of the REST interface."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import httpx
import pytest

from tests.support.console import Console

_NUMBERS = count(1)


@pytest.fixture
def otto(console: Console) -> Iterator[httpx.Client]:
    """A program of an operator."""
    with console.program("otto") as client:
        yield client


@pytest.fixture
def queue(console: Console) -> str:
    """A queue of the test's own, shared by both managers."""
    name = f"REST.{next(_NUMBERS)}"
    console.shell.out("mqsc", "QM1", "-c", f"DEFINE QLOCAL({name}) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    return name
