"""ReplyToQ and ReplyToQMgr where a program leaves the manager blank: its own queue manager says where replies go.

Source: IBM MQ reference, "ReplyToQ (MQCHAR48)": replies go where a local definition of a remote
queue of that name points.
"""

from __future__ import annotations

import time

from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueRemote
from sharedq.objects.repository import Repository
from sharedq.session.connection import Connection
from sharedq.session.route import ReplyTo

#: Seconds for which a resolved name is kept: a request costs no round trip more than another message.
REMEMBERED_S = 1.0
#: Names that are remembered, at most.
_NAMES_MAX = 64


def resolve_reply_to(connection: Connection, md: MQMD) -> None:
    """Fill in where replies to a message go, unless it says so, or asks for none.

    A definition that was made, altered or deleted within the last second may not count yet.

    Raises:
        MQIError: 2009 Redis cannot be asked.
    """
    name = _up_to_null(md.reply_to_q)
    if not name or _up_to_null(md.reply_to_q_mgr):
        return
    found = connection.reply_to.get(name)
    if found is None or found.until < time.monotonic():
        if len(connection.reply_to) >= _NAMES_MAX:
            connection.reply_to.clear()
        found = connection.reply_to[name] = _looked_up(connection, name)
    md.reply_to_q, md.reply_to_q_mgr = found.queue, found.qmgr


def _up_to_null(name: bytes) -> bytes:
    """A name as MQ takes it: a null ends it, and trailing blanks count for nothing."""
    return name.partition(b"\0")[0].rstrip(b" ")


def _looked_up(connection: Connection, name: bytes) -> ReplyTo:
    until = time.monotonic() + REMEMBERED_S
    here = connection.qmgr_name
    located = Repository(connection.group, here).lookup(name.decode("utf-8", "replace"))
    definition = None if located is None else located.definition
    if isinstance(definition, QueueRemote) and definition.remote_queue:
        return ReplyTo(definition.remote_queue.encode(), (definition.remote_qmgr or here).encode(), until)
    return ReplyTo(name, connection.origin, until)
