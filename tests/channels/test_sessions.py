"""Programs that make calls through a channel: each verb, waits, and the end of a client."""

from __future__ import annotations

import errno
import getpass
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from igq.channels.frames import Verb
from igq.channels.handles import Handles
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.wire import GMO, MD
from tests.support.channel_client import RawClient
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, until

pytestmark = pytest.mark.share
Connect = Callable[[], RawClient]
BOTH = int(OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE | OpenOption.INQUIRE)
SYNCPOINT, WAIT = int(PutOption.SYNCPOINT), int(GetOption.WAIT)


def connections_of(group: TestGroup) -> list[dict[str, Any]]:
    """The facts that the group has of each connection of a channel's program."""
    found: Any = group.group.client().hgetall(group.group.keys.owners)
    return [info for info in map(json.loads, found.values()) if "channel" in info]


def test_a_message_is_put_and_got(connect: Connect) -> None:
    client = connect()
    handle = client.open("Q", BOTH)
    assert client.put(handle, b"hello").numbers == (0, 0)
    reply = client.get(handle)
    assert reply.numbers == (0, 0, 5)
    md, gmo = MD.unpack(reply.blobs[0]), GMO.unpack(reply.blobs[1])
    assert (reply.blobs[2], md.put_appl_name, gmo.resolved_q_name) == (b"hello", b"raw", b"Q")
    assert md.user_identifier == getpass.getuser().encode()[:12]
    assert client.call(Verb.CLOSE, (handle, 0)).numbers == (0, 0)
    assert client.call(Verb.DISC).numbers == (0, 0)
    assert client.socket.recv(1) == b""


def test_the_number_of_an_open_handle_is_not_given_again(group: TestGroup) -> None:
    group.define_private("QM1", "Q")
    handle = group.connect().open("Q", OpenOption.INPUT_SHARED).open_queue()
    handles = Handles()
    assert handles.add(handle) == 1
    # As after that many MQOPENs.
    handles._last = (1 << 31) - 2
    assert [handles.add(handle) for _ in range(3)] == [(1 << 31) - 1, 2, 3]


def test_a_get_without_a_message_waits(connect: Connect) -> None:
    one, other = connect(), connect()
    getting, putting = one.open("Q", BOTH), other.open("Q", BOTH)
    id_ = one.send_get(getting, WAIT, -1)
    assert other.put(putting, b"late").numbers == (0, 0)
    reply = one.receive()
    assert (reply.id, reply.blobs[2]) == (id_, b"late")


def test_a_wait_ends_with_its_interval(connect: Connect) -> None:
    client = connect()
    assert client.get(client.open("Q", BOTH), WAIT, 30).numbers[:2] == (2, MQRC.NO_MSG_AVAILABLE)


def test_a_wait_is_canceled(connect: Connect) -> None:
    client = connect()
    id_ = client.send_get(client.open("Q", BOTH), WAIT, -1)
    client.send(Verb.CANCEL, (id_,))
    reply = client.receive()
    assert (reply.id, reply.numbers[:2]) == (id_, (2, MQRC.NO_MSG_AVAILABLE))


def test_requests_that_were_sent_together_are_done_in_order(connect: Connect) -> None:
    client = connect()
    handle = client.open("Q", BOTH)
    ids = [client.send_get(handle) for _ in range(50)]
    assert [client.receive().id for _ in ids] == ids


def test_a_heartbeat_is_answered_while_a_get_waits(connect: Connect) -> None:
    client = connect()
    client.send_get(client.open("Q", BOTH), WAIT, -1)
    assert client.call(Verb.HEARTBEAT).numbers == ()


def test_a_lack_of_open_files_passes_and_costs_no_processor(channel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def lack(*_: object) -> None:
        tries.append(1)
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(socket.socket, "accept", lack)
    client = RawClient(channel)
    until(lambda: tries, "the connection was not taken")
    monkeypatch.undo()
    assert client.connect().numbers[:2] == (0, 0)
    # A connection that is not taken stays ready: a loop that asks at once would ask thousands of times.
    assert len(tries) < 10
    client.close()


def test_a_client_that_dies_is_backed_out(connect: Connect, group: TestGroup) -> None:
    client = connect()
    client.put(client.open("Q", BOTH), b"never", SYNCPOINT)
    client.close()
    other = connect()
    handle = other.open("Q", BOTH)
    until(lambda: len(connections_of(group)) == 1, "the connection of the client ends")
    assert other.get(handle).numbers[1] == MQRC.NO_MSG_AVAILABLE
    assert on_queue(group, "Q") == []


def test_a_client_that_dies_in_a_wait_takes_no_message(connect: Connect, group: TestGroup) -> None:
    client, other = connect(), connect()
    client.send_get(client.open("Q", BOTH), WAIT | int(GetOption.SYNCPOINT), -1)
    handle = other.open("Q", BOTH)
    client.close()
    until(lambda: len(connections_of(group)) == 1, "the connection of the client ends")
    other.put(handle, b"kept")
    assert other.get(handle).blobs[2] == b"kept"


def test_the_connection_shows_the_program(connect: Connect, group: TestGroup) -> None:
    connect()
    (info,) = connections_of(group)
    assert (info["appl"], info["user"]) == ("raw", getpass.getuser()[:12])


def test_hundreds_of_waiting_clients_cost_no_thread(connect: Connect) -> None:
    before = threading.active_count()
    clients = [connect() for _ in range(100)]
    for client in clients:
        client.send_get(client.open("Q", BOTH), WAIT, -1)
    assert threading.active_count() <= before + 3
    putter = connect()
    handle = putter.open("Q", BOTH)
    for number in range(100):
        putter.put(handle, b"%d" % number)
    assert {client.receive().blobs[2] for client in clients} == {b"%d" % number for number in range(100)}
