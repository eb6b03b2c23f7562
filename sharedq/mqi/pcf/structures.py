"""The structures of a PCF message: MQCFH, and one for each kind of parameter.

Lengths and counts are not here: reading checks them, writing computes them. Strings are bytes in the coded character
set ``ccsid``; 0, and every other number that is not positive, is that of the message. `text_of` decodes them.

Source: IBM MQ reference, "Structures for commands and responses".
"""

from __future__ import annotations

from dataclasses import dataclass

from sharedq.mqi.character_sets import CharacterSet, Representation, character_set
from sharedq.mqi.constants.pcf import MQRCCF, PCFControl, PCFType
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.limits import DEFAULT_CCSID

#: How a message is written here if nothing else is asked for: UTF-8, low byte of a number first.
NATIVE = Representation(DEFAULT_CCSID, 0x222)


class PCFError(Exception):
    """The bytes are no PCF message, or the values do not fit into one.

    Attributes:
        reason: MQRCCF_*; an MQRC where the PCF is inside other data.
        detail: the one fact that explains it.
        at: offset of the structure, bytes; -1 while writing.
    """

    def __init__(self, reason: MQRCCF | MQRC, detail: str, at: int = -1) -> None:
        super().__init__(reason, detail, at)
        self.reason, self.detail, self.at = reason, detail, at

    def __str__(self) -> str:
        prefix = "MQRC" if isinstance(self.reason, MQRC) else "MQRCCF"
        where = f" at offset {self.at}" if self.at >= 0 else ""
        return f"{prefix}_{self.reason.name} ({self.reason:d}){where}: {self.detail}"


@dataclass(frozen=True, slots=True)
class MQCFIN:
    """An integer of 32 bits."""

    parameter: int
    value: int


@dataclass(frozen=True, slots=True)
class MQCFIN64:
    """An integer of 64 bits."""

    parameter: int
    value: int


@dataclass(frozen=True, slots=True)
class MQCFIL:
    """A list of integers of 32 bits."""

    parameter: int
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MQCFIL64:
    """A list of integers of 64 bits."""

    parameter: int
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MQCFST:
    """A string."""

    parameter: int
    string: bytes = b""
    ccsid: int = 0


@dataclass(frozen=True, slots=True)
class MQCFSL:
    """A list of strings. On the wire all have one length; shorter ones get blanks when they are written."""

    parameter: int
    strings: tuple[bytes, ...] = ()
    ccsid: int = 0


@dataclass(frozen=True, slots=True)
class MQCFBS:
    """A byte string, for example an identifier."""

    parameter: int
    string: bytes = b""


@dataclass(frozen=True, slots=True)
class MQCFIF:
    """A filter by an integer; ``operator`` is a FilterOperator."""

    parameter: int
    operator: int
    filter_value: int


@dataclass(frozen=True, slots=True)
class MQCFSF:
    """A filter by a string."""

    parameter: int
    operator: int
    filter_value: bytes = b""
    ccsid: int = 0


@dataclass(frozen=True, slots=True)
class MQCFBF:
    """A filter by a byte string."""

    parameter: int
    operator: int
    filter_value: bytes = b""


@dataclass(frozen=True, slots=True)
class MQCFGR:
    """A group of parameters; groups may be in groups."""

    parameter: int
    parameters: tuple[Parameter, ...] = ()


Parameter = MQCFIN | MQCFIN64 | MQCFIL | MQCFIL64 | MQCFST | MQCFSL | MQCFBS | MQCFIF | MQCFSF | MQCFBF | MQCFGR


@dataclass(frozen=True, slots=True)
class MQCFH:
    """The header. ``type`` is a PCFType of messages, ``command`` MQCMD_*."""

    type: int = PCFType.COMMAND
    version: int = 1
    command: int = 0
    msg_seq_number: int = 1
    control: int = PCFControl.LAST
    comp_code: int = 0
    reason: int = 0


@dataclass(frozen=True, slots=True)
class PCFMessage:
    """A header and its parameters."""

    header: MQCFH
    parameters: tuple[Parameter, ...] = ()


def text_of(string: bytes, ccsid: int, representation: Representation) -> str:
    """Decode a string of a message that is written as *representation*; nulls and blanks at its end are not part of it.

    Raises:
        PCFError: 3049, the character set is not known, or the bytes are no text of it.
    """
    try:
        return known_set(ccsid, representation).text(string).rstrip(" \0")
    except UnicodeError as error:
        raise PCFError(MQRCCF.CCSID_ERROR, f"no text of character set {ccsid or representation.ccsid}") from error


def bytes_of(text: str, ccsid: int, representation: Representation) -> bytes:
    """Encode *text* for a string of a message that is written as *representation*.

    Raises:
        PCFError: 3049, the character set is not known, or has not all of these characters.
    """
    try:
        return known_set(ccsid, representation).data(text)
    except UnicodeError as error:
        raise PCFError(MQRCCF.CCSID_ERROR, f"not in character set {ccsid or representation.ccsid}") from error


def known_set(ccsid: int, representation: Representation) -> CharacterSet:
    """The character set *ccsid* of a string, or that of its message. Raises PCFError: 3049, it is not known."""
    number = ccsid if ccsid > 0 else representation.ccsid
    found = character_set(number, representation.encoding, is_source=True)
    if isinstance(found, MQRC):
        raise PCFError(MQRCCF.CCSID_ERROR, f"character set {number}")
    return found
