"""Message context and generated identifiers: who put a message, and how its MsgId, CorrelId and GroupId look."""

from __future__ import annotations

import getpass
import os
import secrets
import struct
import sys
from functools import lru_cache
from pathlib import Path

from sharedq.mqi.structures import MQMD

#: MQAT_UNIX: what kind of program put a message.
APPL_TYPE_UNIX = 6
_PRODUCT = b"CSQ "
_STRUCTURE_AND_NUMBER = struct.Struct(">HHI")


def generated_msg_id(origin: bytes, structure_number: int, number: int) -> bytes:
    """The MsgId of a message that was put without one: ``CSQ ``, manager, structure, message number (24 bytes)."""
    return (
        _PRODUCT
        + origin[:12].ljust(12)
        + _STRUCTURE_AND_NUMBER.pack(structure_number, number >> 32, number & 0xFFFFFFFF)
    )


def new_identifier(origin: bytes) -> bytes:
    """A CorrelId or GroupId that no other manager or program will generate (24 bytes)."""
    return _PRODUCT + origin[:12].ljust(12) + secrets.token_bytes(8)


def set_default_context(md: MQMD, appl_name: bytes) -> None:
    """MQPMO_DEFAULT_CONTEXT: identity and origin of the running program."""
    md.user_identifier = user_identifier()
    md.put_appl_type = APPL_TYPE_UNIX
    md.put_appl_name = appl_name
    # Left from an earlier get, they would pass for a time that the program set itself.
    md.put_date = md.put_time = b""


@lru_cache(maxsize=1)
def user_identifier() -> bytes:
    """The user this process runs as, at most 12 bytes."""
    try:
        return getpass.getuser().encode()[:12]
    except (KeyError, OSError):
        return str(os.getuid()).encode()[:12]


@lru_cache(maxsize=1)
def default_appl_name() -> bytes:
    """The running program's name, at most 28 bytes."""
    return Path(sys.argv[0] or "python").name.encode()[:28]
