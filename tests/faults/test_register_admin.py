"""Commands of an operator that take several steps: a fault before and after each script, then the command again.

Parts of the transmission queue, structures, backups, recoveries and removals belong to no connection, so no recovery
ends them: the operator repeats the command. Afterwards it has done what it does, and nothing else is left.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from recovery.resolution import recover
from sharedq.admin.backup import restoration
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.file import Backup, backup_path
from sharedq.admin.member_removal import RemovalRefusedError, remove_member
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.managers import CFStruct
from sharedq.objects.repository import Repository
from sharedq.objects.store.parts import part_in
from tests.support.accounts import assert_accounted
from tests.support.backups import lose
from tests.support.injection import FAULTS, AlarmError, Injection
from tests.support.members import TestGroup
from tests.support.scenes import contents, keys_of, on_queue

pytestmark = pytest.mark.faults


@dataclass(frozen=True)
class Command:
    """An act of an operator, and its scripts.

    Attributes:
        is_done: raises AssertionError where it has not done all of it.
        when_done: what it may say when a first attempt, whose end nobody heard of, had done it all.
        before: what has to be so before.
    """

    act: Callable[[Group], object]
    scripts: tuple[str, ...]
    is_done: Callable[[TestGroup], None]
    when_done: str = ""
    before: Callable[[TestGroup], object] = lambda _: None


def make_parts(group: Group) -> None:
    Repository(group, "QM1").make_transmit_parts("QM1")


def define_structure(group: Group) -> None:
    Repository(group, "QM1").define_structure(CFStruct(name="NEW"), replace=True)


def delete_structure(group: Group) -> None:
    Repository(group, "QM1").delete_structure("EMPTY")


def delete_transmission_queue(group: Group) -> None:
    Repository(group, "QM1").delete("QLOCAL", "SYSTEM.QSG.TRANSMIT.QUEUE", disposition="SHARED")


def has_parts(group: TestGroup) -> None:
    places = [part_in(structure, "QM1") for structure in ("APPL1", "APPL2", "EMPTY")]
    assert group.repository("QM1").make_transmit_parts("QM1") == places


def structure_is_defined(group: TestGroup) -> None:
    assert "NEW" in [known.name for known in group.repository("QM1").structures()]


def structure_is_gone(group: TestGroup) -> None:
    """Of its parts there is only the version up to which they are closed, so that no late step makes them again."""
    assert "EMPTY" not in [known.name for known in group.repository("QM1").structures()]
    held, tag = contents(group), group.group.structure("EMPTY").tag.encode()
    queues = {key: value for key, value in held.items() if key.startswith(tag + b":q:SYSTEM.QSG")}
    assert [list(value) for value in queues.values()] == [[b"gone"]] * len(queues)  # type: ignore[call-overload]


def transmission_queue_is_gone(group: TestGroup) -> None:
    with pytest.raises(MQIError) as caught:
        group.repository("QM1").queue_status("SYSTEM.QSG.TRANSMIT.QUEUE")
    assert caught.value.reason == MQRC.UNKNOWN_OBJECT_NAME


def is_backed_up(group: TestGroup) -> None:
    """The backup is whole, and no half one lies beside it."""
    path = backup_path(group.settings, "APPL1")
    assert [message.record[-4:] for message in Backup(path, group.group.name, "APPL1").messages()] == [b"kept"]
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name, path.name + ".lock"]
    is_as_before(group)


def is_as_before(group: TestGroup) -> None:
    assert on_queue(group, "Q") == [(b"kept", 0)]


def is_empty(group: TestGroup) -> None:
    assert on_queue(group, "Q") == []


def member_is_gone(group: TestGroup) -> None:
    assert [member.name for member in group.group.members()] == ["QM1"]
    keys = keys_of(group)
    assert [key for key in keys if group.group.structure("@QM2").tag.encode() in key] == []
    assert [key for key in keys if key.endswith(b"@QM2")] == []


COMMANDS = {
    "make parts": Command(make_parts, ("structure/set_partition", "structure/wake_all"), has_parts),
    "define a structure": Command(
        define_structure, ("admin/define_structure", "structure/set_partition"), structure_is_defined
    ),
    "delete a structure": Command(
        delete_structure,
        ("structure/delete_queue", "admin/remove_structure"),
        structure_is_gone,
        "MQRC_CF_STRUC_ERROR",
        before=has_parts,
    ),
    "delete the transmission queue": Command(
        delete_transmission_queue,
        ("structure/delete_queue", "admin/remove_object"),
        transmission_queue_is_gone,
        "MQRC_UNKNOWN_OBJECT_NAME",
        before=has_parts,
    ),
    "back up": Command(
        lambda group: backup(group, "APPL1"), ("structure/backup_page", "structure/backup_changes"), is_backed_up
    ),
    "recover": Command(
        lambda group: restoration.recover(group, "APPL1"),
        (
            *("admin/restore_begin", "structure/restore_begin", "structure/restore", "structure/restore_end"),
            *("admin/structure_state", "structure/set_partition"),
        ),
        is_as_before,
        "CSQE101I",
        before=lose,
    ),
    "purge": Command(
        lambda group: restoration.purge(group, "APPL1"),
        ("admin/restore_begin", "structure/restore_begin", "structure/restore_end"),
        is_empty,
        before=lose,
    ),
    "remove": Command(
        lambda group: remove_member(group, "QM2"),
        ("admin/remove_begin", "structure/shut_queue", "admin/remove_member", "structure/remove_keys"),
        member_is_gone,
        "there is no queue manager QM2",
    ),
}
CASES = [(name, script) for name, command in COMMANDS.items() for script in command.scripts]


@pytest.fixture
def ready(used: TestGroup) -> TestGroup:
    """Q in APPL1, which is backed up, a structure without queues that has had one, and QM2, which is down."""
    used.define_structure("EMPTY")
    used.define_shared("FORMER", "EMPTY")
    used.repository("QM1").delete("QLOCAL", "FORMER", disposition="SHARED")
    used.add_member("QM2")
    used.repository("QM2").make_transmit_parts("QM2")
    connection = used.connect().connection
    assert recover(used.group, connection, "QM2.1", force=True, state="STOPPED").is_resolved
    return used


@pytest.mark.rule("mqi/reasons", "An operator's command that was cut off is repeated, and leaves nothing but its work.")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("name", "script"), CASES)
def test_a_command_that_was_cut_off_is_completed_by_its_repeat(
    ready: TestGroup, monkeypatch: pytest.MonkeyPatch, name: str, script: str, fault: str
) -> None:
    command = COMMANDS[name]
    command.before(ready)
    if fault.startswith("killed"):
        kill_in(ready, command, script, fault)
    else:
        injection, operator = Injection(script, fault), Group(ready.settings)
        with monkeypatch.context() as patched:
            injection.arm(patched)
            with suppress(MQIError, AlarmError, BackupError, RemovalRefusedError):
                command.act(operator)
        assert injection.has_met
        operator.leave()
    operator, said = Group(ready.settings), ""
    try:
        command.act(operator)
    except (MQIError, BackupError, RemovalRefusedError) as error:
        said = str(error)
    operator.leave()
    assert not said or (command.when_done and command.when_done in said), said
    command.is_done(ready)
    for connection in ready._connections:
        connection.break_off()
    assert_accounted(ready.group)


def kill_in(group: TestGroup, command: Command, script: str, fault: str) -> None:
    pid = os.fork()
    if not pid:
        try:
            patched = pytest.MonkeyPatch()
            Injection(script, fault).arm(patched)
            command.act(Group(group.settings))
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
