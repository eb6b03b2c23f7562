"""Fixtures that every suite may use: a Redis server for the run, a group of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.members import TestGroup
from tests.support.server import Server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server]:
    """One server for the whole run. Tests that kill theirs start their own."""
    server = Server()
    yield server
    server.close()


@pytest.fixture
def group(redis_server: Server, tmp_path: Path) -> Iterator[TestGroup]:
    """A fresh group with one member, QM1, and one structure, APPL1."""
    test_group = TestGroup(redis_server.url, tmp_path)
    test_group.add_member("QM1")
    yield test_group
    test_group.close()
