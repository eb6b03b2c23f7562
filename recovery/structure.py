"""Recovery in one structure: shut the dead owners out, end their units of work, give back what they held.

Each step is one script that may be repeated, also by another recoverer, wherever the one before stopped.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from recovery.claim import Claim, chunks
from recovery.remains import fields_under, needless_fences
from recovery.target import Targets
from sharedq.connection import Connection
from sharedq.ending import end_unit_call
from sharedq.handle import StructureAccess
from sharedq.in_doubt import OnChunk, set_apart
from sharedq.keys import StructureKeys, private_structure
from sharedq.log import LibraryLogger
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.repository import Repository
from sharedq.unit_of_work import CHUNK_MESSAGES

log = LibraryLogger(__name__)

#: Owners that one script call shuts out.
CHUNK_OWNERS = 100
#: Handles that one script call gives back.
CHUNK_HANDLES = 100
_MORE_HANDLES = 2
_WOKEN = (b"K", b"H")
_COMMITTING = b"C"
#: How a decision begins that a unit of work is in doubt.
_PREPARED = b"="


def shut_out(connection: Connection, access: StructureAccess, claims: Sequence[Claim]) -> None:
    """Nobody under the targets of *claims* changes this structure any more, or enters it.

    Raises:
        MQIError: 2009, the recoverer was shut out itself.
    """
    keys, targets = access.keys, Targets(claim.target for claim in claims)
    script_keys = [keys.owners, keys.fence, keys.dead, keys.queue("").queue, keys.queue("").waiters]

    def call(marks: Iterable[tuple[str, int]], tokens: Iterable[str]) -> None:
        fields = [part for mark in marks for part in mark]
        connection.checked_call("structure/fence", script_keys, [connection.token, len(fields) // 2, *fields, *tokens])

    # The marks first: who enters before them is found by the scan, who comes later is refused.
    for chunk in chunks(claims, CHUNK_OWNERS):
        marks = [_mark_of(claim) for claim in chunk]
        call(marks, [claim.target.token for claim in chunk if claim.target.connection is not None])
    if not targets.wide:
        return
    registered = fields_under(connection, keys.owners, Targets(targets.wide))
    tokens = [token for _, token, _ in registered if token != connection.token]
    tokens += [token for _, token in needless_fences(connection, keys.fence, targets)]
    for each in chunks(tokens, CHUNK_OWNERS):
        call([(target.qmgr, target.incarnation) for target in targets.managers], each)


def _mark_of(claim: Claim) -> tuple[str, int]:
    target = claim.target
    return (target.qmgr, target.incarnation) if target.is_manager else (target.token, claim.claimed_ms)


def dead_under(connection: Connection, access: StructureAccess, targets: Targets) -> dict[str, dict[str, bytes]]:
    """The dead owners of a structure, also those that an earlier recoverer left: by target, with the state they had."""
    found: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    for target, token, state in fields_under(connection, access.keys.dead, targets):
        found[target.token][token] = state
    return found


def resolve_dead(
    connection: Connection,
    access: StructureAccess,
    qmgr: str,
    dead: Mapping[str, bytes],
    decision_of: Callable[[str], bytes | None],
    on_chunk: OnChunk,
) -> None:
    """End the units of work of a target's *dead* owners, at *qmgr*; set apart what is prepared, which is in doubt.

    Raises:
        MQIError: 2009, the recoverer was shut out itself; 2195, a unit of work cannot be ended.
    """
    temporary: list[str] = []
    for token, state in dead.items():
        end_unit_of_work(connection, access, token, decision_of, on_chunk)
        temporary += _release(connection, access, token, state)
    # Behind all of them: one may have had open what another one made.
    for name in temporary:
        _delete_temporary(connection, qmgr, name)


def end_unit_of_work(
    connection: Connection,
    access: StructureAccess,
    owner: str,
    decision_of: Callable[[str], bytes | None],
    on_chunk: OnChunk,
) -> None:
    """Complete a dead owner's unit of work when its commit was decided, set it apart when it is prepared, else undo it.

    Args:
        decision_of: what the group's decision about a unit of work is, if there is one.
    """
    unit_key = access.keys.unit_of_work + owner
    while True:
        # Looked at anew for each chunk: a recoverer slow to learn that it lost its claim may have done one.
        elements = connection.command(unit_key, "LRANGE", unit_key, 0, CHUNK_MESSAGES)
        if not elements:
            return
        state, unit_id = elements[0][:1], elements[0][1:].decode()
        decision = decision_of(unit_id) if state != _COMMITTING else None
        if decision is not None and decision.startswith(_PREPARED):
            set_apart(connection, access.keys.name, owner, unit_id)
            on_chunk(unit_id, None)
            continue
        how = "commit" if state == _COMMITTING or decision is not None else "backout"
        queues = list(dict.fromkeys(element.split(b"\n", 2)[1].decode() for element in elements[1:]))
        name, keys, args = end_unit_call(
            access, how, connection.token, owner, unit_id, queues, -1, connection.group.journal_max
        )
        _, left, messages = connection.checked_call(name, keys, args)
        if not (left or messages) and connection.command(unit_key, "LRANGE", unit_key, 0, CHUNK_MESSAGES) == elements:
            # Cannot be; and if it could, going on for ever would keep the claim from whoever knows better.
            raise error_for(MQRC.UNEXPECTED_ERROR, "", connection.qmgr_name, f"unit of work {unit_id} cannot be ended")
        on_chunk(unit_id, int(messages))
        if messages and not left:
            return


def _release(connection: Connection, access: StructureAccess, owner: str, state: bytes) -> list[str]:
    """Give back a dead owner's handles with their locks and marks, and a wake-up that it never used.

    Returns:
        The temporary dynamic queues that it made.
    """
    keys = access.keys
    temporary: list[str] = []
    reply = [_MORE_HANDLES]
    while reply[0] == _MORE_HANDLES:
        holdings = connection.command(keys.holdings, "SRANDMEMBER", keys.holdings + owner, CHUNK_HANDLES)
        names = dict.fromkeys(holding.rpartition(b"\n")[0].decode() for holding in holdings)
        temporary += [
            holding.rpartition(b"\n")[0].decode()
            for holding in (holdings if keys.name.startswith(private_structure("")) else ())
            if _is_creator(connection, keys, owner, *holding.decode().rsplit("\n", 1))
        ]
        if state[:1] in _WOKEN:
            names[state[1:].partition(b"\n")[0].decode()] = None
        script_keys = [
            keys.owners,
            keys.dead,
            keys.unit_of_work + owner,
            keys.holdings + owner,
            keys.wake + owner,
            keys.wake,
            keys.messages,
            keys.expiry,
            keys.journal,
        ]
        for queue in map(keys.queue, names):
            script_keys += [queue.queue, queue.available, queue.index, queue.waiters, queue.handles]
            script_keys += [queue.groups, queue.members, queue.locks, queue.marks, queue.marks_of]
        arguments = [connection.token, owner, len(names), connection.journal_max, *names, *holdings]
        reply = connection.call("structure/release", script_keys, arguments)
    if reply[0]:
        raise connection.error(reply[0])
    return temporary


def _is_creator(connection: Connection, keys: StructureKeys, owner: str, name: str, handle: str) -> bool:
    """Whether the handle's open made the queue, a temporary one."""
    handles = keys.queue(name).handles
    text = connection.command(handles, "HGET", handles, f"{owner}#{handle}")
    return text is not None and bool(json.loads(text.partition(b" ")[2]).get("temporary"))


def _delete_temporary(connection: Connection, qmgr: str, name: str) -> None:
    try:
        Repository(connection.group, qmgr, caller=connection.token).delete_dynamic(name, purge=True)
    except MQIError as error:
        if error.reason == MQRC.CONNECTION_BROKEN:
            raise
        # Another program has it open, or something uncommitted on it.
        log.warning("temporary_queue_not_deleted", queue=name, qmgr=qmgr, error=str(error))
