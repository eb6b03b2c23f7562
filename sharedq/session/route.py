"""The queue that a name leads to, and the queue that replies go to. Values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias, QueueModel, QueueRemote
from sharedq.objects.store.parts import Place

#: Begins the name of an IGQ attribute among the names that handles check; the manager's name follows.
IGQ_PREFIX = "IGQ "
_Path = tuple[QueueAlias | QueueRemote, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """Where calls on an object go.

    Attributes:
        structure, queue: the local queue that a put stores on and a get takes from.
        destination, target_qmgr: where a transmitted message goes in the end; empty for a local queue.
        is_intra_group: by way of SYSTEM.QSG.TRANSMIT.QUEUE.
        path: the definitions that the name led through before that queue. The first is where defaults come from, and
            each of them may inhibit puts or gets.
        igq_of: the manager whose IGQ attribute chose this route; empty where it does not matter.
        model: the model to create a dynamic queue from, when the name was a model queue's.
        is_temporary: it was made for this open, and goes with its close.
        is_permanent: it was made for this open, and stays once it is open.
        spread: the places of the queues that an alias with SPREAD stands for. ``structure`` and ``queue`` are one.
        topic: the topic object that an alias with TARGTYPE(TOPIC) names; there is no queue then.
    """

    structure: str
    queue: str
    destination: str = ""
    target_qmgr: str = ""
    is_intra_group: bool = False
    path: _Path = ()
    igq_of: str = ""
    model: QueueModel | None = None
    is_temporary: bool = False
    is_permanent: bool = False
    spread: tuple[Place, ...] = ()
    topic: str = ""

    @property
    def checked(self) -> tuple[str, ...]:
        """Names whose version must stand unchanged at each call: ``IGQ QM``, ``DEF NAME``."""
        igq = (IGQ_PREFIX + self.igq_of,) if self.igq_of else ()
        return (*igq, *(f"DEF {definition.name}" for definition in self.path))

    @property
    def is_put_inhibited(self) -> bool:
        """Whether a definition on the way refuses puts."""
        return any(definition.put == "DISABLED" for definition in self.path)

    @property
    def is_get_inhibited(self) -> bool:
        """Whether an alias on the way refuses gets."""
        return any(isinstance(definition, QueueAlias) and definition.get == "DISABLED" for definition in self.path)

    @property
    def definition(self) -> QueueAlias | QueueRemote | None:
        """The alias or remote definition that was named: MQINQ and MQSET are about it. None: about the queue itself.

        A remote definition of a manager is no queue's.
        """
        named = (each for each in self.path if isinstance(each, QueueAlias) or each.remote_queue)
        return next(named, None)

    def leads_where(self, other: Route) -> bool:
        """Whether messages go where the *other* sends them, whatever else its definitions say."""
        return self._ends == other._ends

    def by_part_of(self, other: Route) -> Route:
        """This route, through the part of SYSTEM.QSG.TRANSMIT.QUEUE that the *other* goes through to the same end, or
        to the same one of the queues of an alias with SPREAD.

        A handle keeps to one, so that its messages keep their order.
        """
        return replace(self, structure=other.structure, queue=other.queue) if self.leads_where(other) else self

    @property
    def _ends(self) -> tuple[str, ...]:
        names = (definition.name for definition in self.path)
        place: tuple[str, ...] = (self.structure, self.queue)
        if self.is_intra_group:
            # Whichever part it is, what is sent arrives at the same queue.
            place = (SYSTEM_QSG_TRANSMIT_QUEUE,)
        # Any change of the queues of an alias with SPREAD may send what belongs together elsewhere.
        place = tuple(name for each in self.spread for name in each) or place
        return (*place, self.destination, self.target_qmgr, self.igq_of, *names)


class ReplyTo(NamedTuple):
    """The meaning of a ReplyToQ, and until when it is taken to be so (monotonic clock)."""

    queue: bytes
    qmgr: bytes
    until: float
