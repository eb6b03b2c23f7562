"""`igq qmgr stop` and the status about a manager that stops or dies meanwhile."""

from __future__ import annotations

import os
import queue
import threading

import pytest

from igq.manager.incarnation import Inbox, Incarnation, IncarnationEnd
from igq.manager.membership import Membership
from igq.operations import shutdown as stopping
from igq.operations.shutdown import state_now, stop_manager
from sharedq.members.group import Group, Member
from tests.support.members import TestGroup

PATIENCE_S = 120


def leave(group: Group, member: Member) -> None:
    """The steps of a manager at its end."""
    keys = group.keys
    script_keys = [keys.leases, keys.members, keys.fence, keys.processes]
    assert group.call("admin/leave", script_keys, [member.name, member.incarnation])[0] == 0


def test_a_manager_that_stops_while_it_is_looked_at_has_not_failed(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state was read before that, and its lease is read after it."""
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


class AtWork:
    """A manager QM2 in a thread, without an agent and with a program that does not end."""

    def __init__(self, group: TestGroup) -> None:
        self.group, self.told = group, list[tuple[str, object]]()
        self.endings: list[IncarnationEnd] = []
        group.repository("QM2").prepare_manager("QM2")
        self.membership = Membership.join(group.group, "QM2", {"pid": os.getpid(), "host": "here"}, lambda _: None)
        self.inbox: Inbox = queue.SimpleQueue()
        self.incarnation = Incarnation(self.membership, self.inbox, self._say)
        self._opened = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._opened.wait(PATIENCE_S)
        self.program = group.connect("QM2")

    def _run(self) -> None:
        self.endings.append(self.incarnation.run(lambda: None, self._open))

    def _open(self, _prepared: None) -> None:
        self.membership.tell(state="RUNNING")
        self._opened.set()

    def _say(self, message_id: str, **fields: object) -> None:
        self.told.append((message_id, fields.get("timeout_s", fields.get("mode"))))

    def ask(self, timeout_s: float | None) -> None:
        """The output of `igq qmgr stop --timeout`, or ``--immediate``."""
        member = self.group.group.member("QM2")
        assert member is not None
        stopping.ask_to_stop(self.group.group, member, is_immediate=timeout_s is None, timeout_s=timeout_s or 0)

    def hear(self) -> None:
        """It renews its lease."""
        heard = threading.Event()
        self.inbox.put(self.incarnation._renew)
        self.inbox.put(heard.set)
        assert heard.wait(PATIENCE_S)

    def has_stopped(self) -> bool:
        self._thread.join(PATIENCE_S)
        return self.endings == [IncarnationEnd.STOPPED]


@pytest.fixture
def at_work(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> AtWork:
    monkeypatch.setattr(Incarnation, "_start_agent", lambda _self: None)
    return AtWork(group)


@pytest.mark.parametrize("sooner", [0.5, None])
def test_a_second_stop_that_ends_it_sooner_counts(at_work: AtWork, sooner: float | None) -> None:
    for timeout_s in (300, 200, 250):
        at_work.ask(timeout_s)
        at_work.hear()
    assert at_work.told == [("CSQY009I", 300), ("CSQY009I", 200)]
    assert at_work.endings == []

    at_work.ask(sooner)
    at_work.hear()

    assert at_work.has_stopped()
    assert at_work.told[2] == (("CSQY002I", "immediate") if sooner is None else ("CSQY009I", sooner))


def test_a_later_quiesce_does_not_take_back_a_stop_at_once(at_work: AtWork) -> None:
    at_work.ask(None)
    at_work.ask(300)
    at_work.hear()
    assert at_work.has_stopped()
