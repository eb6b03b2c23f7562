"""Fixtures and helpers of tests of routes."""

from __future__ import annotations

from sharedq.mqi.constants import OpenOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.headers import MQXQH
from sharedq.mqi.wire import XQH_LENGTH, unpack_xqh
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueRemote
from tests.support.members import TestGroup

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE


def transmitted(group: TestGroup, qmgr: str) -> list[tuple[MQXQH, bytes]]:
    """The messages that wait on the transmit queue for *qmgr*, as a program that gets them sees them."""
    queue = group.connect(qmgr).open(SYSTEM_QSG_TRANSMIT_QUEUE, BOTH)
    found: list[tuple[MQXQH, bytes]] = []
    while True:
        try:
            body = queue.get().body
        except NoMsgAvailable:
            return found
        found.append((unpack_xqh(body), body[XQH_LENGTH:]))


def manager_alias(name: str, qmgr: str, **attributes: str) -> QueueRemote:
    """A definition by which *name* means a manager."""
    return QueueRemote(name=name, remote_qmgr=qmgr, **attributes)  # type: ignore[arg-type]
