"""Structures that are lost, backed up and recovered."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from igq.mqsc.executor import run
from sharedq.admin.backup.restoration import is_lost
from sharedq.members.group import Group
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.redis.link import Argument, Reply
from tests.support.members import TestGroup

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
QUEUES = ("FIFO", "PRIO", "GROUPS")
#: MsgId and data of each queue.
Content = dict[str, list[tuple[bytes, bytes]]]


#: All at one moment, whatever programs do meanwhile.
_LOSE = """
for _, key in ipairs(redis.call("KEYS", ARGV[1])) do redis.call("UNLINK", key) end
"""


def lose(group: TestGroup, structure: str = "APPL1") -> None:
    """Lose the structure, as if its server had lost it."""
    group.group.client().eval(_LOSE, 0, f"{group.group.structure(structure).tag}:*")
    assert is_lost(group.group, structure)


def lose_all(group: TestGroup) -> None:
    """Lose all keys of the group at one moment."""
    group.group.client().eval(_LOSE, 0, f"{{{group.group.name}:*")


class Countdown:
    """Has something happen before a call that a `Group` makes to Redis."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left = 0
        self._act: Callable[[], None] = lambda: None
        for name in ("call", "command", "commands"):
            monkeypatch.setattr(Group, name, self._counted(getattr(Group, name)))

    def begin(self, calls: int, act: Callable[[], None]) -> None:
        """Have *act* happen before the call of that number from now on."""
        self._left, self._act = calls, act

    def end(self) -> bool:
        """Stop counting. Returns whether it has happened."""
        left, self._left = self._left, 0
        return not left

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def run(group: Group, *arguments: Any, **more: Any) -> Any:
            if self._left:
                self._left -= 1
                if not self._left:
                    self._act()
            return real(group, *arguments, **more)

        return run


def persistent(**fields: Any) -> MQMD:
    return MQMD(**({"persistence": 1} | fields))


def content(group: TestGroup, queues: Sequence[str] = QUEUES) -> Content:
    """Persistent messages in the order in which they can be browsed: MsgId and data."""
    found: Content = {}
    connection = group.connect()
    for name in queues:
        found[name] = []
        with connection.open(name, OpenOption.BROWSE) as queue:
            how = GetOption.BROWSE_FIRST
            with suppress(NoMsgAvailable):
                while True:
                    message = queue.get(how)
                    how = GetOption.BROWSE_NEXT
                    if message.is_persistent:
                        found[name].append((message.md.msg_id, message.body))
    return found


def mqsc(group: TestGroup, text: str) -> tuple[int, str]:
    out = io.StringIO()
    return run(text.splitlines(keepends=True), group.repository("QM1"), out), out.getvalue()


def between_calls(group: TestGroup, monkeypatch: pytest.MonkeyPatch, each: Callable[[], None]) -> None:
    """Do something before every script of a backup."""
    call = group.group.call

    def hooked(name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        if name.startswith("structure/backup"):
            each()
        return call(name, keys, args)

    monkeypatch.setattr(group.group, "call", hooked)


def killed_after(group: TestGroup, calls: int, work: Callable[[], object]) -> bool:
    """Do *work* in a process that is killed after this many scripts. Returns whether it got that far."""
    pid = os.fork()
    if pid == 0:
        try:
            call, count = group.group.call, iter(range(1, 1_000_000))

            def counted(name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
                reply = call(name, keys, args)
                if name.startswith(("structure/backup", "structure/restore")) and next(count) == calls:
                    os.kill(os.getpid(), signal.SIGKILL)
                return reply

            group.group.call = counted  # type: ignore[method-assign]
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)
