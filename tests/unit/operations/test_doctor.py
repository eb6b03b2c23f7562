"""The doctor's checks, each on a group that is well but for one thing."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from igq.operations.doctor.checks.certificates import ends_in
from igq.operations.doctor.seen import GroupSeen, Severity
from igq.operations.doctor.visit import CHECKS, SLOW, as_values, examine, worst
from igq.operations.status import (
    AgentStatus,
    GroupStatus,
    ManagerStatus,
    NodeStatus,
    QueueStatus,
    RecoveryStatus,
    RedisStatus,
    StructureStatus,
)
from sharedq.admin.backup.glance import BackupGlance
from sharedq.reading.server_facts import ServerFacts
from sharedq.settings.values import Settings

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
ALWAYS = "always: a message is synced to the server's disk before it is acknowledged"


def agent(**changes: Any) -> AgentStatus:
    values = {"state": "RUNNING", "pid": 2, "short_retries": 0, "long_retries": 0, "next_retry_s": None}
    return AgentStatus.model_validate(values | {"restarts": 0, "delivered": 0, "last_error": ""} | changes)


def manager(**changes: Any) -> ManagerStatus:
    values = {"name": "QM1", "state": "RUNNING", "pid": None, "host": "h", "incarnation": 1, "igq": "ENABLED"}
    return ManagerStatus.model_validate(
        values | {"agent": agent(), "dead_letter_queue": "SYSTEM.DEAD.LETTER.QUEUE"} | changes
    )


def queue(name: str = "ORDERS", **changes: Any) -> QueueStatus:
    values = {"name": name, "disposition": "QMGR", "owner": "QM1", "structure": None, "depth": 0, "uncommitted": 0}
    return QueueStatus.model_validate(values | changes)


def node(**changes: Any) -> NodeStatus:
    values = {"node": "h:1", "version": "Valkey 9", "used_memory": 1, "max_memory": 100, "replicas_online": 1}
    return NodeStatus.model_validate(values | {"round_trip_ms": 0.1} | changes)


SERVER = ServerFacts(
    "h:1", has_aof=True, used_memory=1, max_memory=100, host_memory=1_000, clients=1, max_clients=100, clock_ahead_s=0.0
)


def well(tmp_path: Path, settings: Mapping[str, Any] | None = None, **changes: Any) -> GroupSeen:
    """A group that is well."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700, exist_ok=True)
    parts: dict[str, Any] = {
        "group": "G",
        "redis": RedisStatus(version="Valkey 9", durability=ALWAYS, nodes=[node()]),
        "managers": [manager()],
        "recoveries": [],
        "structures": [],
        "queues": [queue("SYSTEM.DEAD.LETTER.QUEUE")],
    }
    of_status = {name: changes.pop(name) for name in list(changes) if name in parts}
    status = GroupStatus.model_validate(parts | of_status)
    seen: dict[str, Any] = {"servers": [SERVER], "now": NOW} | changes
    return GroupSeen(Settings.model_validate({"data_dir": data, **(settings or {})}), status, **seen)


def found(seen: GroupSeen) -> list[tuple[str, str, str]]:
    return [(each.check, each.finding.severity.word, each.finding.what) for each in examine(seen)]


def test_a_group_that_is_well_has_no_finding(tmp_path: Path) -> None:
    assert found(well(tmp_path)) == []


FAILING = RedisStatus(
    version="v",
    durability="none: the server drops keys",
    is_failing=True,
    warnings=["maxmemory-policy allkeys-lru: the server drops messages when its memory is full; set noeviction"],
)
CASES: list[tuple[dict[str, Any], str, str, str]] = [
    ({"differences": ["lease_ms is 5000 in the group, 1 here"]}, "settings", "warning", "lease_ms is 5000"),
    ({"settings": {"lease_ms": 500}}, "settings", "warning", "pauses for as long"),
    ({"settings": {"wait_replicas": 1, "wait_replicas_timeout_ms": 9_000}}, "settings", "warning", "no less than"),
    ({"settings": {"journal": False}, "backups": {"S": BackupGlance(NOW)}}, "settings", "error", "journal is off"),
    ({"settings": {"recovery_log": True}}, "settings", "warning", "without backup_schedule"),
    ({"settings": {"console_port": 5, "metrics_port": 5}}, "settings", "error", "both 5"),
    ({"settings": {"console_port": 5, "console_listen": "0.0.0.0"}}, "exposure", "warning", "without TLS"),
    ({"settings": {"metrics_port": 5, "metrics_listen": "::"}}, "exposure", "warning", "to everybody"),
    (
        {"settings": {"metrics_port": 5, "metrics_listen": "::", "metrics_token_file": Path("/t")}},
        *("exposure", "warning", "their token can be read"),
    ),
    ({"servers": [ServerFacts("far:1", is_elsewhere=True)]}, "exposure", "note", "in the clear"),
    ({"redis": FAILING}, "durability", "error", "allkeys-lru"),
    (
        {"redis": FAILING.model_copy(update={"is_failing": False, "durability": ALWAYS})},
        *("durability", "warning", "allkeys-lru"),
    ),
    (
        {"redis": RedisStatus(version="v", durability="none: the disk is full: /d", is_failing=True)},
        *("durability", "error", "the disk is full: /d"),
    ),
    ({"redis": RedisStatus(version="v", durability="none: in memory only")}, "durability", "warning", "memory only"),
    ({"redis": RedisStatus(version="v", durability="everysec: two")}, "durability", "note", "everysec"),
    (
        {"redis": RedisStatus(version="v", durability=ALWAYS, wait_replicas=2, nodes=[node()])},
        *("durability", "error", "wait_replicas is 2, but 1 online"),
    ),
    ({"servers": [ServerFacts("h:1", has_rdb_error=True)]}, "durability", "warning", "snapshot failed"),
    ({"servers": [ServerFacts("h:1", used_memory=95, max_memory=100)]}, "memory", "error", "95 % of its maxmemory"),
    ({"servers": [ServerFacts("h:1", used_memory=80, max_memory=100)]}, "memory", "warning", "80 %"),
    (
        {"servers": [ServerFacts("h:1", used_memory=60, max_memory=0, host_memory=100)]},
        *("memory", "warning", "of the memory of its machine"),
    ),
    ({"servers": [ServerFacts("h:1", clients=80, max_clients=100)]}, "connections", "warning", "80 of at most 100"),
    ({"servers": [ServerFacts("h:1", clock_ahead_s=-3.0)]}, "clocks", "warning", "3.0 s behind"),
    ({"servers": [ServerFacts("h:1", clock_ahead_s=3.0)]}, "clocks", "warning", "3.0 s ahead of"),
    (
        {"servers": [ServerFacts("h:1", is_tls=True, certificate_ends=NOW + timedelta(days=9))]},
        *("certificates", "warning", "in 9 days"),
    ),
    (
        {"servers": [ServerFacts("h:1", is_tls=True, certificate_ends=NOW - timedelta(days=9))]},
        *("certificates", "error", "ended on 2026-11-19"),
    ),
    ({"backups": {"S": BackupGlance()}}, "backups", "warning", "no backup"),
    ({"backups": {"S": BackupGlance(NOW - timedelta(days=8))}}, "backups", "warning", "8.0 days old"),
    (
        {"backups": {"S": BackupGlance(NOW - timedelta(hours=3))}, "settings": {"backup_schedule": "0 * * * *"}},
        *("backups", "warning", "0.1 days old"),
    ),
    ({"backups": {"S": BackupGlance(NOW, 1, NOW, "no room")}}, "backups", "error", "failed at .*: no room"),
    ({"managers": []}, "managers", "error", "no queue manager is running"),
    ({"managers": [manager(), manager(name="QM2", state="FAILED")]}, "managers", "error", "QM2 FAILED"),
    (
        {"managers": [manager(), manager(name="QM2", state="STOPPED", to_deliver=3)]},
        *("managers", "warning", "3 messages wait"),
    ),
    ({"managers": [manager(is_leaving=True)]}, "managers", "warning", "removal"),
    ({"managers": [manager(agent=agent(state="RETRY", last_error="2053"))]}, "managers", "error", "RETRY: 2053"),
    ({"managers": [manager(agent=agent(state="STOPPED"), up_s=60.0)]}, "managers", "error", "STOPPED"),
    (
        {"structures": [StructureStatus(name="S", state="FAILED", failures=1, failed_at=NOW)]},
        *("structures", "error", "S has FAILED"),
    ),
    (
        {"structures": [StructureStatus(name="S", state="UNREACHABLE", failures=0, failed_at=None)]},
        *("structures", "error", "UNREACHABLE"),
    ),
    (
        {
            "recoveries": [
                RecoveryStatus(
                    detected_at=NOW, failed="A.1", by="B", state="DELAYED", units_of_work=0, messages=0, seconds=0.0
                )
            ]
        },
        *("structures", "warning", "recovery of A.1 by B is DELAYED"),
    ),
    ({"managers": [manager(in_doubt=1)]}, "units in doubt", "error", "1 unit of work in doubt"),
    (
        {"queues": [queue("SYSTEM.DEAD.LETTER.QUEUE"), queue(depth=2, oldest_age_s=400.0)]},
        *("readers", "warning", "ORDERS at QM1 has no reader: 2 messages wait, the oldest for 6 min"),
    ),
    (
        {"queues": [queue("SYSTEM.DEAD.LETTER.QUEUE"), queue(depth=10, max_depth=10)]},
        *("depths", "error", "10 of MAXDEPTH.10. messages: puts fail with 2053"),
    ),
    (
        {"queues": [queue("SYSTEM.DEAD.LETTER.QUEUE"), queue(depth=9, max_depth=10)]},
        "depths",
        "warning",
        "9 of MAXDEPTH",
    ),
    (
        {"queues": [queue("SYSTEM.DEAD.LETTER.QUEUE", depth=1, is_dead_letter_queue=True)]},
        *("dead letters", "warning", "1 dead letter"),
    ),
    ({"managers": [manager(dead_letter_queue="")]}, "dead letters", "note", "no dead-letter queue"),
    ({"managers": [manager(dead_letter_queue="GONE")]}, "dead letters", "warning", "GONE is no local queue"),
    (
        {"managers": [manager(pid=1, version="1"), manager(name="QM2", pid=2, version="2")]},
        *("versions", "warning", "several versions of igq: QM1 1, QM2 2"),
    ),
    ({"managers": [manager(pid=1, version="0.0.1")]}, "versions", "note", "the members are 0.0.1"),
]


@pytest.mark.parametrize(("changes", "check", "severity", "what"), CASES, ids=lambda each: str(each)[:40])
def test_each_thing_that_is_wrong_is_one_finding(
    changes: dict[str, Any], check: str, severity: str, what: str, tmp_path: Path
) -> None:
    (finding,) = [each for each in examine(well(tmp_path, **changes)) if each.check == check]

    assert finding.finding.severity.word == severity
    assert re.search(what, finding.finding.what), finding.finding.what
    assert finding.finding.todo
    assert "\n" not in finding.finding.what + finding.finding.todo


def test_an_agent_that_is_still_starting_is_no_finding(tmp_path: Path) -> None:
    assert found(well(tmp_path, managers=[manager(agent=agent(state="STOPPED"), up_s=1.0)])) == []


def test_every_check_has_a_case_or_a_test_of_its_own() -> None:
    assert set(CHECKS) == {check for _, check, _, _ in CASES} | {"open files", "disks", "permissions", "orphans"}
    assert set(CHECKS) >= SLOW


def test_files_that_others_can_read_are_named_with_the_remedy(tmp_path: Path) -> None:
    key, users = tmp_path / "key.pem", tmp_path / "users.json"
    for each in (key, users):
        each.touch(mode=0o644)
        each.chmod(0o644)
    seen = well(tmp_path, settings={"console_key": key, "console_users": users})
    seen.settings.data_dir.chmod(0o755)

    told = [(each.finding.what.partition(":")[0], each.finding.todo) for each in examine(seen)]

    assert told == [
        ("data_dir", f"chmod 700 {seen.settings.data_dir}"),
        ("console_key", f"chmod 600 {key}"),
        ("console_users", f"chmod 600 {users}"),
    ]


def test_a_check_that_fails_is_a_finding_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: GroupSeen) -> list[Any]:
        raise OSError("no such place")

    monkeypatch.setitem(CHECKS, "disks", broken)

    assert found(well(tmp_path, managers=[])) == [
        ("managers", "error", "no queue manager is running"),
        ("disks", "note", "disks could not be checked: no such place"),
    ]


def test_the_worst_come_first_and_notes_are_nobodys_duty(tmp_path: Path) -> None:
    seen = well(tmp_path, managers=[manager(dead_letter_queue="", in_doubt=1, is_leaving=True)])
    every = examine(seen)

    assert [each.finding.severity for each in every] == [Severity.ERROR, Severity.WARNING, Severity.NOTE]
    assert [each.check for each in worst(every, 3)] == ["units in doubt", "managers"]
    assert len(worst(every, 1)) == 1


def test_json_names_the_checks_that_were_made(tmp_path: Path) -> None:
    seen = well(tmp_path, managers=[])

    told = as_values("G", examine(seen, is_quick=True), is_quick=True)

    assert told["group"] == "G"
    assert set(told["checks"]) == set(CHECKS) - SLOW
    (finding,) = told["findings"]
    assert set(finding) == {"check", "severity", "what", "todo"}


def test_the_end_of_a_certificate_is_read_from_its_file(tmp_path: Path) -> None:
    for days in (5, 40_000):
        made = tmp_path / f"{days}.pem"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-days", str(days)]
        try:
            subprocess.run(
                [*command, "-keyout", os.devnull, "-out", str(made)], check=True, capture_output=True, timeout=60
            )
        except FileNotFoundError:
            pytest.skip("there is no openssl here")
        (ends,) = ends_in(made)
        assert abs(ends - datetime.now(UTC) - timedelta(days=days)) < timedelta(days=1)
    (tmp_path / "none.pem").write_text("no certificate", encoding="ascii")
    with pytest.raises(ValueError, match="no certificate"):
        ends_in(tmp_path / "none.pem")
    for setting in ("console_certificate", "metrics_certificate"):
        seen = well(tmp_path, settings={setting: tmp_path / "none.pem"})
        assert found(seen)[0][:2] == ("certificates", "error")
        seen = well(tmp_path, settings={setting: tmp_path / "5.pem"})
        assert found(seen)[0][:2] == ("certificates", "warning")
