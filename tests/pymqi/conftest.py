"""Programs find the group as they do in real use: by the environment."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from sharedq.api import group_for
from sharedq.pymqi.connection.hconn import settle
from tests.support.members import TestGroup
from tests.support.server import Server


@pytest.fixture
def qsg(redis_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestGroup]:
    """A group with the member QM1 and the shared queue ORDERS, and an environment that names it."""
    group = TestGroup(redis_server.url, tmp_path)
    group.add_member("QM1")
    settings = group.settings
    monkeypatch.setenv("IGQ_GROUP", settings.group)
    monkeypatch.setenv("IGQ_REDIS_URL", str(settings.redis_url))
    monkeypatch.setenv("IGQ_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("IGQ_LEASE_MS", str(settings.lease_ms))
    monkeypatch.delenv("IGQ_CONFIG", raising=False)
    group.define_shared("ORDERS")
    programs_group = group_for()
    # The garbage of earlier tests needs no collection, which takes a second after thousands of tests.
    gc.freeze()
    yield group
    # Connections that the test's programs dropped end before the group. A caught exception holds its frames in a cycle.
    gc.collect()
    settle()
    programs_group.leave()
    group.close()
