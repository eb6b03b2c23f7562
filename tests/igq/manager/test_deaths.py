"""A manager notices the death of a program at once, long before its lease runs out, and nothing else."""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from igq.manager.incarnation import Inbox, Incarnation, IncarnationEnd
from igq.manager.membership import Heartbeat, Membership, host_name
from igq.manager.peers.watch import DeathWatch
from sharedq.api import connect
from sharedq.members.group import Group
from sharedq.members.presence import BEGINS, ENDS, address_of, tell_presence
from sharedq.mqi.constants import MQRC, GetOption, PutOption
from sharedq.mqi.errors import error_for
from sharedq.redis.link import Reply, ScriptCall
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.program import Program
from tests.support.scenes import on_queue, until

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells the end of another's process")

ADDRESS = address_of(os.getpid(), "QM7.1")
LAST = "QM7.1.999"


class Forked:
    """A process that sends something to the watch, then waits to be killed, or told to end."""

    def __init__(self, *messages: tuple[bytes, str], user: int | None = None) -> None:
        self._heard, said = os.pipe()
        ends, self._end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._end)
                if user is not None:
                    os.setuid(user)
                for what, token in messages:
                    tell_presence(ADDRESS, what, token)
                os.write(said, b"said")
                goodbye = os.read(ends, 100)
                if goodbye:
                    tell_presence(ADDRESS, ENDS, goodbye.decode())
            finally:
                os._exit(0)
        os.close(said)
        os.close(ends)
        assert os.read(self._heard, 4) == b"said"

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self._reap()

    def end(self) -> None:
        os.close(self._end)
        self._end = -1
        self._reap()

    def end_with_goodbye(self, token: str) -> None:
        os.write(self._end, token.encode())
        self._reap()

    def _reap(self) -> None:
        os.waitpid(self.pid, 0)
        for each in (self._heard, self._end):
            with contextlib.suppress(OSError):
                os.close(each)


Deaths = queue.SimpleQueue[tuple[str, int]]


@pytest.fixture
def watched() -> Iterator[tuple[DeathWatch, Deaths]]:
    told: Deaths = queue.SimpleQueue()
    watch = DeathWatch("QM7.1", lambda *who: told.put(who), lambda: None)
    yield watch, told
    watch.close()


@pytest.fixture
def watch(watched: tuple[DeathWatch, Deaths]) -> DeathWatch:
    return watched[0]


@pytest.fixture
def deaths(watched: tuple[DeathWatch, Deaths]) -> Deaths:
    """The reports of a watch."""
    return watched[1]


def told_before_next(deaths: Deaths) -> list[tuple[str, int]]:
    """All reports before the death of one more process."""
    last = Forked((BEGINS, LAST))
    last.kill()
    told = [deaths.get(timeout=60)]
    while told[-1] != (LAST, last.pid):
        told.append(deaths.get(timeout=60))
    return told[:-1]


def test_every_token_of_a_killed_process_is_reported_once(deaths: Deaths) -> None:
    killed = Forked((BEGINS, "QM7.1.4"), (BEGINS, "QM7.1.5"), (BEGINS, "QM7.1.4"))
    killed.kill()
    assert [deaths.get(timeout=60) for _ in range(2)] == [("QM7.1.4", killed.pid), ("QM7.1.5", killed.pid)]
    assert told_before_next(deaths) == []


def test_a_process_that_ends_silently_is_reported_too(deaths: Deaths) -> None:
    ended = Forked((BEGINS, "QM7.1.4"))
    ended.end()
    assert deaths.get(timeout=60) == ("QM7.1.4", ended.pid)


def test_a_process_that_ended_cleanly_is_not_reported(deaths: Deaths) -> None:
    ended = Forked((BEGINS, "QM7.1.4"), (ENDS, "QM7.1.4"))
    other = Forked((BEGINS, "QM7.1.5"), (BEGINS, "QM7.1.6"), (ENDS, "QM7.1.5"))
    ended.kill()
    other.kill()
    assert told_before_next(deaths) == [("QM7.1.6", other.pid)]


def test_a_goodbye_and_the_end_may_be_seen_in_one_moment() -> None:
    told: Deaths = queue.SimpleQueue()
    is_slow, go_on = threading.Event(), threading.Event()

    def on_death(*who: Any) -> None:
        told.put(who)
        is_slow.set()
        go_on.wait()

    watch = DeathWatch("QM7.1", on_death, lambda: None)
    try:
        leaving = Forked((BEGINS, "QM7.1.4"))
        Forked((BEGINS, "QM7.1.5")).kill()
        assert is_slow.wait(60)
        leaving.end_with_goodbye("QM7.1.4")
        Forked((BEGINS, "QM7.1.6"), (BEGINS, "QM7.1.7"), (ENDS, "QM7.1.6"), (ENDS, "QM7.1.7")).kill()
        go_on.set()
        assert told.get(timeout=60)[0] == "QM7.1.5"
        assert told_before_next(told) == []
    finally:
        go_on.set()
        watch.close()


def test_no_process_can_speak_for_another(deaths: Deaths) -> None:
    """The kernel identifies the sender: the end of one process does not report tokens that another one sent."""
    living = Forked((BEGINS, "QM7.1.4"))
    liar = Forked((ENDS, "QM7.1.4"), (BEGINS, "QM7.1.4"))
    liar.kill()
    assert deaths.get(timeout=60) == ("QM7.1.4", liar.pid)
    living.kill()
    assert deaths.get(timeout=60) == ("QM7.1.4", living.pid)


def test_a_process_gone_before_its_message_is_read_is_reported(deaths: Deaths, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_pid: int) -> int:
        raise ProcessLookupError

    monkeypatch.setattr(os, "pidfd_open", gone)
    Forked((BEGINS, "QM7.1.4")).kill()
    assert deaths.get(timeout=60)[0] == "QM7.1.4"


def test_a_malformed_message_is_skipped(deaths: Deaths) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        for text in (b"", b"?", b"-", b"-nobody", b"\xff" * 10_000):
            sender.sendto(text, ADDRESS)
    assert told_before_next(deaths) == []


@pytest.mark.parametrize("token", ["", "QM7.1", "QM7.1.", "QM7.10.4", "QM7.1.4.2", "QM7.1.4\n", "QM7.1." + "9" * 99])
def test_a_foreign_program_is_not_watched(watch: DeathWatch, deaths: Deaths, token: str) -> None:
    process = Forked((BEGINS, token))
    assert told_before_next(deaths) == []
    assert process.pid not in watch._watched
    process.kill()
    assert told_before_next(deaths) == []


def test_another_user_is_not_heard(watch: DeathWatch, deaths: Deaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any user of the machine can send to the address. He must not use up the manager's open files."""
    heard, hear, own = threading.Event(), watch._hear, watch._users

    def hear_and_tell(selector: selectors.BaseSelector) -> bool:
        is_heard = hear(selector)
        if is_heard:
            heard.set()
        return is_heard

    monkeypatch.setattr(watch, "_hear", hear_and_tell)
    watch._users = {os.geteuid() + 1}
    process = Forked((BEGINS, "QM7.1.4"))
    assert heard.wait(60)
    watch._users = own
    assert told_before_next(deaths) == []
    assert process.pid not in watch._watched
    process.kill()
    assert told_before_next(deaths) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_messages_of_root_count_and_those_of_user_nobody_do_not(deaths: Deaths) -> None:
    nobody, root = Forked((BEGINS, "QM7.1.4"), user=65534), Forked((BEGINS, "QM7.1.5"))
    nobody.kill()
    root.kill()
    assert told_before_next(deaths) == [("QM7.1.5", root.pid)]


def test_no_more_processes_are_watched_than_may_be(watch: DeathWatch, deaths: Deaths) -> None:
    watch._most = 2
    processes = [Forked((BEGINS, f"QM7.1.{number}")) for number in range(4)]
    processes.pop(0).kill()
    assert deaths.get(timeout=60)[0] == "QM7.1.0"
    # There is room again, but a message that came too late was not kept. The lease tells of that death.
    assert told_before_next(deaths) == []
    for process in processes:
        process.kill()
    assert told_before_next(deaths) == [("QM7.1.1", processes[0].pid)]


def test_nothing_is_left_of_a_watch() -> None:
    def there() -> set[object]:
        """Threads and open files of this process. Other tests may have left some, which end at any time."""
        found: set[object] = set(threading.enumerate())
        for descriptor in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(descriptor.readlink())
        return found

    before = there()
    told: Deaths = queue.SimpleQueue()
    watch = DeathWatch("QM7.1", lambda *who: told.put(who), lambda: None)
    process = Forked((BEGINS, "QM7.1.4"))
    assert there() - before
    watch.close()
    process.kill()
    assert there() - before == set()
    tell_presence(ADDRESS, BEGINS, "QM7.1.5")


@pytest.mark.parametrize("is_first_here", [True, False], ids=["greets", "is greeted"])
def test_two_managers_that_hear_each_other_watch_each_other(watch: DeathWatch, is_first_here: bool) -> None:
    other = DeathWatch("QM8.3", lambda *_: None, lambda: None)
    greeting, name = (watch, "QM8.3") if is_first_here else (other, "QM7.1")
    greeting.greet([(os.getpid(), name)])
    until(lambda: tokens_of(watch) == {"QM8.3"}, "the first watches the second")
    until(lambda: tokens_of(other) == {"QM7.1"}, "the second watches the first")
    other.close()
    until(lambda: not tokens_of(watch), "a manager that has ended in good order is watched no more")


def tokens_of(watch: DeathWatch) -> set[str]:
    return {token for each in list(watch._watched.values()) for token in each.tokens}


def test_a_manager_that_is_killed_is_reported(deaths: Deaths) -> None:
    manager = Forked((BEGINS, "QM8.3"))
    manager.kill()
    assert deaths.get(timeout=60) == ("QM8.3", manager.pid)


def test_a_manager_is_not_watched_as_another(watch: DeathWatch, deaths: Deaths) -> None:
    """Its own incarnation, and what is no incarnation at all."""
    for token in ("QM7.1", "QM8.3.5", "QM8", "QM 8.3", "8.3"):
        Forked((BEGINS, token)).kill()
    assert told_before_next(deaths) == []
    assert not tokens_of(watch)


def test_a_second_watch_at_one_address_is_refused(deaths: Deaths) -> None:
    with pytest.raises(OSError, match="in use"):
        DeathWatch("QM7.1", lambda *_: None, lambda: None)
    assert told_before_next(deaths) == []


@pytest.fixture
def said(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """The log messages of a manager QM2 that runs in a thread, without an agent."""
    group.define_structure()
    group.define_shared("Q")
    group.repository("QM2").prepare_manager("QM2")
    monkeypatch.setattr(Incarnation, "_start_agent", lambda _self: None)
    told: list[tuple[str, dict[str, Any]]] = []

    def never(seconds: float) -> None:
        raise AssertionError(f"waits {seconds} s")

    membership = Membership.join(group.group, "QM2", {"pid": os.getpid(), "host": "here"}, never)
    inbox: Inbox = queue.SimpleQueue()
    incarnation = Incarnation(membership, inbox, lambda message_id, **fields: told.append((message_id, fields)))
    opened = threading.Event()

    def open_for_business(_prepared: None) -> None:
        membership.tell(state="RUNNING")
        opened.set()

    endings: list[IncarnationEnd] = []
    thread = threading.Thread(target=lambda: endings.append(incarnation.run(lambda: None, open_for_business)))
    thread.start()
    assert opened.wait(60)
    yield told
    inbox.put(lambda: incarnation.request_stop(is_immediate=True))
    thread.join()
    assert endings == [IncarnationEnd.STOPPED]


def known_processes(group: TestGroup) -> list[str]:
    keys = group.group.keys
    return [name.decode() for name in group.group.command(keys.processes, "HKEYS", keys.processes)]


def test_a_killed_programs_work_is_backed_out_at_once(group: TestGroup, said: list[tuple[str, dict[str, Any]]]) -> None:
    with group.connect() as connection:
        connection.put1("Q", b"1")
    program = Program(group.settings, "QM2")
    token = program.token.rpartition(".")[0]
    try:
        assert program.does("get uncommitted") == "1"
        assert program.does("put uncommitted") == "ok"
    finally:
        program.close()
    # Its lease lasts for minutes.
    until(lambda: on_queue(group, "Q") == [(b"1", 1)], "the killed program's work is backed out")
    until(lambda: "CSQE014I" in dict(said), "the recovery is told")
    assert dict(said)["CSQ3201E"] == {"target": token, "pid": program.process.pid}
    assert token not in known_processes(group)
    with group.connect() as connection:
        assert connection.open("Q", BOTH).get(GetOption.SYNCPOINT).body == b"1"


class Peer:
    """A manager QM3 in a process of its own, with a program's uncommitted get and put; nobody renews its lease."""

    def __init__(self, group: TestGroup, *, host: str = "", pid: int = 0, says: str = "") -> None:
        told, tells = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._work(group, host or host_name(), pid or os.getpid(), says)
                os.write(tells, b"done")
                signal.pause()
            finally:
                os._exit(1)
        os.close(tells)
        assert os.read(told, 4) == b"done"
        os.close(told)

    def _work(self, group: TestGroup, host: str, pid: int, says: str) -> None:
        def never(seconds: float) -> None:
            raise AssertionError(f"waits {seconds} s")

        own = Group(group.settings)
        membership = Membership.join(own, "QM3", {"pid": pid, "host": host}, never)
        membership.tell(state="RUNNING")
        connection = connect("QM3", settings=group.settings)
        queue = connection.open("Q", BOTH)
        queue.get(GetOption.SYNCPOINT)
        queue.put(b"never", options=PutOption.SYNCPOINT)
        peer = own.member("QM2")
        assert peer is not None
        tell_presence(address_of(peer.pid, peer.token), BEGINS, says or membership.token)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def test_a_killed_managers_work_is_backed_out_at_once(group: TestGroup, said: list[tuple[str, dict[str, Any]]]) -> None:
    with group.connect() as connection:
        connection.put1("Q", b"1")
    group.repository("QM3").prepare_manager("QM3")
    peer = Peer(group)
    peer.kill()
    # Its lease lasts for minutes.
    until(lambda: on_queue(group, "Q") == [(b"1", 1)], "the killed manager's work is backed out")
    until(lambda: "CSQE014I" in dict(said), "the recovery is told")
    member = group.group.member("QM3")
    assert member is not None
    assert member.state == "FAILED"
    assert dict(said)["IGQ0033E"] == {"target": member.token, "pid": peer.pid}


@pytest.mark.invariant(2)
@pytest.mark.parametrize("why", [{"host": "elsewhere"}, {"pid": 1}, {"says": "QM3.99"}], ids=str)
def test_a_manager_that_redis_knows_as_another_process_keeps_its_lease(
    group: TestGroup, said: list[tuple[str, dict[str, Any]]], why: dict[str, Any]
) -> None:
    """Any process of this user can say that it is a manager, and then end."""
    with group.connect() as connection:
        connection.put1("Q", b"1")
    group.repository("QM3").prepare_manager("QM3")
    peer = Peer(group, **why)
    peer.kill()
    program = Program(group.settings, "QM2")
    program.close()
    until(lambda: "CSQ3201E" in dict(said), "a program that died later has been recovered")
    assert "IGQ0033E" not in dict(said)
    assert on_queue(group, "Q") == []
    member = group.group.member("QM3")
    assert member is not None
    assert member.state == "RUNNING"


@pytest.mark.usefixtures("said")
@pytest.mark.parametrize("is_busy", [False, True])
def test_the_work_of_a_connection_that_a_living_program_lost_is_backed_out_at_once(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, *, is_busy: bool
) -> None:
    with group.connect() as connection:
        connection.put1("Q", b"1")
    lost = connect("QM2", settings=group.settings)
    process, refusals = lost.connection.process, [error_for(MQRC.UNEXPECTED_ERROR, "", "", "BUSY")] if is_busy else []
    call = process.lease.call

    def refused_at_first(script: ScriptCall) -> Reply:
        if script[0] == "admin/abandon" and refusals:
            raise refusals.pop()
        return call(script)

    monkeypatch.setattr(process.lease, "call", refused_at_first)
    with connect("QM2", settings=group.settings):
        assert lost.open("Q", BOTH).get(GetOption.SYNCPOINT).body == b"1"
        lost.connection.break_off()
        # Leases last for minutes.
        until(lambda: on_queue(group, "Q") == [(b"1", 1)], "the lost connection's work is backed out")
        assert not refusals


def test_a_program_that_lives_or_has_disconnected_is_left_alone(
    group: TestGroup, said: list[tuple[str, dict[str, Any]]]
) -> None:
    gone, living, killed = (Program(group.settings, "QM2") for _ in range(3))
    try:
        assert living.does("put uncommitted") == "ok"
        assert gone.does("disconnect") == "ok"
        gone.close()
        # Another process claims to be the living one, and dies.
        token = living.token.rpartition(".")[0]
        process = say_as(token, "QM2.1")
        os.waitpid(process, 0)
        killed.close()
        until(lambda: "CSQE014I" in dict(said), "the killed one is recovered")
        targets = [fields["target"] for message_id, fields in said if message_id == "CSQ3201E"]
        assert targets == [killed.token.rpartition(".")[0]]
        assert living.does("commit") == "ok"
        assert on_queue(group, "Q") == [(b"never", 0)]
    finally:
        for program in (gone, living, killed):
            program.close()


def say_as(token: str, incarnation: str) -> int:
    """A process that claims to be *token*, and ends."""
    address = address_of(os.getpid(), incarnation)
    if (pid := os.fork()) == 0:
        try:
            tell_presence(address, BEGINS, token)
        finally:
            os._exit(0)
    return pid


@pytest.fixture
def tell_loss(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """The callback for lost connections that a manager passes to its watch when it starts."""
    taken: list[Callable[[], None]] = []
    monkeypatch.setattr("igq.manager.peers.watch.watch_deaths", lambda *arguments: taken.append(arguments[-1]))
    return taken


def test_losses_that_are_told_while_the_manager_is_busy_make_one_look(
    tell_loss: list[Callable[[], None]], said: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that reports without end must not delay the manager's other work."""
    look_again, looks, may_go_on = Heartbeat.look_again, list[Heartbeat](), threading.Event()

    def slowly(self: Heartbeat) -> None:
        looks.append(self)
        may_go_on.wait()
        look_again(self)

    monkeypatch.setattr(Heartbeat, "look_again", slowly)
    (tell,) = tell_loss
    tell()
    until(lambda: looks, "it is busy")
    for _ in range(1000):
        tell()
    may_go_on.set()
    until(lambda: len(looks) > 1, "it looks for those that were told meanwhile")
    tell()
    until(lambda: len(looks) > 2, "it looks for what is told later")
    assert len(looks) == 3
    assert "CSQE014I" not in dict(said)
