"""Retained publications: the last one of a topic string, on the shared queue SYSTEM.RETAINED.PUB.QUEUE.

A retained publication is a message whose CorrelId stands for its topic string, and whose body begins with what the
queue's own descriptor cannot say. It is put, and its predecessor got, in the unit of work of the publication. Two that
are published at once may both be there for a while: then the later one counts, and the next one removes both.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sharedq.calls.get.get import LENGTH_MAX, get
from sharedq.calls.handles.open import open_queue
from sharedq.calls.put.store import store_one
from sharedq.calls.unit.commit import commit
from sharedq.messages.message import Message
from sharedq.mqi.constants import GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.errors import NoMsgAvailable, UnknownObjectName
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQPMO, copied
from sharedq.objects.repository import Repository
from sharedq.objects.system import RETAINED_QUEUE, define_retained_queue
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

_LENGTH: Final = struct.Struct(">I")
_OPEN: Final = int(OpenOption.INPUT_SHARED | OpenOption.BROWSE | OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)
_TAKE: Final = int(GetOption.SYNCPOINT | GetOption.ACCEPT_TRUNCATED_MSG)
_SET_ALL: Final = int(PutOption.SET_ALL_CONTEXT)


@dataclass(frozen=True, slots=True)
class Retained:
    """A retained publication.

    Attributes:
        version: of the subscriptions that it was matched with. Later ones have not got it.
        md: as its publisher gave it.
    """

    topic_string: str
    version: int
    md: MQMD
    body: bytes


def retain(connection: Connection, topic_string: str, version: int, md: MQMD, body: bytes) -> None:
    """Let a publication be the retained one of its topic string, in the unit of work of *connection*.

    Raises:
        MQIError: it cannot be stored; earlier operations of the unit of work stay in it.
    """
    handle, number = _made_queue(connection), _number(topic_string)
    header = json.dumps({"topic": topic_string, "version": version, "correl_id": md.correl_id.hex()}).encode()
    stored = copied(md, msg_id=NULL_ID, correl_id=number, report=0)
    store_one(connection, handle, stored, MQPMO(options=_SET_ALL), _LENGTH.pack(len(header)) + header + body, True)
    _remove(connection, handle, number)


def clear(connection: Connection, topic_string: str) -> bool:
    """CLEAR TOPICSTR: remove the retained publication of a topic string, in a unit of work of its own.

    Returns:
        Whether there was one.
    """
    handle = _queue(connection)
    if handle is None:
        return False
    count = _remove(connection, handle, _number(topic_string))
    commit(connection)
    return count > 0


def retained_at(connection: Connection, topic_string: str) -> Retained | None:
    """Return the retained publication of a topic string."""
    return next(iter(_latest(_browsed(connection, _number(topic_string)))), None)


def all_retained(connection: Connection) -> list[Retained]:
    """Return every retained publication."""
    return _latest(_browsed(connection, NULL_ID))


def _remove(connection: Connection, handle: Handle, number: bytes) -> int:
    """Get the committed publications of a topic string, which nobody sees any more when the unit of work commits."""
    count = 0
    gmo = MQGMO(version=2, options=_TAKE, match_options=int(MatchOption.MATCH_CORREL_ID))
    while True:
        try:
            get(connection, handle, MQMD(correl_id=number), gmo, max_length=0)
        except NoMsgAvailable:
            return count
        count += 1


def _browsed(connection: Connection, number: bytes) -> Iterator[Message]:
    handle = _queue(connection)
    options = int(GetOption.BROWSE_FIRST)
    while handle is not None:
        gmo = MQGMO(version=2, options=options, match_options=int(MatchOption.MATCH_CORREL_ID))
        try:
            yield get(connection, handle, MQMD(correl_id=number), gmo, max_length=LENGTH_MAX)
        except NoMsgAvailable:
            return
        options = int(GetOption.BROWSE_NEXT)


def _latest(messages: Iterator[Message]) -> list[Retained]:
    found: dict[str, Retained] = {}
    for message in messages:
        (length,) = _LENGTH.unpack_from(message.body)
        start = _LENGTH.size + length
        header = json.loads(message.body[_LENGTH.size : start])
        md = copied(message.md, msg_id=NULL_ID, correl_id=bytes.fromhex(header["correl_id"]))
        found[header["topic"]] = Retained(header["topic"], header["version"], md, message.body[start:])
    return list(found.values())


def _number(topic_string: str) -> bytes:
    return hashlib.sha256(topic_string.encode()).digest()[: len(NULL_ID)]


def _queue(connection: Connection) -> Handle | None:
    """Return the connection's handle of the queue, which it opens once; None: nothing was ever retained."""
    key = (RETAINED_QUEUE, "")
    handle = connection.destinations.get(key)
    if handle is None or handle.is_closed or handle.structure.has_failed:
        try:
            handle = open_queue(connection, MQOD(object_name=RETAINED_QUEUE.encode()), _OPEN)
        except UnknownObjectName:
            return None
        connection.destinations[key] = handle
    return handle


def _made_queue(connection: Connection) -> Handle:
    handle = _queue(connection)
    if handle is None:
        define_retained_queue(Repository(connection.group, connection.qmgr_name, caller=connection.token))
        handle = _queue(connection)
        assert handle is not None
    return handle
