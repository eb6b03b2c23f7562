"""The agent's state of retry: when the shared transmission queue cannot be used, it tries again, IBM's way.

The counts and intervals are IBM's, "which cannot be changed": nothing configures them. Tests pass a sleep of
their own. Source: IBM MQ for z/OS, "Specific properties of intra-group queuing".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_base

SHORT_RETRY_COUNT: Final = 10
SHORT_RETRY_INTERVAL_S: Final = 60
LONG_RETRY_COUNT: Final = 999_999_999
LONG_RETRY_INTERVAL_S: Final = 1200


class Trouble(Exception):
    """The transmission queue, or the serialization, cannot be used now. The text is one line."""


class Retries(NamedTuple):
    """Retries made since the trouble began."""

    short: int
    long: int


def retries_made(attempts: int) -> Retries:
    """How *attempts* (the first, failed one included) divide into short and long retries."""
    made = max(0, attempts - 1)
    return Retries(min(made, SHORT_RETRY_COUNT), max(0, made - SHORT_RETRY_COUNT))


def wait_before_retry_s(retries: Retries) -> int:
    """Seconds to wait before the next retry."""
    return SHORT_RETRY_INTERVAL_S if retries.short < SHORT_RETRY_COUNT else LONG_RETRY_INTERVAL_S


class _WaitAsIBM(wait_base):
    """Tells and waits; a pause that is cut short leaves the count of retries as it is."""

    def __init__(self, sleep: Callable[[float], bool | None]) -> None:
        self._sleep, self._in_passing = sleep, 0

    def retries(self, retry_state: RetryCallState) -> Retries:
        """Made so far, in this trouble."""
        if retry_state.attempt_number == 1:
            self._in_passing = 0
        return retries_made(retry_state.attempt_number - self._in_passing)

    def __call__(self, retry_state: RetryCallState) -> float:
        return wait_before_retry_s(self.retries(retry_state))

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self._in_passing += bool(self._sleep(seconds))


def retrying(sleep: Callable[[float], bool | None], on_trouble: Callable[[Trouble, Retries, float], None]) -> Retrying:
    """Calls a function until it raises no `Trouble`; any other exception ends it at once.

    Args:
        sleep: waits that many seconds, or less when the agent is woken. True: the try that follows is none of the
            retries, because only something else has happened that it may be worth trying for.
        on_trouble: told of each failure: what it was, the retries made so far, seconds to the next one.

    Raises (when called):
        Trouble: all retries are used up.
    """
    wait = _WaitAsIBM(sleep)

    def before_sleep(state: RetryCallState) -> None:
        assert state.outcome is not None
        assert state.next_action is not None
        trouble = state.outcome.exception()
        assert isinstance(trouble, Trouble)
        on_trouble(trouble, wait.retries(state), state.next_action.sleep)

    return Retrying(
        wait=wait,
        stop=stop_after_attempt(1 + SHORT_RETRY_COUNT + LONG_RETRY_COUNT),
        retry=retry_if_exception_type(Trouble),
        sleep=wait.sleep,
        before_sleep=before_sleep,
        reraise=True,
    )
