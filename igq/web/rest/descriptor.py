"""IBM's headers and query parameters for a message descriptor, and its user properties. Pure.

Source: IBM MQ reference, "/messaging/qmgr/{qmgrName}/queue/{queueName}/message".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from igq.web.decoding import ShownHeader
from igq.web.rest.errors import RestError, bad_header, bad_parameter
from igq.web.rest.properties import as_header, read_properties
from sharedq.mqi.constants import MatchOption, Persistence
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD

MESSAGE_ID, CORRELATION_ID = "ibm-mq-md-messageId", "ibm-mq-md-correlationId"
EXPIRY, PERSISTENCE, PRIORITY = "ibm-mq-md-expiry", "ibm-mq-md-persistence", "ibm-mq-md-priority"
REPLY_TO, PROPERTIES = "ibm-mq-md-replyTo", "ibm-mq-usr"
#: UTF-8.
CCSID = 1208
_HEX_ID = re.compile(r"ID:([0-9A-Fa-f]{48})")
_NAME = re.compile(r"[A-Za-z0-9._/%]{1,48}")
#: Milliseconds; an expiry is kept in tenths of a second.
_LONGEST_EXPIRY_MS = 99_999_999_900
_LONGEST_WAIT_MS = 2_147_483_647
_UNLIMITED = -1
_PERSISTENCES = {"persistent": Persistence.PERSISTENT, "nonPersistent": Persistence.NOT_PERSISTENT}
_LONGEST_NUMBER = 12


def read_descriptor(headers: Mapping[str, str]) -> MQMD:
    """Return the descriptor that the headers of a put ask for.

    Raises:
        RestError: 400, a header is not valid.
    """
    md = MQMD(coded_char_set_id=CCSID, persistence=int(Persistence.NOT_PERSISTENT))
    if (told := headers.get(CORRELATION_ID)) is not None:
        md.correl_id = _identifier(told, bad_header(CORRELATION_ID, _ID_ALLOWED))
    if (told := headers.get(EXPIRY)) is not None:
        md.expiry = _expiry(told)
    if (told := headers.get(PERSISTENCE)) is not None:
        if told not in _PERSISTENCES:
            raise bad_header(PERSISTENCE, " or ".join(_PERSISTENCES))
        md.persistence = int(_PERSISTENCES[told])
    if (told := headers.get(PRIORITY)) not in (None, "asDestination"):
        if told not in tuple("0123456789"):
            raise bad_header(PRIORITY, "asDestination, or 0 to 9")
        md.priority = int(told)
    if (told := headers.get(REPLY_TO)) is not None:
        queue, separator, qmgr = told.partition("@")
        if not _NAME.fullmatch(queue) or (separator and not _NAME.fullmatch(qmgr)):
            raise bad_header(REPLY_TO, "QUEUE or QUEUE@QMGR")
        md.reply_to_q, md.reply_to_q_mgr = queue.encode(), qmgr.encode()
    return md


def read_match(parameters: Mapping[str, str]) -> tuple[MQMD, int]:
    """Return descriptor and match options for ``messageId`` and ``correlationId``.

    Raises:
        RestError: 400, a parameter is not valid.
    """
    md, options = MQMD(version=2), 0
    if (told := parameters.get("messageId")) is not None:
        if not (found := _HEX_ID.fullmatch(told)):
            raise bad_parameter("messageId", "ID: and 48 hexadecimal digits")
        md.msg_id, options = bytes.fromhex(found[1]), options | MatchOption.MATCH_MSG_ID
    if (told := parameters.get("correlationId")) is not None:
        md.correl_id = _identifier(told, bad_parameter("correlationId", _ID_ALLOWED))
        options |= MatchOption.MATCH_CORREL_ID
    return md, int(options)


def read_number(
    parameters: Mapping[str, str], name: str, default: int, least: int, most: int = _LONGEST_WAIT_MS
) -> int:
    """Return a query parameter that is a number.

    Raises:
        RestError: 400, it is not one, or out of range.
    """
    told = parameters.get(name)
    if told is None:
        return default
    number = _number(told)
    if number is None or not least <= number <= most:
        raise bad_parameter(name, f"{least} to {most}")
    return number


def check_parameters(parameters: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Refuse a query parameter that is not known: a mistyped messageId would take another message.

    Raises:
        RestError: 400.
    """
    for name in parameters:
        if name not in known:
            raise RestError(
                400, "IGQB0001E", f"The query parameter {name[:80]} is not known.", f"Known are: {', '.join(known)}."
            )


def descriptor_headers(md: MQMD, headers: Sequence[ShownHeader]) -> dict[str, str]:
    """The headers of an answer with a message. *headers*: those in front of its body."""
    reply_to = _ascii(md.reply_to_q)
    if reply_to and md.reply_to_q_mgr:
        reply_to += f"@{_ascii(md.reply_to_q_mgr)}"
    told = {
        MESSAGE_ID: shown_id(md.msg_id),
        CORRELATION_ID: shown_id(md.correl_id) if md.correl_id != NULL_ID else "",
        EXPIRY: "unlimited" if md.expiry == _UNLIMITED else str(md.expiry * 100),
        PERSISTENCE: "persistent" if md.persistence == Persistence.PERSISTENT else "nonPersistent",
        PRIORITY: str(md.priority),
        REPLY_TO: reply_to,
        PROPERTIES: as_header(read_properties(headers)),
    }
    return {name: value for name, value in told.items() if value}


def shown_id(identifier: bytes) -> str:
    """An identifier as version 3 writes it."""
    return f"ID:{identifier.hex()}"


_ID_ALLOWED = "ID: and 48 hexadecimal digits, or a text of 1 to 24 bytes that does not begin with ID:"


def _identifier(told: str, error: RestError) -> bytes:
    if found := _HEX_ID.fullmatch(told):
        return bytes.fromhex(found[1])
    # Headers are bytes, which the server has read as Latin-1.
    as_bytes = told.encode("utf-8", "surrogateescape")
    if told.startswith("ID:") or not 1 <= len(as_bytes) <= len(NULL_ID):
        raise error
    return as_bytes.ljust(len(NULL_ID), b"\0")


def _expiry(told: str) -> int:
    if told == "unlimited":
        return _UNLIMITED
    number = _number(told)
    if number is None or not 1 <= number <= _LONGEST_EXPIRY_MS:
        raise bad_header(EXPIRY, f"unlimited, or 1 to {_LONGEST_EXPIRY_MS} milliseconds")
    # The descriptor counts tenths of a second. A message never expires earlier than asked.
    return min(-(-number // 100), 999_999_999)


def _number(told: str) -> int | None:
    return int(told) if told.isascii() and told.isdecimal() and len(told) <= _LONGEST_NUMBER else None


def _ascii(name: bytes) -> str:
    """A name that some program wrote, as it can stand in a header."""
    return quote(name.rstrip(b"\0 "), safe="._/%")
