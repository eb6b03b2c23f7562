"""The audit of a run, in a separate process, because this package does not import Spark."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from igq.processes.child import python_command
from igq.rehearsal.load.programs.interrupts import interrupts_held

#: Seconds that an interrupted audit has to end its Java process.
_END_TIMEOUT_S = 10.0


def audit_run(directory: Path, environment: Mapping[str, str], *options: str) -> int:
    """Let `igq pipeline audit` judge the records and the journal of a run. Returns its exit status, 0 if all is good.

    The audit writes verdict.json and report.html beside the records.
    """
    env = {**environment, "PYTHONUNBUFFERED": "1"}
    arguments = [str(os.getpid()), "audit", "--run", str(directory), *options]
    command = python_command("igq.rehearsal.load.audit_process", *arguments)
    audit: subprocess.Popen[bytes] | None = None
    try:
        with interrupts_held():
            # In a new session: Ctrl-C in the terminal reaches only this process, which ends the audit.
            audit = subprocess.Popen(command, env=env, start_new_session=True)
        return audit.wait()
    except BaseException:
        if audit is not None:
            _end(audit)
        raise


def _end(audit: subprocess.Popen[bytes]) -> None:
    """End the audit and its Java process."""
    audit.terminate()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            audit.wait(_END_TIMEOUT_S)
    finally:
        # Even if another Ctrl-C ends that wait.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(audit.pid, signal.SIGKILL)
        audit.wait()
