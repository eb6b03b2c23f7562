"""The system objects that every group needs. The first manager of a group defines them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.managers import CFStruct
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import (
    MAX_MSG_LENGTH_LIMIT,
    AnyQueue,
    QueueAlias,
    QueueLocal,
    QueueModel,
    QueueRemote,
)
from sharedq.objects.definitions.topics import (
    BASE_TOPIC,
    DEFAULT_TOPIC,
    DURABLE_MODEL,
    NON_DURABLE_MODEL,
    ROOT_VALUES,
    Topic,
)
from sharedq.objects.repository import Repository

__all__ = [
    "SYSTEM_ADMIN_COMMAND_QUEUE",
    "SYSTEM_DEAD_LETTER_QUEUE",
    "SYSTEM_DEFAULT_INITIATION_QUEUE",
    "SYSTEM_QSG_TRANSMIT_QUEUE",
    "define_system_objects",
]

SYSTEM_DEAD_LETTER_QUEUE = "SYSTEM.DEAD.LETTER.QUEUE"
#: Commands as messages; a command server of each manager takes them.
SYSTEM_ADMIN_COMMAND_QUEUE = "SYSTEM.ADMIN.COMMAND.QUEUE"
#: Retained publications are messages on this queue.
RETAINED_QUEUE = "SYSTEM.RETAINED.PUB.QUEUE"
#: The initiation queue of a trigger monitor that is told no other.
SYSTEM_DEFAULT_INITIATION_QUEUE = "SYSTEM.DEFAULT.INITIATION.QUEUE"
#: The queues of event messages, with their descriptions.
EVENT_QUEUES = {
    "SYSTEM.ADMIN.QMGR.EVENT": "Events of the queue manager and its programs",
    "SYSTEM.ADMIN.PERFM.EVENT": "Events about the depth of queues",
    "SYSTEM.ADMIN.COMMAND.EVENT": "Events about commands",
    "SYSTEM.ADMIN.CONFIG.EVENT": "Events about definitions",
    "SYSTEM.ADMIN.CHANNEL.EVENT": "Events about channels",
}


def define_system_objects(repository: Repository, structure: str) -> None:
    """Define the missing system objects of the group, in the application structure *structure*.

    Call it after `Repository.prepare_manager`. It changes no existing object. Templates for DEFINE and the dead-letter
    queue are private to each manager, so every manager calls this at its start.
    """
    # Do not define what exists: a full Redis refuses that, and must not keep a manager from starting.
    if structure not in [known.name for known in repository.structures()]:
        default = CFStruct(name=structure, recover="YES", description="Default application structure")
        _unless_there(partial(repository.define_structure, default))
    transmit = QueueLocal(
        name=SYSTEM_QSG_TRANSMIT_QUEUE,
        disposition="SHARED",
        structure=structure,
        usage="XMITQ",
        index_type="CORRELID",
        description="Intra-group queuing",
    )
    private: tuple[AnyQueue, ...] = (
        QueueLocal(name="SYSTEM.DEFAULT.LOCAL.QUEUE", description="Default local queue"),
        QueueAlias(name="SYSTEM.DEFAULT.ALIAS.QUEUE", description="Default alias queue"),
        QueueRemote(name="SYSTEM.DEFAULT.REMOTE.QUEUE", description="Default remote queue"),
        QueueModel(name="SYSTEM.DEFAULT.MODEL.QUEUE", description="Default model queue"),
        QueueModel(name="SYSTEM.MQSC.REPLY.QUEUE", description="Replies to MQSC commands"),
        # A dead letter is longer than the undelivered message, by its header.
        QueueLocal(
            name=SYSTEM_DEAD_LETTER_QUEUE,
            description="Messages that could not be delivered",
            max_msg_length=MAX_MSG_LENGTH_LIMIT,
        ),
        QueueLocal(name=SYSTEM_DEFAULT_INITIATION_QUEUE, description="Trigger messages for the trigger monitor"),
        QueueLocal(name=SYSTEM_ADMIN_COMMAND_QUEUE, description="Commands for the command server"),
        *(QueueLocal(name=name, description=text) for name, text in EVENT_QUEUES.items()),
    )
    models = (
        QueueModel(name=name, definition_type="SHAREDYN", structure=structure, description=f"Model of {what}")
        for name, what in ((DURABLE_MODEL, "durable subscriptions"), (NON_DURABLE_MODEL, "other subscriptions"))
    )
    for definition in (transmit, *private, *models):
        if repository.locate(definition.name) is None:
            _unless_there(partial(repository.define, definition))
    known = repository.topics.tree().by_name
    for topic in (
        Topic(name=BASE_TOPIC, description="Base topic for resolving attributes", **ROOT_VALUES),
        Topic(name=DEFAULT_TOPIC, topic_string="SYSTEM.DEFAULT.TOPIC", description="Default topic"),
    ):
        if topic.name not in known:
            _unless_there(partial(repository.topics.define, topic))


def define_retained_queue(repository: Repository) -> None:
    """Define the queue of retained publications, in the structure of SYSTEM.QSG.TRANSMIT.QUEUE.

    The first retained publication does it. A group without one has no shared queue for that, and its members no part of
    the transmit queue beside it.
    """
    transmit = repository.lookup(SYSTEM_QSG_TRANSMIT_QUEUE)
    assert transmit is not None
    retained = QueueLocal(
        name=RETAINED_QUEUE,
        disposition="SHARED",
        structure=transmit.structure,
        index_type="CORRELID",
        msg_delivery_sequence="FIFO",
        max_msg_length=MAX_MSG_LENGTH_LIMIT,
        description="Retained publications",
    )
    _unless_there(partial(repository.define, retained))


def _unless_there(define: Callable[[], None]) -> None:
    try:
        define()
    except MQIError as error:
        # Managers that start together define the same objects.
        if error.reason not in (MQRC.OBJECT_ALREADY_EXISTS, MQRC.OBJECT_NOT_UNIQUE):
            raise
