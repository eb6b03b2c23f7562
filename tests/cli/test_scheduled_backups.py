"""Scheduled backups of real managers, and a group that comes back from them when Redis has lost everything."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from sharedq.admin.backup.file import Backup, backup_path
from sharedq.redis.embedded import EmbeddedRedis
from sharedq.settings.values import Settings
from tests.cli.conftest import Shell
from tests.support.scenes import until

pytestmark = pytest.mark.slow


def test_a_group_that_lost_everything_comes_back_from_its_schedule(shell: Shell, tmp_path: Path) -> None:
    shell.environment |= {"IGQ_BACKUP_SCHEDULE": "* * * * * *", "IGQ_BACKUP_RETENTION": "2", "IGQ_LEASE_MS": "2000"}
    managers = [shell.start_manager("QM1"), shell.start_manager("QM2")]
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(ORDERS) QSGDISP(SHARED) CFSTRUCT(APPL1) DEFPSIST(YES)")
    shell.out("mqsc", "QM1", "-c", "DEFINE QALIAS(IN) TARGET(ORDERS)\nDEFINE QLOCAL(MINE) CMDSCOPE(QM2)")
    shell.out("put", "QM1", "ORDERS", "kept")
    folder = tmp_path / "backups"
    definitions = folder / "QSG1.definitions.mqsc"
    # Any of the two may make the next one.
    until(lambda: any("1 message, in " in line for manager in managers for line in manager.lines), "a backup")
    until(lambda: "'MINE'" in definitions.read_text(), "an export")
    assert len(list(folder.glob("QSG1.APPL1.2*.backup"))) <= 2

    url = EmbeddedRedis.running_url(tmp_path)
    assert url is not None
    redis.Redis.from_url(url).flushall()
    for manager in managers:
        manager.wait_for("CSQY022I", 2)
    shell.out("mqsc", "QM1", "-c", "RECOVER CFSTRUCT(APPL1)")
    shell.out("mqsc", "QM1", str(definitions))

    assert shell.out("get", "QM1", "IN") == "kept\n"
    assert "QUEUE(MINE)" in shell.out("mqsc", "QM2", "-c", "DISPLAY QLOCAL(MINE)")


def test_a_structure_comes_back_with_what_its_log_has(shell: Shell, tmp_path: Path) -> None:
    shell.environment |= {"IGQ_RECOVERY_LOG": "true"}
    manager = shell.start_manager("QM1")
    manager.wait_for("IGQ0015I")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(ORDERS) QSGDISP(SHARED) CFSTRUCT(APPL1) DEFPSIST(YES)")
    shell.out("put", "QM1", "ORDERS", "after the backup")
    settings = Settings(data_dir=tmp_path)
    until(lambda: len(Backup(backup_path(settings, "APPL1"), "QSG1", "APPL1")) == 1, "the log has the message")

    url = EmbeddedRedis.running_url(tmp_path)
    assert url is not None
    client = redis.Redis.from_url(url)
    client.delete(*client.scan_iter("{QSG1:APPL1}:*"))
    manager.wait_for("CSQE035E")
    assert "and its log until" in shell.out("mqsc", "QM1", "-c", "RECOVER CFSTRUCT(APPL1)")

    assert shell.out("get", "QM1", "ORDERS") == "after the backup\n"
    manager.wait_for("IGQ0015I", 2)
