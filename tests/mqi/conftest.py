"""Fixtures of the tests of the MQI."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads for calls that wait; it ends when they have."""
    with ThreadPoolExecutor(4) as executor:
        yield executor
