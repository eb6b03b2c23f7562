"""A manager that asks for every event."""

from __future__ import annotations

import pytest

from tests.igq.events.scene import EVENTS, Events
from tests.support.members import TestGroup


@pytest.fixture
def events(group: TestGroup) -> Events:
    group.repository("QM1").alter_qmgr("QM1", {f"{name}_event": "ENABLED" for name in EVENTS})
    return Events(group)
