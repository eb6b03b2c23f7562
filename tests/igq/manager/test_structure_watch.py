"""A manager reports once that a structure has failed, and once that it can be used again; the status shows it."""

from __future__ import annotations

import pytest

from igq.manager.structure_watch import StructureWatch
from igq.operations.status import StructureStatus
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.restoration import recover
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.redis.keys import private_structure
from tests.support.backups import lose, mqsc
from tests.support.members import TestGroup
from tests.support.status import read_status


class Manager:
    """A watch, and its reports."""

    def __init__(self, group: TestGroup) -> None:
        self.said: list[tuple[str, str]] = []
        self._watch = StructureWatch(group.group, "QM1", self._say)

    def _say(self, message_id: str, *, structure: str) -> None:
        self.said.append((message_id, structure))

    def looks(self) -> list[tuple[str, str]]:
        """Its reports after one more look."""
        self.said.clear()
        self.is_back = self._watch.look()
        return list(self.said)


@pytest.fixture
def used(group: TestGroup) -> TestGroup:
    group.define_shared("Q")
    backup(group.group, "APPL1")
    return group


def test_each_manager_says_it_once(used: TestGroup) -> None:
    managers = Manager(used), Manager(used)
    assert [manager.looks() for manager in managers] == [[], []]
    for _ in range(2):
        lose(used)
        for manager in managers:
            assert manager.looks() == [("CSQE035E", "APPL1")]
            assert not manager.is_back
            assert manager.looks() == []
        recover(used.group, "APPL1")
        for manager in managers:
            assert manager.looks() == [("CSQE131I", "APPL1")]
            assert manager.is_back
            assert manager.looks() == []


def test_a_failure_and_recovery_between_two_looks_are_reported(used: TestGroup) -> None:
    manager = Manager(used)
    manager.looks()
    lose(used)
    recover(used.group, "APPL1")
    assert manager.looks() == [("CSQE035E", "APPL1"), ("CSQE131I", "APPL1")]
    assert Manager(used).looks() == []


def test_one_that_starts_says_what_has_failed(used: TestGroup) -> None:
    lose(used)
    assert Manager(used).looks() == [("CSQE035E", "APPL1")]
    recover(used.group, "APPL1")
    lose(used)
    assert Manager(used).looks() == [("CSQE035E", "APPL1")]


def test_a_structure_that_cannot_be_recovered_is_reported_so(used: TestGroup) -> None:
    used.repository("QM1").alter_structure("APPL1", {"recover": "NO"})
    manager = Manager(used)
    lose(used)
    lose(used, private_structure("QM1"))
    assert manager.looks() == [("CSQE036I", private_structure("QM1")), ("CSQE036I", "APPL1")]
    # Its queues are defined again: no lost queue is left.
    used.repository("QM1").delete("QLOCAL", "Q")
    used.define_shared("Q")
    assert manager.looks() == [("CSQE131I", "APPL1")]


def test_structures_that_nothing_is_defined_in_have_not_failed(used: TestGroup) -> None:
    used.define_structure("EMPTY")
    lose(used)
    used.repository("QM1").delete("QLOCAL", "Q")
    assert Manager(used).looks() == []


def test_status_and_display_tell_since_when(used: TestGroup) -> None:
    def structures() -> list[StructureStatus]:
        return read_status(used.settings).structures

    assert [(each.name, each.state, each.failures, each.failed_at) for each in structures()] == [
        ("APPL1", "ACTIVE", 0, None)
    ]
    assert "FAILDATE( )" in mqsc(used, "DISPLAY CFSTATUS(*)\n")[1]
    lose(used)
    (shown,) = structures()
    assert (shown.state, shown.failures) == ("FAILED", 1)
    assert shown.failed_at is not None
    output = mqsc(used, "DISPLAY CFSTATUS(*)\n")[1]
    for word in (f"FAILDATE({shown.failed_at:%Y-%m-%d})", f"FAILTIME({shown.failed_at:%H.%M.%S})", "STATUS(FAILED)"):
        assert word in output
    lose(used, private_structure("QM1"))
    assert [each.name for each in structures()] == ["APPL1", private_structure("QM1")]
    with pytest.raises(MQIError) as caught:
        used.connect().open("Q", OpenOption.OUTPUT)
    assert caught.value.reason == MQRC.CF_STRUC_FAILED
    recover(used.group, "APPL1")
    assert next((each.state, each.failures) for each in structures()) == ("ACTIVE", 1)
