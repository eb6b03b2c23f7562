"""Fixtures that every suite may use: a Redis server for the run, a group of its own for each test."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.members import TestGroup
from tests.support.server import Server

# How long an example takes says nothing of the code: the machine may have much else to do.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard() -> None:
    """A run in the background may have SIGINT ignored, which every child would inherit."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
