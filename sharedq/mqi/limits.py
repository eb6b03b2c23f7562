"""Lengths, special values and the test of options: IBM's, unless a comment says otherwise (cmqc.h)."""

from __future__ import annotations

from enum import IntFlag
from typing import Final, TypeVar

# -- special values ------------------------------------------------------------------------------------------

#: MQWI_UNLIMITED: wait for ever.
UNLIMITED_WAIT: Final = -1
#: MQEI_UNLIMITED: never expires.
UNLIMITED_EXPIRY: Final = -1
#: The longest that a message can be given, tenths of a second: the largest MQLONG.
MAX_EXPIRY: Final = 0x7FFF_FFFF
#: MQPRI_PRIORITY_AS_Q_DEF: DEFPRTY decides.
PRIORITY_AS_Q_DEF: Final = -1
#: MQOL_UNDEFINED: ``MQMD.original_length`` of a message that is no report about a segment.
UNDEFINED_ORIGINAL_LENGTH: Final = -1
#: Default CCSID of a queue manager (UTF-8); not IBM's for z/OS.
DEFAULT_CCSID: Final = 1208
#: MQMI_NONE, MQCI_NONE, MQGI_NONE: an identifier that is not given; it matches anything.
NULL_ID: Final = bytes(24)
#: MQACT_NONE
NULL_ACCOUNTING_TOKEN: Final = bytes(32)
#: MQMTOK_NONE
NULL_MSG_TOKEN: Final = bytes(16)
#: MQCT_NONE
NULL_CONN_TAG: Final = bytes(128)
# -- ranges --------------------------------------------------------------------------------------------------

#: MAXPRTY: the highest priority.
MAX_PRIORITY: Final = 9
MAX_MSG_SEQ_NUMBER: Final = 999_999_999
MAX_OFFSET: Final = 999_999_999
#: Highest MAXDEPTH.
MAX_Q_DEPTH: Final = 999_999_999
#: A count above this one is told as this one, as on z/OS: programs read it as an MQLONG.
MAX_COUNT: Final = 999_999_999
#: Highest MAXMSGL, bytes: 100 MB.
MAX_MSG_LENGTH: Final = 104_857_600
# -- lengths of fields, bytes --------------------------------------------------------------------------------

ACCOUNTING_TOKEN_LENGTH: Final = 32
APPL_IDENTITY_DATA_LENGTH: Final = 32
APPL_ORIGIN_DATA_LENGTH: Final = 4
CONN_TAG_LENGTH: Final = 128
FORMAT_LENGTH: Final = 8
MSG_TOKEN_LENGTH: Final = 16
OBJECT_NAME_LENGTH: Final = 48
PUT_APPL_NAME_LENGTH: Final = 28
PUT_DATE_LENGTH: Final = 8
PUT_TIME_LENGTH: Final = 8
Q_MGR_NAME_LENGTH: Final = 48
Q_NAME_LENGTH: Final = 48
USER_ID_LENGTH: Final = 12
Flags = TypeVar("Flags", bound=type[IntFlag])


def tested_as_integers(flags: Flags) -> Flags:
    """Class decorator: ``&`` with a member answers a plain integer.

    Every call of the MQI tests ten bits or so. ``IntFlag`` makes a member of each answer, which takes six
    times as long as the test itself, and the answer is only ever asked whether it is zero.
    """
    for name in ("__and__", "__rand__"):
        setattr(flags, name, int.__and__)
    return flags
