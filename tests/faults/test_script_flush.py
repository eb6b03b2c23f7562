"""SCRIPT FLUSH at any moment: calls load forgotten scripts, and no call runs without the one before it."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from queue import SimpleQueue

import pytest
from redis.exceptions import NoScriptError

from sharedq.api import Queue
from sharedq.calls.unit.commit import commit
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.redis.link import ScriptCall
from sharedq.redis.script_source import load_script, mark_of_all, script_names
from tests.support.members import TestGroup
from tests.support.scenes import on_queue

pytestmark = pytest.mark.share

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE


def test_every_call_works_after_a_flush(group: TestGroup) -> None:
    group.define_structure("APPL2")
    group.define_shared("Q")
    group.define_shared("OTHER", "APPL2")
    flush = group.group.client().script_flush
    flush()
    connection = group.connect()
    queue, other = connection.open("Q", BOTH), connection.open("OTHER", BOTH)
    for number in range(3):
        flush()
        queue.put(b"%d" % number)
    flush()
    assert queue.get(GetOption.BROWSE_FIRST).body == b"0"
    flush()
    assert queue.get(GetOption.SYNCPOINT).body == b"0"
    queue.put(b"3", options=LATER)
    flush()
    assert queue.commit_and_get(GetOption.SYNCPOINT).body == b"1"
    flush()
    other.put(b"x", options=PutOption.SYNCPOINT)
    flush()
    connection.commit()
    flush()
    assert queue.get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=1).body == b"2"
    flush()
    connection.backout()
    flush()
    queue.close()
    flush()
    connection.disconnect()
    assert on_queue(group, "Q") == [(b"2", 1), (b"3", 0)]
    assert on_queue(group, "OTHER", "APPL2") == [(b"x", 0)]


def test_a_flush_between_two_repeated_calls_breaks_the_connection(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both were unknown, so both were sent again. Then the first one ran, and the second was unknown again."""
    group.define_shared("Q")
    link = group.group.new_link()
    keys = group.group.structure("APPL1")
    call: ScriptCall = ("structure/queue_states", [keys.queue("Q").queue], [])
    answers = iter([[NoScriptError(), NoScriptError()], [[0], NoScriptError()]])
    monkeypatch.setattr(link, "_send", lambda *_: next(answers))

    with pytest.raises(MQIError) as caught:
        link.call_many([call, call])

    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert link.is_broken


@pytest.mark.invariant(8)
def test_flushes_between_calls_of_one_write_at_most_break_the_connection(group: TestGroup) -> None:
    group.define_shared("Q")
    turns: SimpleQueue[float | None] = SimpleQueue()
    moments = random.Random(7)

    def flush_once_a_turn() -> None:
        with group.group.client() as client:
            while (moment_s := turns.get()) is not None:
                time.sleep(moment_s)
                client.script_flush()

    flusher = threading.Thread(target=flush_once_a_turn)
    flusher.start()
    ok, unknown, reasons = Counter[bytes](), Counter[bytes](), set[int]()
    try:
        queue: Queue | None = None
        for number in range(120):
            body = b"%d" % number
            try:
                queue = queue or group.connect().open("Q", BOTH)
                unknown[body] += 1
                # Somewhere in the three calls, each of which takes about half a millisecond, or after them.
                turns.put(moments.uniform(0.0, 0.003))
                # With a CorrelId's worth of difference a put and its commit are two calls in one write.
                queue.put(body, options=LATER)
                queue.put(body + b"'", options=PutOption.SYNCPOINT)
                commit(queue.connection)
            except MQIError as error:
                reasons.add(error.reason)
                queue = None
            else:
                del unknown[body]
                ok[body] += 1
    finally:
        turns.put(None)
        flusher.join()
    assert reasons <= {MQRC.CONNECTION_BROKEN}
    found = Counter(body for body, _ in on_queue(group, "Q"))
    assert max(found.values()) == 1
    assert all(found[body] == found[body + b"'"] == 1 for body in ok)
    assert all(found[body] == found[body + b"'"] for body in unknown), "a unit of work is there whole or not at all"
    assert ok


@pytest.mark.invariant(9)
def test_a_script_that_is_not_known_is_loaded_once_and_called_once(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    client = group.group.client()
    client.script_flush()
    client.config_resetstat()
    queue.put(b"1")
    calls = client.info("commandstats")["cmdstat_evalsha"]
    assert (calls["calls"], calls["failed_calls"] + calls["rejected_calls"]) == (2, 1)
    assert on_queue(group, "Q") == [(b"1", 0)]


def test_a_server_is_asked_for_one_script_and_gets_all_or_none(group: TestGroup) -> None:
    """The mark is loaded last, so a load that was cut off leaves it unknown."""
    client = group.group.client()
    client.script_flush()
    key = group.group.keys.group
    group.group.new_link().command(key, "EXISTS", key)
    loaded = [load_script(name).sha for name in script_names()]
    assert all(client.script_exists(*loaded, mark_of_all().sha))

    client.config_resetstat()
    group.group.new_link().command(key, "EXISTS", key)
    used = client.info("commandstats")
    assert used["cmdstat_script|exists"]["calls"] == 1
    assert "cmdstat_script|load" not in used
