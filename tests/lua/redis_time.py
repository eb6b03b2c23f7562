"""The time that Redis takes for scripts, without what other work on the machine adds to it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sharedq.redis.script_source import load_script, script_names
from sharedq.redis.wire import Wire
from tests.support.server import Server

#: How often a call is tried.
TRIES = 8
#: A call may take as long as this loop right after the call: 50 ms on the machine where the bounds were set. Processors
#: differ, and each has more than one speed.
_LOOP = """
    local sum, texts = 0, {}
    for i = 1, tonumber(ARGV[1]) do
        sum = (sum + i) % 9973
        texts[i % 100] = string.sub("abcdefghij", i % 7, i % 9)
    end
    return sum
"""
_ROUNDS = 450_000
#: Microseconds from which on a call is looked at.
NOTED_US = 10_000
_SHA = re.compile(rb"EVALSHA\r\n\$40\r\n([0-9a-f]{40})")


class Meter:
    """Tells the longest call of each script.

    The slow log has the time of each call, in which the processor may do other work, too. The processor time
    of the server has nothing else in it, but is that of all scripts which were sent together. The lesser one counts.
    """

    def __init__(self, server: Server) -> None:
        self._thread = Path(f"/proc/{server.pid}/task/{server.pid}/schedstat")
        self._client = server.client()
        self._names = {load_script(name).sha.encode(): name for name in script_names()}

    def _cpu_ms(self) -> float:
        return int(self._thread.read_text("ascii").split()[0]) / 1e6

    def longest_ms(self, act: Callable[[], Any]) -> dict[str, float]:
        """The longest call of each script in *act*."""
        by_processor: dict[str, float] = {}
        sent: dict[int, tuple[float, set[bytes]]] = {}
        send, receive = Wire.send, Wire.receive

        def measured_send(wire: Wire, packed: bytes) -> None:
            sent[id(wire)] = self._cpu_ms(), set(_SHA.findall(packed))
            send(wire, packed)

        def measured_receive(wire: Wire) -> Any:
            reply = receive(wire)
            before, shas = sent.get(id(wire), (0.0, set()))
            took = self._cpu_ms() - before
            for sha in shas:
                name = self._names.get(sha, "")
                by_processor[name] = max(took, by_processor.get(name, 0))
            return reply

        self._client.config_set("slowlog-log-slower-than", NOTED_US)
        self._client.config_set("slowlog-max-len", 10_000)
        self._client.execute_command("SLOWLOG RESET")
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Wire, "send", measured_send)
            patched.setattr(Wire, "receive", measured_receive)
            act()
        found: dict[str, float] = {}
        for entry in self._client.slowlog_get(10_000):
            words = entry["command"].split(b" ")
            name = self._names.get(words[1], "") if words[0].upper() == b"EVALSHA" else ""
            if name:
                found[name] = max(found.get(name, 0), entry["duration"] / 1000)
        return {name: min(each, by_processor.get(name, each)) for name, each in found.items()}

    def check(self, act: Callable[[], Any]) -> None:
        """No script takes longer than the loop after it, in the best of some tries: other work makes a call longer."""
        least: dict[str, float] = {}
        for number in range(TRIES):
            found, loop_ms = self.longest_ms(act), self._loop_ms()
            # A script that is not in it took no time to speak of.
            parts = {name: found.get(name, 0) / loop_ms for name in (least if number else found)}
            least = {name: min(each, least.get(name, each)) for name, each in parts.items()}
            if all(each <= 1 for each in least.values()):
                return
        long = {name: f"{each:.2f}" for name, each in least.items() if each > 1}
        raise AssertionError(f"{long} of the time of the loop")

    def _loop_ms(self) -> float:
        before = self._cpu_ms()
        self._client.eval(_LOOP, 0, _ROUNDS)
        return self._cpu_ms() - before
