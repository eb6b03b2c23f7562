"""MQSC's words with the numbers that MQINQ and MQSET use for them. Numbers are IBM's (cmqc.h). Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


def _words(**numbers: int) -> Mapping[str, int]:
    return MappingProxyType(numbers)


ALLOWED: Final = _words(ENABLED=0, DISABLED=1)
ENABLED: Final = _words(DISABLED=0, ENABLED=1)
YES: Final = _words(NO=0, YES=1)
DISPOSITION: Final = _words(QMGR=0, COPY=1, SHARED=2, GROUP=3)
SHARE: Final = _words(NOSHARE=0, SHARE=1)
INPUT_OPEN: Final = _words(SHARED=2, EXCL=4)
DELIVERY: Final = _words(PRIORITY=0, FIFO=1)
INDEX: Final = _words(NONE=0, MSGID=1, CORRELID=2, MSGTOKEN=4, GROUPID=5)
HARDEN: Final = _words(NOHARDENBO=0, HARDENBO=1)
USAGE: Final = _words(NORMAL=0, XMITQ=1)
TRIGGER: Final = _words(NOTRIGGER=0, TRIGGER=1)
TRIGGER_TYPE: Final = _words(NONE=0, FIRST=1, EVERY=2, DEPTH=3)
SERVICE_INTERVAL_EVENT: Final = _words(NONE=0, HIGH=1, OK=2)
DEFINITION_TYPE: Final = _words(PREDEFINED=1, PERMDYN=2, TEMPDYN=3, SHAREDYN=4)
PUT_RESPONSE: Final = _words(SYNC=1, ASYNC=2)
READ_AHEAD: Final = _words(NO=0, YES=1, DISABLED=2)
BIND: Final = _words(OPEN=0, NOTFIXED=1, GROUP=2)
MONITORING: Final = _words(QMGR=-3, NONE=-1, OFF=0, LOW=17, MEDIUM=33, HIGH=65)
STATISTICS: Final = _words(QMGR=-3, NONE=-1, OFF=0, ON=1)
IGQ_AUTHORITY: Final = _words(DEF=1, CTX=2, ONLYIGQ=3, ALTIGQ=4)
SHARED_Q_MGR_NAME: Final = _words(USE=0, IGNORE=1)
CONNECTION_LOSS: Final = _words(TERMINATE=0, TOLERATE=1)
STRUCTURE_CONNECTION_LOSS: Final = _words(TERMINATE=0, TOLERATE=1, ASQMGR=2)
OFFLOAD: Final = _words(NONE=0, SMDS=1, DB2=2, BOTH=3)
OFF: Final = _words(OFF=0)
NO_LIMIT: Final = _words(NOLIMIT=-1)
EVENT: Final = _words(DISABLED=0, ENABLED=1)
PLATFORM: Final = _words(MVS=1)
SYNCPOINT: Final = _words(SYNCPT=1)
QUEUE_TYPE: Final = _words(QLOCAL=1, QMODEL=2, QALIAS=3, QREMOTE=6)
