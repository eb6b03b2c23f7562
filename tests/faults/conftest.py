"""Fixtures that several of these tests share."""

from __future__ import annotations

import pytest

from sharedq.admin.backup.capture import backup
from tests.support.backups import persistent
from tests.support.members import TestGroup


@pytest.fixture(autouse=True)
def _accounted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of each test, every key of its group must be explained."""
    is_accounted = request.node.get_closest_marker("unaccounted") is None
    monkeypatch.setattr(TestGroup, "is_accounted", is_accounted)


@pytest.fixture
def used(group: TestGroup) -> TestGroup:
    """Q in APPL1, which is backed up with one message on it; OTHER in another structure."""
    group.define_shared("Q")
    group.define_structure("APPL2")
    group.define_shared("OTHER", "APPL2")
    group.connect().put1("Q", b"kept", persistent())
    backup(group.group, "APPL1")
    return group
