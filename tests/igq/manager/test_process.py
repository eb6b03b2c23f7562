"""The preparations of a manager before it opens for business."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from igq.manager.membership import Membership
from igq.manager.process import QueueManager
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from sharedq.redis.link import Argument, Reply
from tests.support.members import TestGroup


def test_a_first_start_that_was_cut_off_leaves_no_manager_without_deadq(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    Membership.join(group.group, "QM2", {"pid": 1, "host": "here"}, lambda _: None)
    manager = QueueManager(group.settings, "QM2")
    monkeypatch.setattr(manager, "_say", lambda *_, **__: None)

    assert manager._prepare(1).dead_letter_queue == SYSTEM_DEAD_LETTER_QUEUE
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    assert manager._prepare(1).dead_letter_queue == ""


def test_first_start_attributes_are_written_with_the_rest(group: TestGroup) -> None:
    repository = group.repository("QM2")
    writes = 0
    call = group.group.call

    def counted(name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        nonlocal writes
        writes += name == "admin/alter_qmgr"
        return call(name, keys, args)

    group.group.call = counted  # type: ignore[method-assign]
    repository.prepare_manager("QM2", at_first={"dead_letter_queue": "DEAD"})
    assert writes == 1
    assert repository.qmgr_attributes("QM2").dead_letter_queue == "DEAD"
