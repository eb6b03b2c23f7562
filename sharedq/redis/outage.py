"""Rides out an outage: repeats a step while Redis or a queue manager is away, as in a restart or a fail-over."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

import redis

from sharedq.log import LibraryLogger
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError

log = LibraryLogger(__name__)

#: Seconds for which a step is repeated, by default.
OUTAGE_S: Final = 30
#: Seconds between two attempts: the first ones, and all later ones.
_PAUSES_S: Final = (0.05, 0.1, 0.2, 0.5)
#: Reasons that pass by themselves: Redis or a node of the Cluster is away, or a slot is moving.
PASSING: Final = (MQRC.CONNECTION_BROKEN, MQRC.CF_NOT_AVAILABLE, MQRC.CF_STRUC_IN_USE)
#: Reasons that end with an outage: Redis, one of its nodes, or the queue manager is away or about to go.
_AWAY: Final = frozenset(
    {
        *PASSING,
        MQRC.Q_MGR_NOT_AVAILABLE,
        MQRC.Q_MGR_QUIESCING,
        MQRC.Q_MGR_STOPPING,
        MQRC.CONNECTION_QUIESCING,
        MQRC.CONNECTION_STOPPING,
    }
)

_T = TypeVar("_T")


def is_away(error: BaseException | None) -> bool:
    """Whether *error*, or an error that caused it, means that Redis or a queue manager is away for now."""
    seen: set[int] = set()
    # A failure that is told instead of its consequence is the cause of its own cause.
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, MQIError) and error.reason in _AWAY:
            return True
        if isinstance(error, redis.ConnectionError | redis.TimeoutError):
            return not isinstance(error, redis.AuthenticationError)
        error = error.__cause__
    return False


def ride_out(
    outage_s: float, step: Callable[[], _T], on_loss: Callable[[], object] = lambda: None, *, what: str = ""
) -> _T:
    """Do *step*, and repeat it for *outage_s* seconds while Redis or the queue manager is away.

    A repetition of the step must do no harm, whether or not the step was done before.

    Args:
        on_loss: called before each repetition.
        what: the name of the work in the log; "" logs nothing.

    Raises:
        Exception: as *step* does; after the outage, the latest error.
    """
    end_s, attempts = time.monotonic() + outage_s, 0
    while True:
        try:
            return step()
        except Exception as error:
            pause_s = _PAUSES_S[min(attempts, len(_PAUSES_S) - 1)]
            if not is_away(error) or time.monotonic() + pause_s > end_s:
                raise
            if what and not attempts:
                log.warning("outage", of=what, error=str(error), rides_it_out_for_s=outage_s)
        attempts += 1
        time.sleep(pause_s)
        on_loss()
