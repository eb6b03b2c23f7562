"""The log of a structure: RECOVER brings back what was committed after the backup, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from igq.manager.membership import Membership
from sharedq.admin.backup import capture, recovery_log
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.file import Backup, BackupWriter, LogWriter, backup_path, log_path
from sharedq.admin.backup.recovery_log import RecoveryLog
from sharedq.admin.backup.restoration import recover
from sharedq.messages.record import record_body
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from tests.support.backups import BOTH, Countdown, content, lose, lose_all, persistent
from tests.support.members import TestGroup
from tests.support.scenes import until
from tests.support.server import Server

QUEUES = ("FIFO", "PRIO")


@pytest.fixture
def structure(group: TestGroup) -> TestGroup:
    group.define_structure("APPL1")
    group.repository("QM1").alter_structure("APPL1", {"recover": "YES"})
    group.define_shared("FIFO", msg_delivery_sequence="FIFO")
    group.define_shared("PRIO")
    return group


@contextmanager
def kept_log(group: TestGroup) -> Iterator[list[tuple[bool, str]]]:
    """A log that follows the structure; what it says."""
    said: list[tuple[bool, str]] = []
    log = RecoveryLog(group.settings, "APPL1", lambda is_kept, why: said.append((is_kept, why)))
    thread = threading.Thread(target=log.run, daemon=True)
    thread.start()
    try:
        until(lambda: (True, "") in said, "the log is kept")
        yield said
    finally:
        log.end()
        thread.join()


def logged(group: TestGroup) -> Backup:
    return Backup(backup_path(group.settings, "APPL1"), group.group.name, "APPL1")


def wait_for_log(group: TestGroup) -> None:
    """Until the log has the latest entry of the journal, which must be of a persistent message."""
    journal = group.group.structure("APPL1").journal
    reply = group.group.command(journal, "XREVRANGE", journal, "+", "-", "COUNT", 1)
    latest = reply[0][0].decode()
    until(lambda: logged(group).ending["position"] == latest, "the log has caught up")


def work(group: TestGroup, number: int) -> None:
    """Puts and gets, committed, backed out and left open, of which some is not persistent."""
    connection = group.connect()
    with connection.open("FIFO", BOTH) as fifo, connection.open("PRIO", BOTH) as prio:
        fifo.put_many([(persistent(), b"%d-%d" % (number, each)) for each in range(20)])
        prio.put_many([(persistent(priority=each % 3), b"p%d-%d" % (number, each)) for each in range(20)])
        fifo.put(b"not persistent")
        for _ in range(7):
            fifo.get(GetOption.SYNCPOINT)
            prio.put(b"moved", persistent(), options=PutOption.SYNCPOINT)
        connection.commit()
        fifo.get(GetOption.SYNCPOINT)
        fifo.put(b"backed out", persistent(), options=PutOption.SYNCPOINT)
        connection.backout()
        prio.get(GetOption.NO_SYNCPOINT)


def test_recover_brings_back_what_was_committed_after_the_backup(structure: TestGroup) -> None:
    work(structure, 0)
    with kept_log(structure):
        for number in range(1, 4):
            work(structure, number)
        wait_for_log(structure)
        open_unit = structure.connect()
        with open_unit.open("FIFO", OpenOption.OUTPUT) as queue:
            queue.put(b"never committed", persistent(), options=PutOption.SYNCPOINT)
            expected = content(structure, QUEUES)
            lose(structure)

    recovered = recover(structure.group, "APPL1")

    assert recovered.until > recovered.begun
    assert content(structure, QUEUES) == expected


def test_a_queue_that_was_defined_after_the_backup_comes_back(structure: TestGroup) -> None:
    with kept_log(structure):
        structure.define_shared("NEW", max_depth=4711)
        with structure.connect().open("NEW", OpenOption.OUTPUT) as queue:
            queue.put(b"x", persistent())
        until(lambda: "NEW" in logged(structure).ending["queues"], "the log has the queue")
        lose(structure)

    assert recover(structure.group, "APPL1").missing == ()
    assert [body for _, body in content(structure, ("NEW",))["NEW"]] == [b"x"]


def test_a_torn_end_of_the_log_is_ignored(structure: TestGroup) -> None:
    with kept_log(structure):
        work(structure, 1)
        wait_for_log(structure)
    whole = log_path(backup_path(structure.settings, "APPL1")).read_bytes()
    counts = []
    for size in (*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1, len(whole)):
        log_path(backup_path(structure.settings, "APPL1")).write_bytes(whole[:size])
        counts.append(len(logged(structure)))

    assert counts[0] == 0
    assert counts[-1] == sum(map(len, content(structure, QUEUES).values()))


def test_a_log_of_another_backup_is_ignored(structure: TestGroup) -> None:
    with kept_log(structure):
        work(structure, 1)
        wait_for_log(structure)
    work(structure, 2)
    backup(structure.group, "APPL1")

    assert logged(structure).logged_until == ""
    assert len(logged(structure)) == sum(map(len, content(structure, QUEUES).values()))


def test_the_log_goes_on_with_a_backup_of_its_own_after_another_backup(structure: TestGroup) -> None:
    with kept_log(structure) as said:
        backup(structure.group, "APPL1")
        until(lambda: said.count((True, "")) == 2, "the log begins again")
        work(structure, 1)
        wait_for_log(structure)
        assert logged(structure).logged_until


def test_a_second_process_keeps_no_second_log(structure: TestGroup) -> None:
    with kept_log(structure):
        said: list[tuple[bool, str]] = []
        RecoveryLog(structure.settings, "APPL1", lambda is_kept, why: said.append((is_kept, why))).run()
        assert said == []


def test_a_lost_structure_keeps_its_backup_and_its_log(structure: TestGroup) -> None:
    with kept_log(structure) as said:
        work(structure, 1)
        wait_for_log(structure)
        expected = content(structure, QUEUES)
        lose(structure)
        # It says so when it has tried to begin again, and was refused.
        until(lambda: any(not is_kept for is_kept, _ in said), "the log ends")
        recover_when_free(structure)
        assert content(structure, QUEUES) == expected
        until(lambda: said.count((True, "")) == 2, "the log begins again")


def recover_when_free(group: TestGroup) -> None:
    """RECOVER, as an operator who repeats it while the log looks at the structure."""

    def is_done() -> bool:
        try:
            recover(group.group, "APPL1")
        except BackupError as error:
            # The log looks at the structure at this moment.
            if "CSQE101I" not in str(error):
                raise
            return False
        return True

    until(is_done, "the structure is recovered")


def test_a_long_log_becomes_a_backup(structure: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery_log, "COMPACT_BYTES", 1)
    with kept_log(structure):
        first = logged(structure).digest
        for number in range(6):
            work(structure, number)
            wait_for_log(structure)
        until(lambda: logged(structure).digest != first, "a new backup")
        expected = content(structure, QUEUES)
        lose(structure)
    recover(structure.group, "APPL1")

    assert content(structure, QUEUES) == expected


def test_a_kill_of_the_process_that_keeps_it_loses_nothing_that_it_had(structure: TestGroup) -> None:
    program = (
        "import sys\n"
        "from sharedq.settings.loader import load_settings\n"
        "from sharedq.admin.backup.recovery_log import RecoveryLog\n"
        "RecoveryLog(load_settings(), 'APPL1', lambda is_kept, why: print(is_kept, why, flush=True)).run()\n"
    )
    where = {
        "IGQ_GROUP": structure.settings.group,
        "IGQ_REDIS_URL": str(structure.settings.redis_url),
        "IGQ_DATA_DIR": str(structure.settings.data_dir),
    }
    keeper = subprocess.Popen([sys.executable, "-c", program], env=os.environ | where, stdout=subprocess.PIPE)
    try:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == b"True \n"
        work(structure, 1)
        wait_for_log(structure)
        expected = content(structure, QUEUES)
    finally:
        keeper.send_signal(signal.SIGKILL)
        keeper.wait()
        keeper.stdout.close()  # type: ignore[union-attr]
    lose(structure)
    recover(structure.group, "APPL1")

    assert content(structure, QUEUES) == expected


def test_parts_count_only_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "G.S.backup"
    writer = BackupWriter(path, {"group": "G", "structure": "S"})
    writer.message(b"Q", b"1", 1, b"one")
    digest = writer.end({"queues": {}, "sequence": 1, "position": "0-0"})
    log = LogWriter(path, digest)
    log.message(b"Q", b"2", 2, b"two")
    log.gone([b"1"])
    log.end({"queues": {}, "sequence": 2, "position": "1-0", "at": "now"})
    log.gone([b"2"])
    log.close()

    found = Backup(path, "G", "S")

    assert [message.id for message in found.messages()] == [b"2"]
    assert (len(found), found.logged_until) == (1, "now")


def lose_all_and_work(group: TestGroup) -> None:
    """The next group has the same queues, and other messages under the same message numbers."""
    group.wait_redis_ms(2)
    lose_all(group)
    begin(group)
    with group.connect().open("FIFO", BOTH) as queue:
        queue.put_many([(persistent(), b"other")] * 10)


def begin(group: TestGroup) -> None:
    Membership.join(group.group, "QM0", {"pid": os.getpid(), "host": "test"}, lambda _: None)
    group.add_member("QM1")
    group.define_structure("APPL1")
    group.repository("QM1").alter_structure("APPL1", {"recover": "YES"})
    group.define_shared("FIFO", msg_delivery_sequence="FIFO")
    group.define_shared("PRIO")


def stored(group: TestGroup) -> list[tuple[bytes, bytes]]:
    return sorted((message.queue, record_body(message.record)) for message in logged(group).messages())


@pytest.mark.parametrize("is_read_each_time", [False, True])
@pytest.mark.parametrize("loss", [lose_all, lose_all_and_work, lose])
def test_a_loss_at_any_step_ends_the_log_where_it_was_whole(
    redis_server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    loss: Callable[[TestGroup], None],
    is_read_each_time: bool,
) -> None:
    """Nothing that the loss took away may be logged as gone, and nothing of the next group may be logged."""
    countdown = Countdown(monkeypatch)
    if is_read_each_time:
        monkeypatch.setattr(capture, "_DESCRIBED_S", -1.0)
    step, was_lost = 0, True
    while was_lost:
        step += 1
        group = TestGroup(redis_server.url, tmp_path / str(step))
        begin(group)
        with group.connect().open("FIFO", BOTH) as queue:
            queue.put_many([(persistent(), b"before")] * 3)
            _, follower = capture.take(group.group, "APPL1", group.group.born())
            queue.get()
            queue.put_many([(persistent(), b"after")] * 2)
        log = LogWriter(backup_path(group.settings, "APPL1"), follower.digest)
        countdown.begin(step, partial(loss, group))
        for _ in range(2):
            with suppress(BackupError, MQIError):
                ending = follower.follow(log)
                if log.frames:
                    log.end(ending)
        log.close()

        was_lost = countdown.end()
        before, after = (b"FIFO", b"before"), (b"FIFO", b"after")
        assert stored(group) in ([before] * 3, [after] * 2 + [before] * 2), step
        lose_all(group)
        group.close()
    assert step > 2
