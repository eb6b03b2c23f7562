"""Work of a streaming query while Spark processes a batch: it ends the batch before and claims the next one.

Neither is in Spark's checkpoint. The commit of the batch before was *decided* before Spark got this one, so if the
driver dies, the recovery of the group carries it out. The claims made ahead are like other claims that Spark has not
noted: the next driver puts them back on the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from igq.pipeline.claims.claims import NOTHING, Claimed, Claims, Ending
from igq.pipeline.errors import PipelineError
from sharedq.mqi.errors import MQIError


@dataclass(frozen=True, slots=True)
class _Work:
    """Work that is under way, or whose result was not taken yet.

    Attributes:
        during: the claims of the batch that Spark processes meanwhile.
        count: the number of messages to claim.
    """

    during: str
    count: int
    claimed: Future[Claimed]


class Ahead:
    """Does one piece of such work at a time, in its own thread and over its own connections."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._work: _Work | None = None

    def begin(
        self, during: str, ending: Ending | None, count: int, term: int, most: Mapping[str, int] | None = None
    ) -> None:
        """Begin work while Spark processes the batch with the claims *during*.

        Args:
            ending: the ending of the batch before, if that is not over yet.
            count: the most messages to claim for the next batch.
            term: the term in which the query began.
            most: the most messages from each queue.
        """
        self._work = None
        if ending is None and not count:
            return

        def work() -> Claimed:
            if ending is not None:
                ending.carry_out()
            return self._claims.claim(count, term, most=most) if count else NOTHING

        self._work = _Work(during, count, _in_background(work))

    def take(self, during: str, count: int) -> Claimed | None:
        """Wait for the end of the work, and return the claims for the batch that follows the one with claims *during*.

        They are remembered until new work begins, which means that Spark has them; before that `end` puts them back.

        None if there are no claims, if the work failed, or if there may be more than *count* messages. Any claims are
        still made then, and are not remembered here.
        """
        work = self._work
        if work is None:
            return None
        claimed = _outcome(work.claimed)
        if claimed.messages and work.during == during and work.count <= count:
            return claimed
        self._work = None
        return None

    def forget(self) -> None:
        """Wait for the end of the work, and leave its claims to `Claims.give_back`."""
        if self._work is not None:
            _outcome(self._work.claimed)
        self._work = None

    def end(self) -> None:
        """Wait for the end of the work, and put its claims back. After an interruption it can be called again.

        Raises:
            MQIError: 2009, the claims are still there.
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
        # If the error lasts, the query meets it in its next step.
        return NOTHING


def _in_background(work: Callable[[], Claimed]) -> Future[Claimed]:
    with_thread = ThreadPoolExecutor(1, thread_name_prefix="igq-ahead")
    try:
        return with_thread.submit(work)
    finally:
        # Do not wait: the thread ends with the work.
        with_thread.shutdown(wait=False)
