"""MQOPEN and MQCLOSE."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from sharedq.calls.routes.resolution import check_route, resolve, resolve_checked
from sharedq.calls.unit.put_buffer import flush_pending
from sharedq.logical import check_close
from sharedq.mqi.arguments import whole
from sharedq.mqi.constants import MQRC, CloseOption, ObjectType, OpenOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.options import check_close_options, check_open_options, told
from sharedq.mqi.structures import MQOD
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.definitions.namelists import Namelist
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE, check_object_name
from sharedq.objects.definitions.processes import ProcessDefinition
from sharedq.objects.repository import NAMED_OBJECTS, Repository
from sharedq.objects.store.parts import Place
from sharedq.redis.keys import private_structure
from sharedq.scripts.connections import close_call, open_call
from sharedq.scripts.reads import open_input_count, queue_definition
from sharedq.selectors.selector import Selector, selector_for
from sharedq.session.connection import Connection
from sharedq.session.handle import Definition, Gets, Handle, ObjectHandle, StructureAccess
from sharedq.session.refusals import note_refusal
from sharedq.session.route import Route

#: Letters of ``prelude/handles.lua``; "i" asks for the queue's own DEFSOPT.
_MODES = (
    (int(OpenOption.INPUT_AS_Q_DEF), "i"),
    (OpenOption.INPUT_SHARED, "I"),
    (OpenOption.INPUT_EXCLUSIVE, "X"),
    (OpenOption.BROWSE, "B"),
    (OpenOption.CO_OP, "C"),
    (OpenOption.OUTPUT, "O"),
    (OpenOption.INQUIRE, "Q"),
    (OpenOption.SET, "S"),
)
_NOT_FOR_REMOTE = (
    OpenOption.INPUT_AS_Q_DEF
    | OpenOption.INPUT_SHARED
    | OpenOption.INPUT_EXCLUSIVE
    | OpenOption.BROWSE
    | OpenOption.SET
)
_INQUIRE = int(OpenOption.INQUIRE)
_INPUT = int(OpenOption.INPUT_AS_Q_DEF | OpenOption.INPUT_SHARED | OpenOption.INPUT_EXCLUSIVE)
_BY_MESSAGE = int(OpenOption.BIND_NOT_FIXED | OpenOption.BIND_ON_GROUP)
_DEFAULT_BINDS = {"OPEN": 0, "NOTFIXED": int(OpenOption.BIND_NOT_FIXED), "GROUP": int(OpenOption.BIND_ON_GROUP)}
#: A call that is refused for one of these has done nothing, and another queue of an alias with SPREAD may do.
NEXT_MAY_TAKE_IT = frozenset(
    {
        MQRC.PUT_INHIBITED,
        MQRC.Q_FULL,
        MQRC.Q_DELETED,
        MQRC.UNKNOWN_OBJECT_NAME,
        MQRC.STORAGE_MEDIUM_FULL,
        MQRC.CF_STRUC_FAILED,
        MQRC.CF_STRUC_IN_USE,
        MQRC.CF_NOT_AVAILABLE,
    }
)
#: The version of MQOD that has a selection string, and the open options that go with one.
_VERSION_WITH_SELECTOR = 4
_SELECTING = int(OpenOption.INPUT_AS_Q_DEF | OpenOption.INPUT_SHARED | OpenOption.INPUT_EXCLUSIVE | OpenOption.BROWSE)
#: MQSC's words for the types of objects that are opened for MQINQ alone.
OBJECT_KINDS: Final[Mapping[int, str]] = {
    int(ObjectType.Q_MGR): QueueManagerAttributes.kind,
    int(ObjectType.PROCESS): ProcessDefinition.kind,
    int(ObjectType.NAMELIST): Namelist.kind,
}
#: structure/open answers this if a definition that the name led through has changed.
_CHANGED = 1
_DELETES = int(CloseOption.DELETE | CloseOption.DELETE_PURGE)
#: structure/close answers this about the last handle of a queue that is deleted logically.
_GOES = 1
#: How many times MQOPEN resolves a name whose way changes meanwhile.
RESOLUTIONS_MAX = 100


def open_queue(
    connection: Connection, od: MQOD, options: OpenOption | int, *, opened_at: str = "", may_create: bool = True
) -> Handle:
    """MQOPEN of a queue; ``od`` returns what the name resolved to.

    Args:
        opened_at: open it as this manager would; empty: the one connected to.
        may_create: whether a model queue's name makes a dynamic queue. MQPUT1 passes false: its close would delete
            the new queue.

    Raises:
        MQIError: 2085 and its kin when the name does not resolve, 2017 MAXHANDS are open, 2042 in use, 2045 an option
            that its type does not allow, 2046 bad options, 2057 a model queue where nothing may be made of it, 2152 no
            queue or manager can have such a name, 2161 quiescing, 2373 its structure has failed, 2346 that is being
            recovered; 2459, 2504, 2516, 2519, 2551 the selection string.
    """
    options = whole(options, MQRC.OPTIONS_ERROR, "MQOPEN", "")
    name, qmgr_name = _text(od.object_name), _text(od.object_q_mgr_name)
    asked = replace(od)
    try:
        handle = _open_queue(connection, od, name, qmgr_name, options, opened_at, may_create=may_create)
    except MQIError as error:
        note_refusal(connection, error, name, qmgr_name, options)
        raise
    if handle.is_temporary:
        # A temporary queue goes with its connection. Reconnection makes the queue again under its name.
        asked.dynamic_q_name = handle.name.encode()
    else:
        asked.object_name = od.object_name
    handle.asked = asked
    return handle


def _open_queue(
    connection: Connection,
    od: MQOD,
    name: str,
    qmgr_name: str,
    options: int,
    opened_at: str,
    *,
    may_create: bool,
) -> Handle:
    # A name is looked up over the group's links, which may wait for a node of which an ended connection knows nothing.
    connection.check()
    reason = check_open_options(options)
    if reason:
        raise error_for(reason, "MQOPEN", name, told(OpenOption(options)))
    if od.object_type != ObjectType.Q:
        raise error_for(MQRC.OBJECT_TYPE_ERROR, "MQOPEN", name)
    if connection.is_quiescing and options & OpenOption.FAIL_IF_QUIESCING:
        raise error_for(MQRC.Q_MGR_QUIESCING, "MQOPEN", name)
    _check_names(name, qmgr_name)
    if len(connection.handles) >= connection.max_handles:
        raise error_for(MQRC.HANDLE_NOT_AVAILABLE, "MQOPEN", name, f"MAXHANDS({connection.max_handles}) are open")
    selector = _selector(od, options)
    opened_at = opened_at or connection.qmgr_name
    handle = _open_name(connection, od, name, qmgr_name, opened_at, options, may_create=may_create)
    handle.gets.selector = selector
    if options & OpenOption.ALTERNATE_USER_AUTHORITY:
        handle.puts.alternate_user = _text(od.alternate_user_id).encode()[:12]
    is_local_wanted = bool(options & OpenOption.RESOLVE_LOCAL_Q)
    od.resolved_q_name, od.resolved_q_mgr_name = handle.resolved_names(is_local_wanted=is_local_wanted)
    return handle


def _selector(od: MQOD, options: int) -> Selector | None:
    """The selector of what is opened, if it has one.

    Raises:
        MQIError: 2516 it is not opened for input or browse; and as `selector_for`.
    """
    if not od.selection_string or od.version < _VERSION_WITH_SELECTOR:
        return None
    if not options & _SELECTING:
        name = od.object_name.decode(errors="replace")
        raise error_for(MQRC.SELECTOR_INVALID_FOR_TYPE, "MQOPEN", name, "it is opened neither for input nor for browse")
    return selector_for(od.selection_string)


def _open_name(
    connection: Connection, od: MQOD, name: str, qmgr_name: str, opened_at: str, options: int, *, may_create: bool
) -> Handle:
    """Resolve the name and open where it leads; resolve it again where that has changed in between."""
    missing: MQIError | None = None
    for _ in range(RESOLUTIONS_MAX):
        route = resolve(connection, name, qmgr_name, opened_at)
        if route.spread:
            return _open_any_of(connection, route, name, qmgr_name, opened_at, options)
        route, checks = check_route(connection, route, name, qmgr_name, opened_at)
        if route.model is not None:
            if not may_create:
                raise error_for(MQRC.Q_TYPE_ERROR, "MQOPEN", name, "it is a QMODEL")
            route = _create_dynamic(connection, od, route, opened_at)
        if route.destination and (options & _NOT_FOR_REMOTE or (options & _INQUIRE and route.definition is None)):
            detail = f"a QREMOTE or a transmission queue on the way is for puts: {told(OpenOption(options))}"
            raise error_for(MQRC.OPTION_NOT_VALID_FOR_TYPE, "MQOPEN", name, detail)
        try:
            handle = open_route(connection, name, qmgr_name, opened_at, route, checks, options)
        except MQIError as error:
            # The queue was deleted since the name was resolved. Or its structure has failed, and this connection has
            # entered it afterwards.
            if route.is_temporary or route.is_permanent:
                # A queue that cannot be deleted now goes with the next close, or with the connection.
                connection.temporary_queues.append((connection.access(route.structure), route.queue))
                delete_temporary_queues(connection)
                raise
            if error.reason != MQRC.UNKNOWN_OBJECT_NAME or missing is not None:
                raise
            missing = error
            continue
        if handle is not None:
            return handle
    raise missing or error_for(MQRC.OBJECT_IN_USE, "MQOPEN", name, "the definitions on its way change all the time")


def _open_any_of(
    connection: Connection, route: Route, name: str, qmgr_name: str, opened_at: str, options: int
) -> Handle:
    """Open one of the queues of an alias with SPREAD: for input the one with the fewest getters, else any that can be
    used. That is the queue of a handle with MQOO_BIND_ON_OPEN.
    """
    refusal: MQIError | None = None
    for place in _in_order(connection, route, options):
        try:
            return _open_part(connection, route, place, name, qmgr_name, opened_at, options)
        except MQIError as error:
            if error.reason not in NEXT_MAY_TAKE_IT:
                raise
            refusal = refusal or error
    assert refusal is not None
    raise refusal


def _open_part(
    connection: Connection, route: Route, place: Place, name: str, qmgr_name: str, opened_at: str, options: int
) -> Handle:
    """Open *place*, one of the queues of an alias with SPREAD."""
    known = replace(route, structure=place.structure, queue=place.queue)
    for _ in range(RESOLUTIONS_MAX):
        now, checks = resolve_checked(connection, name, qmgr_name, opened_at, known)
        handle = open_route(connection, name, qmgr_name, opened_at, now, checks, options)
        if handle is not None:
            handle.puts.binding = _binding(now, options)
            return handle
    raise error_for(MQRC.OBJECT_IN_USE, "MQOPEN", name, "the definitions on its way change all the time")


def open_each(connection: Connection, name: str, options: int, selection_string: str = "") -> list[Handle]:
    """Open all queues of an alias with SPREAD, for a program that gets from each of them; of another name, the one.

    Raises:
        MQIError: as for `open_queue`. No queue is open then.
    """
    connection.check()
    _check_names(name, "")
    here, opened = connection.qmgr_name, list[Handle]()
    od = MQOD(version=_VERSION_WITH_SELECTOR, object_name=name.encode(), selection_string=selection_string)
    selector = _selector(od, options)
    route = resolve(connection, name, "", here)
    try:
        for place in route.spread:
            opened.append(_open_part(connection, route, place, name, "", here, options))
            opened[-1].gets.selector = selector
    except MQIError:
        for handle in opened:
            with suppress(MQIError):
                close_handle(connection, handle)
        raise
    return opened or [open_queue(connection, od, options)]


def _in_order(connection: Connection, route: Route, options: int) -> Sequence[Place]:
    places = random.sample(route.spread, len(route.spread))
    if not options & _INPUT:
        return places
    getters: dict[Place, int] = {}
    for place in places:
        # A queue whose structure cannot be used is refused when it is opened.
        with suppress(MQIError):
            access = connection.access(place.structure)
            getters[place] = open_input_count(connection, access.keys.queue(place.queue))
    return sorted(places, key=lambda place: getters.get(place, 0))


def _binding(route: Route, options: int) -> int:
    """The binding of the puts of a handle, if each of them chooses a queue."""
    if not options & OpenOption.OUTPUT:
        return 0
    alias = route.path[-1]
    return options & _BY_MESSAGE or (0 if options & OpenOption.BIND_ON_OPEN else _DEFAULT_BINDS[alias.def_bind])


def _check_names(name: str, qmgr_name: str) -> None:
    """Refuse names that no object can have. Nothing here looks up another manager's queues later."""
    for each, reason in ((name, MQRC.UNKNOWN_OBJECT_NAME), (qmgr_name, MQRC.UNKNOWN_OBJECT_Q_MGR)):
        try:
            if each:
                check_object_name(each)
        except ValueError as error:
            raise error_for(reason, "MQOPEN", "", str(error)) from error


def open_object(connection: Connection, od: MQOD, options: OpenOption | int) -> ObjectHandle:
    """MQOPEN of the queue manager's own attributes (MQOT_Q_MGR), a process definition or a namelist, for MQINQ.

    Raises:
        MQIError: 2152 the queue manager is named, 2085 there is no such object, 2153 another manager's, 2045 anything
            but inquiring, 2161 quiescing.
    """
    kind, name, qmgr = OBJECT_KINDS[od.object_type], _text(od.object_name), connection.qmgr_name
    options = whole(options, MQRC.OPTIONS_ERROR, "MQOPEN", name or qmgr)
    if od.selection_string and od.version >= _VERSION_WITH_SELECTOR:
        raise error_for(MQRC.SELECTOR_INVALID_FOR_TYPE, "MQOPEN", name or qmgr)
    if kind == QueueManagerAttributes.kind and name:
        raise error_for(MQRC.OBJECT_NAME_ERROR, "MQOPEN", qmgr)
    if _text(od.object_q_mgr_name) not in ("", qmgr):
        raise error_for(MQRC.OBJECT_Q_MGR_NAME_ERROR, "MQOPEN", name or qmgr)
    reason = check_open_options(options)
    if reason:
        raise error_for(reason, "MQOPEN", name or qmgr, told(OpenOption(options)))
    if options & ~int(OpenOption.INQUIRE | OpenOption.FAIL_IF_QUIESCING):
        raise error_for(
            MQRC.OPTION_NOT_VALID_FOR_TYPE, "MQOPEN", name or qmgr, f"it is for MQINQ: {told(OpenOption(options))}"
        )
    if connection.is_quiescing and options & OpenOption.FAIL_IF_QUIESCING:
        raise error_for(MQRC.Q_MGR_QUIESCING, "MQOPEN", name or qmgr)
    if kind in NAMED_OBJECTS and Repository(connection.group, qmgr).named_objects(kind).named(name) is None:
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "MQOPEN", name)
    handle = ObjectHandle(connection.next_handle_number(), options, name or qmgr, kind, replace(od))
    connection.objects[handle.number] = handle
    return handle


def open_route(
    connection: Connection,
    name: str,
    qmgr_name: str,
    opened_at: str,
    route: Route,
    checks: tuple[str, ...],
    options: int,
) -> Handle | None:
    """A handle of the queue that *route* leads to; None where *checks* do not hold any more, and nothing is open.

    From the moment in which the structure has the handle, the connection knows it.
    """
    mark_ms = _mark_interval_ms(connection) if options & OpenOption.CO_OP else 0
    access = connection.access(route.structure)
    keys = access.keys
    queue = keys.queue(route.queue)
    token, number = connection.token, connection.next_handle_number()
    mode = "".join(letter for option, letter in _MODES if options & option)
    detail = json.dumps({"appl": connection.appl_name, "pid": os.getpid(), "object": name})
    reply = connection.call(
        *open_call(keys, queue, token, number, mode, detail, checks, is_permanent=route.is_permanent)
    )
    if reply[0]:
        connection.free_handle_numbers.insert(0, number)
    if reply[0] == _CHANGED:
        return None
    if reply[0]:
        raise connection.error(reply[0], "MQOPEN", name)
    handle = _handle(connection, access, route, checks, name, qmgr_name, opened_at, options, (reply[1], reply[2]))
    handle.number, handle.is_temporary = number, route.is_temporary
    connection.handles[number] = handle
    if options & OpenOption.CO_OP:
        handle.gets.may_hold_marks, handle.gets.mark_ms = True, mark_ms
    return handle


def _handle(
    connection: Connection,
    access: StructureAccess,
    route: Route,
    checks: tuple[str, ...],
    name: str,
    qmgr_name: str,
    opened_at: str,
    options: int,
    found: tuple[bytes, bytes],
) -> Handle:
    """A handle that has no number yet; *found* is the version and the definition of its queue."""
    is_private = route.structure == private_structure(opened_at)
    is_transmit_queue = route.queue == SYSTEM_QSG_TRANSMIT_QUEUE and not route.destination
    return Handle(
        number=0,
        options=options,
        object_name=name,
        object_q_mgr_name=qmgr_name,
        opened_at=opened_at,
        name=route.queue,
        structure=access,
        queue=access.keys.queue(route.queue),
        definition=Definition.of(*found, route, checks),
        destination=route.destination.encode(),
        target_qmgr=route.target_qmgr.encode(),
        resolved_q_mgr=(route.target_qmgr or (opened_at if is_private else connection.group.name)).encode(),
        is_intra_group=route.is_intra_group,
        gets=Gets(parts={} if is_transmit_queue else None),
    )


def find_queue(
    connection: Connection, od_name: bytes, od_qmgr_name: bytes, opened_at: str, known: Route | None = None
) -> Handle:
    """Return a handle for puts, as the manager *opened_at* would open it. The queue does not register it.

    Such a handle needs no close, and the queue can be cleared and deleted.

    Args:
        known: the route of a handle that is open by that name (`Route.by_part_of`). Without it, an alias with SPREAD
            is found at any of its queues that can be used, and its DEFBIND holds for the puts.

    Raises:
        MQIError: as for ``open_queue``; 2057 the name is a model queue's.
    """
    name, qmgr_name = _text(od_name), _text(od_qmgr_name)
    _check_names(name, qmgr_name)
    route = resolve(connection, name, qmgr_name, opened_at)
    if known is not None or not route.spread:
        return _find(connection, route if known is None else route.by_part_of(known), name, qmgr_name, opened_at)
    refusal: MQIError | None = None
    for place in random.sample(route.spread, len(route.spread)):
        try:
            handle = _find(
                connection, replace(route, structure=place.structure, queue=place.queue), name, qmgr_name, opened_at
            )
        except MQIError as error:
            if error.reason not in NEXT_MAY_TAKE_IT:
                raise
            refusal = refusal or error
        else:
            handle.puts.binding = _binding(route, handle.options)
            return handle
    assert refusal is not None
    raise refusal


def _find(connection: Connection, route: Route, name: str, qmgr_name: str, opened_at: str) -> Handle:
    route, checks = check_route(connection, route, name, qmgr_name, opened_at)
    if route.model is not None:
        raise error_for(MQRC.Q_TYPE_ERROR, "MQOPEN", name, "it is a QMODEL")
    return find_route(connection, name, qmgr_name, opened_at, route, checks)


def find_route(
    connection: Connection, name: str, qmgr_name: str, opened_at: str, route: Route, checks: tuple[str, ...]
) -> Handle:
    """Return a handle for puts where *route* leads, which the queue does not register. Each put looks at *checks*."""
    access = connection.access(route.structure)
    queue = access.keys.queue(route.queue)
    found, options = queue_definition(connection, queue), int(OpenOption.OUTPUT)
    if found is None:
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "MQOPEN", name)
    return _handle(connection, access, route, checks, name, qmgr_name, opened_at, options, found)


def _mark_interval_ms(connection: Connection) -> int:
    return Repository(connection.group, connection.qmgr_name).qmgr_attributes(connection.qmgr_name).mark_interval_ms


def _create_dynamic(connection: Connection, od: MQOD, route: Route, opened_at: str) -> Route:
    """Opening a model queue creates a dynamic queue; its name comes from DynamicQName."""
    assert route.model is not None
    structure = route.model.structure or private_structure(opened_at)
    # Enter the structure first: the script that creates the queue also records its maker.
    connection.access(structure)
    repository = Repository(connection.group, opened_at, caller=connection.token)
    created = repository.create_dynamic(route.model, _text(od.dynamic_q_name))
    od.object_name = created.name.encode()
    is_temporary = route.model.definition_type == "TEMPDYN"
    return Route(created.structure, created.name, is_temporary=is_temporary, is_permanent=not is_temporary)


def close_handle(connection: Connection, handle: Handle, options: CloseOption | int = 0) -> MQRC:
    """MQCLOSE. Closing the handle that made a temporary dynamic queue deletes the queue and its messages.

    Returns:
        ``NONE``, or the reason of a warning: a group (2241) or logical message (2242) that was being put or got in
        logical order is not finished.

    Raises:
        MQIError: 2019, the handle is closed already. After any other it stays open: 2045, 2046 refused options; 2055
            MQCO_DELETE or MQCO_DELETE_PURGE cannot be done now; 2035, 2192, 2195, 2346 Redis refuses the call.
    """
    options = whole(options, MQRC.OPTIONS_ERROR, "MQCLOSE", handle.object_name)
    may_delete = handle.is_temporary or (handle.definition.facts.is_permanent_dynamic and not handle.destination)
    _check_close(handle, options, may_delete=may_delete)
    if handle.is_temporary or options & _DELETES:
        # Messages on their way there keep the queue from being deleted.
        flush_pending(connection)
    if options & _DELETES and not handle.is_temporary:
        _delete(connection, handle, purge=bool(options & CloseOption.DELETE_PURGE))
    while handle.puts.ways:
        place, way = next(iter(handle.puts.ways.items()))
        close_handle(connection, way)
        del handle.puts.ways[place]
    goes = _give_back(connection, handle)
    handle.is_closed = True
    connection.handles.pop(handle.number, None)
    if handle.structure.has_failed:
        return check_close(handle.order).reason
    if handle.is_temporary or goes:
        connection.temporary_queues.append((handle.structure, handle.name))
        delete_temporary_queues(connection)
    return check_close(handle.order).reason


def _delete(connection: Connection, handle: Handle, *, purge: bool) -> None:
    """Delete a permanent dynamic queue logically: its last handle, which may be this one, takes it along."""
    if handle.structure.has_failed:
        return
    repository = Repository(connection.group, connection.qmgr_name, caller=connection.token)
    try:
        repository.delete_dynamic(handle.structure.keys.name, handle.name, purge=purge)
    except MQIError as error:
        # Where it has failed nothing of the queue is left.
        if error.reason != MQRC.CONNECTION_BROKEN or not connection.has_lost(handle.structure):
            raise


def _give_back(connection: Connection, handle: Handle) -> bool:
    """Let the structure forget the handle with its lock and its marks, unless the structure has failed.

    Returns:
        Whether it was the last handle of a queue that is deleted logically: this connection has to delete that.
    """
    if handle.structure.has_failed:
        return False
    has_marks, has_lock = handle.gets.may_hold_marks, handle.gets.may_hold_lock
    keys, queue, token = handle.structure.keys, handle.queue, connection.token
    call = close_call(keys, queue, token, handle.number, has_marks=has_marks, has_lock=has_lock)
    try:
        (reason,) = connection.call(*call)
        if reason not in (MQRC.NONE, _GOES):
            raise connection.error(reason, "MQCLOSE", handle.object_name)
    except MQIError:
        # Where it has failed nothing of the handle is left.
        if connection.has_entered(handle.structure):
            raise
        return False
    return bool(reason == _GOES)


def close_object(connection: Connection, handle: ObjectHandle, options: CloseOption | int = 0) -> None:
    """MQCLOSE of what is open for MQINQ alone.

    Raises:
        MQIError: 2019 the handle is closed already, 2045, 2046 refused options.
    """
    _check_close(handle, whole(options, MQRC.OPTIONS_ERROR, "MQCLOSE", handle.object_name), may_delete=False)
    handle.is_closed = True
    connection.objects.pop(handle.number, None)


def _check_close(handle: Handle | ObjectHandle, options: int, *, may_delete: bool) -> None:
    if handle.is_closed:
        raise error_for(MQRC.HOBJ_ERROR, "MQCLOSE", handle.object_name)
    reason = check_close_options(options, may_delete=may_delete)
    if reason:
        raise error_for(reason, "MQCLOSE", handle.object_name)


def delete_temporary_queues(connection: Connection, *, is_last: bool = False) -> None:
    """Delete the dynamic queues that go with handles of the connection, which are closed.

    These queues are the temporary ones that the connection has made, and the logically deleted ones that it closed
    last. A queue that others have open is deleted logically. A queue with uncommitted messages, or whose deletion Redis
    refuses, stays until the next close, or the end of the connection.

    Args:
        is_last: the connection ends; one that has uncommitted messages is left to the managers.
    """
    repository = Repository(connection.group, connection.qmgr_name, caller=connection.token)
    left = []
    for access, name in connection.temporary_queues:
        structure = access.keys.name
        try:
            if not access.has_failed:
                repository.delete_made(structure, name, connection.token)
        except MQIError as error:
            if is_last and error.reason == MQRC.Q_NOT_EMPTY:
                repository.orphan_made(structure, name, connection.token)
            elif error.reason != MQRC.CONNECTION_BROKEN:
                left.append((access, name))
            elif not connection.has_lost(access):
                raise
    connection.temporary_queues = left


def _text(name: bytes | str) -> str:
    """A blank- or null-padded name as text."""
    raw = name.encode() if isinstance(name, str) else name
    return raw.partition(b"\0")[0].decode("utf-8", "replace").rstrip(" ")
