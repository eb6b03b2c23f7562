"""Name resolution (MQOPEN): from what a program names to the queue and the route that its messages take."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias, QueueLocal, QueueModel, QueueRemote
from sharedq.objects.repository import Located, Repository
from sharedq.objects.store.parts import Place
from sharedq.redis.keys import StructureKeys, private_structure
from sharedq.session.connection import Connection
from sharedq.session.route import Route, _Path


@dataclass(frozen=True, slots=True)
class _View:
    """Names as the manager ``here`` knows them."""

    group: Group
    here: str
    repository: Repository


def resolve(connection: Connection, name: str, qmgr_name: str, opened_at: str = "") -> Route:
    """Resolve ``name`` (at the manager ``qmgr_name``; empty: here, or wherever its definition says).

    Args:
        opened_at: the manager whose definitions count; empty: the one connected to. A mover that carries messages to
            another manager opens their queues as that one would.

    Raises:
        MQIError: 2085 no such queue, 2082 alias without its target, 2086/2087 no way to that manager,
            2001 the target of an alias is no local or remote queue, but a topic for one,
            2196, 2091, 2092 the transmission queue is not one, 2197, 2198, 2199 the default one is not,
            2184 a remote definition leads back to itself, or names no queue at that manager,
            2343 private and shared queue of one name, 2057 a definition leads to a model queue.
    """
    route = _resolve(connection, name, qmgr_name, opened_at)
    if route.topic:
        detail = f"its target is the topic {route.topic}"
        raise error_for(MQRC.ALIAS_BASE_Q_TYPE_ERROR, "MQOPEN", route.path[-1].name, detail)
    return route


def path_to_topic(connection: Connection, name: str, qmgr_name: str, opened_at: str = "") -> _Path:
    """The definitions that ``name`` leads through to an alias with TARGTYPE(TOPIC); empty: it leads to a queue.

    Raises:
        MQIError: as for ``resolve``.
    """
    route = _resolve(connection, name, qmgr_name, opened_at)
    return route.path if route.topic else ()


def _resolve(connection: Connection, name: str, qmgr_name: str, opened_at: str) -> Route:
    here = opened_at or connection.qmgr_name
    view = _View(connection.group, here, Repository(connection.group, here))
    if qmgr_name in ("", here, connection.group.name):
        return _resolve_here(view, name, ())
    if not name:
        raise error_for(MQRC.REMOTE_Q_NAME_ERROR, "MQOPEN", name, f"no name of a queue at {qmgr_name}")
    shared = _shared_here(view, name, qmgr_name, ())
    if shared is not None:
        return shared
    return _transmit(view, name, qmgr_name, "", ())


def resolve_checked(
    connection: Connection, name: str, qmgr_name: str, opened_at: str = "", known: Route | None = None
) -> tuple[Route, tuple[str, ...]]:
    """A route, and how the versions of what it went through stand while it is in force.

    An ALTER changes the directory first and tells the structures afterwards, so a route that is the same before
    and after its versions were read belongs to them: whatever comes later changes them.

    Args:
        known: the route of a handle that is open by that name (`Route.by_part_of`).
    """
    route = resolve(connection, name, qmgr_name, opened_at)
    return check_route(connection, route if known is None else route.by_part_of(known), name, qmgr_name, opened_at)


def check_route(
    connection: Connection, route: Route, name: str, qmgr_name: str, opened_at: str
) -> tuple[Route, tuple[str, ...]]:
    """As `resolve_checked`, for the *route* that was just resolved."""
    while route.checked:
        values = read_versions(connection, connection.access(route.structure).keys, route.checked)
        again = resolve(connection, name, qmgr_name, opened_at).by_part_of(route)
        if again == route:
            return route, tuple(part for pair in zip(route.checked, values, strict=True) for part in pair)
        route = again
    return route, ()


def read_versions(connection: Connection, keys: StructureKeys, checked: Sequence[str]) -> tuple[str, ...]:
    """The versions that a structure knows of what routes went through; empty for what never changed."""
    values = connection.command(keys.versions, "HMGET", keys.versions, *checked)
    return tuple((value or b"").decode() for value in values)


def _resolve_here(view: _View, name: str, path: _Path) -> Route:
    located = view.repository.lookup(name)
    if located is None:
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "MQOPEN", name)
    definition = located.definition
    if isinstance(definition, QueueLocal):
        return _local(view, located, path)
    if isinstance(definition, QueueModel):
        if path:
            raise error_for(MQRC.Q_TYPE_ERROR, "MQOPEN", name, "a model is opened by its own name only")
        return Route("", name, model=definition)
    if any(known.name == name for known in path):
        raise error_for(MQRC.REMOTE_Q_NAME_ERROR, "MQOPEN", name, "its definition leads back to itself")
    if isinstance(definition, QueueAlias) and definition.spread:
        return _any_of(view, definition, (*path, definition))
    if isinstance(definition, QueueAlias) and definition.target_type == "TOPIC":
        if not definition.target:
            raise error_for(MQRC.UNKNOWN_ALIAS_BASE_Q, "MQOPEN", name, "its TARGET is blank")
        return Route("", "", path=(*path, definition), topic=definition.target)
    if isinstance(definition, QueueAlias):
        target = view.repository.lookup(definition.target)
        if target is None:
            raise error_for(MQRC.UNKNOWN_ALIAS_BASE_Q, "MQOPEN", name, f"its target is {definition.target!r}")
        if isinstance(target.definition, QueueRemote):
            return _remote(view, target.definition, (*path, definition))
        if not isinstance(target.definition, QueueLocal):
            raise error_for(MQRC.ALIAS_BASE_Q_TYPE_ERROR, "MQOPEN", name, f"its target is {definition.target!r}")
        return _local(view, target, (*path, definition))
    return _remote(view, definition, path)


def _any_of(view: _View, alias: QueueAlias, path: _Path) -> Route:
    """The route to one of the queues of an alias with SPREAD. Whether its structure can be used is not asked."""
    places: list[Place] = []
    for name in alias.targets:
        found = view.repository.locate(name)
        if found is None:
            raise error_for(MQRC.UNKNOWN_ALIAS_BASE_Q, "MQOPEN", alias.name, f"one of its targets is {name!r}")
        if found.kind != QueueLocal.kind or found.is_partitioned:
            raise error_for(MQRC.ALIAS_BASE_Q_TYPE_ERROR, "MQOPEN", alias.name, f"one of its targets is {name!r}")
        places.append(Place(found.structure, name))
    return Route(*random.choice(places), path=path, spread=tuple(places))


def _local(view: _View, located: Located, path: _Path) -> Route:
    # Each manager's structure has its own part of the shared transmit queue: what is addressed to it.
    is_part = located.name == SYSTEM_QSG_TRANSMIT_QUEUE
    structure = private_structure(view.here) if is_part else located.structure
    return Route(structure, located.name, path=path)


def _remote(view: _View, definition: QueueRemote, path: _Path) -> Route:
    name, qmgr_name, path = definition.remote_queue, definition.remote_qmgr, (*path, definition)
    if not name:
        raise error_for(MQRC.REMOTE_Q_NAME_ERROR, "MQOPEN", definition.name, "its RNAME is blank")
    if qmgr_name in (view.here, view.group.name):
        return _resolve_here(view, name, path)
    shared = _shared_here(view, name, qmgr_name, path)
    if shared is not None:
        return shared
    return _transmit(view, name, qmgr_name, definition.transmission_queue, path)


def _shared_here(view: _View, name: str, qmgr_name: str, path: _Path) -> Route | None:
    """SQQMNAME(IGNORE): a shared queue named through another member of the group is opened right here."""
    attributes = view.repository.qmgr_attributes(view.here)
    if attributes.shared_q_mgr_name != "IGNORE" or view.group.member(qmgr_name) is None:
        return None
    located = view.repository.lookup(name)
    if located is None or not isinstance(located.definition, QueueLocal):
        return None
    if located.structure == private_structure(view.here):
        return None
    return _local(view, located, path)


def _transmit(view: _View, name: str, qmgr_name: str, transmission_queue: str, path: _Path) -> Route:
    """The route to another manager: intra-group queuing when it can be used, else a transmission queue."""
    here = view.here
    shared, attributes = view.repository.shared_and_attributes(name)
    member = view.group.member(qmgr_name)
    # One that is being removed is sent nothing any more.
    if member is not None and not member.is_leaving and attributes.igq == "ENABLED":
        part = view.repository.transmit_part(qmgr_name, shared)
        if part is not None:
            return Route(*part, name, qmgr_name, True, path, here)
    return _conventional(view, name, qmgr_name, transmission_queue, path)


def conventional_route(connection: Connection, route: Route, opened_at: str) -> Route:
    """The way of messages that are too long for SYSTEM.QSG.TRANSMIT.QUEUE, by which *route* goes.

    Raises:
        MQIError: as for ``resolve``: there is none.
    """
    view = _View(connection.group, opened_at, Repository(connection.group, opened_at))
    remote = route.path[-1] if route.path else None
    transmission_queue = remote.transmission_queue if isinstance(remote, QueueRemote) else ""
    return _conventional(view, route.destination, route.target_qmgr, transmission_queue, route.path)


class _Failures(NamedTuple):
    """Reasons that say what is wrong with a transmission queue; ``unknown`` None: the next one may do."""

    unknown: MQRC | None
    kind: MQRC = MQRC.XMIT_Q_TYPE_ERROR
    usage: MQRC = MQRC.XMIT_Q_USAGE_ERROR


_OF_DEFINITION: Final = _Failures(MQRC.UNKNOWN_XMIT_Q)
_OF_MANAGER: Final = _Failures(None)
_OF_DEFAULT: Final = _Failures(MQRC.UNKNOWN_DEF_XMIT_Q, MQRC.DEF_XMIT_Q_TYPE_ERROR, MQRC.DEF_XMIT_Q_USAGE_ERROR)


def _conventional(view: _View, name: str, qmgr_name: str, transmission_queue: str, path: _Path) -> Route:
    here = view.here
    default = view.repository.qmgr_attributes(here).default_transmission_queue
    candidates = (transmission_queue, _OF_DEFINITION), (qmgr_name, _OF_MANAGER), (default, _OF_DEFAULT)
    for candidate, failures in candidates:
        if not candidate:
            continue
        located = view.repository.lookup(candidate)
        if located is None:
            if failures.unknown is None:
                continue
            raise error_for(failures.unknown, "MQOPEN", name, f"transmission queue {candidate!r} is not defined")
        alias = located.definition
        if candidate == qmgr_name and isinstance(alias, QueueRemote) and not alias.remote_queue and alias not in path:
            return _by_manager_alias(view, name, alias, path)
        if not isinstance(located.definition, QueueLocal):
            raise error_for(failures.kind, "MQOPEN", name, f"{candidate} is not a local queue")
        if located.definition.usage != "XMITQ":
            raise error_for(failures.usage, "MQOPEN", name, f"{candidate} has USAGE(NORMAL)")
        if candidate == SYSTEM_QSG_TRANSMIT_QUEUE:
            # As IBM MQ keeps the cluster's for itself: its agent would take back what it is to send elsewhere.
            raise error_for(failures.usage, "MQOPEN", name, f"{candidate} is for intra-group queuing only")
        return Route(located.structure, candidate, name, qmgr_name, False, path, here)
    asked = path[0].name if path else name
    raise error_for(MQRC.UNKNOWN_REMOTE_Q_MGR, "MQOPEN", asked, f"no way to {qmgr_name!r} for its queue {name!r}")


def _by_manager_alias(view: _View, name: str, alias: QueueRemote, path: _Path) -> Route:
    """The route to the manager that *alias*, a remote definition without RNAME, stands for."""
    qmgr_name, path = alias.remote_qmgr or alias.name, (*path, alias)
    if qmgr_name in (view.here, view.group.name):
        return _resolve_here(view, name, path)
    shared = _shared_here(view, name, qmgr_name, path)
    if shared is not None:
        return shared
    return _transmit(view, name, qmgr_name, alias.transmission_queue, path)
