"""Messages that a get outside a unit of work has taken are put on their queue again, because nobody has seen them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sharedq.calls.handles.open import find_queue
from sharedq.calls.put.properties import put_with_properties
from sharedq.calls.put.put import put, put_many
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, OpenOption, PutOption, Report
from sharedq.mqi.structures import MQMD, MQPMO, copied
from sharedq.properties.handle import MessageHandle
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

#: The reports about an arrival and a delivery: both are there already.
_TOLD: Final = ~int(Report.COA_WITH_FULL_DATA | Report.COD_WITH_FULL_DATA)


def restore(
    connection: Connection, handle: Handle, messages: Sequence[Message], properties: MessageHandle | None = None
) -> None:
    """Put messages on the queue of *handle* again: after the others, with their identifiers and their context.

    Args:
        properties: those that were taken out of the one message.

    Raises:
        MQIError: as for ``put``; nothing is put then.
    """
    target = find_queue(connection, handle.name.encode(), b"", handle.opened_at)
    target.options |= int(OpenOption.SET_ALL_CONTEXT)
    pmo = MQPMO(options=int(PutOption.NO_SYNCPOINT | PutOption.SET_ALL_CONTEXT))
    again = [(copied(each.md, version=2, report=each.md.report & _TOLD), each.body) for each in messages]
    if properties:
        ((md, body),) = again

        def send(sent: MQMD, data: bytes) -> MQRC:
            return put(connection, target, sent, pmo, data)

        put_with_properties(send, handle.name, md, pmo, body, new=properties)
    else:
        put_many(connection, target, again, pmo)
