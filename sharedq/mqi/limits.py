"""Lengths and special values: IBM's, unless a comment says otherwise (cmqc.h)."""

from __future__ import annotations

from typing import Final

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
#: MQRL_UNDEFINED: ``MQGMO.returned_length`` before a get.
UNDEFINED_RETURNED_LENGTH: Final = -1
#: MQHC_UNUSABLE_HCONN, MQHO_UNUSABLE_HOBJ
UNUSABLE_HANDLE: Final = -1
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
#: Highest BackoutCount that is counted (z/OS).
MAX_BACKOUT_COUNT: Final = 255
MAX_MSG_SEQ_NUMBER: Final = 999_999_999
MAX_OFFSET: Final = 999_999_999
#: Highest MAXDEPTH.
MAX_Q_DEPTH: Final = 999_999_999
#: Highest MAXMSGL, bytes: 100 MB.
MAX_MSG_LENGTH: Final = 104_857_600
#: First and last reason code that applications may use themselves.
APPL_REASONS: Final = range(900, 1000)

# -- lengths of fields, bytes --------------------------------------------------------------------------------

#: MQ_MSG_HEADER_LENGTH: room for headers that a queue manager adds.
MSG_HEADER_LENGTH: Final = 4000
ACCOUNTING_TOKEN_LENGTH: Final = 32
APPL_IDENTITY_DATA_LENGTH: Final = 32
APPL_NAME_LENGTH: Final = 28
APPL_ORIGIN_DATA_LENGTH: Final = 4
CF_STRUC_DESC_LENGTH: Final = 64
CF_STRUC_NAME_LENGTH: Final = 12
CONN_TAG_LENGTH: Final = 128
CONNECTION_ID_LENGTH: Final = 24
CORREL_ID_LENGTH: Final = 24
CREATION_DATE_LENGTH: Final = 12
CREATION_TIME_LENGTH: Final = 8
DATE_LENGTH: Final = 12
FORMAT_LENGTH: Final = 8
GROUP_ID_LENGTH: Final = 24
MSG_ID_LENGTH: Final = 24
MSG_TOKEN_LENGTH: Final = 16
OBJECT_NAME_LENGTH: Final = 48
PROCESS_APPL_ID_LENGTH: Final = 256
PROCESS_DESC_LENGTH: Final = 64
PROCESS_ENV_DATA_LENGTH: Final = 128
PROCESS_NAME_LENGTH: Final = 48
PROCESS_USER_DATA_LENGTH: Final = 128
PUT_APPL_NAME_LENGTH: Final = 28
PUT_DATE_LENGTH: Final = 8
PUT_TIME_LENGTH: Final = 8
Q_DESC_LENGTH: Final = 64
Q_MGR_DESC_LENGTH: Final = 64
Q_MGR_IDENTIFIER_LENGTH: Final = 48
Q_MGR_NAME_LENGTH: Final = 48
Q_NAME_LENGTH: Final = 48
QSG_NAME_LENGTH: Final = 4
SECURITY_ID_LENGTH: Final = 40
STORAGE_CLASS_LENGTH: Final = 8
TIME_LENGTH: Final = 8
TRIGGER_DATA_LENGTH: Final = 64
USER_ID_LENGTH: Final = 12
