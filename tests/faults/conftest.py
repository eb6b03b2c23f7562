"""What several of these tests begin with."""

from __future__ import annotations

import pytest

from sharedq.backup.take import backup
from tests.support.backups import persistent
from tests.support.members import TestGroup


@pytest.fixture
def used(group: TestGroup) -> TestGroup:
    """Q in APPL1, which is backed up with one message on it; OTHER in another structure."""
    group.define_shared("Q")
    group.define_structure("APPL2")
    group.define_shared("OTHER", "APPL2")
    group.connect().put1("Q", b"kept", persistent())
    backup(group.group, "APPL1")
    return group
