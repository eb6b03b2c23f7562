"""What `igq qmgr stop` and the status say of a manager that stops, or dies, while they look."""

from __future__ import annotations

import pytest

from igq import stopping
from igq.stopping import state_now, stop_manager
from sharedq.group import Group, Member
from tests.support.members import TestGroup


def leave(group: Group, member: Member) -> None:
    """What a manager does at its end."""
    keys = group.keys
    script_keys = [keys.leases, keys.members, keys.fence, keys.processes]
    assert group.call("admin/leave", script_keys, [member.name, member.incarnation])[0] == 0


def test_a_manager_that_stops_while_it_is_looked_at_has_not_failed(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state was read before that, and its lease is looked for behind it."""
    has_lease = stopping.has_lease

    def stops_meanwhile(seen_by: Group, member: Member) -> bool:
        if seen_by.member(member.name) == member:
            leave(group.group, member)
        return has_lease(seen_by, member)

    member = group.group.member("QM1")
    assert member is not None
    monkeypatch.setattr(stopping, "has_lease", stops_meanwhile)
    assert state_now(group.group, member) == "STOPPED"


def test_a_stop_that_looks_in_that_moment_succeeds(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    has_lease, looks = stopping.has_lease, list[Member]()

    def stops_meanwhile(seen_by: Group, member: Member) -> bool:
        looks.append(member)
        if len(looks) == 2:
            leave(group.group, member)
        return has_lease(seen_by, member)

    monkeypatch.setattr(stopping, "has_lease", stops_meanwhile)
    stop_manager(group.settings, "QM1", is_immediate=True, timeout_s=1)
    assert len(looks) == 2


def test_one_without_a_lease_that_says_it_is_up_has_failed(group: TestGroup) -> None:
    member = group.group.member("QM1")
    assert member is not None
    assert state_now(group.group, member) == "RUNNING"
    group.group.client().zrem(group.group.keys.leases, f"QM1.{member.incarnation}")
    assert state_now(group.group, member) == "FAILED"
