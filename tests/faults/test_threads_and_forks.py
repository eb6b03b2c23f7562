"""Two threads on one connection take turns; a forked child has no part in its parent's connections."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from sharedq.api import connect
from sharedq.members.process import process_for, release_process
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, stored, until

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE


def test_two_threads_put_and_get_over_one_connection(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)

    def put_and_get(name: int) -> list[bytes]:
        found = []
        for n in range(50):
            queue.put(b"%d %d" % (name, n))
            found.append(queue.get().body)
        return found

    with ThreadPoolExecutor(2) as pool:
        bodies = sorted(body for bodies in pool.map(put_and_get, range(2)) for body in bodies)
    assert bodies == sorted(b"%d %d" % (name, n) for name in range(2) for n in range(50))


def test_two_threads_share_one_unit_of_work(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)

    def put(name: int) -> None:
        for n in range(25):
            queue.put(b"%d %d" % (name, n), options=PutOption.SYNCPOINT)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(put, range(2)))
    assert on_queue(group, "Q") == []
    connection.commit()
    assert len(on_queue(group, "Q")) == 50


def test_a_call_waits_for_the_wait_of_another_thread(group: TestGroup) -> None:
    """MQCNO_HANDLE_SHARE_BLOCK."""
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    key = group.group.structure("APPL1").queue("Q").waiters
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(queue.get, GetOption.WAIT, wait_ms=60_000)
        until(lambda: group.group.client().zcard(key) == 1, "it waits")
        blocked = pool.submit(queue.get, GetOption.BROWSE_FIRST)
        with group.connect() as other:
            other.put1("Q", b"1")
        assert waiting.result(30).body == b"1"
        with pytest.raises(MQIError) as caught:
            blocked.result(30)
        assert caught.value.reason == MQRC.NO_MSG_AVAILABLE


def test_threads_that_connect_and_disconnect_share_a_registration(group: TestGroup) -> None:
    """The end of the last connection must not take the registration from a connection that is about to be made."""

    def come_and_go(_: int) -> None:
        for _ in range(20):
            connect("QM1", settings=group.settings).disconnect()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(come_and_go, range(3)))
    assert group.group.client().hlen(group.group.keys.processes) == 0
    assert group.group.client().hlen(group.group.keys.owners) == 0


def test_a_reserved_registration_outlives_the_last_connection(group: TestGroup) -> None:
    process = process_for(group.group, "QM1")
    other = process_for(group.group, "QM1")
    assert other is process
    release_process(process, is_reserved=True)
    assert process.is_alive
    release_process(other, is_reserved=True)
    assert not process.is_alive


def in_child(act: Callable[[], str]) -> str:
    """The result of *act* in a forked child."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        answer = ""
        try:
            answer = act()
        except BaseException:  # noqa: BLE001 - nothing may leave the child but its answer
            answer = traceback.format_exc()
        finally:
            os.write(writing, answer.encode())
            # Exit past the handlers of the parent's test run.
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        said = answers.read().decode()
    os.waitpid(pid, 0)
    return said


@pytest.mark.invariant(2)
def test_a_forked_child_cannot_use_its_parents_connection(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"1", options=PutOption.SYNCPOINT)

    def put_and_end() -> str:
        said = []
        for act in (lambda: queue.put(b"child"), connection.commit, connection.disconnect):
            try:
                act()
                said.append("done")
            except MQIError as error:
                said.append(str(error))
        connection.connection.process.end()
        return "\n".join(said)

    lines = in_child(put_and_end).splitlines()
    assert len(lines) == 3
    assert "MQRC_CONNECTION_BROKEN (2009)" in lines[0]
    assert "forked" in lines[0]
    assert all("2009" in line for line in lines[:2])

    queue.put(b"2", options=PutOption.SYNCPOINT)
    connection.commit()
    assert on_queue(group, "Q") == [(b"1", 0), (b"2", 0)]
    assert connection.connection.process.is_alive
    assert group.group.client().zscore(group.group.keys.leases, connection.connection.process.token) is not None


def test_a_forked_child_makes_connections_of_its_own(group: TestGroup) -> None:
    group.define_shared("Q")
    parent = connect("QM1", settings=group.settings)
    parent.put1("Q", b"parent")

    def work() -> str:
        with connect("QM1", settings=group.settings) as child:
            child.put1("Q", b"child")
            return child.connection.process.token

    token = in_child(work)
    assert token.startswith("QM1.1.")
    assert token != parent.connection.process.token
    parent.put1("Q", b"parent again")
    parent.disconnect()
    assert [body for body, _ in on_queue(group, "Q")] == [b"parent", b"child", b"parent again"]
    assert stored(group) == 3


def test_a_child_forked_in_the_middle_of_a_call_can_work(group: TestGroup) -> None:
    """Locks that another thread holds at that moment are never released in the child."""
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    key = group.group.structure("APPL1").queue("Q").waiters
    waiting = threading.Thread(target=lambda: queue.get(GetOption.WAIT, wait_ms=60_000))
    waiting.start()
    until(lambda: group.group.client().zcard(key) == 1, "it waits")

    def work() -> str:
        try:
            queue.get()
        except MQIError as error:
            first = int(error.reason)
        with connect("QM1", settings=group.settings) as child:
            child.put1("Q", b"from the child")
        return str(first)

    assert in_child(work) == "2009"
    waiting.join(30)
    assert not waiting.is_alive()
    assert on_queue(group, "Q") == []
