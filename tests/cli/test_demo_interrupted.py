"""Ctrl-C ends the demo with one line, whatever it is doing, and no process of it is left when it has ended."""

from __future__ import annotations

import signal
import sys
import uuid
from pathlib import Path

import pytest

from tests.cli.conftest import Shell

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found by their environment in /proc"),
]


def processes(mark: str) -> list[str]:
    """The command lines of the processes that have *mark* in their environment."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (each / "environ").read_bytes():
                found.append((each / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            # Ended meanwhile, or of another user.
            continue
    return found


@pytest.mark.parametrize(
    "moment", ["Starting the queue managers", "Each departure", "The Spark audit now", "starting Spark", "reading the"]
)
def test_ctrl_c_leaves_no_process_and_shows_no_traceback(shell: Shell, moment: str) -> None:
    mark = uuid.uuid4().hex
    shell.environment["MARK_OF_THE_DEMO"] = mark
    demo = shell.start("demo", "--messages", "200")
    demo.wait_for(moment)

    status = demo.end(signal.SIGINT)

    assert processes(mark) == []
    assert status == 130
    assert demo.lines[-1] == "Ended by the user; every process of the demo has been stopped."
    assert not any("Traceback" in line for line in demo.lines)
