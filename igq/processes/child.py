"""Child processes that never outlive their parent.

Python is started without the current folder on the path. A user's folder may hold a ``config.py``, a ``recovery.py`` or
a ``typer.py``. ``python -m`` puts the current folder in front of the path, and would import those files in place of
this package's modules, or of modules that it uses. ``-P`` leaves the folder out.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import igq

_PR_SET_PDEATHSIG = 1


def start_child(
    words: Sequence[str],
    *,
    stdin: int = subprocess.DEVNULL,
    stderr: int | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start a process of igq, with a pipe for its lines of standard output.

    It has a session of its own: Ctrl-C in the terminal must not reach it.
    """
    return subprocess.Popen(
        words,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=env,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def die_with_parent(parent_pid: int, signal_number: int = signal.SIGKILL) -> None:
    """Make the kernel send this process *signal_number* when its parent ends for any reason.

    A child must call this first. On systems without this service (not Linux), children have only the pipe to their
    parent.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal_number), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent_pid:
        # The parent ended before it could be watched.
        os.kill(os.getpid(), signal_number)


@contextmanager
def hangups_held() -> Iterator[None]:
    """Children that this thread starts within the block do not get SIGHUP before they call `take_hangups`.

    A new Python has no handler for a fifth of a second or longer, and SIGHUP would end it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def take_hangups() -> None:
    """Get SIGHUP from now on, also one that came before. Call this when the signal has its handler, or is ignored."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})


def python_command(module: str, *arguments: str) -> list[str]:
    """The words that run a module of this package in another process, or in place of this one."""
    return [sys.executable, "-P", "-m", module, *arguments]


def leave_current_folder() -> None:
    """Take the folder off the path that ``python -m`` has put there, unless this package lies in it."""
    if not sys.flags.safe_path and igq.__path__ != [f"{sys.path[0]}{os.sep}igq"]:
        del sys.path[0]


def start_agent_process(qmgr: str) -> subprocess.Popen[str]:
    """Start it. It ends with this process. Its first line of standard input tells it to begin."""
    with hangups_held():
        return start_child(python_command("igq.agent", qmgr, str(os.getpid())), stdin=subprocess.PIPE)
