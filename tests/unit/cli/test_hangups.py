"""SIGHUP reopens logs. Before there is a log it is ignored, and ends nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from igq.cli import group, qmgr
from igq.processes.child import hangups_held


class Reached(Exception):
    pass


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("start", [lambda: qmgr.start("QM1"), lambda: group.start(["QM1"])])
def test_it_is_ignored_before_the_settings_are_read(
    monkeypatch: pytest.MonkeyPatch, start: Callable[[], object]
) -> None:
    found = []

    def load() -> None:
        found.append(signal.getsignal(signal.SIGHUP))
        raise Reached

    monkeypatch.setattr("sharedq.settings.loader.load_settings", load)
    with pytest.raises(Reached):
        start()
    assert found == [signal.SIG_IGN]


def test_a_child_gets_one_that_came_before_when_it_has_a_handler() -> None:
    program = (
        "import signal; from igq.processes.child import take_hangups; print('begun', flush=True); input();"
        "signal.signal(signal.SIGHUP, lambda *_: print('heard', flush=True)); take_hangups()"
    )
    with hangups_held():
        child = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    assert signal.SIGHUP not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    # Also before it is a Python.
    os.kill(child.pid, signal.SIGHUP)
    out, _ = child.communicate("\n")
    assert (out, child.returncode) == ("begun\nheard\n", 0)
