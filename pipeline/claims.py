"""What a streaming query has taken off a queue and not finished: prepared units of work of its name.

A batch of the query is claimed before Spark writes it down, stays in doubt while it is processed, however often that
is tried, and is committed once Spark has noted that it was. Claims that Spark never wrote down go back to the queue.
One driver at a time has the query's name: a connection tag, which the recovery of a dead one frees.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from config.settings import Settings
from pipeline.errors import PipelineError
from sharedq.api import Queue, QueueManagerConnection, connect, group_for
from sharedq.in_doubt import TOGETHER_MAX, PreparedUnit
from sharedq.mqi.constants import MQRC, ConnectOption, GetOption, IntSelector, OpenOption
from sharedq.mqi.errors import ConnTagInUse, MQIError
from sharedq.mqi.xa import XAError, XAReturn
from sharedq.reading import Place

#: Messages got in one call.
_GET_MESSAGES = 100
#: How long a driver waits for its predecessor's name: for the recovery of one that was killed, seconds.
NAME_WAIT_S = 60.0
_NAME_PAUSE_S = 0.5


@dataclass
class Claims:
    """The claims of one query.

    Attributes:
        name: of the query, unique in the group.
        per_unit: messages in a unit of work, at most.
    """

    settings: Settings
    queue: str
    qmgr: str
    name: str
    per_unit: int
    _held: QueueManagerConnection | None = field(default=None, repr=False)

    def hold(self) -> None:
        """Take the query's name, unless this driver has it.

        Raises:
            MQIError: 2271 another driver has it; 2059 the manager is not running; 2009.
        """
        if self._held is not None and not self._held.connection.is_ended:
            return
        again = Retrying(
            retry=retry_if_exception_type(ConnTagInUse),
            stop=stop_after_delay(NAME_WAIT_S),
            wait=wait_fixed(_NAME_PAUSE_S),
            reraise=True,
        )
        self._held = again(
            connect,
            self.qmgr,
            conn_tag=self._prefix.encode(),
            options=ConnectOption.SERIALIZE_CONN_TAG_QSG,
            appl_name="igq pipeline",
            settings=self.settings,
        )

    def let_go(self) -> None:
        """Give the name back. What is claimed stays so."""
        held, self._held = self._held, None
        if held is not None and not held.connection.is_ended:
            held.disconnect()

    def depth(self) -> int:
        """Messages that can be claimed now, about."""
        with self._connect() as connection, connection.open(self.queue, OpenOption.INQUIRE) as queue:
            return int(queue.inquire(IntSelector.CURRENT_Q_DEPTH)[IntSelector.CURRENT_Q_DEPTH])

    def claim(self, count: int) -> str:
        """Claim up to *count* messages, the first on the queue; how they are named, "" where there was none.

        Raises:
            MQIError: the queue cannot be read; nothing is claimed. 2009 unknown: `give_back` undoes it.
        """
        run, units = secrets.token_hex(8), 0
        with self._connect() as connection, connection.open(self.queue, OpenOption.INPUT_SHARED) as queue:
            per_unit = min(self.per_unit, connection.connection.max_uncommitted)
            while count > 0 and units < TOGETHER_MAX:
                got = _get(queue, min(count, per_unit))
                if not got:
                    break
                connection.prepare(f"{self._prefix}{run}/{units}".encode())
                units, count = units + 1, count - got
        return f"{run}:{units}" if units else ""

    def finish(self, claims: str) -> None:
        """Spark has processed them: they are gone from the queue for good. Told again it does nothing.

        Raises:
            PipelineError: they went back to the queue, by an operator's hand: they come again.
            MQIError: 2009 unknown; may be repeated.
        """
        xids = self._xids(claims)
        if not xids:
            return
        with self._connect() as connection:
            try:
                connection.commit_prepared_together(xids)
            except XAError as error:
                # Of long ago: that they ended is forgotten.
                if error.code != XAReturn.XAER_NOTA:
                    raise PipelineError(
                        f"stream {self.name}: messages that were processed were put back on {self.queue}: {error}"
                    ) from error

    def give_back(self, *, but: str = "") -> int:
        """Put back on the queue whatever is claimed under the name, *but* these; how many messages that were."""
        kept, messages = set(self._xids(but)), 0
        with self._connect() as connection:
            for unit in connection.recover():
                is_ours = unit.xid.startswith(self._prefix.encode()) and unit.outcome is None
                if is_ours and unit.xid not in kept:
                    connection.backout_prepared(unit.xid)
                    messages += unit.messages
        return messages

    def places(self, claims: str) -> list[tuple[Place, str]]:
        """Where the claimed messages are: for each unit of work its place, and its id.

        Raises:
            PipelineError: one of them has ended.
        """
        group = group_for(self.settings)
        with self._connect() as connection:
            in_doubt: dict[bytes, PreparedUnit] = {unit.xid: unit for unit in connection.recover()}
        found = []
        for xid in self._xids(claims):
            unit = in_doubt.get(xid)
            if unit is None or unit.outcome is not None:
                raise PipelineError(
                    f"stream {self.name}: what its batch had claimed of {self.queue} has been ended by somebody else"
                )
            ((structure, (queues, _)),) = unit.structures.items()
            found.append((Place(queues[0], structure, group.structure_number(structure)), unit.id))
        return found

    def _connect(self) -> QueueManagerConnection:
        return connect(self.qmgr, settings=self.settings, appl_name="igq pipeline")

    def _xids(self, claims: str) -> list[bytes]:
        run, _, units = claims.partition(":")
        return [f"{self._prefix}{run}/{unit}".encode() for unit in range(int(units or 0))]

    @property
    def _prefix(self) -> str:
        return f"igq.stream/{self.name}/"


def _get(queue: Queue, count: int) -> int:
    """Get up to *count* messages under syncpoint; how many there were."""
    got = 0
    while got < count:
        try:
            got += len(queue.get_many(min(_GET_MESSAGES, count - got), GetOption.SYNCPOINT))
        except MQIError as error:
            if error.reason != MQRC.NO_MSG_AVAILABLE:
                raise
            break
    return got
