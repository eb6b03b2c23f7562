"""A structure loses its keys while programs use it: each call says so, nothing is half done, and RECOVER ends it.

A program's work there is gone with the structure, so everything that depended on it is backed out; the connection
itself, and its work in other structures, goes on. Handles of before the failure stay useless, also afterwards.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from sharedq.admin.backup.restoration import recover
from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.get import wait as waiting
from sharedq.mqi.constants import MQRC, GetOption, IntSelector, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias
from sharedq.objects.store.failures import LOST_QUEUES_REMEDY, failure_of
from tests.support.backups import killed_after, lose, mqsc, persistent
from tests.support.groups import drain
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import on_queue, until

ALL = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE | OpenOption.INQUIRE | OpenOption.SET


@pytest.mark.rule("mqi/reasons", "A queue of a failed structure cannot be opened: 2373, or 2346 during its recovery.")
def test_it_cannot_be_opened_until_it_is_recovered(used: TestGroup) -> None:
    used.define("QM1", QueueAlias(name="ALIAS", target="Q"))
    connection = used.connect()
    lose(used)
    for name in ("Q", "ALIAS"):
        assert reason_of(lambda name=name: connection.open(name, ALL)) == MQRC.CF_STRUC_FAILED  # type: ignore[misc]
        assert reason_of(lambda name=name: connection.put1(name, b"x")) == MQRC.CF_STRUC_FAILED  # type: ignore[misc]
    for command in ("ALTER QLOCAL(Q) GET(DISABLED)", "CLEAR QLOCAL(Q)", "DISPLAY QLOCAL(Q)", "DISPLAY QSTATUS(Q)"):
        status, output = mqsc(used, command + "\n")
        assert (status, "MQRC_CF_STRUC_FAILED (2373)" in output) == (10, True), output

    assert killed_after(used, 2, lambda: recover(used.group, "APPL1"))
    assert reason_of(lambda: connection.open("Q", ALL)) == MQRC.CF_STRUC_IN_USE
    recover(used.group, "APPL1")
    with connection.open("ALIAS", OpenOption.INPUT_SHARED) as queue:
        assert drain(queue) == [b"kept"]


def put_by_spread(group: TestGroup, kind: str) -> tuple[QueueManagerConnection, Callable[[], object]]:
    """A connection that knows APPL2 only, and how it puts by an alias that leads to APPL1, too."""
    connection = group.connect()
    if kind == "publication":
        return connection, partial(connection.open_topic("a").publish, b"x")
    if kind == "put1":
        return connection, partial(connection.put1, "SPREAD", b"x")
    queue = connection.open("SPREAD", OpenOption.OUTPUT)
    is_there = queue.handle.structure.keys.name == "APPL2"
    return (connection, partial(queue.put, b"x")) if is_there else put_by_spread(group, kind)


@pytest.mark.parametrize("kind", ["put1", "handle", "publication"])
def test_one_that_comes_there_while_it_has_failed_goes_on_after_its_recovery(used: TestGroup, kind: str) -> None:
    used.define("QM1", QueueAlias(name="SPREAD", target="Q", spread="OTHER", def_bind="NOTFIXED"))
    assert mqsc(used, "DEFINE SUB(SP) TOPICSTR('a') DEST(SPREAD) PSPROP(NONE)\n")[0] == 0
    connection, put = put_by_spread(used, kind)
    other = connection.open("OTHER", OpenOption.OUTPUT)
    lose(used)
    # Somebody notices it first, so that the group knows.
    assert reason_of(partial(used.connect().open, "Q", OpenOption.OUTPUT)) == MQRC.CF_STRUC_FAILED
    for _ in range(12):
        put()
    recover(used.group, "APPL1")
    other.put(b"in a unit of work", options=PutOption.SYNCPOINT)
    for _ in range(12):
        put()
    connection.commit()
    bodies = Counter(
        body for name, structure in (("Q", "APPL1"), ("OTHER", "APPL2")) for body, _ in on_queue(used, name, structure)
    )
    assert bodies == {b"kept": 1, b"x": 24, b"in a unit of work": 1}


@pytest.mark.unaccounted("a queue is lost by hand")
@pytest.mark.parametrize("what", ["QLOCAL", "QUEUE", "QSTATUS"])
def test_a_display_of_many_says_which_it_leaves_out(used: TestGroup, what: str) -> None:
    used.define_shared("Q2")
    command = f"DISPLAY {what}(*)\n"
    failed = "CSQM112E: Error accessing CFSTRUCT(APPL1), MQRC_CF_STRUC_FAILED (2373): APPL1 has lost its queues: "
    failed += f"{LOST_QUEUES_REMEDY}. Queues not shown: Q, Q2."
    in_use = "CSQM090E: CFSTRUCT(APPL1) is in use, MQRC_CF_STRUC_IN_USE (2346): APPL1 is being recovered. "
    in_use += "Queues not shown: Q, Q2."

    def shown(text: str) -> tuple[int, bool, list[str]]:
        status, output = mqsc(used, text)
        told = [line for line in output.splitlines() if "not shown" in line]
        return status, "QUEUE(OTHER)" in output, told

    assert shown(command) == (0, True, [])
    lose(used)
    assert shown(command) == (0, True, [failed])
    assert shown(f"DISPLAY {what}(Q*)\n") == (0, False, [failed])
    assert shown(f"DISPLAY {what}(OTHER)\n") == (0, True, [])
    if what != "QSTATUS":
        assert shown(f"DISPLAY {what}(*) CFSTRUCT(APPL2)\n") == (0, True, [])
        assert shown(f"DISPLAY {what}(*) CFSTRUCT(APPL1)\n") == (0, False, [failed])
    assert killed_after(used, 2, lambda: recover(used.group, "APPL1"))
    assert shown(command) == (0, True, [in_use])
    recover(used.group, "APPL1")
    # Q2 was defined after the backup: it is not there, and nothing is wrong with the structure.
    assert shown(command) == (0, True, [])


def test_an_unrecoverable_structure_is_redefined_as_its_error_says(used: TestGroup) -> None:
    used.repository("QM1").alter_structure("APPL1", {"recover": "NO"})
    lose(used)

    status, output = mqsc(used, "DISPLAY QLOCAL(Q)\n")

    assert (status, "DEFINE with REPLACE" in output) == (10, True), output
    status, output = mqsc(used, "DEFINE QLOCAL(Q) QSGDISP(SHARED) CFSTRUCT(APPL1) REPLACE\n")
    assert status == 0, output
    with used.connect().open("Q", ALL) as queue:
        assert drain(queue) == []


def test_a_deleted_queue_is_unknown_even_if_its_structure_has_failed(used: TestGroup) -> None:
    lose(used)
    used.repository("QM1").delete("QLOCAL", "Q")
    assert reason_of(lambda: used.connect().open("Q", ALL)) == MQRC.UNKNOWN_OBJECT_NAME


CALLS: dict[str, Callable[[Queue], object]] = {
    "MQPUT": lambda queue: queue.put(b"x"),
    "MQPUT in a unit of work": lambda queue: queue.put(b"x", options=PutOption.SYNCPOINT),
    "MQPUT of many": lambda queue: queue.put_many([(MQMD(), b"x")] * 3),
    "MQPUT that is too long": lambda queue: queue.put(bytes(5_000_000)),
    "MQGET": lambda queue: queue.get(),
    "MQGET in a unit of work": lambda queue: queue.get(GetOption.SYNCPOINT),
    "MQGET of many": lambda queue: queue.get_many(5),
    "MQGET that waits": lambda queue: queue.get(GetOption.WAIT, wait_ms=-1),
    "MQGET that browses": lambda queue: queue.get(GetOption.BROWSE_FIRST),
    "MQGET that locks": lambda queue: queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK),
    "MQGET that commits": lambda queue: queue.commit_and_get(GetOption.SYNCPOINT),
    "unlock": lambda queue: queue.unlock(),
    "MQINQ": lambda queue: queue.inquire(IntSelector.CURRENT_Q_DEPTH),
    "MQSET": lambda queue: queue.set({IntSelector.INHIBIT_GET: 1}),
}


@pytest.mark.rule(
    "mqi/reasons", "A handle on a structure that has failed ends with 2373, and stays unusable after the recovery."
)
@pytest.mark.parametrize("name", CALLS)
def test_an_old_handle_says_so_and_stays_useless(used: TestGroup, name: str) -> None:
    call, connection = CALLS[name], used.connect()
    queue, other = connection.open("Q", ALL), connection.open("OTHER", ALL)
    lose(used)
    assert reason_of(lambda: call(queue)) == MQRC.CF_STRUC_FAILED
    other.put(b"the connection goes on")
    recover(used.group, "APPL1")
    for again in CALLS.values():
        assert reason_of(lambda again=again: again(queue)) == MQRC.CF_STRUC_FAILED  # type: ignore[misc]
    queue.close()
    with connection.open("Q", ALL) as anew:
        anew.put(b"anew")
        assert drain(anew) == [b"kept", b"anew"]
    assert drain(other) == [b"the connection goes on"]


#: They only read, and change nothing.
HARMLESS = ("MQINQ", "MQPUT that is too long")


@pytest.mark.parametrize("name", [name for name in CALLS if name not in HARMLESS])
def test_nor_is_one_that_learns_of_it_when_it_is_over(used: TestGroup, name: str) -> None:
    connection = used.connect()
    queue = connection.open("Q", ALL)
    lose(used)
    recover(used.group, "APPL1")
    assert reason_of(lambda: CALLS[name](queue)) == MQRC.CF_STRUC_FAILED
    with connection.open("Q", ALL) as anew:
        assert drain(anew) == [b"kept"]
    status = used.repository("QM1").queue_status("Q")
    assert (status.open_input, status.open_output, status.handles) == (0, 0, 0)


def test_old_exclusive_input_excludes_no_other_and_takes_nothing(used: TestGroup) -> None:
    before = used.connect().open("Q", OpenOption.INPUT_EXCLUSIVE)
    lose(used)
    recover(used.group, "APPL1")
    with used.connect().open("Q", OpenOption.INPUT_EXCLUSIVE) as now:
        assert reason_of(before.get) == MQRC.CF_STRUC_FAILED
        assert now.get().body == b"kept"


def waiter_of(group: TestGroup, got: list[object]) -> threading.Thread:
    """A program that waits without limit for a second message."""
    connection = group.connect()
    queue = connection.open("Q", ALL)
    queue.get()

    def wait() -> None:
        try:
            got.append(queue.get(GetOption.WAIT, wait_ms=-1).body)
        except MQIError as error:
            got.append(error.reason)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    key = group.group.structure("APPL1").queue("Q").waiters
    until(lambda: group.group.client().zcard(key) == 1, "it waits")
    return thread


def test_a_wait_ends_when_the_group_learns_of_the_failure(used: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    # It must not look on its own.
    monkeypatch.setattr(waiting, "BLOCK_MAX_S", 3600.0)
    got: list[object] = []
    thread = waiter_of(used, got)
    lose(used)
    assert reason_of(lambda: used.connect().open("Q", ALL)) == MQRC.CF_STRUC_FAILED
    # The news wake it: no renewal comes within this test.
    thread.join(120)
    assert got == [MQRC.CF_STRUC_FAILED]


def test_an_old_wait_gets_no_later_message(used: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "BLOCK_MAX_S", 3600.0)
    got: list[object] = []
    thread = waiter_of(used, got)
    lose(used)
    recover(used.group, "APPL1")
    used.connect().put1("Q", b"after")
    # The news wake it: no renewal comes within this test.
    thread.join(120)
    assert got == [MQRC.CF_STRUC_FAILED]
    with used.connect().open("Q", ALL) as queue:
        assert drain(queue) == [b"kept", b"after"]


def test_the_group_learns_once_of_each_failure(used: TestGroup) -> None:
    group = used.group

    def told() -> int:
        return int(group.command(group.keys.members, "HGET", group.keys.members, "!structures") or 0)

    assert failure_of(group, "APPL1") is None
    for count in (1, 2):
        lose(used)
        for _ in range(3):
            assert reason_of(lambda: used.connect().open("Q", ALL)) == MQRC.CF_STRUC_FAILED
        known = failure_of(group, "APPL1")
        assert known is not None
        assert (known.is_failed, known.count, told()) == (True, count, 2 * count - 1)
        recover(group, "APPL1")
        known = failure_of(group, "APPL1")
        assert known is not None
        assert (known.is_failed, known.count, told()) == (False, count, 2 * count)
    # Also a failure that no process noticed.
    lose(used)
    recover(group, "APPL1")
    assert told() == 6


def test_an_older_observation_is_not_reported(used: TestGroup) -> None:
    group = used.group
    lose(used)
    seen_before = failure_of(group, "APPL1")
    recover(group, "APPL1")
    keys = [group.keys.members, group.keys.failures]
    assert seen_before is None
    assert group.call("admin/structure_state", keys, ["APPL1", "FAILED", ""]) == 0
    assert failure_of(group, "APPL1") is not None


class Program(threading.Thread):
    """Puts, gets, waits and works over both structures, and reopens what has failed, until told to stop."""

    def __init__(self, group: TestGroup, number: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.group, self.number, self.stop_event = group, number, stop
        self.random = random.Random(number)
        self.connection = group.connect()
        self.reasons: Counter[MQRC] = Counter()
        self.put_of_opens: dict[bytes, int] = {}
        self.opens = 0
        self.moved: list[tuple[bytes, str]] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stop_event.is_set():
                try:
                    self.use()
                except MQIError as error:
                    self.reasons[error.reason] += 1
                    if error.reason not in (MQRC.CF_STRUC_FAILED, MQRC.CF_STRUC_IN_USE):
                        raise
        except BaseException as error:  # noqa: BLE001 - the test tells it
            self.failure = error

    def use(self) -> None:
        self.connection.backout()
        self.opens += 1
        with self.connection.open("Q", ALL) as queue, self.connection.open("OTHER", ALL) as other:
            for count in range(self.random.randrange(1, 30)):
                body = b"%d-%d-%d" % (self.number, self.opens, count)
                how = self.random.randrange(4)
                if how == 0:
                    self.put_of_opens[queue.put(body, persistent()).msg_id] = self.opens
                elif how == 1:
                    self.move(queue, other, body)
                elif how == 2:
                    self.wait(queue)
                else:
                    queue.put(body, persistent(), options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
                    self.end()

    def move(self, queue: Queue, other: Queue, body: bytes) -> None:
        queue.put(body, persistent(), options=PutOption.SYNCPOINT)
        other.put(body, persistent(), options=PutOption.SYNCPOINT)
        self.moved.append((body, self.end()))

    def end(self) -> str:
        try:
            self.connection.commit()
        except MQIError as error:
            if error.reason not in (MQRC.BACKED_OUT, MQRC.OUTCOME_MIXED):
                raise
            return error.reason.name
        return "COMMITTED"

    def wait(self, queue: Queue) -> None:
        try:
            queue.get(GetOption.WAIT | GetOption.SYNCPOINT, wait_ms=20)
        except MQIError as error:
            if error.reason != MQRC.NO_MSG_AVAILABLE:
                raise
        self.end()


def test_under_load_nothing_is_half_done_and_old_handles_do_nothing(
    used: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "BLOCK_MAX_S", 0.5)
    stop = threading.Event()
    programs = [Program(used, number, stop) for number in range(4)]
    for program in programs:
        program.start()
    opens = [0] * len(programs)

    def everybody_has_begun_anew() -> bool:
        return all(each.failure or each.opens >= before + 2 for each, before in zip(programs, opens, strict=True))

    for _ in range(5):
        until(everybody_has_begun_anew, "programs work")
        lose(used)
        until(lambda: all(each.failure or each.reasons for each in programs), "programs are told")
        recover(used.group, "APPL1")
        opens = [each.opens for each in programs]
        for each in programs:
            each.reasons.clear()
    until(everybody_has_begun_anew, "programs work")
    stop.set()
    for program in programs:
        program.join(120)
        assert program.failure is None, program.failure
        program.connection.disconnect()

    with used.connect().open("OTHER", ALL) as other:
        there = Counter(drain(other))
    for program in programs:
        for body, outcome in program.moved:
            assert there[body] == (outcome != "BACKED_OUT"), (body, outcome)
    # The contents and registrations of a queue belong to this life of the structure only.
    keys = used.group.structure("APPL1")
    state: Any = used.group.client().hgetall(keys.queue("Q").queue)
    assert [int(state.get(name, 0)) for name in (b"pu", b"gu", b"ip", b"op", b"nw")] == [0] * 5
    with used.connect().open("Q", ALL) as queue:
        left = drain(queue)
    assert len(left) == len(set(left))
    assert on_queue(used, "Q") == []
    assert used.group.command(keys.messages, "HLEN", keys.messages) == 0
