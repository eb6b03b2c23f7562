"""The watch on an agent that lives but makes no progress, in virtual time. With real agents: test_agent_hang.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from igq.agent.progress.pipe import Pulses
from igq.agent.progress.retry import LONG_RETRY_INTERVAL_S, SHORT_RETRY_INTERVAL_S
from igq.manager.agent_child import STARTING_S, Watchdog, silence_limit_s
from sharedq.settings.values import Settings

LIMIT_S = 25.0
PERIOD_S = 1.5


class Watched:
    """An agent's pulses, and the watch on them."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.pulses = Pulses()
        self.dog = Watchdog(LIMIT_S, PERIOD_S, self.now_s)

    def pass_time(self, seconds: float, *, answers: bool = True, step_s: float = PERIOD_S) -> str:
        """Look once a period until something is wrong."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s += step_s
            if answers:
                self.dog.hear(self.pulses.read())
            if why := self.dog.look(self.now_s):
                return why
        return ""


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_thread_without_progress_is_noticed(watched: Watched) -> None:
    idle, busy = watched.pulses.begin("the delivery"), watched.pulses.begin("mover of Q in APPL1")
    with idle.resting(10_000):
        busy.beat()
        began_s = watched.now_s
        assert watched.pass_time(60).startswith("hangs: mover of Q in APPL1 made no progress for ")
        assert LIMIT_S < watched.now_s - began_s <= LIMIT_S + 3 * PERIOD_S


@pytest.mark.rule("igq/self-recovery", "A slow agent does not count as hanging while it makes progress.")
def test_a_thread_with_slow_progress_is_left_alone(watched: Watched) -> None:
    pulse = watched.pulses.begin("the delivery")
    for _ in range(20):
        pulse.beat()
        assert watched.pass_time(LIMIT_S - PERIOD_S) == ""


@pytest.mark.rule(
    "igq/self-recovery", "An agent that waits for messages or for its next retry does not count as hanging."
)
@pytest.mark.parametrize("wait_s", [SHORT_RETRY_INTERVAL_S, LONG_RETRY_INTERVAL_S])
def test_a_retry_is_waited_for_but_not_longer(watched: Watched, wait_s: int) -> None:
    pulse = watched.pulses.begin("the delivery")
    with pulse.resting(wait_s):
        assert watched.pass_time(wait_s) == ""
        assert "the delivery made no progress" in watched.pass_time(LIMIT_S + 3 * PERIOD_S)


def test_a_rest_that_is_over_allows_no_more_silence(watched: Watched) -> None:
    with watched.pulses.begin("the delivery").resting(LONG_RETRY_INTERVAL_S):
        assert watched.pass_time(100) == ""
    assert "the delivery made no progress" in watched.pass_time(LIMIT_S + 3 * PERIOD_S)


@contextmanager
def resting_forever(watched: Watched) -> Iterator[None]:
    with watched.pulses.begin("the delivery").resting(10_000_000):
        yield


def test_a_silent_process_is_noticed_even_if_its_threads_may_rest(watched: Watched) -> None:
    with resting_forever(watched):
        assert watched.pass_time(1000) == ""
        assert watched.pass_time(LIMIT_S + 3 * PERIOD_S, answers=False).startswith("hangs: no answer for ")


def test_a_start_may_be_slow_but_not_endless(watched: Watched) -> None:
    assert watched.pass_time(STARTING_S, answers=False) == ""
    assert "no answer" in watched.pass_time(LIMIT_S + 3 * PERIOD_S, answers=False)


def test_a_manager_that_stood_still_itself_blames_no_agent(watched: Watched) -> None:
    watched.pulses.begin("the delivery").beat()
    assert watched.pass_time(PERIOD_S) == ""
    assert watched.pass_time(10 * LIMIT_S, step_s=LIMIT_S) == ""


def test_a_thread_that_has_ended_is_not_missed(watched: Watched) -> None:
    with resting_forever(watched):
        watched.pulses.begin("mover of Q in APPL1")
        assert watched.pass_time(LIMIT_S / 2) == ""
        watched.pulses.end("mover of Q in APPL1")
        assert watched.pass_time(2 * LIMIT_S) == ""


def test_the_limit_is_longer_than_what_a_healthy_agent_waits_for() -> None:
    settings = Settings(data_dir=Path("/"), lease_ms=5000)
    assert silence_limit_s(settings) == 25
    with_replicas = {"wait_replicas": 1, "wait_replicas_timeout_ms": 60_000}
    assert silence_limit_s(settings.model_copy(update=with_replicas)) == 85
