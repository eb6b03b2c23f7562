"""Message context and generated identifiers: who put a message, and how its MsgId, CorrelId and GroupId look."""

from __future__ import annotations

import getpass
import os
import secrets
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from sharedq.mqi.constants import PutOption
from sharedq.mqi.limits import NULL_ACCOUNTING_TOKEN, PUT_APPL_NAME_LENGTH
from sharedq.mqi.structures import MQMD
from sharedq.mqi.types import reader_into

#: MQAT_UNIX: what kind of program put a message.
APPL_TYPE_UNIX = 6
_PRODUCT = b"CSQ "
# Plain integers: an operation on IntFlag members costs about a microsecond.
_NO_CONTEXT: Final = int(PutOption.NO_CONTEXT)
_SET_ALL: Final = int(PutOption.SET_ALL_CONTEXT)
_SET_IDENTITY: Final = int(PutOption.SET_IDENTITY_CONTEXT)
#: Bytes of the message number at the end of a MsgId.
MESSAGE_NUMBER_BYTES: Final = 6


def generated_msg_id(origin: bytes, structure_number: int, number: int) -> bytes:
    """The MsgId of a message that was put without one: ``CSQ ``, manager, structure, message number (24 bytes)."""
    return _PRODUCT + origin[:12].ljust(12) + (structure_number << 8 * MESSAGE_NUMBER_BYTES | number).to_bytes(8, "big")


def new_identifier(origin: bytes) -> bytes:
    """A CorrelId or GroupId that no other manager or program will generate (24 bytes)."""
    return _PRODUCT + origin[:12].ljust(12) + secrets.token_bytes(8)


class Context(NamedTuple):
    """The context fields of a descriptor: three of the identity, five of the origin."""

    user_identifier: bytes
    accounting_token: bytes
    appl_identity_data: bytes
    put_appl_type: int
    put_appl_name: bytes
    put_date: bytes
    put_time: bytes
    appl_origin_data: bytes


#: Of these the identity consists.
IDENTITY: Final = 3
_context_of: Final = reader_into(Context, Context._fields)


def context_of(md: MQMD) -> Context:
    """The context in a descriptor."""
    return _context_of(md)


def give_context(md: MQMD, context: Context, fields: int = len(Context._fields)) -> None:
    """Write the first so many *fields* of a context into a descriptor."""
    for name, value in zip(Context._fields[:fields], context, strict=False):
        setattr(md, name, value)


def fill_in_context(md: MQMD, options: int, appl_name: bytes, user: bytes = b"") -> None:
    """Give the context that the MQPMO options do not leave to the program: that of the running one, or none at all.

    Args:
        appl_name: of the program.
        user: the AlternateUserId of the handle, as on z/OS, or the user of the program. Default: that of this process.
    """
    if options & _SET_ALL:
        return
    is_none = options & _NO_CONTEXT
    if not options & _SET_IDENTITY:
        md.user_identifier = b"" if is_none else user or user_identifier()
        md.accounting_token, md.appl_identity_data = NULL_ACCOUNTING_TOKEN, b""
    md.put_appl_type, md.put_appl_name = (0, b"") if is_none else (APPL_TYPE_UNIX, appl_name)
    # Left from an earlier get, they would pass for a time that the program set itself.
    md.put_date = md.put_time = md.appl_origin_data = b""


class Program(NamedTuple):
    """The program that a connection is for, where that is not this process.

    Attributes:
        user: that runs it. ``pid``: of its process; 0: not known.
        channel, address: by which channel it came, and from where (CONNAME).
    """

    user: str
    pid: int = 0
    channel: str = ""
    address: str = ""


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
    return appl_name_of(Path(sys.argv[0] or "python").name).encode()


def appl_name_of(name: str) -> str:
    """A program's name as it stands in a descriptor: at most 28 bytes, in whole characters; ``?`` for no UTF-8."""
    return name.encode("utf-8", "replace")[:PUT_APPL_NAME_LENGTH].decode("utf-8", "ignore")
