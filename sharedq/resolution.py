"""Name resolution (MQOPEN): from what a program names to the queue and the route that its messages take."""

from __future__ import annotations

from dataclasses import dataclass, field

from sharedq.connection import Connection
from sharedq.keys import private_structure
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions import AnyQueue, QueueAlias, QueueLocal, QueueModel, QueueRemote
from sharedq.objects.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.repository import Located, Repository


@dataclass(frozen=True, slots=True)
class Route:
    """Where calls on an object go.

    Attributes:
        structure, queue: the local queue that a put stores on and a get takes from.
        destination, target_qmgr: where a transmitted message goes in the end; empty for a local queue.
        is_intra_group: by way of SYSTEM.QSG.TRANSMIT.QUEUE.
        checked: names whose version must stand unchanged at each put: ``IGQ QM``, ``DEF NAME``.
        first: the first definition in the path, where defaults come from; None when it is the queue itself.
        model: the model to create a dynamic queue from, when the name was a model queue's.
    """

    structure: str
    queue: str
    destination: str = ""
    target_qmgr: str = ""
    is_intra_group: bool = False
    checked: tuple[str, ...] = field(default=())
    first: AnyQueue | None = None
    model: QueueModel | None = None


def resolve(connection: Connection, name: str, qmgr_name: str) -> Route:
    """Resolve ``name`` (at the manager ``qmgr_name``; empty: here, or wherever its definition says).

    Raises:
        MQIError: 2085 no such queue, 2082 alias without its target, 2086/2087 no way to that manager,
            2091/2092 the transmission queue is not one, 2184 no name of a queue at that manager,
            2343 private and shared queue of one name.
    """
    repository = Repository(connection.group, connection.qmgr_name)
    here = connection.qmgr_name
    if qmgr_name in ("", here, connection.group.name):
        return _resolve_here(repository, connection, name)
    if not name:
        raise error_for(MQRC.REMOTE_Q_NAME_ERROR, "MQOPEN", name, f"no name of a queue at {qmgr_name}")
    shared = _shared_here(repository, connection, name, qmgr_name)
    if shared is not None:
        return shared
    return _transmit(repository, connection, name, qmgr_name, "", checked=(), first=None)


def _resolve_here(repository: Repository, connection: Connection, name: str) -> Route:
    located = repository.lookup(name)
    if located is None:
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "MQOPEN", name)
    definition = located.definition
    if isinstance(definition, QueueLocal):
        # Each manager's structure has its own part of the shared transmit queue: what is addressed to it.
        is_part = name == SYSTEM_QSG_TRANSMIT_QUEUE
        return Route(private_structure(connection.qmgr_name) if is_part else located.structure, name)
    if isinstance(definition, QueueModel):
        return Route("", name, model=definition)
    checked = (f"DEF {name}",)
    if isinstance(definition, QueueAlias):
        target = repository.lookup(definition.target)
        if target is None:
            raise error_for(MQRC.UNKNOWN_ALIAS_BASE_Q, "MQOPEN", name, f"its target is {definition.target!r}")
        if isinstance(target.definition, QueueRemote):
            return _remote(repository, connection, target, (*checked, f"DEF {definition.target}"), definition)
        if not isinstance(target.definition, QueueLocal):
            raise error_for(MQRC.ALIAS_BASE_Q_TYPE_ERROR, "MQOPEN", name, f"its target is {definition.target!r}")
        return Route(target.structure, definition.target, checked=checked, first=definition)
    return _remote(repository, connection, located, checked, definition)


def _remote(
    repository: Repository, connection: Connection, located: Located, checked: tuple[str, ...], first: AnyQueue
) -> Route:
    definition = located.definition
    assert isinstance(definition, QueueRemote)
    if not definition.remote_queue:
        raise error_for(MQRC.REMOTE_Q_NAME_ERROR, "MQOPEN", definition.name, "its RNAME is blank")
    if definition.remote_qmgr == connection.qmgr_name:
        return _resolve_here(repository, connection, definition.remote_queue)
    shared = _shared_here(repository, connection, definition.remote_queue, definition.remote_qmgr)
    if shared is not None:
        return shared
    return _transmit(
        repository,
        connection,
        definition.remote_queue,
        definition.remote_qmgr,
        definition.transmission_queue,
        checked=checked,
        first=first,
    )


def _shared_here(repository: Repository, connection: Connection, name: str, qmgr_name: str) -> Route | None:
    """SQQMNAME(IGNORE): a shared queue named through another member of the group is opened right here."""
    attributes = repository.qmgr_attributes(connection.qmgr_name)
    if attributes.shared_q_mgr_name != "IGNORE" or connection.group.member(qmgr_name) is None:
        return None
    located = repository.lookup(name)
    if located is None or not isinstance(located.definition, QueueLocal):
        return None
    if located.structure == private_structure(connection.qmgr_name):
        return None
    return Route(located.structure, name)


def _transmit(
    repository: Repository,
    connection: Connection,
    name: str,
    qmgr_name: str,
    transmission_queue: str,
    *,
    checked: tuple[str, ...],
    first: AnyQueue | None,
) -> Route:
    """The route to another manager: intra-group queuing when it can be used, else a transmission queue."""
    here = connection.qmgr_name
    checked = (f"IGQ {here}", *checked)
    attributes = repository.qmgr_attributes(here)
    is_member = connection.group.member(qmgr_name) is not None
    if is_member and attributes.igq == "ENABLED" and repository.has_transmit_queue(qmgr_name):
        return Route(private_structure(qmgr_name), SYSTEM_QSG_TRANSMIT_QUEUE, name, qmgr_name, True, checked, first)
    for candidate in (transmission_queue, qmgr_name, attributes.default_transmission_queue):
        if not candidate:
            continue
        located = repository.lookup(candidate)
        if located is None:
            if candidate == transmission_queue:
                raise error_for(MQRC.UNKNOWN_XMIT_Q, "MQOPEN", name, f"XMITQ {candidate!r} is not defined")
            continue
        if not isinstance(located.definition, QueueLocal):
            raise error_for(MQRC.XMIT_Q_TYPE_ERROR, "MQOPEN", name, f"{candidate} is not a local queue")
        if located.definition.usage != "XMITQ":
            raise error_for(MQRC.XMIT_Q_USAGE_ERROR, "MQOPEN", name, f"{candidate} has USAGE(NORMAL)")
        return Route(located.structure, candidate, name, qmgr_name, False, checked, first)
    raise error_for(MQRC.UNKNOWN_REMOTE_Q_MGR, "MQOPEN", name, f"no way to {qmgr_name!r}")
