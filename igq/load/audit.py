"""The Spark audit of a run, as a process of its own: this package knows no Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def audit_run(directory: Path, environment: Mapping[str, str]) -> int:
    """Have `igq pipeline audit` judge the records and the journal of a run; its exit status, 0 for a good verdict.

    Takes Java's start, about ten seconds, and leaves verdict.json and report.html beside the records.
    """
    env = {**environment, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "pipeline", "audit", "--run", str(directory)]
    # It stays in the terminal's foreground group: Ctrl-C ends it, and this process ends it besides.
    with subprocess.Popen(command, env=env) as audit:
        try:
            return audit.wait()
        except BaseException:
            audit.terminate()
            raise
