"""A program in the drill's own process that holds large units of work open, so that their recovery takes long."""

from __future__ import annotations

from igq.errors import CommandError
from igq.rehearsal.load.queues import BULK_QUEUE, define_bulk_queue
from sharedq.api import QueueManagerConnection
from sharedq.calls.handles.connect import connect_to
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC, OpenOption, Persistence, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.repository import Repository

#: Messages of a unit of work: the default of MAXUMSGS.
_UNIT_MESSAGES = 10_000
_CALL_MESSAGES = 500


class Bulk:
    """Units of work of one program, attached to the manager *qmgr* and run in the drill's own process."""

    def __init__(self, group: Group, qmgr: str, structure: str) -> None:
        define_bulk_queue(group, structure)
        self._group, self._qmgr = group, qmgr
        self._connections: list[QueueManagerConnection] = []

    def put(self, messages: int) -> None:
        """Put *messages* under syncpoint. Raises MQIError: a call failed."""
        for position in range(0, messages, _CALL_MESSAGES):
            if position % _UNIT_MESSAGES == 0:
                self._connections.append(QueueManagerConnection(connect_to(self._group, self._qmgr)))
                queue = self._connections[-1].open(BULK_QUEUE, OpenOption.OUTPUT)
            count = min(_CALL_MESSAGES, messages - position)
            batch = [(MQMD(persistence=int(Persistence.PERSISTENT)), b"bulk") for _ in range(count)]
            queue.put_many(batch, options=PutOption.SYNCPOINT)

    def must_be_lost(self) -> None:
        """Try to commit what the group has meanwhile recovered.

        Raises:
            CommandError: a commit succeeded, or messages are left.
        """
        for connection in self._connections:
            try:
                connection.commit()
            except MQIError as error:
                if error.reason != MQRC.CONNECTION_BROKEN:
                    raise
            else:
                raise CommandError(f"unit of work {connection.connection.unit.id} was committed after its recovery")
        status = Repository(self._group, self._qmgr).queue_status(BULK_QUEUE)
        if status.depth or status.uncommitted_gets:
            raise CommandError(f"{status.depth} messages of recovered units of work are on {BULK_QUEUE}")
