"""Probes of a real manager."""

from __future__ import annotations

import signal

from tests.cli.conftest import Shell


def test_a_manager_is_ready_until_it_is_killed(shell: Shell) -> None:
    assert shell.run("health", "live").returncode == 1
    manager = shell.start_manager("QM1")

    assert [shell.run("health", kind, "QM1").returncode for kind in ("live", "ready")] == [0, 0]
    manager.end(signal.SIGKILL)
    done = shell.run("health", "live", "QM1")
    assert (done.returncode, done.stderr) == (1, "igq: queue manager QM1: no process\n")
