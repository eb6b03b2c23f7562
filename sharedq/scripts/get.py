"""The scripts of an MQGET."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sharedq.redis.keys import QueueKeys, StructureKeys
from sharedq.redis.link import Argument, Front, Reply, ScriptCall, front_of

#: Bytes of bodies one script call returns before the batch ends. Structure/get counts on 10 KiB a message.
BATCH_BYTES = str(1 << 20)
#: In front of the entry of a wait: nothing is taken unless the commit in the same write has ended its unit of work.
AFTER_COMMIT = b"="
#: In front of the entry of a wait: the call ends a unit of work first.
_COMMIT_FIRST = b"+"
#: In front of the entry of a wait, after either: the caller waits in the same write, so whatever keeps the call from
#: waiting pushes a word that ends the caller's wait.
BLOCKS_AFTER = b"."


class GetSource(NamedTuple):
    """The arguments of a get that its handle gives, by one version of the definition.

    Attributes:
        token: of the connection.
        journal_max: how many entries the journal keeps; "0" where it is off.
        get_keys: keys of structure/get, with which those of structure/get_grouped begin.
        latest: what the latest call of structure/get asked, and its front; or nothing.
    """

    keys: StructureKeys
    queue: QueueKeys
    token: str
    version: str
    journal_max: str
    get_keys: tuple[str, ...]
    latest: list[tuple[tuple[Any, ...], Front]]


class EndedUnit(NamedTuple):
    """A unit of work of gets of plain messages: how many operations it has in the structure, and on which queues."""

    unit_id: str
    operations: int
    queues: Sequence[str]


class GroupedArguments(NamedTuple):
    """The arguments of structure/get_grouped and structure/get_selected, by the names that their headers give them.

    A name that a tuple has for something else ends with ``_``. ``handle`` and the next ones count where it is given,
    ``selector`` and ``structure`` where there is a selector.
    """

    owner: str
    queue_name: str
    version: str
    count_: int
    unit_id: str
    mode: str
    length_max: int
    truncate: int
    bytes_max: str
    wait: bytes
    journal_max: str
    cursor: int
    horizon: int
    id: str
    number: str
    msgid: bytes
    correl: bytes
    group: bytes
    seq: int | str
    offset: int | str
    level: int
    firsts: int
    fixed: int
    persistence: int | str
    whole: int
    under_cursor: int
    unit_is_open: int
    room: int
    handle: int | None = None
    lock: int = 0
    marking: str = ""
    mark_ms: int = -1
    members: str = ""
    selector: str = ""
    structure: int = 0


#: How many arguments there are without those of a handle, and without those of a selector.
_WITHOUT_HANDLE = GroupedArguments._fields.index("handle")
_WITHOUT_SELECTOR = GroupedArguments._fields.index("selector")


def get_source(keys: StructureKeys, queue: QueueKeys, token: str, version: str, journal_max: str) -> GetSource:
    """The source of gets through one handle, which keeps it."""
    get_keys = (
        *(keys.owners, keys.messages, queue.queue, queue.available, queue.index, queue.waiters),
        *(keys.unit_of_work + token, keys.expiry, keys.wake + token, keys.journal, keys.wake),
    )
    return GetSource(keys, queue, token, version, journal_max, get_keys, [])


def get_call(
    source: GetSource,
    count: int,
    unit_id: str,
    mode: str,
    max_length: int,
    truncate: str,
    entry: bytes,
    selection: Sequence[Argument] = (),
    ended: EndedUnit | None = None,
) -> tuple[str, Front, tuple[Argument, ...]]:
    """Take plain messages, or wait for one.

    Args:
        ended: a unit of work that the call ends first. Then it takes any message.
    """
    queues: Sequence[str] = ()
    if ended is not None:
        # The place of the selection in the arguments is free.
        entry, selection, queues = _COMMIT_FIRST + entry, (ended.unit_id, str(ended.operations)), ended.queues
    asked = (count, mode, max_length, truncate, queues)
    # Most gets of a handle ask as the one before.
    if not source.latest or source.latest[0][0] != asked:
        keys = (*source.get_keys, *[source.keys.queue(name).queue for name in queues])
        head = (source.token, source.queue.name, source.version, str(count), mode, str(max_length), truncate)
        front = front_of("structure/get", keys, (*head, BATCH_BYTES, source.journal_max, *queues))
        source.latest[:] = ((asked, front),)
    front = source.latest[0][1]
    return front.name, front, (unit_id, entry, *selection)


def browse_call(
    source: GetSource, cursor: int, max_length: int, entry: bytes, selection: Sequence[Argument]
) -> ScriptCall:
    """Browse plain messages, or wait for one."""
    keys, queue, token, version, journal_max, *_ = source
    script_keys = (
        *(keys.owners, keys.messages, queue.queue, queue.available, queue.index, queue.waiters, keys.expiry),
        *(keys.wake + token, keys.journal),
    )
    words = (token, queue.name, version, cursor, max_length, entry, journal_max)
    return "structure/browse", script_keys, (*words, *selection)


def get_grouped_call(source: GetSource, arguments: GroupedArguments) -> ScriptCall:
    """Take or browse messages where groups, segments, locks, marks or a selector count."""
    queue, words, script_keys = source.queue, list[Any](arguments), source.get_keys
    script_keys += (queue.groups, queue.members)
    if arguments.handle is None:
        del words[_WITHOUT_HANDLE:]
    else:
        script_keys += (queue.locks, queue.marks, queue.marks_of, queue.handles)
    if arguments.selector:
        return "structure/get_selected", script_keys, words
    return "structure/get_grouped", script_keys, words[:_WITHOUT_SELECTOR]


def handed_reply(handed: bytes) -> Reply | None:
    """The reply that structure/get would have given, made from a message that came with the wake-up; else None."""
    head, is_message, record = handed.partition(b"\n")
    if not is_message:
        return None
    return [0, len(record) - int.from_bytes(record[3:5], "big"), head.partition(b" ")[0], [record]]
