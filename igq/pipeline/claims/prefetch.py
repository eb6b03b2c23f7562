"""What Redis does for a streaming query while Spark processes a batch: it ends the one before and claims the next one.

Neither has to be in Spark's checkpoint. That the batch before is committed was *decided* before Spark was given this
one, so whoever dies here leaves it to the recovery of the group. What is claimed ahead is claimed like anything that
Spark has not written down yet: the driver that goes on puts it back on the queue.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from igq.pipeline.claims.claims import NOTHING, Claimed, Claims, Ending
from igq.pipeline.errors import PipelineError
from sharedq.mqi.errors import MQIError


@dataclass(frozen=True, slots=True)
class _Work:
    """What is going on, or has ended and was not asked for yet.

    Attributes:
        during: the claims of the batch that is being processed meanwhile.
        count: messages to be claimed.
    """

    during: str
    count: int
    claimed: Future[Claimed]


class Ahead:
    """One piece of such work at a time, in a thread of its own, over connections of its own."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._work: _Work | None = None

    def begin(self, during: str, ending: Ending | None, count: int, term: int) -> None:
        """Spark is about to process the batch with the claims *during*.

        Args:
            ending: of the batch before, where that is not over yet.
            count: messages to claim for the next one, at most.
            term: in which the query began.
        """
        self._work = None
        if ending is None and not count:
            return

        def work() -> Claimed:
            if ending is not None:
                ending.carry_out()
            return self._claims.claim(count, term) if count else NOTHING

        self._work = _Work(during, count, _in_background(work))

    def take(self, during: str, count: int) -> Claimed | None:
        """Wait for the end of the work; what was claimed for the batch behind that with the claims *during*.

        It is remembered until Spark is given it, which is when other work begins: else `end` puts it back.

        None where that is nothing, or it failed, or it may be more than the *count* messages that are wanted now.
        Whatever was claimed then is still so, and not remembered here.
        """
        work = self._work
        if work is None:
            return None
        claimed = _outcome(work.claimed)
        if claimed.messages and work.during == during and work.count <= count:
            return claimed
        self._work = None
        return None

    def end(self) -> None:
        """Wait for the end of the work, and put back what was claimed. Cut short, it can be called again.

        Raises:
            MQIError: 2009, it is still claimed.
        """
        if self._work is None:
            return
        claimed = _outcome(self._work.claimed)
        if claimed.messages:
            self._claims.give_back_only(claimed.name)
        self._work = None


def _outcome(work: Future[Claimed]) -> Claimed:
    try:
        return work.result()
    except (MQIError, PipelineError):
        # Who goes on without it meets the same, if it lasts.
        return NOTHING


def _in_background(work: Callable[[], Claimed]) -> Future[Claimed]:
    with_thread = ThreadPoolExecutor(1, thread_name_prefix="igq-ahead")
    try:
        return with_thread.submit(work)
    finally:
        # The thread ends when the work does.
        with_thread.shutdown(wait=False)
