"""`igq status` for people: nothing is cut at any width."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

import pytest

from igq.operations.status import (
    AgentStatus,
    GroupStatus,
    ManagerStatus,
    QueueStatus,
    RecoveryStatus,
    RedisStatus,
    StructureStatus,
)
from igq.operations.status_tables import print_tables
from sharedq.display.terminal import Terminal
from sharedq.settings.values import Settings
from tests.support.status import read_status

LONGEST_NAME = "A" * 24 + "B" * 24


@pytest.fixture
def status() -> GroupStatus:
    agent = AgentStatus(
        state="RETRY",
        pid=4_194_304,
        short_retries=3,
        long_retries=0,
        next_retry_s=59.3,
        restarts=2,
        delivered=1_234_567,
        last_error="2053 MQRC_Q_FULL: DEPARTURES",
    )
    manager = ManagerStatus(
        name="EWR1", state="QUIESCING", pid=4_194_304, host="h", incarnation=12, igq="ENABLED", agent=agent, in_doubt=3
    )
    return GroupStatus(
        group="QSG1",
        redis=RedisStatus(version="valkey 8.1", durability="always"),
        managers=[manager, manager.model_copy(update={"name": "JFK1", "igq": "DISABLED"})],
        recoveries=[
            RecoveryStatus(
                detected_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
                failed="EWR1",
                by="JFK1",
                state="resolved",
                units_of_work=100,
                messages=12_345,
                seconds=0.5,
            )
        ],
        structures=[
            StructureStatus(
                name="APPLICATION2", state="FAILED", failures=2, failed_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
            ),
            StructureStatus(name="APPLICATION3", state="ACTIVE", failures=1, failed_at=None),
        ],
        queues=[
            QueueStatus(
                name=LONGEST_NAME,
                disposition="SHARED",
                owner=None,
                structure="APPLICATION1",
                depth=1_000_000,
                uncommitted=5,
            )
        ],
    )


@pytest.mark.parametrize("width", [80, 120])
def test_everything_is_there_at_any_width(status: GroupStatus, width: int) -> None:
    shown = io.StringIO()
    print_tables(status, Terminal(file=shown, width=width, force_terminal=True, color_system=None))

    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(shown.getvalue().split())
    for word in ("QUIESCING", "4194304", "RETRY", "DISABLED", "1234567", "APPLICATION1", "1000000", "0.50"):
        assert word in text
    assert text.count("3 units of work are in doubt at EWR1: DISPLAY THREAD(*) TYPE(INDOUBT)") == 1
    assert "Structure APPLICATION2: FAILED since 2026-01-02 03:04:05 UTC, DISPLAY CFSTATUS(APPLICATION2)" in text
    assert "APPLICATION3" not in text
    assert "next try in 59.3 s, 3 short and 0 long retries so far" in text
    assert "…" not in text
    first_column = "".join(
        line.split()[0] for line in lines if line.strip().startswith(("A", "B")) and "Agent" not in line
    )
    assert LONGEST_NAME in first_column


def test_an_interrupted_removal_is_shown(status: GroupStatus) -> None:
    leaving = status.managers[0].model_copy(update={"name": "QM11", "is_leaving": True})
    shown = io.StringIO()

    print_tables(status.model_copy(update={"managers": [leaving]}), Terminal(file=shown, width=80))

    text = " ".join(shown.getvalue().split())
    assert "QM11 is being removed from the group: igq group remove QM11 completes that" in text


def test_sixty_columns_are_enough_for_what_is_usual(status: GroupStatus) -> None:
    usual = status.managers[0].model_copy(update={"name": "QM1", "state": "RUNNING", "pid": 18_286, "incarnation": 1})
    shown = io.StringIO()

    console = Terminal(file=shown, width=60, force_terminal=True, color_system=None)
    print_tables(status.model_copy(update={"managers": [usual]}), console)

    rows = [" ".join(line.split()) for line in shown.getvalue().splitlines()]
    assert "Name State Pid Start IGQ agent Delivered Restarts" in rows
    assert "QM1 RUNNING 18286 1 RETRY 1234567 2" in rows


def test_a_manager_without_a_process_has_no_pid(status: GroupStatus) -> None:
    stopped = status.managers[0].model_copy(update={"name": "QM1", "state": "STOPPED", "pid": None})
    shown = io.StringIO()

    print_tables(status.model_copy(update={"managers": [stopped]}), Terminal(file=shown, width=80))

    assert "QM1 STOPPED 12 RETRY 1234567 2" in [" ".join(line.split()) for line in shown.getvalue().splitlines()]


def test_a_program_that_reads_it_finds_a_row_on_one_line(status: GroupStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = io.StringIO()
    print_tables(status, Terminal(file=shown, color_system=None))

    assert any(LONGEST_NAME in line and "1000000" in line for line in shown.getvalue().splitlines())


def test_there_is_no_table_of_queues_where_none_would_be_in_it(status: GroupStatus) -> None:
    shown = io.StringIO()
    system = status.queues[0].model_copy(update={"name": "SYSTEM.DEAD.LETTER.QUEUE", "depth": 0})

    print_tables(status.model_copy(update={"queues": [system]}), Terminal(file=shown, width=80))

    assert "EWR1" in shown.getvalue()
    assert "Queue" not in shown.getvalue()


def test_to_look_where_nothing_is_makes_nothing(tmp_path: Path) -> None:
    """No directory, and no server."""
    shown = io.StringIO()
    nothing = read_status(Settings(data_dir=tmp_path / "none"))
    print_tables(nothing, Terminal(file=shown, width=200, color_system=None))

    assert list(tmp_path.iterdir()) == []
    assert (nothing.redis.version, nothing.managers, nothing.queues) == ("", [], [])
    assert shown.getvalue().splitlines()[0] == f"Group {nothing.group}"
    assert "No queue manager has joined yet" in shown.getvalue()


def test_rates_are_shown_where_a_queue_has_them(status: GroupStatus) -> None:
    busy = status.queues[0].model_copy(update={"name": "BUSY", "put_rate": 12.5, "get_rate": 0.0})
    idle = busy.model_copy(update={"name": "IDLE", "put_rate": None, "get_rate": None})
    shown = io.StringIO()

    print_tables(status.model_copy(update={"queues": [busy, idle]}), Terminal(file=shown, width=80))

    rows = [" ".join(line.split()) for line in shown.getvalue().splitlines()]
    assert "Queue Disposition Where Depth Uncommitted Oldest Puts/s Gets/s" in rows
    assert "BUSY SHARED APPLICATION1 1000000 5 12.5 0" in rows
    assert "IDLE SHARED APPLICATION1 1000000 5" in rows


def test_managers_are_shown_with_their_hosts(status: GroupStatus) -> None:
    one, other = (status.managers[0].model_copy(update={"name": name}) for name in ("QM1", "QM2"))
    away = other.model_copy(update={"host": "mq2"})

    def rows_of(*managers: ManagerStatus) -> list[str]:
        shown = io.StringIO()
        print_tables(status.model_copy(update={"managers": list(managers)}), Terminal(file=shown, width=100))
        return [" ".join(line.split()) for line in shown.getvalue().splitlines()]

    assert "Managers on h" in rows_of(one, other)
    apart = rows_of(one, away)
    assert "Name State Host Pid Start IGQ agent Delivered Restarts" in apart
    assert "QM2 QUIESCING mq2 4194304 12 RETRY 1234567 2" in apart


def test_of_thousands_of_queues_the_fullest_are_shown(status: GroupStatus) -> None:
    queues = [
        status.queues[0].model_copy(update={"name": f"Q.{number:04}", "depth": number}) for number in range(2_000)
    ]
    many, shown = status.model_copy(update={"queues": queues}), io.StringIO()
    print_tables(many, Terminal(file=shown, width=120))
    lines = shown.getvalue().splitlines()
    names = [line.split()[0] for line in lines if line.startswith("Q.")]
    assert names == [f"Q.{number}" for number in range(1_800, 2_000)]
    assert lines[-1] == "1,800 more queues have at most 1799 messages each: igq status --queue NAME* shows them"

    asked_for = io.StringIO()
    print_tables(many, Terminal(file=asked_for, width=120), is_whole=False)
    assert asked_for.getvalue().count("Q.") == 2_000
