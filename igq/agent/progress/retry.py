"""The agent's state of retry: when the transmit queue cannot be used, it retries as IBM MQ does.

The counts and intervals are IBM's, "which cannot be changed", so no setting changes them. Tests pass their own sleep.
Source: IBM MQ for z/OS, "Specific properties of intra-group queuing".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type

SHORT_RETRY_COUNT: Final = 10
SHORT_RETRY_INTERVAL_S: Final = 60
LONG_RETRY_COUNT: Final = 999_999_999
LONG_RETRY_INTERVAL_S: Final = 1200

_T = TypeVar("_T")


class Trouble(Exception):
    """The transmission queue, or the serialization, cannot be used now. The text is one line."""


class Retries(NamedTuple):
    """Retries made since the trouble began."""

    short: int
    long: int


def retries_made(attempts: int) -> Retries:
    """Divide *attempts* (including the first, failed one) into short and long retries."""
    made = max(0, attempts - 1)
    return Retries(min(made, SHORT_RETRY_COUNT), max(0, made - SHORT_RETRY_COUNT))


def wait_before_retry_s(retries: Retries) -> int:
    """Return the seconds to wait before the next retry."""
    return SHORT_RETRY_INTERVAL_S if retries.short < SHORT_RETRY_COUNT else LONG_RETRY_INTERVAL_S


class Retrier:
    """Calls a function until it raises no `Trouble`. Any other exception ends the calls at once.

    Args:
        sleep: waits that many seconds, or less if the agent is woken. It returns true if another event ended the
            pause; the next try is then not counted.
        on_trouble: called after each failure with the trouble, the retries made so far and the seconds until the next
            one.
    """

    def __init__(
        self, sleep: Callable[[float], bool | None], on_trouble: Callable[[Trouble, Retries, float], None]
    ) -> None:
        self._sleep, self._on_trouble = sleep, on_trouble
        #: Attempts in this trouble, with the current one. Tries that do not count as retries are left out.
        self._attempts = 1
        self._retrying = Retrying(
            wait=lambda _: wait_before_retry_s(self._made),
            stop=lambda _: self._made.long >= LONG_RETRY_COUNT,
            retry=retry_if_exception_type(Trouble),
            sleep=self._pause,
            before_sleep=self._tell,
            reraise=True,
        )

    def __call__(self, function: Callable[[], _T]) -> _T:
        """Call *function*. The first trouble that it raises is a new one. Raises Trouble: all retries are used up."""
        self.succeeded()
        return self._retrying(function)

    def succeeded(self) -> None:
        """Note that the function, which goes on, has succeeded: the next trouble is a new one."""
        self._attempts = 1

    @property
    def _made(self) -> Retries:
        return retries_made(self._attempts)

    def _pause(self, seconds: float) -> None:
        self._attempts += not self._sleep(seconds)

    def _tell(self, state: RetryCallState) -> None:
        assert state.outcome is not None
        assert state.next_action is not None
        trouble = state.outcome.exception()
        assert isinstance(trouble, Trouble)
        self._on_trouble(trouble, self._made, state.next_action.sleep)
