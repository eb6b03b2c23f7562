"""The structures of a PCF message: its header ``CFH``, and ``CF*`` for the parameters that follow it.

Each is as long as its string or list, which are given at construction. Members and their order are IBM's (cmqcfc.h).
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

from sharedq.mqi.limits import MAX_MSG_LENGTH
from sharedq.pymqi import CMQC, CMQCFC
from sharedq.pymqi.boundary import ensure_not_unicode, padded_count
from sharedq.pymqi.errors import WrongMemberError, WrongTypeError
from sharedq.pymqi.structures.options import INTEGER64_TYPE as INT64
from sharedq.pymqi.structures.options import MQLONG_TYPE as LONG
from sharedq.pymqi.structures.options import MQOpts

_INT64_LENGTH, _LONG_LENGTH = 8, 4


class CFH(MQOpts):
    """Header of a PCF message."""

    def __init__(self, **kw: Any) -> None:
        members = (
            ("Type", CMQCFC.MQCFT_COMMAND, LONG),
            ("StrucLength", CMQCFC.MQCFH_STRUC_LENGTH, LONG),
            ("Version", CMQCFC.MQCFH_VERSION_1, LONG),
            ("Command", CMQCFC.MQCMD_NONE, LONG),
            ("MsgSeqNumber", 1, LONG),
            ("Control", CMQCFC.MQCFC_LAST, LONG),
            ("CompCode", CMQC.MQCC_OK, LONG),
            ("Reason", CMQC.MQRC_NONE, LONG),
            ("ParameterCount", 0, LONG),
        )
        super().__init__(members, **kw)


class _Parameter(MQOpts):
    """A parameter: type, length and number, then the *members* of its kind."""

    def __init__(self, kind: int, length: int, members: Sequence[Sequence[Any]], kw: dict[str, Any]) -> None:
        front = (("Type", kind, LONG), ("StrucLength", length, LONG), ("Parameter", 0, LONG))
        super().__init__((*front, *members), **kw)


def _string(name: str, kw: dict[str, Any]) -> tuple[int, tuple[Sequence[Any], ...]]:
    """The room that the string *name* takes, and its members: its length, and itself with nulls after it."""
    string = kw.pop(name, b"")
    length = kw.pop(f"{name}Length", None)
    length = _size(string, bytes) if length is None else _number(length)
    room = padded_count(length)
    return room, ((f"{name}Length", length, LONG), (name, string, f"{room}s"))


def _list(kw: dict[str, Any], kind: str) -> tuple[int, tuple[Sequence[Any], ...]]:
    """How many integers a list has, and its members."""
    values = kw.pop("Values", [])
    count = kw.pop("Count", None)
    count = _size(values, list) if count is None else _number(count)
    return count, (("Count", count, LONG), ("Values", values, kind, count))


def _size(value: Any, kind: type[Sized]) -> int:
    ensure_not_unicode(value)
    if not isinstance(value, kind):
        raise WrongTypeError(f"PCF: {value!r:.100} is {type(value).__name__}, must be {kind.__name__}")
    return len(value)


def _number(length: Any) -> int:
    """A length or count that was given. An impossible one is refused before memory is taken for its data."""
    if not isinstance(length, int) or not 0 <= length <= MAX_MSG_LENGTH:
        raise WrongMemberError(f"PCF: {length!r:.100} is no length")
    return length


class CFBF(_Parameter):
    """A filter by a byte string."""

    def __init__(self, **kw: Any) -> None:
        room, string = _string("FilterValue", kw)
        length = CMQCFC.MQCFBF_STRUC_LENGTH_FIXED + room
        super().__init__(CMQCFC.MQCFT_BYTE_STRING_FILTER, length, (("Operator", 0, LONG), *string), kw)


class CFBS(_Parameter):
    """A byte string."""

    def __init__(self, **kw: Any) -> None:
        room, string = _string("String", kw)
        super().__init__(CMQCFC.MQCFT_BYTE_STRING, CMQCFC.MQCFBS_STRUC_LENGTH_FIXED + room, string, kw)


class CFGR(_Parameter):
    """A group: the ``ParameterCount`` parameters after it belong to it."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(CMQCFC.MQCFT_GROUP, CMQCFC.MQCFGR_STRUC_LENGTH, (("ParameterCount", 0, LONG),), kw)


class CFIF(_Parameter):
    """A filter by an integer."""

    def __init__(self, **kw: Any) -> None:
        members = (("Operator", 0, LONG), ("FilterValue", 0, LONG))
        super().__init__(CMQCFC.MQCFT_INTEGER_FILTER, CMQCFC.MQCFIF_STRUC_LENGTH, members, kw)


class CFIL(_Parameter):
    """A list of integers."""

    def __init__(self, **kw: Any) -> None:
        count, members = _list(kw, LONG)
        length = CMQCFC.MQCFIL_STRUC_LENGTH_FIXED + _LONG_LENGTH * count
        super().__init__(CMQCFC.MQCFT_INTEGER_LIST, length, members, kw)


class CFIL64(_Parameter):
    """A list of integers of 64 bits."""

    def __init__(self, **kw: Any) -> None:
        count, members = _list(kw, INT64)
        length = CMQCFC.MQCFIL64_STRUC_LENGTH_FIXED + _INT64_LENGTH * count
        super().__init__(CMQCFC.MQCFT_INTEGER64_LIST, length, members, kw)


class CFIN(_Parameter):
    """An integer."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(CMQCFC.MQCFT_INTEGER, CMQCFC.MQCFIN_STRUC_LENGTH, (("Value", 0, LONG),), kw)


class CFIN64(_Parameter):
    """An integer of 64 bits."""

    def __init__(self, **kw: Any) -> None:
        super().__init__(CMQCFC.MQCFT_INTEGER64, CMQCFC.MQCFIN64_STRUC_LENGTH, (("Value", 0, INT64),), kw)


class CFSF(_Parameter):
    """A filter by a string."""

    def __init__(self, **kw: Any) -> None:
        room, string = _string("FilterValue", kw)
        members = (("Operator", 0, LONG), ("CodedCharSetId", CMQC.MQCCSI_DEFAULT, LONG), *string)
        super().__init__(CMQCFC.MQCFT_STRING_FILTER, CMQCFC.MQCFSF_STRUC_LENGTH_FIXED + room, members, kw)


class CFSL(_Parameter):
    """A list of strings; all get the room of the longest one."""

    def __init__(self, **kw: Any) -> None:
        strings = kw.pop("Strings", [])
        given = _size(strings, list)
        longest = _number(kw.pop("StringLength", max((_size(each, bytes) for each in strings), default=0)))
        count = _number(kw.pop("Count", given))
        room = padded_count(longest) if count else 0
        members = (
            ("CodedCharSetId", CMQC.MQCCSI_DEFAULT, LONG),
            ("Count", count, LONG),
            ("StringLength", room, LONG),
            ("Strings", strings or [b""], f"{room}s", count or 1),
        )
        length = CMQCFC.MQCFSL_STRUC_LENGTH_FIXED + room * given
        super().__init__(CMQCFC.MQCFT_STRING_LIST, length, members, kw)


class CFST(_Parameter):
    """A string."""

    def __init__(self, **kw: Any) -> None:
        room, string = _string("String", kw)
        members = (("CodedCharSetId", CMQC.MQCCSI_DEFAULT, LONG), *string)
        super().__init__(CMQCFC.MQCFT_STRING, CMQCFC.MQCFST_STRUC_LENGTH_FIXED + room, members, kw)
