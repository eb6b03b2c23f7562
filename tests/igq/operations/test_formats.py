"""Versions: the format of the key space, those who speak it, and the upgrade."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from igq.cli import main
from igq.errors import CommandError
from igq.manager.membership import Membership
from igq.operations import upgrade as upgrading
from igq.operations.upgrade import UpgradeStep, upgrade
from sharedq.members import formats
from sharedq.members.event_notes import take_notes
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.settings.values import Settings
from tests.support.members import TestGroup, new_group_name
from tests.support.server import Server
from tests.support.status import read_status

pytestmark = pytest.mark.share

INFO = {"pid": os.getpid(), "host": "test"}


def no_wait(_: float) -> None:
    raise AssertionError("nothing to wait for")


@pytest.fixture
def fresh(redis_server: Server, tmp_path: Path) -> Group:
    """A group that nobody has joined yet."""
    return Group(Settings(redis_url=redis_server.url, data_dir=tmp_path, group=new_group_name(), lease_ms=600_000))


def speak(monkeypatch: pytest.MonkeyPatch, oldest: int, newest: int) -> None:
    """From now on this process is a version of igq that speaks these formats."""
    monkeypatch.setattr(formats, "OLDEST", oldest)
    monkeypatch.setattr(formats, "FORMAT", newest)


def record(group: Group, value: str) -> None:
    group.client().hset(group.keys.group, formats.FIELD, value)


def test_the_first_manager_records_the_format_and_each_its_version(fresh: Group) -> None:
    Membership.join(fresh, "QM1", INFO, no_wait)

    assert formats.recorded_format(fresh) == formats.FORMAT
    member = fresh.member("QM1")
    assert member is not None
    assert (member.details["version"], member.details["formats"]) == (formats.VERSION, [formats.OLDEST, formats.FORMAT])
    status = read_status(fresh.settings)
    assert (status.format, status.managers[0].version) == (formats.FORMAT, formats.VERSION)


def test_a_program_registers_its_version(group: TestGroup) -> None:
    process = group.process()

    text = group.group.command(group.group.keys.processes, "HGET", group.group.keys.processes, process.token)
    assert json.loads(text)["formats"] == [formats.OLDEST, formats.FORMAT]


def test_a_manager_is_refused_by_a_later_format(fresh: Group) -> None:
    Membership.join(fresh, "QM1", INFO, no_wait)
    record(fresh, "2")

    with pytest.raises(CommandError, match=r"IGQ0007E: group .* has key space format 2, igq .* speaks format 1"):
        Membership.join(fresh, "QM2", INFO, no_wait)
    assert fresh.member("QM2") is None


def test_a_program_is_refused_by_a_later_format_with_2059(group: TestGroup) -> None:
    record(group.group, "2")

    with pytest.raises(MQIError) as caught:
        group.process()
    assert caught.value.reason == MQRC.Q_MGR_NOT_AVAILABLE
    assert "IGQ0007E" in str(caught.value)


def test_the_command_says_it_in_one_line(fresh: Group) -> None:
    Membership.join(fresh, "QM1", INFO, no_wait)
    record(fresh, "7")
    environment = os.environ | {
        "IGQ_GROUP": fresh.name,
        "IGQ_REDIS_URL": str(fresh.settings.redis_url),
        "IGQ_DATA_DIR": str(fresh.settings.data_dir),
    }

    run = subprocess.run(
        [sys.executable, "-m", "igq", "qmgr", "start", "QM2"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.returncode == 1
    said = [line for line in run.stderr.splitlines() if line]
    assert len(said) == 1
    assert "IGQ0007E" in said[0]


def test_a_group_that_is_too_old_is_refused(fresh: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    Membership.join(fresh, "QM1", INFO, no_wait)
    speak(monkeypatch, 2, 3)

    with pytest.raises(CommandError, match=r"format 1, igq .* speaks formats 2 to 3: upgrade the group"):
        Membership.join(fresh, "QM2", INFO, no_wait)


def test_a_group_without_a_record_is_of_the_first_format(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IGQ_GROUP", group.group.name)
    monkeypatch.setenv("IGQ_REDIS_URL", str(group.settings.redis_url))
    assert formats.recorded_format(group.group) == 0
    assert read_status(group.settings).format == 1

    assert main(["upgrade", "--dry-run"]) == 0
    assert formats.recorded_format(group.group) == 0
    assert main(["upgrade"]) == 0
    assert formats.recorded_format(group.group) == 1
    assert main(["upgrade"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "format 1: would record the format of the key space",
        "format 1: record the format of the key space",
        "nothing to do",
    ]
    logged = [(note.fields["command"], note.fields["result"]) for note in take_notes(group.group, "@QM1", 10)]
    assert logged == [("upgrade", "done")] * 2


def test_an_empty_group_has_nothing_to_upgrade(fresh: Group) -> None:
    with pytest.raises(CommandError, match=r"no queue manager has joined"):
        upgrade(fresh.settings, is_dry_run=False)


def test_neighbouring_versions_work_together_until_the_upgrade(
    redis_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rolling upgrade: QM1 and a program are of the old version, QM2 of the new one."""
    group = TestGroup(redis_server.url, tmp_path)
    group.add_member("QM1")
    record(group.group, "1")
    group.define_shared("SHARED")
    old = group.connect("QM1")
    done: list[Any] = []
    monkeypatch.setattr(upgrading, "STEPS", (*upgrading.STEPS, UpgradeStep(2, "change something", done.append)))
    speak(monkeypatch, 1, 2)
    group.add_member("QM2")
    new = group.connect("QM2")

    with old.open("SHARED", OpenOption.OUTPUT) as queue:
        queue.put(b"from the old version")
    with new.open("SHARED", OpenOption.INPUT_SHARED | OpenOption.OUTPUT) as queue:
        assert queue.get().body == b"from the old version"
        queue.put(b"from the new version")
    with old.open("SHARED", OpenOption.INPUT_SHARED) as queue:
        assert queue.get().body == b"from the new version"

    # TestGroup's members register no formats, as those of version 0.1.0 before this did: they speak format 1 alone.
    with pytest.raises(CommandError, match=r"does not speak format 2: stop or upgrade it"):
        upgrade(group.settings, is_dry_run=False)
    assert formats.recorded_format(group.group) == 1
    group.close()


def test_the_upgrade_needs_everybody_and_then_refuses_the_old(fresh: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    old = Membership.join(fresh, "QM1", INFO, no_wait)
    done: list[Any] = []
    monkeypatch.setattr(upgrading, "STEPS", (*upgrading.STEPS, UpgradeStep(2, "change something", done.append)))
    speak(monkeypatch, 1, 2)
    Membership.join(fresh, "QM2", INFO, no_wait)
    with pytest.raises(CommandError, match=r"QM1\.1 does not speak format 2"):
        upgrade(fresh.settings, is_dry_run=False)

    assert old.leave([])
    assert upgrade(fresh.settings, is_dry_run=True) == ["format 2: would change something"]
    assert upgrade(fresh.settings, is_dry_run=False) == ["format 2: change something"]

    assert formats.recorded_format(fresh) == 2
    Membership.join(fresh, "QM3", INFO, no_wait)
    speak(monkeypatch, 1, 1)
    with pytest.raises(CommandError, match=r"IGQ0007E"):
        Membership.join(fresh, "QM1", INFO, no_wait)


def test_the_version_is_that_of_the_package() -> None:
    from igq import __version__

    assert __version__ == formats.VERSION
