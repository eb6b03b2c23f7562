"""A command of igq that dies by SIGKILL before or after a call of the library, and the recovery of what it left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from recovery.resolution import recover
from recovery.target import Target
from sharedq.redis.link import Link
from tests.support.injection import Exchange
from tests.support.members import TestGroup

ROOT = Path(__file__).parents[2]
_DRIVER = """
import os, signal, sys
from pathlib import Path
from sharedq.api import QueueManagerConnection
from igq.cli import main

token, name, when, at = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
call, calls = getattr(QueueManagerConnection, name), iter(range(1, 1_000_000))

def dying(self, *arguments, **options):
    Path(token).write_text(self.connection.process.token)
    is_meant = next(calls) == at
    if is_meant and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    done = call(self, *arguments, **options)
    if is_meant:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

setattr(QueueManagerConnection, name, dying)
sys.exit(main(sys.argv[5:]))
"""


def environment(group: TestGroup) -> dict[str, str]:
    """Settings of a command that is to find the group."""
    settings = group.settings
    return {
        "IGQ_REDIS_URL": str(settings.redis_url),
        "IGQ_GROUP": settings.group,
        "IGQ_DATA_DIR": str(settings.data_dir),
        "IGQ_LEASE_MS": str(settings.lease_ms),
        "PYTHONPATH": str(ROOT),
    }


def igq(group: TestGroup, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command, as a user starts it."""
    command = [sys.executable, "-m", "igq", *arguments]
    return subprocess.run(command, env=environment(group), capture_output=True, text=True, check=False)


def igq_killed(group: TestGroup, *arguments: str, call: str = "commit", when: str = "before", at: int = 1) -> bool:
    """Start a command that dies *when* its connection makes a *call* for the *at*-th time, and recover it.

    Returns:
        Whether it came so far. If not, it has ended well.
    """
    token = group.settings.data_dir / "token"
    command = [sys.executable, "-c", _DRIVER, str(token), call, when, str(at), *arguments]
    done = subprocess.run(command, env=environment(group), capture_output=True, text=True, check=False)
    if done.returncode == -9:
        dead = Target.parse(token.read_text())
        assert recover(group.group, group.connect("QM1").connection, dead, force=True).is_resolved
        return True
    assert done.returncode == 0, done.stdout + done.stderr
    return False


def killed_at(number: int, when: str, work: Callable[[], object]) -> bool:
    """Do *work* in a process that dies *when* it calls its *number*-th script; 0: it does not die.

    Returns:
        Whether it came so far. If not, it has ended well.
    """
    pid = os.fork()
    if not pid:
        status = 1
        try:
            _die_at(number, when)
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - the parent's tests must not go on here
            traceback.print_exc()
        finally:
            os._exit(status)
    _, ended = os.waitpid(pid, 0)
    if os.WIFSIGNALED(ended):
        assert os.WTERMSIG(ended) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(ended) == 0
    return False


def _die_at(number: int, when: str) -> None:
    exchange_all, calls = Link._exchange_all, iter(range(1, 1_000_000))

    def exchange(link: Link, exchanges: Sequence[Exchange], **how: Any) -> list[list[Any]]:
        is_script = any(b"EVALSHA" in packed for _, packed, _ in exchanges)
        is_meant = is_script and next(calls) == number
        if is_meant and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        replies = exchange_all(link, exchanges, **how)
        if is_meant:
            os.kill(os.getpid(), signal.SIGKILL)
        return replies

    setattr(Link, "_exchange_all", exchange)  # noqa: B010 - its type is that of a method


def recover_programs(group: TestGroup) -> None:
    """Recover every program of the group that this process has not registered: they have been killed."""
    own = {process.token for process in group._processes}
    found: Any = group.group.client().hkeys(group.group.keys.processes)
    for token in {name.decode() for name in found} - own:
        assert recover(group.group, group.connect("QM1").connection, Target.parse(token), force=True).is_resolved
