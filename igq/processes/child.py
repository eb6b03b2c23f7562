"""Child processes that never outlive their parent."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

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
