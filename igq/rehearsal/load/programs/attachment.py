"""A load program's connection to its manager: taken with a connection tag, and taken again when it is lost."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_exponential_jitter

import sharedq
from sharedq import MQIError
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import MQRC, ConnectOption

#: What time heals: a manager that is down or ending, a lost connection, a predecessor still being recovered.
PASSING = frozenset(
    {
        MQRC.CONNECTION_BROKEN,
        MQRC.Q_MGR_NOT_AVAILABLE,
        MQRC.Q_MGR_QUIESCING,
        MQRC.Q_MGR_STOPPING,
        MQRC.CONN_TAG_IN_USE,
    }
)
#: What is answered where a structure has failed, until it is recovered and its queues are opened anew.
STRUCTURE_FAILED = frozenset({MQRC.CF_STRUC_FAILED, MQRC.CF_STRUC_IN_USE, MQRC.BACKED_OUT, MQRC.OUTCOME_MIXED})
_TRY_AGAIN_S = 0.2
_GIVE_UP_S = 120.0


@contextmanager
def attached(qmgr: str, program: str, *, is_serialized: bool) -> Iterator[QueueManagerConnection]:
    """A connection of *program* to *qmgr*, waited for up to two minutes; disconnected in the end.

    A serialized program connects with a tag of its own name. The tag is refused until every unit of work of its
    predecessor is resolved, so a program that starts again never reads a state that is still on its way back.

    Raises:
        MQIError: it cannot be had in time, or is lost inside the ``with`` block.
    """
    tag = f"LOAD {program}".encode() if is_serialized else b""
    options = ConnectOption.SERIALIZE_CONN_TAG_QSG if is_serialized else 0

    def connect() -> QueueManagerConnection:
        return sharedq.connect(qmgr, conn_tag=tag, options=options, appl_name=program)

    retrying = Retrying(
        retry=retry_if_exception(is_passing),
        # Programs that lost their manager together shall not come back in step.
        wait=wait_exponential_jitter(multiplier=0.05, max=0.5, jitter=0.05 * random.random()),
        stop=stop_after_delay(_GIVE_UP_S),
        reraise=True,
    )
    with retrying(connect) as connection:
        yield connection


def pause() -> None:
    """Wait a moment before trying again what was refused."""
    time.sleep(_TRY_AGAIN_S * (0.5 + random.random()))


def is_passing(error: BaseException) -> bool:
    """Whether connecting again may help."""
    return isinstance(error, MQIError) and error.reason in PASSING
