"""Scheduled backups: one manager makes them, the latest are kept, and those of a lost group are not replaced."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from igq.manager.membership import Membership
from igq.manager.scheduled_backups import ScheduledBackups, definitions_path
from sharedq.admin.backup.file import Backup, backup_path
from sharedq.admin.backup.retention import keep
from sharedq.mqi.constants import OpenOption
from sharedq.mqi.structures import MQMD
from sharedq.settings.values import check_schedule
from tests.support.backups import Countdown, lose, lose_all
from tests.support.members import TestGroup
from tests.support.server import Server

INFO = {"pid": os.getpid(), "host": "test"}


class Backups:
    """Two managers' scheduled backups, and what they say."""

    def __init__(self, group: TestGroup, schedule: str = "0 3 * * *") -> None:
        self.said: list[tuple[str, dict[str, Any]]] = []
        settings = group.settings.model_copy(update={"backup_schedule": schedule, "backup_retention": 2})
        self.by = {name: ScheduledBackups(settings, name, self._say) for name in ("QM1", "QM2")}

    def _say(self, message: str, **fields: Any) -> None:
        self.said.append((message, fields))

    def ids(self) -> list[str]:
        return [message for message, _ in self.said]


@pytest.fixture
def filled(redis_server: Server, tmp_path: Path) -> Any:
    group = TestGroup(redis_server.url, tmp_path)
    begin(group)
    group.define_shared("Q")
    with group.connect().open("Q", OpenOption.OUTPUT) as queue:
        queue.put(b"kept", MQMD(persistence=1))
    yield group
    group.close()


def begin(group: TestGroup) -> None:
    """The first manager records the settings, and so begins the group."""
    Membership.join(group.group, "QM0", INFO, lambda _: None)
    group.add_member("QM1")
    group.add_member("QM2")


def lose_all_and_begin(group: TestGroup) -> None:
    # The clock of the next group must show another millisecond.
    group.wait_redis_ms(2)
    lose_all(group)
    begin(group)


def test_one_manager_backs_up_structures_and_definitions(filled: TestGroup) -> None:
    backups = Backups(filled)

    backups.by["QM1"].run()
    backups.by["QM2"].run()

    assert backups.ids() == ["CSQE121I"]
    assert len(Backup(backup_path(filled.settings, "APPL1"), filled.group.name, "APPL1")) == 1
    assert "DEFINE QLOCAL('Q')" in definitions_path(filled.settings).read_text()


def test_a_structure_that_cannot_be_recovered_is_left_out(filled: TestGroup) -> None:
    filled.define_structure("S2")
    backups = Backups(filled)

    backups.by["QM1"].run()

    assert [fields["structure"] for _, fields in backups.said] == ["APPL1"]


def test_a_failed_structure_keeps_its_backup_and_its_definitions(filled: TestGroup) -> None:
    backups = Backups(filled, "* * * * * *")
    backups.by["QM1"].run()
    files = {path: path.read_bytes() for path in filled.settings.backups.iterdir() if path.suffix != ".lock"}
    filled.group.client().hdel(filled.group.keys.group, "job backups")
    lose(filled)

    backups.by["QM1"].run()

    assert backups.ids() == ["CSQE121I", "IGQ0014E", "IGQ0014E"]
    assert {path: path.read_bytes() for path in files} == files


def test_the_backups_of_a_lost_group_are_not_replaced(filled: TestGroup) -> None:
    backups = Backups(filled)
    backups.by["QM1"].run()
    before = backup_path(filled.settings, "APPL1").read_bytes(), definitions_path(filled.settings).read_bytes()
    lose_all_and_begin(filled)

    backups.by["QM1"].run()

    assert backups.ids() == ["CSQE121I", "IGQ0014E", "IGQ0014E"]
    assert all("that Redis has lost" in fields["error"] for _, fields in backups.said[1:])
    assert before == (
        backup_path(filled.settings, "APPL1").read_bytes(),
        definitions_path(filled.settings).read_bytes(),
    )


@pytest.mark.parametrize("loss", [lose_all, lose_all_and_begin, lose])
def test_a_loss_at_any_step_leaves_the_latest_whole(
    redis_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: Callable[[TestGroup], None]
) -> None:
    """A backup of both sides of the loss would replace the one that recovery needs."""
    countdown = Countdown(monkeypatch)
    step, was_lost = 0, True
    while was_lost:
        step += 1
        group = TestGroup(redis_server.url, tmp_path / str(step))
        begin(group)
        for name in ("Q", "R"):
            group.define_shared(name)
        with group.connect().open("Q", OpenOption.OUTPUT) as queue:
            queue.put(b"kept", MQMD(persistence=1))
        group.define_private("QM2", "MINE")
        backups = Backups(group, "* * * * * *")
        backups.by["QM1"].run()
        group.group.client().hdel(group.group.keys.group, "job backups")
        countdown.begin(step, partial(loss, group))

        backups.by["QM1"].run()

        was_lost = countdown.end()
        settings = group.settings
        backup = Backup(backup_path(settings, "APPL1"), group.group.name, "APPL1")
        assert (len(backup), set(backup.ending["queues"])) == (1, {"Q", "R"}), step
        text = definitions_path(settings).read_text()
        assert [f"'{name}'" in text for name in ("Q", "R", "MINE")] == [True] * 3, step
        lose_all(group)
        group.close()
    assert step > 20


def test_a_directory_that_cannot_be_written_is_said(filled: TestGroup) -> None:
    filled.settings.backups.parent.mkdir(exist_ok=True)
    filled.settings.backups.write_text("a file")
    backups = Backups(filled)

    backups.by["QM1"].run()

    assert set(backups.ids()) == {"IGQ0014E"}


def test_the_latest_are_kept_under_their_time(tmp_path: Path) -> None:
    latest, start = tmp_path / "G.S.backup", datetime(2026, 1, 1, tzinfo=UTC)
    (tmp_path / "G.S2.20200101T000000Z.backup").write_text("another structure's")
    for number in range(5):
        latest.write_text(str(number))
        keep(latest, start + timedelta(hours=number), 3)
        latest.unlink()

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "G.S.20260101T020000Z.backup": "2",
        "G.S.20260101T030000Z.backup": "3",
        "G.S.20260101T040000Z.backup": "4",
        "G.S2.20200101T000000Z.backup": "another structure's",
    }


@pytest.mark.parametrize("text", ["* * *", "99 * * * *", "x", "* * * * * * *"])
def test_a_schedule_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"field|value|Unrecognized"):
        check_schedule(text)


@pytest.mark.parametrize(("schedule", "interval_ms"), [("* * * * *", 30_000), ("*/2 * * * * *", 1_000)])
def test_a_manager_may_be_late_by_half_the_time(group: TestGroup, schedule: str, interval_ms: int) -> None:
    assert Backups(group, schedule).by["QM1"]._interval_ms() == interval_ms


def test_what_a_killed_manager_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    latest, start = tmp_path / "G.S.backup", datetime(2026, 1, 1, tzinfo=UTC)
    latest.write_text("x")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            keep(latest, start, 3)
    kept = keep(latest, start + timedelta(hours=1), 3)

    assert sorted(tmp_path.iterdir()) == sorted([latest, kept])
