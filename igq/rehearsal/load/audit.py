"""The Spark audit of a run, as a process of its own: this package knows no Spark."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from igq.console.interpreter import python_command
from igq.rehearsal.load.programs.interrupts import interrupts_held

#: Seconds for an audit that is cut short to end its Java.
_END_TIMEOUT_S = 10.0


def audit_run(directory: Path, environment: Mapping[str, str]) -> int:
    """Have `igq pipeline audit` judge the records and the journal of a run; its exit status, 0 for a good verdict.

    Takes Java's start, about ten seconds, and leaves verdict.json and report.html beside the records.
    """
    env = {**environment, "PYTHONUNBUFFERED": "1"}
    arguments = [str(os.getpid()), "audit", "--run", str(directory)]
    command = python_command("igq.rehearsal.load.audit_process", *arguments)
    audit: subprocess.Popen[bytes] | None = None
    try:
        with interrupts_held():
            # In a session of its own: a Ctrl-C in the terminal reaches this process alone, which ends the other.
            audit = subprocess.Popen(command, env=env, start_new_session=True)
        return audit.wait()
    except BaseException:
        if audit is not None:
            _end(audit)
        raise


def _end(audit: subprocess.Popen[bytes]) -> None:
    """Neither the audit nor its Java is there afterwards."""
    audit.terminate()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            audit.wait(_END_TIMEOUT_S)
    finally:
        # Also where another Ctrl-C cuts that wait short.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(audit.pid, signal.SIGKILL)
        audit.wait()
