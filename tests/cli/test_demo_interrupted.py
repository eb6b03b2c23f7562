"""Ctrl-C at any moment ends the demo with one line. No process of it is left, not even after a SIGKILL."""

from __future__ import annotations

import signal
import sys
import time
import uuid
from pathlib import Path

import pytest

from tests.cli.conftest import Shell

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found by their environment in /proc"),
]

#: Seconds that processes have to notice that the demo was killed.
LEFT_S = 60.0


def processes(mark: str) -> list[str]:
    """The command lines of the processes that have *mark* in their environment."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (each / "environ").read_bytes():
                found.append((each / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            # It has ended meanwhile, or belongs to another user.
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
    assert status == 130, demo.lines
    assert demo.lines[-1] == "Ended by the user; all processes of the demo are stopped."
    assert not any("Traceback" in line for line in demo.lines)


@pytest.mark.parametrize("moment", ["Each departure", "The Spark audit now", "reading the"])
def test_a_demo_that_is_killed_takes_its_processes_with_it(shell: Shell, moment: str) -> None:
    mark = uuid.uuid4().hex
    shell.environment["MARK_OF_THE_DEMO"] = mark
    demo = shell.start("demo", "--messages", "200")
    demo.wait_for(moment)

    demo.end(signal.SIGKILL)

    end_s = time.monotonic() + LEFT_S
    while processes(mark) and time.monotonic() < end_s:
        time.sleep(0.1)
    assert processes(mark) == []
    assert list(Path(shell.environment["IGQ_DATA_DIR"]).rglob("verdict.json")) == []
