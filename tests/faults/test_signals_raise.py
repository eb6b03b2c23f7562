"""Signal handlers that raise, as time limits of task queues do: they end the call, not the process. Others call."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.redis.wire import Packer, Word, pack
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import on_queue

#: Packs numbers, interrupted again and again. A process that crashes prints nothing.
_INTERRUPTED = """
import random, signal
from sharedq.redis.wire import Packer, pack
def on_alarm(*_): raise RuntimeError
signal.signal(signal.SIGALRM, on_alarm)
packer, left = Packer(), 2000
while left:
    left -= 1
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 3e-4))
        while True: {call}
    except RuntimeError: pass
print("survived")
"""


@pytest.mark.parametrize("call", ['pack(b"x", 5, 1234567890123)', 'packer.pack("SELECT", 5, 1234567890123)'])
def test_a_handler_that_raises_while_a_command_is_packed_ends_no_process(call: str) -> None:
    program = [sys.executable, "-c", _INTERRUPTED.replace("{call}", call)]
    done = subprocess.run(program, check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "survived\n"), done.stderr


@pytest.mark.parametrize("options", [PutOption.NO_SYNCPOINT, PutOption.SYNCPOINT])
def test_a_handler_that_calls_in_the_middle_of_a_call_is_refused(group: TestGroup, options: PutOption) -> None:
    group.define_shared("A")
    group.define_shared("B")
    connection, other = group.connect(), group.connect()
    source = connection.open("A", OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
    target, elsewhere = connection.open("B", OpenOption.OUTPUT), other.open("A", OpenOption.OUTPUT)
    calls: list[Callable[[], object]] = [lambda: target.put(b"nested", options=options), source.get]
    reasons: list[MQRC] = []

    def on_alarm(*_: object) -> None:
        reasons.extend(reason_of(call) for call in calls)
        elsewhere.put(b"hello")

    former = signal.signal(signal.SIGALRM, on_alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        assert source.get(GetOption.WAIT, wait_ms=60_000).body == b"hello"
    finally:
        signal.signal(signal.SIGALRM, former)
    assert reasons == [MQRC.CALL_IN_PROGRESS] * 2
    assert on_queue(group, "B") == []
    connection.commit()
    target.put(b"after")
    assert on_queue(group, "B") == [(b"after", 0)]


@given(
    st.lists(
        st.one_of(
            st.text(st.characters(exclude_categories=["Cs"])), st.binary(), st.integers(), st.floats(allow_nan=False)
        ),
        min_size=1,
    )
)
def test_words_are_packed_as_redis_reads_them(words: list[Word]) -> None:
    expected = b"*%d\r\n" % len(words)
    for word in words:
        text = word if isinstance(word, bytes) else str(word).encode()
        expected += b"$%d\r\n%b\r\n" % (len(text), text)
    assert pack(*words) == expected


def test_names_of_commands_may_have_several_words() -> None:
    assert Packer().pack("CLIENT SETNAME", "x") == [b"*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$1\r\nx\r\n"]
