"""Each recovery test has its own scene."""

from __future__ import annotations

import pytest

from tests.recovery.scene import Scene
from tests.support.backups import BOTH, QUEUES, persistent
from tests.support.groups import LMIG, MIG, put_member
from tests.support.members import TestGroup


@pytest.fixture(autouse=True)
def _accounted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of each test, every key of its group must be explained."""
    is_accounted = request.node.get_closest_marker("unaccounted") is None
    monkeypatch.setattr(TestGroup, "is_accounted", is_accounted)


@pytest.fixture
def scene(group: TestGroup) -> Scene:
    """Three managers, two structures, queues; nothing has failed yet."""
    return Scene.set(group)


@pytest.fixture
def structure(group: TestGroup) -> TestGroup:
    group.define_shared("FIFO", msg_delivery_sequence="FIFO")
    group.define_shared("PRIO")
    group.define_shared("GROUPS", index_type="GROUPID")
    return group


@pytest.fixture
def filled(structure: TestGroup) -> TestGroup:
    connection = structure.connect()
    for name in QUEUES:
        with connection.open(name, BOTH) as queue:
            for start in range(0, 250, 50):
                queue.put_many([(persistent(priority=n % 3), b"%d" % n) for n in range(start, start + 50)])
    with connection.open("GROUPS", BOTH) as queue:
        put_member(queue, b"g", 1, b"one", MIG, persistence=1)
        put_member(queue, b"g", 2, b"two", LMIG, persistence=1)
    return structure
