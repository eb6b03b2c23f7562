"""Managers of different hosts: the end of a link raises a suspicion, and the suspect is asked for a sign of life."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from igq.manager.incarnation import Inbox, Incarnation, IncarnationEnd
from igq.manager.membership import Membership
from igq.manager.peers import watch as peers_module
from igq.manager.peers.links import PeerLinks, own_address
from sharedq import connect
from sharedq.members.group import Group
from sharedq.members.news import suspect
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import error_for
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, until

HERE = ("127.0.0.1", 0)
Ended = queue.SimpleQueue[list[str]]


class Side:
    """The links of one manager, and what they have reported."""

    def __init__(self, token: str, group: str = "QSG1") -> None:
        self.token, self.ended = token, Ended()
        self.links = PeerLinks(group, token, HERE, self.ended.put)

    def reach(self, *others: Side) -> None:
        self.links.reach({each.token: each.links.address for each in others})

    def is_linked(self, other: Side) -> bool:
        return any(link.token == other.token and link.has_greeted for link in list(self.links._links))


@pytest.fixture
def sides() -> Iterator[tuple[Side, Side]]:
    found = Side("QM1.1"), Side("QM2.7")
    yield found
    for side in found:
        if side.links._thread.is_alive():
            side.links.close()


def linked(first: Side, second: Side) -> None:
    first.reach(second)
    until(lambda: first.is_linked(second) and second.is_linked(first), "they are linked")


def stranger(side: Side, said: bytes = b"") -> socket.socket:
    made = socket.create_connection(side.links.address, timeout=60)
    made.sendall(said)
    return made


@pytest.mark.share
@pytest.mark.parametrize("dies", [0, 1], ids=["the caller ends", "the called one ends"])
def test_the_other_side_hears_of_the_end(sides: tuple[Side, Side], dies: int) -> None:
    linked(*sides)
    sides[dies].links.close()
    assert sides[1 - dies].ended.get(timeout=60) == [sides[dies].token]
    assert sides[dies].ended.empty()


def test_a_manager_that_was_not_there_is_linked_later(sides: tuple[Side, Side]) -> None:
    first, second = sides
    with socket.create_server(HERE) as held:
        nobody = held.getsockname()
    first.links.reach({second.token: nobody})
    first.reach(second)
    until(lambda: first.is_linked(second), "they are linked")
    assert first.ended.empty()


def test_two_that_call_each_other_are_linked(sides: tuple[Side, Side]) -> None:
    first, second = sides
    first.reach(second)
    second.reach(first)
    until(lambda: first.is_linked(second) and second.is_linked(first), "they are linked")
    second.links.close()
    assert first.ended.get(timeout=60) == [second.token]


def test_a_linked_manager_is_not_called_again(sides: tuple[Side, Side]) -> None:
    first, second = sides
    linked(first, second)
    for _ in range(3):
        first.reach(second)
        second.reach(first)
    third = Side("QM3.1")
    linked(first, third)
    assert sorted(link.token for link in first.links._links) == [second.token, third.token]
    third.links.close()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"igq QSG2 QM9.1 QM1.1\n",
        b"igq QSG1 QM1.1 QM1.1\n",
        b"igq QSG1 QM9.1 QM7.1\n",
        b"igq QSG1 QM9.1 QM1.1\nmore",
        b"igq QSG1 QM9 QM1.1\n",
        b"\xff" * 500,
    ],
    ids=[
        "nothing",
        "http",
        "another group",
        "its own name",
        "for another",
        "more than a greeting",
        "no incarnation",
        "noise",
    ],
)
def test_a_stranger_raises_no_suspicion(sides: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    monkeypatch.setattr("igq.manager.peers.links._GREETING_S", 0.2)
    first, second = sides
    # The manager ends the connection.
    with stranger(first, said) as made, contextlib.suppress(ConnectionResetError):
        assert made.recv(100) == b""
    monkeypatch.undo()
    linked(first, second)
    second.links.close()
    assert first.ended.get(timeout=60) == [second.token]
    assert first.ended.empty()


def test_one_who_takes_the_port_of_a_manager_is_not_believed(sides: tuple[Side, Side]) -> None:
    """A port that is free again may go to any program, and to another manager."""
    first, second = sides
    third = Side("QM3.1")
    first.links.reach({third.token: second.links.address})
    linked(second, first)
    assert not first.is_linked(third)
    third.links.close()
    assert (first.ended.empty(), second.ended.empty()) == (True, True)


def test_who_speaks_after_the_greeting_is_cut_off_and_suspected(sides: tuple[Side, Side]) -> None:
    first, _ = sides
    with stranger(first, b"igq QSG1 QM9.1 QM1.1\n") as made:
        assert made.recv(100) == b"igq QSG1 QM1.1 QM9.1\n"
        made.sendall(b"more")
        assert first.ended.get(timeout=60) == ["QM9.1"]


def test_strangers_are_few_and_keep_no_manager_out_for_long(
    sides: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("igq.manager.peers.links._GREETING_S", 3.0)
    first, second = sides
    made = [stranger(first) for _ in range(40)]
    until(lambda: len(first.links._links) == 32, "so many are kept")
    until(lambda: not first.links._links, "their time is over")
    monkeypatch.undo()
    linked(second, first)
    for each in made:
        each.close()


def test_the_same_manager_is_not_suspected_all_the_time(sides: tuple[Side, Side]) -> None:
    first, second = sides
    for _ in range(20):
        with stranger(first, b"igq QSG1 QM9.1 QM1.1\n") as made:
            assert made.recv(100)
    linked(first, second)
    second.links.close()
    told: list[str] = []
    while "QM2.7" not in told:
        told += first.ended.get(timeout=60)
    assert 1 <= told.count("QM9.1") < 20


@pytest.mark.parametrize("lacks", ["to accept", "to call"])
def test_a_lack_of_open_files_passes_and_costs_no_processor(
    sides: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    first, second = sides
    tries: list[float] = []

    def lack(*_: object, **__: object) -> Any:
        tries.append(time.monotonic())
        raise OSError(errno.EMFILE, "too many open files")

    if lacks == "to accept":
        monkeypatch.setattr(socket.socket, "accept", lack)
    else:
        monkeypatch.setattr("igq.manager.peers.links.socket.socket", lack)
    first.reach(second)
    until(lambda: tries, "it was tried")
    monkeypatch.undo()
    linked(first, second)
    # A connection that is not taken stays ready: a loop that asks at once would ask thousands of times.
    assert len(tries) < 10


def test_nothing_is_left_of_links() -> None:
    before = open_files()
    first, second = Side("QM1.1"), Side("QM2.7")
    linked(first, second)
    stranger(first).close()
    for side in (first, second):
        side.links.close()
    assert open_files() == before


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_link_inside_a_machine_says_nothing_of_others() -> None:
    assert own_address(("127.0.0.1", 6379)) == ""
    assert own_address(("localhost", 6379)) == ""


# -- the suspicion -----------------------------------------------------------------------------------------------------


def lease_of(group: TestGroup, token: str) -> float:
    """Milliseconds until it runs out, by the server's clock."""
    seconds, micros = group.group.client().time()
    found: Any = group.group.client().zscore(group.group.keys.leases, token)
    return float(found) - (seconds * 1000 + micros / 1000)


def token_of(group: TestGroup, name: str) -> str:
    member = group.group.member(name)
    assert member is not None
    return member.token


@pytest.mark.share
@pytest.mark.invariant(2)
def test_a_suspected_manager_has_a_tenth_of_a_lease(group: TestGroup) -> None:
    group.add_member("QM2")
    first, second = token_of(group, "QM1"), token_of(group, "QM2")
    lease_ms = group.settings.lease_ms
    assert suspect(group.group, first, [second, "QM9.1"]) == [second]
    assert lease_of(group, second) <= lease_ms / 10
    assert lease_of(group, first) > lease_ms / 2
    # A suspect is asked once, however many managers have lost their links.
    assert suspect(group.group, first, [second]) == []
    assert group.group.client().lrange(group.group.keys.news + second, 0, -1) == [b"look"]


def test_a_manager_without_a_lease_suspects_nobody(group: TestGroup) -> None:
    group.add_member("QM2")
    first, second = token_of(group, "QM1"), token_of(group, "QM2")
    client, keys = group.group.client(), group.group.keys
    client.zadd(keys.leases, {first: 1})
    assert suspect(group.group, first, [second]) == []
    client.zrem(keys.leases, first)
    assert suspect(group.group, first, [second]) == []
    assert lease_of(group, second) > group.settings.lease_ms / 2


class Manager:
    """An incarnation in a thread, which believes that other machines reach it."""

    def __init__(self, group: TestGroup, name: str) -> None:
        def never(seconds: float) -> None:
            raise AssertionError(f"waits {seconds} s")

        self.group, self.name = group, name
        group.repository(name).prepare_manager(name)
        self.membership = Membership.join(group.group, name, {"pid": 1, "host": "elsewhere"}, never)
        self.inbox: Inbox = queue.SimpleQueue()
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.incarnation = Incarnation(
            self.membership, self.inbox, lambda what, **fields: self.said.append((what, fields))
        )
        self._opened = threading.Event()
        self.ending: IncarnationEnd | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._opened.wait(60)

    def _say(self, what: str, **fields: Any) -> None:
        self.said.append((what, fields))

    def _run(self) -> None:
        self.ending = self.incarnation.run(lambda: None, self._open)

    def _open(self, _: None) -> None:
        self.membership.tell(state="RUNNING")
        self._opened.set()

    @property
    def token(self) -> str:
        return self.membership.token

    @property
    def links(self) -> PeerLinks:
        found = self.incarnation._peers._links
        assert found is not None
        return found

    def is_linked(self, other: Manager) -> bool:
        links = self.incarnation._peers._links
        return links is not None and any(link.token == other.token and link.has_greeted for link in list(links._links))

    def stop(self) -> None:
        self.inbox.put(lambda: self.incarnation.request_stop(is_immediate=True))
        self._thread.join()


@pytest.fixture
def managers(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Manager, Manager]]:
    """QM2 and QM3, linked."""
    group.define_structure()
    group.define_shared("Q")
    monkeypatch.setattr(Incarnation, "_start_agent", lambda _self: None)
    monkeypatch.setattr(peers_module, "own_address", lambda _: "127.0.0.1")
    monkeypatch.setattr(peers_module.Peers, "_where_to_listen", lambda _self: HERE)
    found = Manager(group, "QM2"), Manager(group, "QM3")
    until(lambda: found[0].is_linked(found[1]) and found[1].is_linked(found[0]), "they are linked")
    yield found
    for manager in found:
        manager.stop()
    assert [manager.ending for manager in found] == [IncarnationEnd.STOPPED, IncarnationEnd.STOPPED]


@pytest.mark.invariant(2)
def test_a_manager_that_only_lost_a_link_answers_and_goes_on(managers: tuple[Manager, Manager]) -> None:
    first, second = managers
    for link in list(second.links._links):
        link.socket.shutdown(socket.SHUT_RDWR)
    until(lambda: ("IGQ0034I", {"target": second.token}) in first.said, "it was asked")
    until(lambda: ("IGQ0034I", {"target": first.token}) in second.said, "and so was the other one")
    until(lambda: all(map(has_renewed, managers)), "both have renewed their leases")
    # A link that is missing is made when they meet again.
    first.incarnation._peers.meet()
    until(lambda: first.is_linked(second), "they are linked again")


def has_renewed(manager: Manager) -> bool:
    return lease_of(manager.group, manager.token) > manager.group.settings.lease_ms / 2


def test_a_manager_that_stops_is_not_suspected(managers: tuple[Manager, Manager]) -> None:
    first, second = managers
    second.stop()
    until(lambda: not first.is_linked(second), "the link has ended")
    assert not [what for what, _ in first.said if what in ("IGQ0034I", "CSQE008I")]


@pytest.mark.invariant(3)
def test_a_manager_that_gives_no_sign_is_recovered_before_its_lease_ends(
    group: TestGroup, managers: tuple[Manager, Manager], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third manager's process dies; its lease lasts for minutes."""
    monkeypatch.setattr("sharedq.members.news._ANSWERS_PER_LEASE", 1_200)
    first, _ = managers
    with group.connect() as connection:
        connection.put1("Q", b"1")
    group.repository("QM4").prepare_manager("QM4")
    token = dying_manager(group, first)
    until(lambda: on_queue(group, "Q") == [(b"1", 1)], "the dead manager's work is backed out")
    assert ("IGQ0034I", {"target": token}) in first.said
    member = group.group.member("QM4")
    assert member is not None
    assert member.state == "FAILED"


def dying_manager(group: TestGroup, peer: Manager) -> str:
    """A manager QM4 with a program's uncommitted get, in a process that ends without a word. Returns its token."""
    told, tells = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            membership = Membership.join(Group(group.settings), "QM4", {"pid": 1, "host": "far"}, lambda _: None)
            membership.tell(state="RUNNING")
            held = connect("QM4", settings=group.settings).open("Q", BOTH)
            held.get(GetOption.SYNCPOINT)
            made = socket.create_connection(peer.links.address)
            made.sendall(f"igq {group.group.name} {membership.token} {peer.token}\n".encode())
            assert re.match(rb"igq ", made.recv(100))
            os.write(tells, membership.token.encode())
        finally:
            os._exit(1)
    os.close(tells)
    token = os.read(told, 100).decode()
    os.close(told)
    os.waitpid(pid, 0)
    assert token
    return token


def test_links_wait_for_no_lost_server(group: TestGroup, managers: tuple[Manager, Manager]) -> None:
    """If Redis cannot be asked, nobody is suspected."""
    first, second = managers
    with pytest.MonkeyPatch.context() as patching:

        def lost(*_: Any, **__: Any) -> Any:
            raise error_for(MQRC.CONNECTION_BROKEN, "", "QM2")

        patching.setattr(peers_module, "suspect", lost)
        for link in list(second.links._links):
            link.socket.shutdown(socket.SHUT_RDWR)
        until(lambda: not first.is_linked(second), "the link has ended")
    assert lease_of(group, second.token) > group.settings.lease_ms / 2
