"""BACKUP and RECOVER CFSTRUCT: the backup of a structure in use has its contents at the backup's end."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import pytest

from sharedq.admin.backup import capture
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.file import Backup, backup_path
from sharedq.admin.backup.restoration import is_lost, recover
from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.get.wait import stop_waiting
from sharedq.calls.requests.put import undo_call
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, PutOption
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.reading.journal import read_entries
from sharedq.redis.link import Argument, Reply
from tests.recovery.scene import register_wait
from tests.support.backups import BOTH, QUEUES, between_calls, content, killed_after, lose, mqsc, persistent
from tests.support.groups import LMIG, LSEG, MIG, SEG, WHOLE_GROUP, drain, put_member
from tests.support.groups import take as take_one
from tests.support.members import TestGroup

# -- in use ----------------------------------------------------------------------------------------------------


class Program:
    """Random calls on the queues of a structure, one between each two steps of a backup."""

    def __init__(self, group: TestGroup, seed: int, calls: int) -> None:
        self.group, self.generator, self.left = group, random.Random(seed), calls
        self.connections = [group.connect() for _ in range(3)]
        self.queues = [{name: each.open(name, BOTH) for name in QUEUES} for each in self.connections]
        #: By connection: what undoes an unfinished put. The next calls of that put have to be refused.
        self.under_way: dict[int, Callable[[], None]] = {}
        self.count = 0

    def step(self) -> None:
        if self.left <= 0:
            return
        self.left -= 1
        number = self.generator.randrange(3)
        connection, queue = self.connections[number], self.queues[number][self.generator.choice(QUEUES)]
        if undo := self.under_way.pop(number, None):
            undo()
            return
        acts = [self.put, self.put, self.put_many, self.get, self.get, self.get_many, self.lock, self.end, self.reopen]
        self.generator.choice([*acts, self.begin_put])(connection, queue)

    def _md(self) -> MQMD:
        fields: dict[str, Any] = {"priority": self.generator.randrange(4)}
        fields["persistence"] = int(self.generator.random() < 0.8)
        if self.generator.random() < 0.3:
            fields["correl_id"] = bytes([65 + self.generator.randrange(3)]) * 24
        if self.generator.random() < 0.2:
            fields["msg_id"] = b"given %d" % self.count
        if self.generator.random() < 0.3:
            group_id = bytes([97 + self.generator.randrange(3)]) * 24
            fields |= {"version": 2, "group_id": group_id, "msg_seq_number": self.generator.randrange(1, 4)}
            fields["msg_flags"] = self.generator.choice([MIG, LMIG])
        self.count += 1
        return MQMD(**fields)

    def _option(self) -> int:
        return int(self.generator.choice([PutOption.SYNCPOINT, PutOption.NO_SYNCPOINT]))

    def put(self, _connection: QueueManagerConnection, queue: Queue) -> None:
        queue.put(b"%d" % self.count, self._md(), options=self._option())

    def put_many(self, _connection: QueueManagerConnection, queue: Queue) -> None:
        messages = [(self._md(), b"%d" % self.count) for _ in range(self.generator.randrange(1, 8))]
        queue.put_many(messages, options=self._option())

    def begin_put(self, connection: QueueManagerConnection, queue: Queue) -> None:
        """Some calls of a longer put. The next one will be refused."""
        native, first = connection.connection, persistent()
        savepoint = native.unit.savepoint("APPL1")
        queue.put(b"undone", first, options=PutOption.SYNCPOINT)
        for _ in range(self.generator.randrange(4)):
            queue.put(b"undone", persistent(), options=PutOption.SYNCPOINT)

        def undo() -> None:
            native.checked_call(*undo_call(native, queue.handle, int.from_bytes(first.msg_id[-6:])))
            native.unit.return_to(savepoint)

        self.under_way[self.connections.index(connection)] = undo

    def get(self, _connection: QueueManagerConnection, queue: Queue) -> None:
        option = self.generator.choice([GetOption.SYNCPOINT, GetOption.SYNCPOINT, GetOption.NO_SYNCPOINT])
        with suppress(NoMsgAvailable):
            queue.get(option)

    def get_many(self, _connection: QueueManagerConnection, queue: Queue) -> None:
        with suppress(NoMsgAvailable):
            queue.get_many(5, GetOption.SYNCPOINT)

    def lock(self, _connection: QueueManagerConnection, queue: Queue) -> None:
        how = self.generator.choice([GetOption.BROWSE_FIRST, GetOption.BROWSE_NEXT])
        with suppress(NoMsgAvailable):
            queue.get(how | GetOption.LOCK)

    def end(self, connection: QueueManagerConnection, _queue: Queue) -> None:
        if self.generator.random() < 0.6:
            connection.commit()
        else:
            connection.backout()

    def reopen(self, connection: QueueManagerConnection, queue: Queue) -> None:
        """The end of locks."""
        number = self.connections.index(connection)
        self.queues[number][queue.name].close()
        self.queues[number][queue.name] = connection.open(queue.name, BOTH)

    def leave(self) -> None:
        """Uncommitted work is undone, and locks end."""
        self.left = 0
        for undo in self.under_way.values():
            undo()
        for connection in self.connections:
            connection.backout()
            connection.disconnect()


@pytest.mark.parametrize("seed", [*(pytest.param(seed, marks=pytest.mark.share) for seed in range(6)), *range(6, 25)])
def test_changes_during_a_backup_count_as_of_its_end(
    structure: TestGroup, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(capture, "_PAGE_MESSAGES", 3)
    # Far after the journal's end, a little after it, and never.
    monkeypatch.setattr(capture, "_ENTRIES", (1, 2, 500)[seed % 3])
    monkeypatch.setattr(capture, "_LOOK_UPS", 5)
    monkeypatch.setattr(capture, "_UNITS", 2)
    program = Program(structure, seed, 60)
    for _ in range(60):
        program.step()
    program.left = 120
    between_calls(structure, monkeypatch, program.step)
    taken = backup(structure.group, "APPL1")
    monkeypatch.undo()
    program.leave()
    expected = content(structure)

    lose(structure)
    recovered = recover(structure.group, "APPL1")

    assert content(structure) == expected
    assert taken.messages == recovered.messages == sum(map(len, expected.values()))
    assert recovered.queues == len(QUEUES)


def committed_up_to(group: TestGroup, position: str) -> dict[str, set[str]]:
    """Numbers of the messages that were on the queues at a place in the journal, by the journal alone."""
    on_queue: dict[str, set[str]] = {name: set() for name in QUEUES}
    open_puts: dict[str, list[tuple[str, str]]] = {}
    open_gets: dict[str, list[tuple[str, str]]] = {}
    with group.group.client() as client:
        for entry in read_entries(client, group.group.structure("APPL1"), end=position):
            fields = {key.decode(): value.decode() for key, value in entry.fields.items()}
            event, unit = fields["e"], fields.get("u", "")
            messages = [(fields.get("q", ""), message_id) for message_id in fields.get("i", "").split()]
            if event == "put" and unit:
                open_puts.setdefault(unit, []).extend(messages)
            elif event == "put":
                for queue, message_id in messages:
                    on_queue[queue].add(message_id)
            elif event == "get" and unit:
                open_gets.setdefault(unit, []).extend(messages)
            elif event == "commit":
                for queue, message_id in open_puts.pop(unit, ()):
                    on_queue[queue].add(message_id)
                for queue, message_id in open_gets.pop(unit, ()):
                    on_queue[queue].remove(message_id)
            elif event == "backout":
                open_puts.pop(unit, None)
                open_gets.pop(unit, None)
            else:
                for queue, message_id in messages:
                    on_queue[queue].remove(message_id)
    return on_queue


class Load:
    """Putters and getters that go on until they are told to stop, each a thread with its own connection."""

    def __init__(self, group: TestGroup) -> None:
        self.group, self._is_over = group, threading.Event()
        works = [(self._put, 1), (self._put, 2), (self._put_much, 3), (self._get, 4), (self._get_much, 5)]
        self._threads = [threading.Thread(target=self._go_on, args=work, daemon=True) for work in works]
        for thread in self._threads:
            thread.start()
        self._ended: list[int] = []

    def stop(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        # Failed puts are not among them.
        assert sorted(self._ended) == [1, 2, 3, 4, 5]

    def _go_on(self, work: Callable[[Queue, random.Random], None], number: int) -> None:
        connection, generator = self.group.connect(), random.Random(number)
        queue = connection.open("FIFO", BOTH)
        while not self._is_over.is_set():
            with suppress(NoMsgAvailable):
                work(queue, generator)
            if generator.random() < 0.3:
                connection.backout()
            else:
                connection.commit()
        self._ended.append(number)

    def _put(self, queue: Queue, generator: random.Random) -> None:
        for _ in range(generator.randrange(1, 6)):
            queue.put(b"one", persistent(), options=PutOption.SYNCPOINT)

    def _put_much(self, queue: Queue, generator: random.Random) -> None:
        """Units of work that end in several chunks."""
        for _ in range(generator.randrange(6, 14)):
            queue.put_many([(persistent(), b"many")] * 100, options=PutOption.SYNCPOINT)

    def _get(self, queue: Queue, generator: random.Random) -> None:
        if self._has_enough():
            queue.get_many(generator.randrange(1, 5), GetOption.SYNCPOINT)

    def _has_enough(self) -> bool:
        """Messages must be left to be compared."""
        return self.group.repository("QM1").queue_status("FIFO").available > 2000

    def _get_much(self, queue: Queue, generator: random.Random) -> None:
        for _ in range(generator.randrange(1, 8) if self._has_enough() else 0):
            queue.get_many(100, GetOption.SYNCPOINT)


def on_queues(group: TestGroup) -> dict[str, set[str]]:
    """Ids of the available messages."""
    client, keys = group.group.client(), group.group.structure("APPL1")
    return {name: {each.decode() for each in client.zrange(keys.queue(name).available, 0, -1)} for name in QUEUES}  # type: ignore[union-attr]


@pytest.mark.parametrize("held_bytes", [0, 1 << 27])
@pytest.mark.parametrize("work", ["put", "put and get", "small units of work", "large units of work"])
def test_a_backup_ends_however_much_is_changed_between_two_looks(
    structure: TestGroup, monkeypatch: pytest.MonkeyPatch, work: str, held_bytes: int
) -> None:
    """More than one look took in, so that there never was a look after which nothing was doubtful."""
    monkeypatch.setattr(capture, "_LOOK_UPS", 5)
    monkeypatch.setattr(capture, "_UNITS", 2)
    monkeypatch.setattr(capture, "_OPEN_MESSAGES", 20)
    monkeypatch.setattr(capture, "_HELD_BYTES", held_bytes)
    connections = [structure.connect() for _ in range(4)]
    queues = [connection.open("FIFO", BOTH) for connection in connections]

    def change() -> None:
        for connection, queue in zip(connections, queues, strict=True):
            if "unit" not in work:
                queue.put_many([(persistent(), b"new")] * 6)
            if work == "put and get":
                queue.get_many(5)
            if "unit" in work:
                connection.commit()
                count = 3 if work.startswith("small") else 12
                queue.put_many([(persistent(), b"new")] * count, options=PutOption.SYNCPOINT)
                queue.get_many(2, GetOption.SYNCPOINT)

    queues[0].put_many([(persistent(), b"first")] * 100)
    between_calls(structure, monkeypatch, change)
    monkeypatch.setattr(capture, "PATIENCE_S", 10)
    taken = backup(structure.group, "APPL1")
    expected = committed_up_to(structure, taken.position)
    lose(structure)
    recover(structure.group, "APPL1")
    assert on_queues(structure) == expected
    assert taken.messages == len(expected["FIFO"]) > 0


@pytest.mark.invariant(5)
def test_a_backup_under_load_holds_what_was_committed_at_its_end_in_order(structure: TestGroup) -> None:
    settings = structure.settings
    where = {
        "IGQ_GROUP": settings.group,
        "IGQ_REDIS_URL": str(settings.redis_url),
        "IGQ_DATA_DIR": str(settings.data_dir),
    }
    command = [sys.executable, "-m", "igq", "mqsc", "QM1", "-c", "BACKUP CFSTRUCT(APPL1)"]
    with structure.connect().open("FIFO", BOTH) as queue:
        for _ in range(30):
            queue.put_many([(persistent(), b"first")] * 100)
    load = Load(structure)
    try:
        done = subprocess.run(command, env=os.environ | where, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        load.stop()
    position = re.search(r"up to (\S+), in", done.stdout)
    assert position is not None
    expected = committed_up_to(structure, position[1])["FIFO"]

    lose(structure)
    recover(structure.group, "APPL1")

    stored = Backup(backup_path(settings, "APPL1"), settings.group, "APPL1")
    assert {message.id.decode() for message in stored.messages()} == expected
    key = structure.group.structure("APPL1").queue("FIFO").available
    members: Any = structure.group.client().zrange(key, 0, -1)
    in_order = [member.decode() for member in members]
    assert in_order == sorted(expected, key=lambda message_id: int(message_id.rstrip("x")))
    got = 0
    with structure.connect().open("FIFO", BOTH) as queue, suppress(NoMsgAvailable):
        while True:
            got += len(queue.get_many(100))
    assert got == len(expected) > 0


def test_cleared_messages_are_not_in_it(structure: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    with structure.connect().open("PRIO", BOTH) as queue:
        queue.put_many([(persistent(), b"%d" % n) for n in range(30)])
    calls = iter(range(100))

    def clear_at_the_fourth() -> None:
        if next(calls) == 4:
            structure.repository("QM1").clear("PRIO")

    between_calls(structure, monkeypatch, clear_at_the_fourth)
    assert backup(structure.group, "APPL1").messages == 0


def test_a_clear_that_was_cut_off_is_completed_first(structure: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    with structure.connect().open("PRIO", BOTH) as queue:
        queue.put_many([(persistent(), b"%d" % n) for n in range(30)])
    calls = iter(range(100))

    def clear_half() -> None:
        if next(calls) == 4:
            with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
                patched.setattr("sharedq.objects.store.local_queues.LocalQueues._discard", interrupt)
                structure.repository("QM1").clear("PRIO")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    between_calls(structure, monkeypatch, clear_half)
    assert backup(structure.group, "APPL1").messages == 0


@pytest.mark.parametrize("at", range(4))
def test_a_message_returned_by_a_getter_meanwhile_is_in_it(
    structure: TestGroup, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """A waiting get was handed it, and gives up before it has it."""
    getter, putter = (structure.connect().open("FIFO", BOTH) for _ in range(2))
    register_wait(getter, b"A!")
    putter.put(b"handed", persistent())
    assert content(structure)["FIFO"] == []
    calls = iter(range(1000))

    def give_back() -> None:
        if next(calls) == at:
            stop_waiting(getter.connection, getter.handle)

    between_calls(structure, monkeypatch, give_back)
    messages = backup(structure.group, "APPL1").messages
    assert (messages, len(content(structure)["FIFO"])) == ((1, 1) if next(calls) > at else (0, 0))


# -- what comes back -------------------------------------------------------------------------------------------


@pytest.mark.share
def test_identifiers_groups_and_definitions_come_back(structure: TestGroup) -> None:
    structure.define_shared("SHORT", max_depth=5, description="as it was")
    connection = structure.connect()
    with connection.open("GROUPS", BOTH) as queue:
        put_member(queue, b"g", 2, b"two", LMIG, persistence=1)
        put_member(queue, b"h", 1, b"alone", MIG, persistence=1)
        put_member(queue, b"s", 1, b"segm", SEG, persistence=1)
        put_member(queue, b"s", 1, b"ents", LSEG, offset=4, persistence=1)
        put_member(queue, b"g", 1, b"one", MIG, persistence=1)
        md = queue.put(b"by id", persistent(correl_id=b"c" * 24))
        queue.put(b"named", persistent(msg_id=b"n" * 24))
        queue.put(b"not kept", MQMD(persistence=0))
    backup(structure.group, "APPL1")
    lose(structure)

    recover(structure.group, "APPL1")

    with structure.connect().open("GROUPS", BOTH) as queue:
        by_correl = queue.get(0, match=MQMD(correl_id=b"c" * 24), match_options=MatchOption.MATCH_CORREL_ID)
        assert (by_correl.body, by_correl.md.msg_id, by_correl.md.backout_count) == (b"by id", md.msg_id, 0)
        named = queue.get(0, match=MQMD(msg_id=b"n" * 24), match_options=MatchOption.MATCH_MSG_ID)
        assert named.body == b"named"
        assert drain(queue, int(WHOLE_GROUP | GetOption.COMPLETE_MSG)) == [b"one", b"two", b"segments"]
        assert drain(queue) == [b"alone"]
    definition = structure.repository("QM1").lookup("SHORT")
    assert definition is not None
    assert (definition.definition.description, getattr(definition.definition, "max_depth", 0)) == ("as it was", 5)


@pytest.mark.share
def test_numbers_that_were_given_since_the_backup_are_not_given_again(structure: TestGroup) -> None:
    with structure.connect().open("FIFO", BOTH) as queue:
        queue.put(b"kept", persistent())
        backup(structure.group, "APPL1")
        lost = queue.put(b"lost", persistent())
    lose(structure)
    recover(structure.group, "APPL1")
    with structure.connect().open("FIFO", BOTH) as queue:
        later = queue.put(b"later", persistent())
        assert later.msg_id > lost.msg_id
        assert drain(queue) == [b"kept", b"later"]


@pytest.mark.share
def test_old_connections_are_shut_out(structure: TestGroup) -> None:
    before = structure.connect()
    queue = before.open("FIFO", BOTH)
    queue.put(b"committed", persistent())
    backup(structure.group, "APPL1")
    queue.get(GetOption.SYNCPOINT)
    lose(structure)
    recover(structure.group, "APPL1")
    for call, reason in (
        (before.commit, MQRC.BACKED_OUT),
        (lambda: queue.put(b"late", persistent()), MQRC.CF_STRUC_FAILED),
    ):
        with pytest.raises(MQIError) as caught:
            call()
        assert caught.value.reason == reason
    assert [body for _, body in content(structure)["FIFO"]] == [b"committed"]


def test_waits_and_groups_go_on_after_it(structure: TestGroup) -> None:
    with structure.connect().open("GROUPS", BOTH) as queue:
        put_member(queue, b"g", 1, b"one", MIG, persistence=1)
    backup(structure.group, "APPL1")
    lose(structure)
    recover(structure.group, "APPL1")
    got: list[bytes] = []

    def wait() -> None:
        with structure.connect().open("GROUPS", BOTH) as queue:
            got.append(queue.get(WHOLE_GROUP | GetOption.WAIT, wait_ms=60_000).body)

    thread = threading.Thread(target=wait)
    thread.start()
    with structure.connect().open("GROUPS", BOTH) as queue:
        put_member(queue, b"g", 2, b"two", LMIG, persistence=1)
        thread.join()
        assert (got, take_one(queue)) == ([b"one"], b"two")


def test_queues_defined_or_deleted_since_are_reported(structure: TestGroup) -> None:
    with structure.connect().open("PRIO", BOTH) as queue:
        queue.put(b"x", persistent())
    backup(structure.group, "APPL1")
    structure.repository("QM1").delete("QLOCAL", "PRIO", purge=True)
    structure.define_shared("NEW")
    lose(structure)

    recovered = recover(structure.group, "APPL1")

    assert (recovered.messages, recovered.dropped, recovered.missing) == (0, 1, ("NEW",))
    status, output = mqsc(structure, "DEFINE QLOCAL(NEW) QSGDISP(SHARED) CFSTRUCT(APPL1) REPLACE\n")
    assert status == 0, output
    assert content(structure, ["FIFO", "NEW"]) == {"FIFO": [], "NEW": []}


# -- killed ----------------------------------------------------------------------------------------------------


@pytest.mark.share
def test_killed_after_any_script_of_a_backup_the_one_before_it_counts(filled: TestGroup) -> None:
    expected = content(filled)
    first = backup(filled.group, "APPL1")
    with filled.connect().open("FIFO", BOTH) as queue:
        queue.put(b"new", persistent())
    calls = 1
    while killed_after(filled, calls, lambda: backup(filled.group, "APPL1")):
        assert len(Backup(first.path, filled.group.name, "APPL1")) == first.messages
        calls += 3
    assert calls > 10
    # That one finished.
    assert len(Backup(first.path, filled.group.name, "APPL1")) == first.messages + 1
    expected["FIFO"] = content(filled)["FIFO"]
    lose(filled)
    recover(filled.group, "APPL1")
    assert content(filled) == expected


@pytest.mark.share
def test_killed_after_any_script_of_a_recovery_another_one_completes_it(filled: TestGroup) -> None:
    expected = content(filled)
    backup(filled.group, "APPL1")
    lose(filled)
    calls = 1
    while killed_after(filled, calls, lambda: recover(filled.group, "APPL1")) and is_lost(filled.group, "APPL1"):
        with pytest.raises(MQIError):
            filled.connect().open("FIFO", BOTH)
        calls += 1
    assert calls > 8
    assert content(filled) == expected
    with pytest.raises(BackupError, match=r"CSQE101I.*not lost"):
        recover(filled.group, "APPL1")
    assert content(filled) == expected


def test_a_recovery_that_another_one_replaced_changes_nothing(
    filled: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = content(filled)
    backup(filled.group, "APPL1")
    lose(filled)
    call, is_overtaken = filled.group.call, False

    def overtaken(name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        nonlocal is_overtaken
        if name == "structure/restore" and not is_overtaken:
            is_overtaken = True
            # From another machine, which the lock on the file does not keep out.
            with monkeypatch.context() as patched:
                patched.setattr("sharedq.admin.backup.restoration.exclusively", lambda *_: nullcontext())
                recover(filled.group, "APPL1")
        return call(name, keys, args)

    monkeypatch.setattr(filled.group, "call", overtaken)
    with pytest.raises(BackupError, match="another RECOVER"):
        recover(filled.group, "APPL1")
    monkeypatch.undo()
    assert content(filled) == expected
