"""The agent's state of retry: when the shared transmission queue cannot be used, it tries again, IBM's way.

The counts and intervals are IBM's, "which cannot be changed": nothing configures them. Tests pass a sleep of
their own. Source: IBM MQ for z/OS, "Specific properties of intra-group queuing".
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
    """How *attempts* (the first, failed one included) divide into short and long retries."""
    made = max(0, attempts - 1)
    return Retries(min(made, SHORT_RETRY_COUNT), max(0, made - SHORT_RETRY_COUNT))


def wait_before_retry_s(retries: Retries) -> int:
    """Seconds to wait before the next retry."""
    return SHORT_RETRY_INTERVAL_S if retries.short < SHORT_RETRY_COUNT else LONG_RETRY_INTERVAL_S


class Retrier:
    """Calls a function until it raises no `Trouble`; any other exception ends it at once.

    Args:
        sleep: waits that many seconds, or less when the agent is woken. True: the try that follows is none of the
            retries, because only something else has happened that it may be worth trying for.
        on_trouble: told of each failure: what it was, the retries made so far, seconds to the next one.
    """

    def __init__(
        self, sleep: Callable[[float], bool | None], on_trouble: Callable[[Trouble, Retries, float], None]
    ) -> None:
        self._sleep, self._on_trouble = sleep, on_trouble
        #: In this trouble, the one at hand included; those in passing do not count.
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
        """Call *function*; the first trouble that it raises is a new one.

        Raises:
            Trouble: all retries are used up.
        """
        self.succeeded()
        return self._retrying(function)

    def succeeded(self) -> None:
        """The function, which goes on, has done what it could not do: the next trouble is a new one."""
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
