"""The mover of one conventional transmission queue: it takes the queue's messages to the members they are for.

On z/OS two channel agents do this, a sender and a receiver; here it is one unit of work. The mover gets a message from
the transmission queue, opens it, and puts it, reports on it or dead-letters it as the receiving manager itself would.
So no manager needs intra-group queuing enabled, and the receiving manager need not be running.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from igq.agent.delivery.disposal import Transmitted
from igq.agent.delivery.put_delivery import Deliverer
from igq.agent.queues.tags import mover_tag
from igq.agent.queues.transmission_queue import WAIT_S, TransmissionQueue
from igq.agent.services.base import Post, Service
from sharedq.mqi.errors import MQIError
from sharedq.redis.keys import private_structure
from sharedq.session.connection import Connection

APPL_NAME = "mover"


@dataclass(frozen=True, slots=True)
class Served:
    """A transmission queue, or a part of one, and its structure.

    ``failures``: how often that structure has failed. A service that waits there does not notice and is replaced.
    """

    name: str
    structure: str
    failures: int = 0


class StandbyError(Exception):
    """Another member's mover serves this shared queue."""


class Mover(Service):
    """Serves one queue: at most one mover in the whole group, and none before its predecessor's work is recovered.

    Args:
        members: returns the names of the group's members.
    """

    def __init__(self, post: Post, served: Served, members: Callable[[], Collection[str]]) -> None:
        name, structure = served.name, served.structure
        super().__init__(post, name, mover_tag(structure, name), APPL_NAME, f"mover of {name}")
        self.served, self._members = served, members
        #: The members for which the mover has looked for messages.
        self._known: frozenset[str] = frozenset()
        self._deliverer: Deliverer | None = None
        self._opened: tuple[TransmissionQueue, Deliverer] | None = None

    def _work(self) -> None:
        try:
            super()._work()
        except StandbyError:
            self._update(state="STANDBY")
            self._pause(self._post.group.settings.lease_ms / 1000)

    def _open(self, connection: Connection) -> None:
        if self._deliverer is None:
            self._deliverer = Deliverer(connection, self._say, self.served.name, self._pulse, self._hop)
        if self._opened is None:
            self._opened = TransmissionQueue(connection, self.served.structure, self.served.name), self._deliverer
        self._look_for_members(self._opened[0])

    def _look_for_members(self, queue: TransmissionQueue) -> None:
        members = frozenset(self._members())
        if members != self._known:
            queue.look_for(self._members_by_header)
            self._known = members

    def _members_by_header(self) -> Collection[str]:
        members = self._members()
        # A queue that is named like a member leads there, whatever its messages say.
        return () if self.served.name in members else members

    def meet_members(self) -> None:
        """Have it look again at what it has passed over, because members have come or gone.

        Safe to call from any thread.

        Raises:
            MQIError: Redis cannot be reached.
        """
        opened = self._opened
        if opened is not None:
            opened[0].look_again(self._post.group.call)

    def _close(self) -> None:
        self._opened, self._known = None, frozenset()

    def _round(self) -> None:
        assert self._opened is not None
        queue, deliverer = self._opened
        messages = queue.take()
        self._deliver_by_puts(deliverer, queue, messages)
        self._succeeded()
        if messages or self._known != frozenset(self._members()):
            return
        with self._pulse.resting(WAIT_S):
            if not queue.wait():
                self._is_stopping = True

    def _hop(self, message: Transmitted) -> str:
        return message.hop(self.served.name, self._known)

    def _refused(self, error: MQIError) -> Exception:
        if self.served.structure != private_structure(self._post.process.qmgr):
            return StandbyError()
        return super()._refused(error)

    def _tell_trouble(self, fields: dict[str, object]) -> None:
        self._say("CSQX599E", {"queue": self.served.name} | fields)

    def _tell_running(self) -> None:
        self._say("CSQX500I", {"queue": self.served.name})
