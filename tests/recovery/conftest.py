"""Each recovery test has its own scene."""

from __future__ import annotations

import pytest

from tests.recovery.scene import Scene
from tests.support.members import TestGroup


@pytest.fixture
def scene(group: TestGroup) -> Scene:
    """Three managers, two structures, queues; nothing has failed yet."""
    return Scene.set(group)
