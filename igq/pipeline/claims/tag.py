"""Lets one process at a time work in the whole group: it holds a connection tag, which recovery frees if it dies."""

from __future__ import annotations

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from igq.pipeline.claims.members import connect_to
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import ConnectOption
from sharedq.mqi.errors import ConnTagInUse
from sharedq.settings.values import Settings

#: Seconds to wait for another holder, which may have been killed and must be recovered first.
WAIT_S = 60.0
_PAUSE_S = 0.5


def hold_tag(settings: Settings, qmgr: str, tag: bytes) -> QueueManagerConnection:
    """A connection that holds *tag* alone, as long as it lasts.

    Args:
        qmgr: as for `connect_to`.

    Raises:
        ConnTagInUse: 2271, another connection still holds it.
        MQIError: 2059 the manager is not running; 2009.
    """
    again = Retrying(
        retry=retry_if_exception_type(ConnTagInUse),
        stop=stop_after_delay(WAIT_S),
        wait=wait_fixed(_PAUSE_S),
        reraise=True,
    )
    return again(connect_to, settings, qmgr, conn_tag=tag, options=ConnectOption.SERIALIZE_CONN_TAG_QSG)
