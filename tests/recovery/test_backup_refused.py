"""Refusals of BACKUP and RECOVER CFSTRUCT with their reasons, and their answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sharedq.admin.backup import glance
from sharedq.admin.backup.capture import Taken, backup, exclusively
from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.file import Backup, backup_path
from sharedq.admin.backup.restoration import Recovered, is_lost, purge, recover
from sharedq.mqi.constants import MQRC, GetOption, PutOption
from sharedq.mqi.errors import MQIError
from tests.support.backups import BOTH, QUEUES, Content, between_calls, content, killed_after, lose, mqsc, persistent
from tests.support.members import TestGroup
from tests.support.server import Server


def test_by_mqsc(filled: TestGroup) -> None:
    expected = content(filled)
    status, output = mqsc(filled, "BACKUP CFSTRUCT(APPL1) EXCLINT(30)\n")
    assert status == 0, output
    assert "CSQE121I: Backup of structure APPL1 completed, 752 messages of 3 queues" in output
    lose(filled)
    status, output = mqsc(filled, "RECOVER CFSTRUCT(APPL1) TYPE(NORMAL)\n")
    assert status == 0, output
    assert "CSQE131I: Recovery of structure APPL1 completed, 752 messages of 3 queues" in output
    assert content(filled) == expected


def test_a_backup_is_read_once_for_its_status(filled: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have gigabytes, and the console asks again and again."""
    read: list[Path] = []

    class Counted(Backup):
        def __init__(self, path: Path, group: str, structure: str) -> None:
            read.append(path)
            super().__init__(path, group, structure)

    monkeypatch.setattr(glance, "Backup", Counted)
    assert glance.latest_backup(filled.group, "APPL1") is None
    taken = backup(filled.group, "APPL1")
    for _ in range(3):
        found = glance.latest_backup(filled.group, "APPL1")
        assert found is not None
        assert (found.messages, found.bytes) == (752, taken.path.stat().st_size)
    assert read == [taken.path]
    backup(filled.group, "APPL1")
    assert glance.latest_backup(filled.group, "APPL1") is not None
    assert len(read) == 2


def test_the_status_of_a_structure_and_of_its_backup(filled: TestGroup) -> None:
    def shows(text: str, *words: str) -> None:
        status, output = mqsc(filled, text + "\n")
        assert status == 0, output
        assert [word for word in words if word not in output] == []

    shows("DISPLAY CFSTATUS(*)", "CFSTATUS(APPL1)", "TYPE(SUMMARY)", "CFTYPE(APPL)", "STATUS(ACTIVE)", "ENTSUSED(752)")
    shows("DIS CFSTATUS(APPL1) TYPE(BACKUP)", "BKUPDATE( )", "BKUPTIME( )", "BKUPSIZE(0)")
    taken = backup(filled.group, "APPL1")
    shows("DIS CFSTATUS(APPL1) TYPE(BACKUP)", "BKUPSIZE(1)", "ENTSUSED(752)", "STATUS(ACTIVE)")
    lose(filled)
    shows("DIS CFSTATUS(APP*) STATUS", "STATUS(FAILED)")
    assert killed_after(filled, 3, lambda: recover(filled.group, "APPL1"))
    shows("DIS CFSTATUS(APPL1) WHERE(STATUS EQ INRECOVER)", "STATUS(INRECOVER)")
    recover(filled.group, "APPL1")
    damage_end(taken.path)
    shows("DIS CFSTATUS(APPL1) TYPE(BACKUP)", "BKUPDATE( )", "STATUS(ACTIVE)")
    assert mqsc(filled, "DIS CFSTATUS(NOWHERE)\n")[0] == 10
    assert mqsc(filled, "DIS CFSTATUS(APPL1) TYPE(SMDS)\n")[0] == 10


@pytest.mark.parametrize(
    "command",
    [
        "BACKUP CFSTRUCT(APPL1) EXCLINT(29)",
        "BACKUP CFSTRUCT(APPL1) EXCLINT(601)",
        "BACKUP CFSTRUCT(APPL1) EXCLINT(soon)",
        "BACKUP CFSTRUCT(APPL1) EXCLINT",
        "BACKUP CFSTRUCT(APPL1) TYPE(NORMAL)",
        "BACKUP CFSTRUCT",
        "BACKUP QLOCAL(A)",
        "RECOVER CFSTRUCT(APPL1) TYPE(FULL)",
        "RECOVER CFSTRUCT(APPL1) EXCLINT(30)",
    ],
)
def test_an_invalid_command_is_a_syntax_error(structure: TestGroup, command: str) -> None:
    status, output = mqsc(structure, command + "\n")
    assert (status, "CSQ9031E: Syntax error" in output) == (10, True)
    assert not structure.settings.backups.exists()


@pytest.mark.parametrize("verb", ["BACKUP", "RECOVER"])
@pytest.mark.parametrize("name", ["NOWHERE", "@QM1", "CSQ_ADMIN", "X*", "../../x"])
def test_a_structure_that_there_is_not(structure: TestGroup, verb: str, name: str) -> None:
    status, output = mqsc(structure, f"{verb} CFSTRUCT('{name}')\n")
    assert (status, output.count("\nCSQM112E"), "MQRC_CF_STRUC_ERROR (2349)" in output) == (10, 1, True)
    assert not structure.settings.backups.exists()


def refused(work: Callable[[], object]) -> str:
    with pytest.raises(BackupError) as caught:
        work()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_structure_that_is_not_recoverable(structure: TestGroup) -> None:
    structure.repository("QM1").alter_structure("APPL1", {"recover": "NO"})
    for work in (backup, recover, purge):
        assert "CSQE108E" in refused(lambda work=work: work(structure.group, "APPL1"))  # type: ignore[misc]


def test_a_group_without_journal_has_no_backups(redis_server: Server, tmp_path: Path) -> None:
    group = TestGroup(redis_server.url, tmp_path, journal=False)
    group.add_member("QM1")
    assert "no journal" in refused(lambda: backup(group.group, "APPL1"))
    group.close()


def test_a_journal_that_is_trimmed_meanwhile(filled: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    first = backup(filled.group, "APPL1")
    queue = filled.connect().open("FIFO", BOTH)
    journal = filled.group.structure("APPL1").journal
    calls = iter(range(1000))

    def trim() -> None:
        if next(calls) == 5:
            queue.put(b"more", persistent())
            queue.put(b"more", persistent())
            filled.group.client().xtrim(journal, maxlen=1, approximate=False)

    between_calls(filled, monkeypatch, trim)
    assert "journal was trimmed" in refused(lambda: backup(filled.group, "APPL1"))
    monkeypatch.undo()
    assert len(Backup(first.path, filled.group.name, "APPL1")) == first.messages
    assert not list(first.path.parent.glob("*.partial"))


def test_two_at_once_on_one_machine(filled: TestGroup) -> None:
    path = backup_path(filled.settings, "APPL1")
    with exclusively(path, "APPL1"):
        for work in (backup, recover, purge):
            assert "CSQE101I" in refused(lambda work=work: work(filled.group, "APPL1"))  # type: ignore[misc]


def test_a_structure_that_is_not_lost_is_not_recovered(filled: TestGroup) -> None:
    expected = content(filled)
    backup(filled.group, "APPL1")
    assert "TYPE(PURGE)" in refused(lambda: recover(filled.group, "APPL1"))
    filled.define_structure("EMPTY")
    filled.repository("QM1").alter_structure("EMPTY", {"recover": "YES"})
    assert "there is no" in refused(lambda: recover(filled.group, "EMPTY"))
    assert content(filled) == expected


def test_purge_empties_what_is_there_and_what_is_lost(filled: TestGroup) -> None:
    empty: Content = {name: [] for name in QUEUES}
    backup(filled.group, "APPL1")
    assert purge(filled.group, "APPL1") == Recovered("", 0, 3, 0, ())
    assert content(filled) == empty
    lose(filled)
    assert purge(filled.group, "APPL1").messages == 0
    assert content(filled) == empty


def test_a_backup_of_a_lost_structure_does_not_replace_the_good_one(filled: TestGroup) -> None:
    expected = content(filled)
    backup(filled.group, "APPL1")
    lose(filled)

    assert "is lost: RECOVER CFSTRUCT" in refused(lambda: backup(filled.group, "APPL1"))
    with pytest.raises(MQIError) as caught:
        filled.define_shared("NEW")
    assert caught.value.reason == MQRC.CF_STRUC_FAILED

    assert is_lost(filled.group, "APPL1")
    recover(filled.group, "APPL1")
    assert content(filled) == expected
    filled.define_shared("NEW")


def test_purge_spares_queues_in_use(filled: TestGroup) -> None:
    expected = content(filled)
    with filled.connect().open("PRIO", BOTH), pytest.raises(MQIError) as caught:
        purge(filled.group, "APPL1")
    assert caught.value.reason == MQRC.OBJECT_IN_USE
    assert content(filled) == expected


def test_while_something_is_in_doubt_there_nothing_is_recovered(filled: TestGroup) -> None:
    connection = filled.connect()
    with connection.open("FIFO", BOTH) as queue:
        got = queue.get(GetOption.SYNCPOINT)
        queue.put(b"in doubt", persistent(), options=PutOption.SYNCPOINT)
    connection.prepare(b"xid")
    # Work in doubt is not committed.
    taken = backup(filled.group, "APPL1")
    assert taken.messages == 752
    lose(filled)
    assert "RESOLVE INDOUBT" in refused(lambda: recover(filled.group, "APPL1"))
    status, output = mqsc(filled, "RESOLVE INDOUBT(*) ACTION(BACKOUT) NID(*)\n")
    assert status == 0, output
    recover(filled.group, "APPL1")
    assert (got.md.msg_id, got.body) in content(filled)["FIFO"]


def damage_end(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def damage_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def damage_length(path: Path) -> None:
    path.write_bytes(b"H\xff\xff\xff\xff" + path.read_bytes()[5:])


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        damage_end,
        damage_byte,
        damage_length,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"not a backup at all, but long enough for a digest, whatever it is"),
        lambda path: path.write_bytes(path.read_bytes() + b"more"),
    ],
)
def test_a_damaged_backup_recovers_nothing(filled: TestGroup, damage: Callable[[Path], None]) -> None:
    path = backup(filled.group, "APPL1").path
    lose(filled)
    damage(path)
    assert "CSQE109E" in refused(lambda: recover(filled.group, "APPL1"))
    assert "CSQE109E" in refused(lambda: purge(filled.group, "APPL1"))
    assert is_lost(filled.group, "APPL1")
    assert not filled.group.client().exists(filled.group.structure("APPL1").messages)


def test_a_backup_of_something_else(filled: TestGroup) -> None:
    filled.define_structure("OTHER")
    filled.repository("QM1").alter_structure("OTHER", {"recover": "YES"})
    filled.define_shared("ELSEWHERE", "OTHER")
    path = backup(filled.group, "APPL1").path
    path.rename(backup_path(filled.settings, "OTHER"))
    lose(filled, "OTHER")
    assert "is a backup of APPL1" in refused(lambda: recover(filled.group, "OTHER"))


def test_a_directory_that_cannot_be_written_is_one_line(redis_server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    group = TestGroup(redis_server.url, tmp_path, backup_dir=tmp_path / "file" / "backups")
    group.add_member("QM1")
    status, output = mqsc(group, "BACKUP CFSTRUCT(APPL1)\nRECOVER CFSTRUCT(APPL1)\n")
    assert (status, output.count("CSQE106E")) == (10, 2)
    group.close()


def test_backups_go_where_the_setting_says_and_only_their_owner_reads_them(
    redis_server: Server, tmp_path: Path
) -> None:
    group = TestGroup(redis_server.url, tmp_path, backup_dir=tmp_path / "there")
    group.add_member("QM1")
    taken: Taken = backup(group.group, "APPL1")
    assert taken.path == tmp_path / "there" / f"{group.group.name}.APPL1.backup"
    assert taken.path.stat().st_mode & 0o777 == 0o600
    group.close()


def test_a_generic_name_backs_up_each_recoverable_structure_with_that_stem(filled: TestGroup) -> None:
    for line in ("DEFINE CFSTRUCT(APPL2) CFLEVEL(5) RECOVER(YES)", "DEFINE CFSTRUCT(APPL3) CFLEVEL(5) RECOVER(NO)"):
        status, output = mqsc(filled, line + "\n")
        assert status == 0, output

    for name, expected in (("*", {"APPL1", "APPL2"}), ("APPL*", {"APPL1", "APPL2"}), ("APPL2*", {"APPL2"})):
        status, output = mqsc(filled, f"BACKUP CFSTRUCT({name})\n")
        assert status == 0, output
        assert {word for word in set(output.split()) if f"structure {word} completed" in output} == expected


def test_a_structure_that_is_being_backed_up_does_not_hold_back_the_others(filled: TestGroup) -> None:
    status, output = mqsc(filled, "DEFINE CFSTRUCT(APPL2) CFLEVEL(5) RECOVER(YES)\n")
    assert status == 0, output
    with exclusively(backup_path(filled.group.settings, "APPL1"), "APPL1"):
        status, output = mqsc(filled, "BACKUP CFSTRUCT(*)\n")
    assert status == 10
    assert "CSQE101I: Unable to backup or recover structure APPL1" in output
    assert "CSQE121I: Backup of structure APPL2 completed" in output
