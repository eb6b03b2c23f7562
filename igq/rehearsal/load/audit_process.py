"""Becomes a Spark job that ends with its parent: `python -m igq.rehearsal.load.audit_process PARENT ARGUMENT...`."""

from __future__ import annotations

import os
import signal
import sys

from igq.processes.child import die_with_parent, python_command


def main() -> None:
    """Ask the kernel for SIGTERM when the process *PARENT* ends, so that the job ends with its Java; become the job."""
    parent_pid, *arguments = sys.argv[1:]
    die_with_parent(int(parent_pid), signal.SIGTERM)
    os.execv(sys.executable, python_command("igq.pipeline", *arguments))


if __name__ == "__main__":
    main()
