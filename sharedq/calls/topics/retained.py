"""Retained publications: the last one of a topic string, on the shared queue SYSTEM.RETAINED.PUB.QUEUE.

A retained publication is a message whose CorrelId stands for its topic string, and whose body begins with what the
queue's own descriptor cannot say. It is put in the unit of work of the publication. The script that commits it removes
its predecessor (structure/commit), which others see until then. So uncommitted publications hide nothing, and of two
the one that was published last counts.
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
_TAKE: Final = int(GetOption.NO_SYNCPOINT | GetOption.ACCEPT_TRUNCATED_MSG)
_SET_ALL: Final = int(PutOption.SET_ALL_CONTEXT)


@dataclass(frozen=True, slots=True)
class RetainedPublication:
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
    header = {"topic": topic_string, "version": version, "correl_id": md.correl_id.hex()}
    # The predecessor of a retained publication is its topic's last one, not a member of its group.
    header |= {"group_id": md.group_id.hex(), "place": [md.msg_seq_number, md.msg_flags]}
    text = json.dumps(header).encode()
    stored = copied(md, msg_id=NULL_ID, correl_id=_number(topic_string), report=0, group_id=NULL_ID)
    stored.msg_seq_number, stored.msg_flags = 1, 0
    store_one(
        connection,
        _made_queue(connection),
        stored,
        MQPMO(options=_SET_ALL),
        _LENGTH.pack(len(text)) + text + body,
        True,
    )


def clear(connection: Connection, topic_string: str) -> bool:
    """CLEAR TOPICSTR: remove the retained publication of a topic string, outside a unit of work.

    Returns:
        Whether there was one.
    """
    handle, is_cleared = _queue(connection), False
    gmo = MQGMO(version=2, options=_TAKE, match_options=int(MatchOption.MATCH_CORREL_ID))
    while handle is not None:
        try:
            get(connection, handle, MQMD(correl_id=_number(topic_string)), gmo, max_length=0)
        except NoMsgAvailable:
            break
        is_cleared = True
    return is_cleared


def retained_at(connection: Connection, topic_string: str) -> RetainedPublication | None:
    """Return the retained publication of a topic string."""
    return next(iter(_latest(_browsed(connection, _number(topic_string)))), None)


def all_retained(connection: Connection) -> list[RetainedPublication]:
    """Return every retained publication."""
    return _latest(_browsed(connection, NULL_ID))


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


def _latest(messages: Iterator[Message]) -> list[RetainedPublication]:
    found: dict[str, RetainedPublication] = {}
    for message in messages:
        (length,) = _LENGTH.unpack_from(message.body)
        start = _LENGTH.size + length
        header = json.loads(message.body[_LENGTH.size : start])
        md = copied(message.md, msg_id=NULL_ID, correl_id=bytes.fromhex(header["correl_id"]))
        if "place" in header:
            md.group_id = bytes.fromhex(header["group_id"])
            md.msg_seq_number, md.msg_flags = header["place"]
        found[header["topic"]] = RetainedPublication(header["topic"], header["version"], md, message.body[start:])
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
