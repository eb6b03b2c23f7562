"""A load program's connection to its manager: made with a connection tag, and made again after a loss."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_exponential_jitter

import sharedq
from igq.rehearsal.load.programs.channel import ClientConnection, ClientMessage, ClientQueue
from igq.rehearsal.load.programs.program import Options
from sharedq import MQIError
from sharedq.api import Queue, QueueManagerConnection
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, ConnectOption

#: The objects of a program, by the native API or through a channel.
AnyConnection = QueueManagerConnection | ClientConnection
AnyQueue = Queue | ClientQueue
AnyMessage = Message | ClientMessage

#: Reasons that pass with time: a manager is down or ending, a connection is lost, a predecessor is being recovered.
PASSING = frozenset(
    {
        MQRC.CONNECTION_BROKEN,
        MQRC.Q_MGR_NOT_AVAILABLE,
        MQRC.Q_MGR_QUIESCING,
        MQRC.Q_MGR_STOPPING,
        MQRC.CONN_TAG_IN_USE,
    }
)
#: Reasons that a failed structure gives, until it is recovered and its queues are reopened.
STRUCTURE_FAILED = frozenset({MQRC.CF_STRUC_FAILED, MQRC.CF_STRUC_IN_USE, MQRC.BACKED_OUT, MQRC.OUTCOME_MIXED})
_TRY_AGAIN_S = 0.2
_GIVE_UP_S = 120.0


@contextmanager
def attached(program: Options, *, is_serialized: bool) -> Iterator[AnyConnection]:
    """Connect *program* to its manager, within two minutes, and disconnect in the end.

    A serialized program connects with a tag of its own name. The tag is refused until every unit of work of its
    predecessor is resolved, so that a program that starts again never reads a state that recovery is about to change.

    Raises:
        MQIError: there was no connection in time, or it is lost inside the ``with`` block.
    """
    tag = f"LOAD {program.name}".encode() if is_serialized else b""
    options = ConnectOption.SERIALIZE_CONN_TAG_QSG if is_serialized else 0

    def connect() -> AnyConnection:
        if program.channel:
            return ClientConnection(Path(program.channel), program.qmgr, program.name, int(options), tag)
        return sharedq.connect(program.qmgr, conn_tag=tag, options=options, appl_name=program.name)

    retrying = Retrying(
        retry=retry_if_exception(is_passing),
        # Programs that lost their manager together must not come back at the same moments.
        wait=wait_exponential_jitter(multiplier=0.05, max=0.5, jitter=0.05 * random.random()),
        stop=stop_after_delay(_GIVE_UP_S),
        reraise=True,
    )
    with retrying(connect) as connection:
        yield connection


def owner_of(connection: AnyConnection) -> str:
    """The token of a connection. A client does not know its own."""
    return connection.connection.token if isinstance(connection, QueueManagerConnection) else ""


def unit_of(connection: AnyConnection) -> str | None:
    """The id of the unit of work that is under way. A client does not know it: the journal tells."""
    return connection.connection.unit.id if isinstance(connection, QueueManagerConnection) else None


def pause() -> None:
    """Wait a moment before the next try of a refused call."""
    time.sleep(_TRY_AGAIN_S * (0.5 + random.random()))


def is_passing(error: BaseException) -> bool:
    """Whether a new connection may help."""
    return isinstance(error, MQIError) and error.reason in PASSING
