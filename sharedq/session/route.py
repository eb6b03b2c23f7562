"""The queue that a name leads to, the facts of it that the hot paths need, and the queue for replies. Values."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from sharedq.mqi.limits import UNLIMITED_EXPIRY
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


def lowest_cap(*caps: int) -> int:
    """Return the expiry that caps an unlimited one, or UNLIMITED_EXPIRY."""
    return min((cap for cap in caps if cap != UNLIMITED_EXPIRY), default=UNLIMITED_EXPIRY)


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """Attributes that decide a put or a get; those of one version of a definition.

    ``max_msg_length`` is in bytes, ``default_persistence`` 0 or 1. ``is_group_indexed``: what begins a group is never
    placed with the priorities 0 and 1, which the queue manager keeps for itself. ``is_permanent_dynamic``: MQCLOSE may
    delete the queue, whichever handle it closes. ``is_temporary``: no persistent message is put on it.
    ``property_control`` is PROPCTL, ``cap_expiry`` is CAPEXPRY, in tenths of a second; ``is_asynchronous``:
    DEFPRESP(ASYNC).
    """

    is_put_inhibited: bool = False
    is_get_inhibited: bool = False
    is_fifo: bool = False
    is_group_indexed: bool = False
    is_transmission: bool = False
    is_permanent_dynamic: bool = False
    is_temporary: bool = False
    default_priority: int = 0
    default_persistence: int = 0
    max_depth: int = 0
    max_msg_length: int = 0
    property_control: str = "COMPAT"
    cap_expiry: int = UNLIMITED_EXPIRY
    is_asynchronous: bool = False

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(definition: bytes) -> QueueFacts:
        """From a queue's definition as it stands in Redis (JSON of ``QueueLocal``)."""
        fields = json.loads(definition)
        return QueueFacts(
            is_put_inhibited=fields["put"] == "DISABLED",
            is_get_inhibited=fields["get"] == "DISABLED",
            is_fifo=fields["msg_delivery_sequence"] == "FIFO",
            is_group_indexed=fields["index_type"] == "GROUPID" and fields["msg_delivery_sequence"] == "PRIORITY",
            is_transmission=fields["usage"] == "XMITQ",
            is_permanent_dynamic=fields["definition_type"] in ("PERMDYN", "SHAREDYN"),
            is_temporary=fields["definition_type"] == "TEMPDYN",
            default_priority=fields["def_priority"],
            default_persistence=int(fields["def_persistence"] == "YES"),
            max_depth=fields["max_depth"],
            max_msg_length=fields["max_msg_length"],
            # Queues that were defined before there were properties and caps do not have them.
            property_control=fields.get("property_control", "COMPAT"),
            cap_expiry=fields.get("cap_expiry", UNLIMITED_EXPIRY),
            is_asynchronous=fields.get("def_put_response") == "ASYNC",
        )
