"""A connection whose token is gone from a structure: every call there fails with 2009 and changes no key."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import pytest

from sharedq import verbs
from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.requests.put import undo_call
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQPMO
from sharedq.scripts.unit import End, end_unit_call
from tests.support.members import TestGroup
from tests.support.scenes import dump

#: Connections are shut out by hand, and no manager recovers them.
pytestmark = [pytest.mark.unaccounted("connections that are shut out by hand"), pytest.mark.share]

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
CORREL = b"C" * 24


@dataclass
class Fenced:
    """A connection in the middle of a unit of work, which a recoverer has shut out of the structure."""

    group: TestGroup
    connection: QueueManagerConnection
    queue: Queue


@pytest.fixture
def fenced(group: TestGroup) -> Fenced:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    for n in range(4):
        queue.put(b"%d" % n, MQMD(correl_id=CORREL))
    queue.get(GetOption.SYNCPOINT)
    queue.put(b"uncommitted", options=PutOption.SYNCPOINT)
    keys = group.group.structure("APPL1")
    assert group.group.client().hdel(keys.owners, connection.connection.token) == 1
    return Fenced(group, connection, queue)


def get_by_correl_id(fenced: Fenced) -> object:
    return fenced.queue.get(match=MQMD(correl_id=CORREL), match_options=MatchOption.MATCH_CORREL_ID)


def asynchronous_put_and_commit(fenced: Fenced) -> None:
    fenced.queue.put(b"x", options=LATER)
    fenced.connection.commit()


def give_up_waiting(fenced: Fenced) -> None:
    connection, queue = fenced.connection.connection, fenced.queue.handle.queue
    keys = fenced.group.group.structure("APPL1")
    connection.checked_call(
        "structure/unwait",
        [keys.owners, queue.queue, queue.available, queue.waiters, keys.wake + connection.token, keys.wake],
        [connection.token, "Q"],
    )


def undo_a_put(fenced: Fenced) -> None:
    connection = fenced.connection.connection
    connection.checked_call(*undo_call(connection, fenced.queue.handle, 1))


def end_anothers_work(fenced: Fenced, how: End) -> None:
    """The scripts of a recoverer that was itself shut out."""
    other = fenced.group.connect().open("Q", BOTH)
    other.get(GetOption.SYNCPOINT)
    before = settled(fenced.group)
    me, it = fenced.connection.connection, other.connection
    keys = fenced.queue.handle.structure.keys
    call = end_unit_call(keys, how, me.token, it.token, it.unit.id, ["Q"], -1, "0", chunk=500)
    try:
        me.checked_call(*call)
    finally:
        assert settled(fenced.group) == before


CALLS: dict[str, Callable[[Fenced], object]] = {
    "put": lambda fenced: fenced.queue.put(b"x"),
    "put with a CorrelId": lambda fenced: fenced.queue.put(b"x", MQMD(correl_id=CORREL)),
    "put under syncpoint": lambda fenced: fenced.queue.put(b"x", options=PutOption.SYNCPOINT),
    "put of many": lambda fenced: fenced.queue.put_many([(MQMD(), b"x")] * 2),
    "put1": lambda fenced: fenced.connection.put1("Q", b"x"),
    "asynchronous put and commit": asynchronous_put_and_commit,
    "get": lambda fenced: fenced.queue.get(),
    "get under syncpoint": lambda fenced: fenced.queue.get(GetOption.SYNCPOINT),
    "get by CorrelId": get_by_correl_id,
    "get of many": lambda fenced: fenced.queue.get_many(3, GetOption.SYNCPOINT),
    "get with wait": lambda fenced: fenced.queue.get(GetOption.WAIT, wait_ms=10_000),
    "get in logical order": lambda fenced: fenced.queue.get(GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE),
    "browse in logical order": lambda fenced: fenced.queue.get(GetOption.BROWSE_FIRST | GetOption.LOGICAL_ORDER),
    "put of a group": lambda fenced: fenced.queue.put(b"x", MQMD(version=2, msg_flags=24)),
    "browse": lambda fenced: fenced.queue.get(GetOption.BROWSE_FIRST),
    "commit": lambda fenced: fenced.connection.commit(),
    "commit and get": lambda fenced: fenced.queue.commit_and_get(GetOption.SYNCPOINT),
    "back out": lambda fenced: fenced.connection.backout(),
    "open": lambda fenced: fenced.connection.open("Q", BOTH),
    "close": lambda fenced: fenced.queue.close(),
    "disconnect": lambda fenced: fenced.connection.disconnect(),
    "give up waiting": give_up_waiting,
    "undo a put": undo_a_put,
}


def settled(group: TestGroup) -> dict[bytes, bytes]:
    """All scripts except those by which its own process reports a lost connection for recovery, and shuts it out."""
    return dump(group, without=("leases", "CSQ_ADMIN}:fence"))


@pytest.mark.invariant(2)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_a_fenced_connection_changes_nothing(fenced: Fenced, name: str) -> None:
    before = settled(fenced.group)
    with pytest.raises(MQIError) as caught:
        CALLS[name](fenced)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert settled(fenced.group) == before
    with pytest.raises(MQIError) as caught:
        fenced.queue.put(b"once more")
    assert caught.value.reason == MQRC.CONNECTION_BROKEN


@pytest.mark.parametrize("how", ["commit", "backout"])
def test_a_fenced_recoverer_ends_no_unit_of_work(fenced: Fenced, how: End) -> None:
    with pytest.raises(MQIError) as caught:
        end_anothers_work(fenced, how)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN


@pytest.mark.parametrize("verb", ["MQPUT", "MQPUT1", "MQGET", "MQCMIT", "MQBACK", "MQOPEN", "MQCLOSE", "MQDISC"])
def test_the_mqi_answers_2009(fenced: Fenced, verb: str) -> None:
    connection, handle = fenced.connection.connection, fenced.queue.handle
    before = settled(fenced.group)
    calls: dict[str, Callable[[], tuple[object, ...]]] = {
        "MQPUT": lambda: verbs.mqput(connection, handle, MQMD(), MQPMO(), b"x"),
        "MQPUT1": lambda: verbs.mqput1(connection, MQOD(object_name=b"Q"), MQMD(), MQPMO(), b"x"),
        "MQGET": lambda: verbs.mqget(connection, handle, MQMD(), MQGMO(), 100),
        "MQCMIT": lambda: verbs.mqcmit(connection),
        "MQBACK": lambda: verbs.mqback(connection),
        "MQOPEN": lambda: verbs.mqopen(connection, MQOD(object_name=b"Q"), int(BOTH)),
        "MQCLOSE": lambda: verbs.mqclose(connection, handle),
        "MQDISC": lambda: verbs.mqdisc(connection),
    }
    assert calls[verb]()[-1] == MQRC.CONNECTION_BROKEN
    assert settled(fenced.group) == before


def test_a_key_of_the_wrong_type_is_an_error_that_says_so(group: TestGroup) -> None:
    """Another program wrote over a key: no retry, and an error."""
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    keys = group.group.structure("APPL1")
    group.group.client().set(keys.queue("Q").queue, "not a hash")
    before = dump(group)
    with pytest.raises(MQIError) as caught:
        queue.put(b"x")
    assert caught.value.reason == MQRC.UNEXPECTED_ERROR
    assert "WRONGTYPE" in str(caught.value)
    place = re.search(r"@(structure/put_plain\.lua):(\d+)", str(caught.value))
    assert place, str(caught.value)
    lines = (resources.files("sharedq") / "lua" / place[1]).read_text("utf-8").splitlines()
    assert 'redis.call("HMGET", KEYS[4]' in lines[int(place[2]) - 1]
    assert dump(group) == before
