"""Fixtures that every suite may use: a Redis server for the run, a group of its own for each test."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from sharedq.members.news import News
from sharedq.members.process import Process
from tests.support.members import TestGroup
from tests.support.server import Server

# How long an example takes says nothing of the code: the machine may have much else to do.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# `make test` looks at each rule with a few examples, and `make test-all` with Hypothesis's hundred.
settings.register_profile("share", settings.get_profile("untimed"), max_examples=10)
settings.load_profile("untimed")


#: Folders that belong to the share as a whole. Of each other folder those tests belong to it that are marked so.
WHOLE = ("unit", "lua", "tidy", "model")
TESTS = Path(__file__).parent


def is_share(config: pytest.Config) -> bool:
    """Whether this is `make test`, and not all tests or some that were named."""
    return str(config.option.markexpr).startswith("share")


def pytest_configure(config: pytest.Config) -> None:
    if is_share(config):
        settings.load_profile("share")


class FewServers(LoadFileScheduling):  # type: ignore[misc]
    """Gives a worker the tests of a file together, and one worker all files that share a Spark session or a console."""

    def _split_scope(self, nodeid: str) -> str:
        return together(super()._split_scope(nodeid))


@cache
def together(file: str) -> str:
    """The name of what one worker runs together: the file, or the folder of the files that share what starts slowly."""
    if file.startswith("tests/web/"):
        return "tests/web"
    is_spark = file.startswith("tests/pipeline/") and "mark.spark" in (TESTS.parent / file).read_text("utf-8")
    return "tests/pipeline" if is_spark else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FewServers | None:
    """In `make test` a second Spark session, or console, would cost as much as all that it ran."""
    return FewServers(config, log) if is_share(config) else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file without a test of the share: to import all of them takes half a minute."""
    if not is_share(config) or not collection_path.name.startswith("test_"):
        return None
    is_whole = collection_path.relative_to(TESTS).parts[0] in WHOLE
    return None if is_whole or "mark.share" in collection_path.read_text("utf-8") else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of the whole folders belong to the share, and begin with the files of slow tests.

    A long file that came last would leave all workers but one without work.
    """
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in WHOLE:
            item.add_marker("share")
    slow = {item.path for item in items if any(item.iter_markers("slow")) or any(item.iter_markers("spark"))}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Keep the collected tests out of later collections of garbage: some tests ask for one, which took a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard() -> None:
    """A run in the background may have SIGINT ignored, which every child would inherit."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", autouse=True)
def _programs_end_with_their_file() -> Iterator[None]:
    """A thread of a program that was left goes on, and logs in the middle of other tests that its server is gone."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        owner = getattr(getattr(thread, "_target", None), "__self__", None)
        if isinstance(owner, Process):
            owner.stop_renewing()
        elif isinstance(owner, News):
            owner.close()


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
