"""One process at a time in the whole group: a connection tag, which the recovery of a dead holder frees."""

from __future__ import annotations

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from sharedq.api import QueueManagerConnection, connect
from sharedq.mqi.constants import ConnectOption
from sharedq.mqi.errors import ConnTagInUse
from sharedq.settings.values import Settings

#: How long somebody waits for a predecessor: for the recovery of one that was killed, seconds.
WAIT_S = 60.0
_PAUSE_S = 0.5


def hold_tag(settings: Settings, qmgr: str, tag: bytes) -> QueueManagerConnection:
    """A connection that has *tag* for itself, as long as it lasts.

    Raises:
        ConnTagInUse: 2271, somebody has it still.
        MQIError: 2059 the manager is not running; 2009.
    """
    again = Retrying(
        retry=retry_if_exception_type(ConnTagInUse),
        stop=stop_after_delay(WAIT_S),
        wait=wait_fixed(_PAUSE_S),
        reraise=True,
    )
    return again(
        connect,
        qmgr,
        conn_tag=tag,
        options=ConnectOption.SERIALIZE_CONN_TAG_QSG,
        appl_name="igq pipeline",
        settings=settings,
    )
