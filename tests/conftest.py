"""Fixtures that every suite may use: a Redis server for the run, a group of its own for each test."""

from __future__ import annotations

import gc
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


#: Folders that belong to the share as a whole. Of each other folder those tests belong to it that are marked so.
WHOLE = ("unit", "lua", "tidy", "model")
TESTS = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file without a test of the share: to import all of them takes half a minute."""
    if not config.option.markexpr.startswith("share") or not collection_path.name.startswith("test_"):
        return None
    is_whole = collection_path.relative_to(TESTS).parts[0] in WHOLE
    return None if is_whole or "mark.share" in collection_path.read_text("utf-8") else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of the whole folders belong to the share."""
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in WHOLE:
            item.add_marker("share")


def pytest_collection_finish() -> None:
    """Keep the collected tests out of later collections of garbage: some tests ask for one, which took a second."""
    gc.collect()
    gc.freeze()


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
