"""The structures of message handles and properties: MQCMHO, MQDMHO, MQSMPO, MQIMPO, MQDMPO, MQPD, MQBMHO, MQMHBO.

Members, their order and initial values are IBM's (cmqc.h).
"""

from __future__ import annotations

from typing import Any

from sharedq.pymqi import CMQC
from sharedq.pymqi.structures.options import MQLONG_TYPE as LONG
from sharedq.pymqi.structures.options import MQOpts
from sharedq.pymqi.structures.queueing import string_members

_Members = tuple[tuple[str, int | bytes, str], ...]


def _with_options(identifier: bytes, version: int, options: int) -> _Members:
    return (("StrucId", identifier, "4s"), ("Version", version, LONG), ("Options", options, LONG))


_PD = (
    *_with_options(CMQC.MQPD_STRUC_ID, CMQC.MQPD_VERSION_1, CMQC.MQPD_NONE),
    ("Support", CMQC.MQPD_SUPPORT_OPTIONAL, LONG),
    ("Context", CMQC.MQPD_NO_CONTEXT, LONG),
    ("CopyOptions", CMQC.MQCOPY_DEFAULT, LONG),
)
_SMPO = (
    *_with_options(CMQC.MQSMPO_STRUC_ID, CMQC.MQSMPO_VERSION_1, CMQC.MQSMPO_SET_FIRST),
    ("ValueEncoding", CMQC.MQENC_NATIVE, LONG),
    ("ValueCCSID", CMQC.MQCCSI_APPL, LONG),
)
_IMPO = (
    *_with_options(CMQC.MQIMPO_STRUC_ID, CMQC.MQIMPO_VERSION_1, CMQC.MQIMPO_INQ_FIRST),
    ("RequestedEncoding", CMQC.MQENC_NATIVE, LONG),
    ("RequestedCCSID", CMQC.MQCCSI_APPL, LONG),
    ("ReturnedEncoding", CMQC.MQENC_NATIVE, LONG),
    ("ReturnedCCSID", 0, LONG),
    ("Reserved1", 0, LONG),
    *string_members("ReturnedName"),
    ("TypeString", b"", "8s"),
)
_CMHO = _with_options(CMQC.MQCMHO_STRUC_ID, CMQC.MQCMHO_VERSION_1, CMQC.MQCMHO_DEFAULT_VALIDATION)
_DMHO = _with_options(CMQC.MQDMHO_STRUC_ID, CMQC.MQDMHO_VERSION_1, CMQC.MQDMHO_NONE)
_DMPO = _with_options(CMQC.MQDMPO_STRUC_ID, CMQC.MQDMPO_VERSION_1, CMQC.MQDMPO_DEL_FIRST)
_BMHO = _with_options(CMQC.MQBMHO_STRUC_ID, CMQC.MQBMHO_VERSION_1, CMQC.MQBMHO_DELETE_PROPERTIES)
_MHBO = _with_options(CMQC.MQMHBO_STRUC_ID, CMQC.MQMHBO_VERSION_1, CMQC.MQMHBO_PROPERTIES_IN_MQRFH2)


class CMHO(MQOpts):
    """Create-message-handle options."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_CMHO, **kw)


class DMHO(MQOpts):
    """Delete-message-handle options."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_DMHO, **kw)


class PD(MQOpts):
    """Property descriptor."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_PD, **kw)


class SMPO(MQOpts):
    """Set-message-property options."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_SMPO, **kw)


class IMPO(MQOpts):
    """Inquire-message-property options."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_IMPO, **kw)


class DMPO(MQOpts):
    """Delete-message-property options."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_DMPO, **kw)


class BMHO(MQOpts):
    """Buffer-to-message-handle options."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_BMHO, **kw)


class MHBO(MQOpts):
    """Message-handle-to-buffer options."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(_MHBO, **kw)
