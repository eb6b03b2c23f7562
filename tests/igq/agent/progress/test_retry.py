"""The state of retry, step by step in virtual time. IBM MQ for z/OS, "Specific properties of intra-group queuing"."""

from __future__ import annotations

import pytest

from igq.agent.progress import retry
from igq.agent.progress.retry import Retrier, Retries, Trouble, retries_made, wait_before_retry_s
from sharedq.settings.values import Settings

pytestmark = pytest.mark.share


class VirtualTime:
    """Time that moves only when a thread sleeps."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.sleeps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now_s += seconds


class Queue:
    """A transmission queue that cannot be used until a certain moment."""

    def __init__(self, clock: VirtualTime, usable_from_s: float) -> None:
        self._clock, self._usable_from_s = clock, usable_from_s
        self.tried_at_s: list[float] = []

    def use(self) -> str:
        self.tried_at_s.append(self._clock.now_s)
        if self._clock.now_s < self._usable_from_s:
            raise Trouble("GET(DISABLED)")
        return "used"


def ignore(_trouble: Trouble, _retries: Retries, _wait_s: float) -> None:
    """A wait without a listener."""


def test_the_constants_are_ibms() -> None:
    assert (retry.SHORT_RETRY_COUNT, retry.SHORT_RETRY_INTERVAL_S) == (10, 60)
    assert (retry.LONG_RETRY_COUNT, retry.LONG_RETRY_INTERVAL_S) == (999_999_999, 1200)


@pytest.mark.rule("igq/retry", "The retry intervals and counts cannot be changed.")
def test_no_setting_is_about_retries() -> None:
    assert [name for name in Settings.model_fields if "retry" in name] == []


@pytest.mark.rule("igq/retry", "Ten retries come a minute apart, then 999,999,999 retries every twenty minutes.")
def test_ten_retries_a_minute_apart_precede_those_every_twenty_minutes() -> None:
    clock = VirtualTime()
    told: list[tuple[Retries, float]] = []
    queue = Queue(clock, usable_from_s=10 * 60 + 3 * 1200)

    result = Retrier(clock.sleep, lambda _, retries, wait_s: told.append((retries, wait_s)))(queue.use)

    assert result == "used"
    assert clock.sleeps == [60] * 10 + [1200] * 3
    assert queue.tried_at_s == [60 * n for n in range(11)] + [600 + 1200 * n for n in (1, 2, 3)]
    assert told[:2] == [(Retries(0, 0), 60), (Retries(1, 0), 60)]
    assert told[9:12] == [(Retries(9, 0), 60), (Retries(10, 0), 1200), (Retries(10, 1), 1200)]


def test_a_wake_up_makes_the_next_attempt_at_once() -> None:
    clock = VirtualTime()
    queue = Queue(clock, usable_from_s=5)

    def sleep_until_woken(_seconds: float) -> None:
        clock.now_s += 5

    assert Retrier(sleep_until_woken, ignore)(queue.use) == "used"
    assert queue.tried_at_s == [0, 5]


@pytest.mark.rule("igq/retry", "A try that an event caused, such as a recovery that has ended, is not one of the ten.")
def test_tries_caused_by_events_do_not_count_among_the_ten() -> None:
    """A program that dies every second, or commands that define other queues, must not lead to the long retries."""
    clock = VirtualTime()
    told: list[tuple[Retries, float]] = []
    queue = Queue(clock, usable_from_s=20 + 10 * 60 + 1200)

    def sleep(seconds: float) -> bool:
        is_woken = clock.now_s < 20
        clock.sleep(1 if is_woken else seconds)
        return is_woken

    call = Retrier(sleep, lambda _, retries, wait_s: told.append((retries, wait_s)))
    call(queue.use)

    assert clock.sleeps == [1] * 20 + [60] * 10 + [1200]
    assert told == [(Retries(0, 0), 60)] * 21 + [(Retries(n, 0), 60) for n in range(1, 10)] + [(Retries(10, 0), 1200)]
    # The next trouble knows nothing of them.
    told.clear()
    call(Queue(clock, usable_from_s=clock.now_s + 120).use)
    assert told == [(Retries(0, 0), 60), (Retries(1, 0), 60)]


def test_an_error_that_is_no_trouble_ends_the_agent() -> None:
    clock = VirtualTime()

    def fail() -> None:
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        Retrier(clock.sleep, ignore)(fail)
    assert clock.sleeps == []


def test_the_next_trouble_begins_with_short_retries_again() -> None:
    clock = VirtualTime()
    call = Retrier(clock.sleep, ignore)

    call(Queue(clock, usable_from_s=700).use)
    clock.sleeps.clear()
    call(Queue(clock, usable_from_s=clock.now_s + 60).use)

    assert clock.sleeps == [60]


@pytest.mark.rule("igq/retry", "A new trouble gets all its retries, even right after another.")
def test_a_trouble_during_work_begins_with_short_retries_too() -> None:
    """In the same try an agent recovers, waits for messages, and meets the next trouble."""
    clock = VirtualTime()
    told: list[tuple[Retries, float]] = []
    queue, begun_s = Queue(clock, usable_from_s=700), list[float]()

    def work() -> None:
        queue.use()
        if not begun_s:
            retrier.succeeded()
            begun_s.append(clock.now_s)
        if clock.now_s < begun_s[0] + 600 + 1200:
            raise Trouble("the next one")

    retrier = Retrier(clock.sleep, lambda _, retries, wait_s: told.append((retries, wait_s)))
    retrier(work)

    expected = [(Retries(n, 0), 60) for n in range(10)] + [(Retries(10, 0), 1200)]
    assert told == [*expected, *expected]


def test_all_retries_can_be_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "LONG_RETRY_COUNT", 2)
    clock = VirtualTime()
    with pytest.raises(Trouble):
        Retrier(clock.sleep, ignore)(Queue(clock, usable_from_s=float("inf")).use)
    assert clock.sleeps == [60] * 10 + [1200] * 2


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [(1, Retries(0, 0)), (2, Retries(1, 0)), (11, Retries(10, 0)), (12, Retries(10, 1)), (1011, Retries(10, 1000))],
)
def test_failed_attempts_divide_into_short_and_long_retries(attempts: int, expected: Retries) -> None:
    assert retries_made(attempts) == expected


def test_the_last_long_retry_is_waited_for_as_long_as_the_first() -> None:
    assert wait_before_retry_s(Retries(10, 999_999_998)) == 1200
