"""Fixtures of the tests of the MQI."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.members import TestGroup


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads for calls that wait. The pool ends after its calls."""
    with ThreadPoolExecutor(4) as executor:
        yield executor


@pytest.fixture
def pair(group: TestGroup) -> TestGroup:
    """QM1 and QM2, which has a private queue IN."""
    group.add_member("QM2")
    group.define_private("QM2", "IN")
    return group
