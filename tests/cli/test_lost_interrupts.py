"""A Ctrl-C ends a command also where Python ignores the exception of the signal's handler."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.share

#: A command that does *moment*, in which Ctrl-C comes, and then works on.
COMMAND = """
import os, signal, sys, time, weakref
import {module} as command, {runner} as runner

class Finalized:
    def __del__(self):
        interrupt()

def interrupt(*_):
    if not came:
        came.append(1)
        os.kill(os.getpid(), signal.SIGINT)
        len(came)

def work(_):
    {moment}
    time.sleep(60)

came = []
runner.run = work
print(command.main([]))
"""
MOMENTS = {
    "finalizer": "Finalized()",
    "callback of a weak reference": "there = Finalized; found = weakref.ref(type('X', (), {})(), interrupt)",
    "hook of a fork": "os.register_at_fork(after_in_parent=interrupt); os.fork() or os._exit(0)",
    "nothing": "interrupt()",
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(
    ("module", "runner"), [("igq.cli", "igq.cli.runner"), ("igq.pipeline.__main__", "igq.pipeline.cli.command")]
)
def test_an_interrupt_that_python_ignores_comes_again(module: str, runner: str, moment: str) -> None:
    program = COMMAND.format(module=module, runner=runner, moment=MOMENTS[moment])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("130\n", "")
