"""A putter slows down while a drill's fault lasts."""

from __future__ import annotations

import threading

import pytest

from igq.rehearsal.drills.incidents import random_scenario
from igq.rehearsal.load.programs.control import Control

pytestmark = pytest.mark.share


@pytest.fixture
def control(monkeypatch: pytest.MonkeyPatch) -> Control:
    """A program that hears only the test."""
    monkeypatch.setattr(Control, "_listen", lambda _: None)
    return Control()


def pauses(control: Control, units: int, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Its waits before each of some units of work, without further commands."""
    found: list[float] = []

    def wait(_: threading.Event, seconds: float) -> bool:
        found.append(seconds)
        return False

    with monkeypatch.context() as patched:
        patched.setattr(threading.Event, "wait", wait)
        for _ in range(units):
            control.keep_pace()
    return found


def test_each_pause_is_twice_as_long_as_the_one_before_up_to_a_limit(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pauses(control, 2, monkeypatch) == []
    control._hear("pace 0.5")
    assert pauses(control, 7, monkeypatch) == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    control._hear("pace 0.25")
    assert pauses(control, 2, monkeypatch) == [0.25, 0.5]
    control._hear("pace 0.0")
    assert pauses(control, 3, monkeypatch) == []


def test_another_pace_ends_a_pause(control: Control) -> None:
    control._hear("pace 3600")

    def put() -> None:
        for _ in range(3):
            control.keep_pace()

    putter = threading.Thread(target=put, daemon=True)
    putter.start()
    control._hear("pace 0")
    putter.join(60)
    assert not putter.is_alive()


@pytest.mark.parametrize("seed", range(5))
def test_the_putters_of_a_random_drill_slow_down_for_each_fault(seed: int) -> None:
    waits = [step for step in random_scenario(seed).steps if step.name == "wait_for_puts"]
    assert len(waits) == 4
    assert all(dict(step.arguments)["pace_s"] > 0 for step in waits)
