"""Signal handlers that raise, as time limits of task queues do: they end the call, not the process."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharedq.redis.packing import Packer, Word, pack

#: Packs numbers, interrupted again and again. A process that crashes prints nothing.
_INTERRUPTED = """
import random, signal
from sharedq.redis.packing import Packer, pack
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
