"""Commands that die by SIGKILL before and after each of their scripts: the upgrade, a scheduled backup, a requeue.

Nothing is lost or doubled by it, and the same command completes what was begun.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from igq.cli import main
from igq.manager.scheduled_backups import ScheduledBackups, definitions_path
from igq.operations.upgrade import upgrade
from igq.tools.dead_letters import letters, removal
from sharedq.admin.backup.file import Backup, backup_path
from sharedq.members import formats
from sharedq.members.event_notes import take_notes
from sharedq.messages.dead_letter import dead_lettered
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from tests.support.accounts import assert_accounted
from tests.support.agents import drain
from tests.support.backups import persistent
from tests.support.killed import environment, killed_at, recover_programs
from tests.support.members import TestGroup

pytestmark = pytest.mark.faults
WHENS = pytest.mark.parametrize("when", ["before", "after"])
NEVER = 0


def kill_each(work: Callable[[], object], when: str, each: Callable[[], object]) -> int:
    """Kill *work* at its first script, then at its second, and so on until it ends by itself; *each* after a kill.

    Returns:
        The number of kills.
    """
    number = 1
    while killed_at(number, when, work):
        each()
        number += 1
    return number - 1


@WHENS
def test_an_upgrade_that_is_killed_is_completed_by_its_repeat(group: TestGroup, when: str) -> None:
    def work() -> None:
        upgrade(group.settings, is_dry_run=False)

    def forget() -> None:
        group.group.client().hdel(group.group.keys.group, formats.FIELD)

    def repeat() -> None:
        assert not killed_at(NEVER, when, work)
        assert formats.recorded_format(group.group) == formats.FORMAT
        assert take_notes(group.group, "@QM1", 10)[-1].fields["result"] == "done"
        assert_accounted(group.group)
        forget()

    forget()
    # The format; then, in one write, the note for the log of commands and the entry in the audit trail.
    assert kill_each(work, when, repeat) == 2
    assert formats.recorded_format(group.group) == formats.FORMAT


@pytest.mark.invariant(1)
@WHENS
def test_a_scheduled_backup_that_is_killed_leaves_the_former_one(used: TestGroup, when: str) -> None:
    settings = used.settings.model_copy(update={"backup_schedule": "0 3 * * *", "backup_retention": 2})
    said: list[str] = []

    def work() -> None:
        ScheduledBackups(settings, "QM1", lambda message, **_: said.append(message)).run()
        assert not any(message.endswith("E") for message in said)

    def backed_up() -> list[bytes]:
        path = backup_path(settings, "APPL1")
        return [message.record[-4:] for message in Backup(path, used.group.name, "APPL1").messages()]

    def let_time_pass() -> None:
        """Until the schedule says so again."""
        used.group.client().hdel(used.group.keys.group, "job backups")

    former, present = [b"kept"], [b"kept"]

    def repeat() -> None:
        assert backed_up() in (former, present)
        let_time_pass()
        assert not killed_at(NEVER, when, work)
        assert backed_up() == present
        assert "DEFINE QLOCAL('Q')" in definitions_path(settings).read_text()
        names = sorted(each.name for each in settings.backups.iterdir())
        assert [name for name in names if name.endswith((".new", ".partial"))] == []
        assert sum(name.endswith("Z.backup") for name in names) <= 2
        assert_accounted(used.group)
        former[:] = present
        present.append(b"%04d" % len(present))
        used.connect().put1("Q", present[-1], persistent())
        let_time_pass()

    assert kill_each(work, when, repeat) >= 10
    assert backed_up() == present


@pytest.mark.slow
@pytest.mark.invariant(1, 8)
@WHENS
def test_a_requeue_that_is_killed_loses_and_doubles_nothing(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    group.define_shared("ORDERS")
    for name, value in environment(group).items():
        monkeypatch.setenv(name, value)
    # Two units of work.
    monkeypatch.setattr(removal, "UNIT_MESSAGES", 2)
    operator = group.connect()
    sent: list[bytes] = []

    def send() -> None:
        sent[:] = [b"%d" % (len(sent) + each) for each in range(4)]
        with operator.open(SYSTEM_DEAD_LETTER_QUEUE, OpenOption.OUTPUT) as queue:
            for body in sent:
                md = MQMD(persistence=1, format=b"MQSTR")
                letter, data = dead_lettered(
                    md, body, b"ORDERS", b"QM1", MQRC.Q_FULL, b"test", b"20260101", b"12000000"
                )
                queue.put(data, letter)

    def work() -> None:
        assert main(["dlq", "requeue", "QM1", "--all"]) == 0

    def left() -> int:
        return len(list(letters.read_letters(group.group, "QM1", SYSTEM_DEAD_LETTER_QUEUE)))

    def repeat() -> None:
        recover_programs(group)
        assert not killed_at(NEVER, when, work)
        assert [message.body for message in drain(operator, "ORDERS")] == sent
        assert left() == 0
        assert_accounted(group.group)
        send()

    send()
    assert kill_each(work, when, repeat) >= 20
    assert [message.body for message in drain(operator, "ORDERS")] == sent
    assert left() == 0
