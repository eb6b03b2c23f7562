"""Settings that belong to the group: recorded, changed and obeyed, even if a process has others of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from igq.errors import CommandError
from igq.manager.membership import Membership
from igq.operations.group_settings import change_group_settings, group_settings
from sharedq.api import QueueManagerConnection
from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.session.connection import Connection
from sharedq.settings.values import Settings
from tests.support.members import TestGroup
from tests.support.scenes import dump
from tests.support.server import Server
from tests.support.topologies import Node, free_ports, until

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT


class Site:
    """A group on its own server, without a replica."""

    def __init__(self, data_dir: Path, **settings: Any) -> None:
        self.server = Server()
        self.group = TestGroup(self.server.url, data_dir, **settings)

    @property
    def recorded(self) -> bytes:
        return self.group.group.read_record()

    def own(self, **settings: Any) -> Settings:
        """Settings of another process, which have only this value."""
        place = self.group.settings
        return Settings(redis_url=self.server.url, data_dir=place.data_dir, group=place.group, **settings)

    def join(self, name: str, **settings: Any) -> Group:
        """A manager that joins with its own settings; its group."""
        group = Group(self.own(**settings))
        Membership.join(group, name, {"pid": 1, "host": "test"}, lambda _: None)
        return group

    def close(self) -> None:
        self.group.close()
        self.server.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    site.close()


@pytest.fixture
def shared(site: Site) -> Site:
    """A group with a member and a queue but no record, as an older version leaves it."""
    site.group.add_member("QM1")
    site.group.define_shared("Q")
    assert site.recorded == b""
    return site


def program(group: Group, *, hears: bool = True) -> tuple[Process, QueueManagerConnection]:
    """A program and its process, which renews by itself only if it *hears* news, because its lease is long."""
    process = Process.register(group, "QM1")
    if not hears:
        assert process._news is not None
        process._news.close()
    return process, QueueManagerConnection(Connection(group, process))


def test_the_first_manager_records_and_others_go_by_that(site: Site) -> None:
    first = site.join("QM1", lease_ms=30_000, wait_replicas=0, journal=False)
    assert b'"lease_ms": 30000' in site.recorded
    second = site.join("QM2", lease_ms=20_000)
    assert second.settings.lease_ms == first.settings.lease_ms == 30_000
    assert second.journal_max == "0"
    assert second.own_settings.lease_ms == 20_000
    leases: Any = second.client().zrange(second.keys.leases, 0, -1, withscores=True)
    ends = dict(leases)
    assert 0 <= ends[b"QM2.1"] - ends[b"QM1.1"] < 10_000


def test_a_program_uses_the_groups_settings_and_is_told(shared: Site, caplog: pytest.LogCaptureFixture) -> None:
    change_group_settings(
        shared.own(lease_ms=60_000), ["wait_replicas=1", "wait_replicas_timeout_ms=1"], is_forced=True
    )
    group = Group(shared.own(lease_ms=60_000, wait_replicas=0))
    with caplog.at_level(logging.WARNING):
        process = Process.register(group, "QM1")
    with pytest.raises(MQIError) as caught:
        Connection(group, process)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert "wait_replicas is 1 in the group, 0 in the settings of this process" in caplog.text
    assert "lease_ms" not in caplog.text
    process.stop_renewing()


def test_a_process_registers_by_the_groups_settings_not_stricter_own_ones(shared: Site) -> None:
    change_group_settings(shared.own(), ["wait_replicas=0"])
    waits = {"wait_replicas": 2, "wait_replicas_timeout_ms": 1}
    process, connection = program(Group(shared.own(**waits)))
    connection.open("Q", BOTH).put(b"x")
    assert shared.join("QM2", **waits).settings.wait_replicas == 0
    connection.disconnect()
    process.stop_renewing()


def test_a_setting_that_was_not_given_contradicts_nothing(shared: Site, caplog: pytest.LogCaptureFixture) -> None:
    change_group_settings(shared.own(), ["lease_ms=77000"])
    group = Group(shared.own())
    with caplog.at_level(logging.WARNING):
        process, connection = program(group)
    assert caplog.text == ""
    assert group.settings.lease_ms == 77_000
    connection.disconnect()
    process.stop_renewing()


def test_a_running_program_goes_over_with_its_next_renewal(shared: Site) -> None:
    process, connection = program(Group(shared.own(lease_ms=600_000)), hears=False)
    queue = connection.open("Q", BOTH)
    queue.put(b"nobody is waited for")
    change_group_settings(
        shared.own(), ["wait_replicas=1", "wait_replicas_timeout_ms=1", "lease_ms=5000"], is_forced=True
    )
    assert process._renew()
    with pytest.raises(MQIError, match="0 of 1 replicas") as caught:
        queue.put(b"x")
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    process.stop_renewing()


def test_a_process_without_enough_replicas_learns_of_a_lower_number(shared: Site) -> None:
    group = Group(shared.own(lease_ms=600_000))
    process, _ = program(group, hears=False)
    change_group_settings(shared.own(), ["wait_replicas=1", "wait_replicas_timeout_ms=1"], is_forced=True)
    assert process._renew()
    assert not process._renew()
    with pytest.raises(MQIError, match="0 of 1 replicas"):
        Process.register(group, "QM1")
    change_group_settings(shared.own(), ["wait_replicas=0"])
    assert not process._renew()
    assert process._renew()
    other, connection = program(group)
    connection.open("Q", BOTH).put(b"x")
    for each in (process, other):
        each.stop_renewing()


def test_a_lease_is_renewed_as_it_was_taken(shared: Site) -> None:
    """A shorter lease that its holder does not know of would end before the holder stops."""
    group = Group(shared.own(lease_ms=600_000))
    process, _ = program(group)
    change_group_settings(shared.own(lease_ms=600_000), ["lease_ms=1000"])
    other, _ = program(group)
    assert process._renew()
    assert other._renew()
    leases: Any = group.client().zrange(group.keys.leases, 0, -1, withscores=True)
    ends = dict(leases)
    assert ends[process.token.encode()] - ends[other.token.encode()] > 500_000
    for each in (process, other):
        each.stop_renewing()


def test_a_connection_keeps_its_journal_and_the_next_one_has_the_groups(shared: Site) -> None:
    group = Group(shared.own(lease_ms=600_000))
    process, connection = program(group)
    queue, journal = connection.open("Q", BOTH), shared.group.group.structure("APPL1").journal
    queue.put(b"1")
    assert group.client().xlen(journal) == 1
    change_group_settings(shared.own(), ["journal=false"])
    assert process._renew()
    queue.put(b"2")
    assert group.client().xlen(journal) == 2
    later, other = program(Group(shared.own()))
    other.open("Q", BOTH).put(b"3")
    # A lease goes on as it began, even if a later registration has learned of the change.
    queue.put(b"4")
    assert group.client().xlen(journal) == 3
    for each in (process, later):
        each.stop_renewing()


def test_a_group_without_a_record_is_as_before(shared: Site) -> None:
    process, connection = program(Group(shared.own(lease_ms=600_000, journal=False)))
    connection.open("Q", BOTH).put(b"1")
    assert process._renew()
    assert shared.recorded == b""
    assert group_settings(shared.own(lease_ms=4_000))[0]["lease_ms"] == "4000"
    process.stop_renewing()


@pytest.mark.parametrize(
    "change", ["lease_ms=1", "lease_ms=soon", "journal=perhaps", "group=QSG2", "wait_replicas", ""]
)
def test_a_refused_setting_is_one_line_and_leaves_a_note_only(shared: Site, change: str) -> None:
    before = dump(shared.group)
    with pytest.raises(CommandError) as caught:
        change_group_settings(shared.own(), ["wait_replicas=1", change], is_forced=True)
    assert "\n" not in str(caught.value)
    after = dump(shared.group)
    # The notes of the refused command: for the log and the command event of a manager, and in the audit trail.
    notes = after.keys() - before.keys()
    assert {each.rpartition(b":")[2] for each in notes} == {b"audit", b"events"}
    assert after | dict.fromkeys(notes, b"") == before | dict.fromkeys(notes, b"")


def test_nothing_is_set_where_there_is_no_group(site: Site) -> None:
    with pytest.raises(CommandError, match="no queue manager has joined"):
        change_group_settings(site.own(), ["wait_replicas=1"], is_forced=True)
    assert site.server.client().dbsize() == 0


def test_two_changes_at_once_are_both_there(shared: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    change_group_settings(shared.own(), ["wait_replicas=1"], is_forced=True)
    read, calls = Group.read_record, iter(range(10))

    def read_late(group: Group) -> bytes:
        record = read(group)
        if next(calls) == 1:
            monkeypatch.setattr(Group, "read_record", read)
            change_group_settings(shared.own(), ["journal=false"])
        return record

    monkeypatch.setattr(Group, "read_record", read_late)
    assert change_group_settings(shared.own(), ["lease_ms=4000"])["journal"] == "false"
    assert group_settings(shared.own())[0] == {
        "lease_ms": "4000",
        "wait_replicas": "1",
        "wait_replicas_timeout_ms": "1000",
        "journal": "false",
        "journal_max_entries": "1000000",
        "journal_max_bytes": "268435456",
    }


def test_more_replicas_than_there_are_is_refused_unless_forced(shared: Site) -> None:
    """Every write would fail from then on."""
    before = shared.recorded
    with pytest.raises(CommandError, match="0 replicas are there: with wait_replicas=1 every write would fail"):
        change_group_settings(shared.own(), ["wait_replicas=1"])
    assert shared.recorded == before
    change_group_settings(shared.own(), ["wait_replicas=2"], is_forced=True)
    # Fewer than before is no harm, though they are not there either.
    assert change_group_settings(shared.own(), ["wait_replicas=1"])["wait_replicas"] == "1"
    change_group_settings(shared.own(), ["wait_replicas=0"])


def test_as_many_replicas_as_there_are_is_set(tmp_path: Path) -> None:
    ports, options = free_ports(2), ("--appendonly", "yes", "--save", "")
    primary = Node(tmp_path / "primary", ports[0], *options)
    replica = Node(tmp_path / "replica", ports[1], *options, "--replicaof", f"127.0.0.1 {ports[0]}")
    until(lambda: primary.ask("INFO", "replication").get("slave0", {}).get("state") == "online", "the replica follows")
    group = TestGroup(f"redis://{primary.address}", tmp_path)
    group.add_member("QM1")
    assert change_group_settings(group.settings, ["wait_replicas=1"])["wait_replicas"] == "1"
    with pytest.raises(CommandError, match="1 replica is there"):
        change_group_settings(group.settings, ["wait_replicas=2"])
    group.close()
    replica.kill()
    primary.kill()
