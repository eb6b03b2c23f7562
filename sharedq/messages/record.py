"""Message records: what is stored of a message, laid out as ``docs/reference/key-space.md``, "A record", says.

Every message passes through here twice, so the common case is kept short: a message without identifiers,
groups, expiry or reports has a fixed front, and the descriptor's other fields (the *tail*) are encoded and
decoded once for all messages that agree in them, because programs put thousands that differ in data,
identifiers and time only.

Before the tail stands the put time, 6 bytes of milliseconds since 1970. The tail is: length and name of the
manager where the message was put, a presence mask of 4 bytes, then the fields that differ from their initial
values in the order of the mask's bits; numbers in 4 bytes, characters after a length byte.
"""

from __future__ import annotations

import struct
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from sharedq.mqi.arguments import refuse_data, refuse_structure, signed
from sharedq.mqi.constants import MQRC, MsgFlag, Report
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import (
    ACCOUNTING_TOKEN_LENGTH,
    APPL_IDENTITY_DATA_LENGTH,
    APPL_ORIGIN_DATA_LENGTH,
    DEFAULT_CCSID,
    FORMAT_LENGTH,
    MAX_PRIORITY,
    MSG_TOKEN_LENGTH,
    NULL_ID,
    PUT_APPL_NAME_LENGTH,
    PUT_DATE_LENGTH,
    PUT_TIME_LENGTH,
    Q_MGR_NAME_LENGTH,
    Q_NAME_LENGTH,
    UNDEFINED_ORIGINAL_LENGTH,
    UNLIMITED_EXPIRY,
    USER_ID_LENGTH,
)
from sharedq.mqi.structures import MQMD
from sharedq.mqi.types import reader

#: Structure, message number, destination code, whether the id ends in "x".
_TOKEN: Final = struct.Struct(">HQIB")

#: One priority's share of the scores of a queue: room for 2^48 arrivals.
PRIORITY_STEP = 1 << 48

#: The same, for each priority, as a put script takes it: written once.
_BASES: Final = tuple(str((MAX_PRIORITY - priority) * PRIORITY_STEP) for priority in range(MAX_PRIORITY + 1))

#: The arguments of a put script for one message: its place among the priorities, whether it needs a look, its record.
PutArguments = tuple[str, str, bytes]

#: Marks of a put: persistent, and with a dead-letter header.
PERSISTENT, DEAD_LETTER = 1, 2

#: Flags of a record, its first byte.
RECORD_PERSISTENT: Final = 1
RECORD_EXPIRY: Final = 2
RECORD_CORREL_ID: Final = 4
#: The program gave the MsgId.
RECORD_MSG_ID: Final = 8
RECORD_GROUP: Final = 16
RECORD_REPORT: Final = 32
RECORD_DESTINATION: Final = 64
#: Among the report options is MQRO_EXPIRATION, and it can expire: calls that find it expired leave it to be reported.
RECORD_TELLS_EXPIRY: Final = 128
#: Any of these: scripts must look at the record before the message moves or goes.
RECORD_NEEDS_LOOK: Final = RECORD_EXPIRY | RECORD_CORREL_ID | RECORD_MSG_ID | RECORD_GROUP | RECORD_REPORT
#: The byte that ends the id of such a message. To look for a number is nine times as fast as for a text of one byte.
ID_NEEDS_LOOK: Final = ord("x")
#: A record with any of these cannot be put as it is: its times become what is left, groups and reports are counted.
_NOT_CARRIED: Final = RECORD_EXPIRY | RECORD_GROUP | RECORD_REPORT

_FRONT: Final = struct.Struct(">BBBH")
#: Milliseconds since 1970 as 16 and 32 bits.
_PUT_TIME: Final = struct.Struct(">HI")
_PLAIN_FRONT: Final = struct.Struct(">BBBHHI")
_EXPIRY: Final = struct.Struct(">Q")
_GROUP: Final = struct.Struct(">24siiii")
_GENERATED: Final = struct.Struct(">HHI")
_MASK: Final = struct.Struct(">I")
_NUMBER: Final = struct.Struct(">i")

_IN_GROUP: Final = int(MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT | MsgFlag.MSG_IN_GROUP | MsgFlag.LAST_MSG_IN_GROUP)
_TOLD_EXPIRY: Final = int(Report.EXPIRATION)
#: Beginning of a MsgId that a queue manager generates.
_PRODUCT: Final = b"CSQ "
_ORIGIN_LENGTH: Final = 12

#: Fields of the tail in the order of the mask's bits, with the length of character fields (0: a number).
_TAIL: Final = {
    "version": 0,
    "report": 0,
    "msg_type": 0,
    "feedback": 0,
    "encoding": 0,
    "coded_char_set_id": 0,
    "format": FORMAT_LENGTH,
    "reply_to_q": Q_NAME_LENGTH,
    "reply_to_q_mgr": Q_MGR_NAME_LENGTH,
    "user_identifier": USER_ID_LENGTH,
    "accounting_token": ACCOUNTING_TOKEN_LENGTH,
    "appl_identity_data": APPL_IDENTITY_DATA_LENGTH,
    "put_appl_type": 0,
    "put_appl_name": PUT_APPL_NAME_LENGTH,
    "appl_origin_data": APPL_ORIGIN_DATA_LENGTH,
    "original_length": 0,
    # The other fields are in the tail only if they have no place of their own.
    "put_date": PUT_DATE_LENGTH,
    "put_time": PUT_TIME_LENGTH,
    "msg_seq_number": 0,
    "offset": 0,
    "msg_flags": 0,
    # A priority above the second byte, which decides the place.
    "priority": 0,
}
#: Fields that are not in the tail. MQCCSI_Q_MGR is never kept: most managers have the same CCSID, which costs no byte.
_INITIAL: Final = {field.name: field.default for field in fields(MQMD)} | {"coded_char_set_id": DEFAULT_CCSID}
_LAST_ALWAYS: Final = "original_length"
_ALWAYS: Final = tuple(_TAIL)[: tuple(_TAIL).index(_LAST_ALWAYS) + 1]
_RARELY: Final = tuple(_TAIL)[len(_ALWAYS) :]
_always_of, _rarely_of = reader(_ALWAYS), reader(_RARELY)
_NO_RARE: Final = tuple(_INITIAL[name] for name in _RARELY)
#: Descriptors that are kept encoded, and decoded.
_CACHED: Final = 4096


# -- writing -------------------------------------------------------------------------------------------------


def encode_record(md: MQMD, body: bytes, origin: bytes, put_time_ms: int, destination: bytes | None = None) -> bytes:
    """The record of a message that is put now.

    Args:
        md: with persistence (0, 1) and priority decided, of which one above 9 is kept. CodedCharSetId 0 is kept as
            ``DEFAULT_CCSID``. BackoutCount is not read: no program has backed the message out yet. A null MsgId is
            generated, from the number that the message gets. A given put date and time are kept, so clear them
            unless the program sets all context.
        origin: name of the queue manager it is put at.
        put_time_ms: since 1970; 0 leaves put date and time blank.
        destination: name of its final queue, if it is put on a transmission queue.

    Returns:
        The record, with the expiry time still relative: the script that stores it adds Redis' clock.

    Raises:
        MQIError: 2026, a field does not fit its place.
    """
    try:
        return _encode(md, body, origin, put_time_ms, destination)
    except (struct.error, TypeError, AttributeError):
        return _encode_again(md, body, origin, put_time_ms, destination)


def score_base(priority: int) -> str:
    """Return the beginning of the scores of messages of this *priority*."""
    return _BASES[priority]


def plain_head(record: bytes, body: bytes) -> bytes | None:
    """The bytes before the data in a new record; None if another message cannot reuse them.

    It can if only the put time in them is the message's own: see ``with_put_time``.
    """
    return record[: len(record) - len(body)] if record[0] <= RECORD_PERSISTENT else None


def with_put_time(head: bytes, put_time_ms: int) -> bytes:
    """A ``plain_head`` with another put time."""
    at = _FRONT.size
    return head[:at] + put_time_ms.to_bytes(_PUT_TIME.size, "big") + head[at + _PUT_TIME.size :]


def _flags(md: MQMD) -> int:
    flags = 1 if md.persistence else 0
    if md.expiry != UNLIMITED_EXPIRY:
        flags |= RECORD_EXPIRY
    if md.correl_id != NULL_ID and md.correl_id.strip(b"\0"):
        flags |= RECORD_CORREL_ID
    if md.msg_id != NULL_ID and md.msg_id.strip(b"\0"):
        flags |= RECORD_MSG_ID
    if md.msg_flags & _IN_GROUP or (md.group_id != NULL_ID and md.group_id.strip(b"\0")):
        flags |= RECORD_GROUP
    if md.report:
        flags |= RECORD_REPORT
        if md.report & _TOLD_EXPIRY and flags & RECORD_EXPIRY:
            flags |= RECORD_TELLS_EXPIRY
    return flags


def _encode(md: MQMD, body: bytes, origin: bytes, put_time_ms: int, destination: bytes | None) -> bytes:
    flags = _flags(md)
    rare, priority = _NO_RARE, md.priority
    if md.put_date or md.put_time or md.msg_seq_number != 1 or md.offset or md.msg_flags or priority > MAX_PRIORITY:
        put_time_ms, rare = _rare_fields(md, flags, put_time_ms)
        priority = min(priority, MAX_PRIORITY)
    always = _always_of(md)
    if flags & RECORD_GROUP:
        # It stands with the other fields of the segment; in the tail it would make every segment's another one.
        always = (*always[:-1], UNDEFINED_ORIGINAL_LENGTH)
    tail = _encoded_tail(origin, always, rare)
    if flags <= RECORD_PERSISTENT and not destination:
        length = _PLAIN_FRONT.size + len(tail)
        front = _PLAIN_FRONT.pack(flags, priority, 0, length, put_time_ms >> 32, put_time_ms & 0xFFFF_FFFF)
        return front + tail + body
    parts = b""
    if flags & RECORD_EXPIRY:
        parts = _EXPIRY.pack(md.expiry * 100)
    if flags & RECORD_CORREL_ID:
        parts += _identifier(md.correl_id)
    if flags & RECORD_MSG_ID:
        parts += _identifier(md.msg_id)
    if flags & RECORD_GROUP:
        parts += _GROUP.pack(_identifier(md.group_id), md.msg_seq_number, md.offset, md.msg_flags, md.original_length)
    if destination:
        flags |= RECORD_DESTINATION
        parts += bytes((len(destination),)) + destination
    length = _PLAIN_FRONT.size + len(parts) + len(tail)
    put_time = _PUT_TIME.pack(put_time_ms >> 32, put_time_ms & 0xFFFF_FFFF)
    return _FRONT.pack(flags, priority, 0, length) + parts + put_time + tail + body


def _encode_again(md: MQMD, body: bytes, origin: bytes, put_time_ms: int, destination: bytes | None) -> bytes:
    """Masks with the top bit set come as positive numbers from Python; in IBM's 32 bits they are negative."""
    again = replace(md)
    for name, value in ((field.name, getattr(md, field.name)) for field in fields(MQMD)):
        if isinstance(value, int) and value < 1 << 32:
            setattr(again, name, signed(value))
    try:
        return _encode(again, body, origin, put_time_ms, destination)
    except (struct.error, TypeError, AttributeError) as error:
        refuse_structure(MQMD, MQRC.MD_ERROR, md, "MQPUT")
        refuse_data("MQPUT", "", body)
        raise error_for(MQRC.MD_ERROR, "MQPUT", "", str(error)) from error


def _identifier(value: bytes) -> bytes:
    if len(value) > len(NULL_ID):
        raise struct.error(f"an identifier has {len(value)} bytes, at most 24 fit")
    return value.ljust(len(NULL_ID), b"\0")


def _rare_fields(md: MQMD, flags: int, put_time_ms: int) -> tuple[int, tuple[Any, ...]]:
    """The put time, and what else of the fields that are rarely in the tail must be there."""
    put_date, put_time, *sequence, priority = _rarely_of(md)
    if priority <= MAX_PRIORITY:
        priority = _INITIAL["priority"]
    if put_date or put_time:
        given_ms = _given_time_ms(put_date, put_time)
        if given_ms:
            put_time_ms, put_date, put_time = given_ms, b"", b""
        else:
            put_time_ms = 0
    if flags & RECORD_GROUP:
        sequence = [1, 0, 0]
    return put_time_ms, (put_date, put_time, *sequence, priority)


def _given_time_ms(put_date: bytes, put_time: bytes) -> int:
    """A put date and time as milliseconds since 1970; 0 if they are not a time that reads back the same."""
    try:
        moment = datetime.strptime((put_date + put_time[:6]).decode(), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        given_ms = int(moment.timestamp()) * 1000 + int(put_time[6:]) * 10
    except ValueError:
        return 0
    return given_ms if given_ms > 0 and put_date_and_time(given_ms) == (put_date, put_time) else 0


@lru_cache(maxsize=_CACHED)
def _encoded_tail(origin: bytes, always: tuple[Any, ...], rare: tuple[Any, ...]) -> bytes:
    short = origin[:_ORIGIN_LENGTH]
    mask, written = 0, b""
    for bit, (name, value) in enumerate(zip(_TAIL, always + rare, strict=True)):
        size = _TAIL[name]
        stripped = value.rstrip(b" \0" if name != "accounting_token" else b"\0") if size else value
        if stripped == (b"" if size else _INITIAL[name]) or (name == "coded_char_set_id" and not value):
            continue
        mask |= 1 << bit
        if not size:
            written += _NUMBER.pack(value)
        elif len(stripped) > size:
            raise struct.error(f"{name} has {len(stripped)} bytes, at most {size} fit")
        else:
            written += bytes((len(stripped),)) + stripped
    return bytes((len(short),)) + short + _MASK.pack(mask) + written


def carried_record(record: bytes, number: int, structure_number: int) -> bytes | None:
    """The record of a message from a transmission queue as it is put on its destination queue.

    The message is new there: its BackoutCount is 0, and a MsgId that igq generated is now a given one.

    Returns:
        None if more would change: it expires, belongs to a group, asks for reports, or has no destination.
    """
    flags, priority, _, length = _FRONT.unpack_from(record)
    if flags & _NOT_CARRIED or not flags & RECORD_DESTINATION:
        return None
    after, msg_id = _after_identifiers(record), b""
    put_time = after + 1 + record[after]
    if not flags & RECORD_MSG_ID:
        msg_id = _generated_msg_id(record, number, structure_number)
    front = _FRONT.pack(
        flags & ~RECORD_DESTINATION | RECORD_MSG_ID, priority, 0, length - (put_time - after) + len(msg_id)
    )
    return b"%b%b%b%b" % (front, record[_FRONT.size : after], msg_id, record[put_time:])


def with_generated_msg_id(record: bytes, number: int, structure_number: int) -> bytes:
    """The record with the MsgId that igq generated for it as one that was given; its id must end in ``x``."""
    flags, priority, backout_count, length = _FRONT.unpack_from(record)
    if flags & RECORD_MSG_ID:
        return record
    at = _FRONT.size + _EXPIRY.size * bool(flags & RECORD_EXPIRY) + len(NULL_ID) * bool(flags & RECORD_CORREL_ID)
    front = _FRONT.pack(flags | RECORD_MSG_ID, priority, backout_count, length + len(NULL_ID))
    return b"%b%b%b%b" % (
        front,
        record[_FRONT.size : at],
        _generated_msg_id(record, number, structure_number),
        record[at:],
    )


def _generated_msg_id(record: bytes, number: int, structure_number: int) -> bytes:
    prefix = _PRODUCT + record_origin(record).ljust(_ORIGIN_LENGTH)
    return prefix + _GENERATED.pack(structure_number, number >> 32, number & 0xFFFF_FFFF)


# -- reading -------------------------------------------------------------------------------------------------


def decode_descriptor(record: bytes, number: int, structure_number: int, now_ms: int) -> MQMD:
    """The descriptor of a stored message.

    Args:
        record: as stored; the data are not looked at.
        number, structure_number: of the message, for the MsgId where igq generated it.
        now_ms: Redis' clock, for the time left until the message expires (a tenth of a second at least).
    """
    flags, priority, backout_count, length = _FRONT.unpack_from(record)
    at = _FRONT.size
    expiry = UNLIMITED_EXPIRY
    correl_id = msg_id = group_id = NULL_ID
    sequence: tuple[int, int, int, int] | None = None
    if flags > RECORD_PERSISTENT:
        if flags & RECORD_EXPIRY:
            expiry = max(1, -((now_ms - _EXPIRY.unpack_from(record, at)[0]) // 100))
            at += 8
        if flags & RECORD_CORREL_ID:
            correl_id = record[at : at + 24]
            at += 24
        if flags & RECORD_MSG_ID:
            msg_id = record[at : at + 24]
            at += 24
        if flags & RECORD_GROUP:
            group_id, *numbers = _GROUP.unpack_from(record, at)
            sequence = (numbers[0], numbers[1], numbers[2], numbers[3])
            at += _GROUP.size
        if flags & RECORD_DESTINATION:
            at += 1 + record[at]
    high, low = _PUT_TIME.unpack_from(record, at)
    (
        prefix,
        version,
        report,
        msg_type,
        feedback,
        encoding,
        coded_char_set_id,
        format_,
        reply_to_q,
        reply_to_q_mgr,
        user_identifier,
        accounting_token,
        appl_identity_data,
        put_appl_type,
        put_appl_name,
        appl_origin_data,
        original_length,
        put_date,
        put_time,
        msg_seq_number,
        offset,
        msg_flags,
        priority_above,
    ) = decode_tail(record[at + 6 : length])
    if not flags & RECORD_MSG_ID:
        msg_id = prefix + _GENERATED.pack(structure_number, number >> 32, number & 0xFFFF_FFFF)
    put_time_ms = high << 32 | low
    if put_time_ms:
        put_date, put_time = put_date_and_time(put_time_ms)
    if sequence:
        msg_seq_number, offset, msg_flags, original_length = sequence
    return MQMD(
        version,
        report,
        msg_type,
        expiry,
        feedback,
        encoding,
        coded_char_set_id,
        format_,
        max(priority, priority_above),
        flags & RECORD_PERSISTENT,
        msg_id,
        correl_id,
        backout_count,
        reply_to_q,
        reply_to_q_mgr,
        user_identifier,
        accounting_token,
        appl_identity_data,
        put_appl_type,
        put_appl_name,
        put_date,
        put_time,
        appl_origin_data,
        group_id,
        msg_seq_number,
        offset,
        msg_flags,
        original_length,
    )


def record_body(record: bytes) -> bytes:
    """The data of a stored message."""
    return record[record[3] << 8 | record[4] :]


def record_length(record: bytes) -> int:
    """Length of the data of a stored message, bytes."""
    return len(record) - (record[3] << 8 | record[4])


def may_have_format(record: bytes, name: bytes) -> bool:
    """False if the Format of a stored message is certainly not *name*. True decides nothing."""
    return record.find(name, 0, record[3] << 8 | record[4]) >= 0


def record_flags(record: bytes) -> int:
    """The ``RECORD_*`` bits of a record."""
    return record[0]


def _after_identifiers(record: bytes) -> int:
    """Where the destination stands, or without one the time of the put."""
    flags, at = record[0], _FRONT.size
    if flags > RECORD_PERSISTENT:
        at += _EXPIRY.size * bool(flags & RECORD_EXPIRY)
        at += len(NULL_ID) * (bool(flags & RECORD_CORREL_ID) + bool(flags & RECORD_MSG_ID))
        at += _GROUP.size * bool(flags & RECORD_GROUP)
    return at


def _put_time_offset(record: bytes) -> int:
    at = _after_identifiers(record)
    return at + 1 + record[at] if record[0] & RECORD_DESTINATION else at


def record_destination(record: bytes) -> bytes:
    """Name of the queue that the message must go to in the end; empty when it is there."""
    if not record[0] & RECORD_DESTINATION:
        return b""
    at = _after_identifiers(record)
    return record[at + 1 : at + 1 + record[at]]


def record_put_time_ms(record: bytes) -> int:
    """When a stored message was put, milliseconds since 1970; 0 if the program gave an invalid date."""
    high, low = _PUT_TIME.unpack_from(record, _put_time_offset(record))
    return int(high << 32 | low)


def record_origin(record: bytes) -> bytes:
    """The manager where the message was put: the first 12 bytes of its name."""
    at = _put_time_offset(record) + _PUT_TIME.size
    return record[at + 1 : at + 1 + record[at]]


def generated_number(msg_id: bytes, structure_number: int) -> int | None:
    """The message number in a MsgId that igq may have generated in this structure; None in any other."""
    if len(msg_id) != len(NULL_ID) or not msg_id.startswith(_PRODUCT):
        return None
    structure, high, low = _GENERATED.unpack_from(msg_id, len(_PRODUCT) + _ORIGIN_LENGTH)
    number: int = high << 32 | low
    return number if structure == structure_number and number else None


#: Fields of the tail, in their order.
TAIL_FIELDS: Final = tuple(_TAIL)


@lru_cache(maxsize=_CACHED)
def decode_tail(tail: bytes) -> tuple[Any, ...]:
    """The beginning of a generated MsgId, 16 bytes, and the fields in the order of ``TAIL_FIELDS``."""
    at = 1 + tail[0]
    origin = tail[1:at]
    (mask,) = _MASK.unpack_from(tail, at)
    at += _MASK.size
    values: list[Any] = [_PRODUCT + origin.ljust(_ORIGIN_LENGTH)]
    for bit, (name, size) in enumerate(_TAIL.items()):
        if not mask >> bit & 1:
            values.append(_INITIAL[name])
        elif size:
            value = tail[at + 1 : at + 1 + tail[at]]
            values.append(value.ljust(size, b"\0") if name == "accounting_token" else value)
            at += 1 + tail[at]
        else:
            values.append(_NUMBER.unpack_from(tail, at)[0])
            at += _NUMBER.size
    return tuple(values)


# -- put date and time ---------------------------------------------------------------------------------------

_HUNDREDTHS: Final = tuple(b"%02d" % hundredth for hundredth in range(100))


def put_date_and_time(put_time_ms: int) -> tuple[bytes, bytes]:
    """PutDate and PutTime, in UTC."""
    date, time = _rendered_second(put_time_ms // 1000)
    return date, time + _HUNDREDTHS[put_time_ms % 1000 // 10]


@lru_cache(maxsize=_CACHED)
def _rendered_second(second: int) -> tuple[bytes, bytes]:
    moment = datetime.fromtimestamp(second, UTC)
    return moment.strftime("%Y%m%d").encode(), moment.strftime("%H%M%S").encode()


def message_token(message_id: bytes, structure_number: int) -> bytes:
    """MsgToken of a message: it names the message for as long as that is on its queue."""
    number, _, code = message_id.rstrip(b"x").partition(b".")
    token = _TOKEN.pack(structure_number, int(number), int(code or 0), message_id.endswith(b"x"))
    return token.ljust(MSG_TOKEN_LENGTH, b"\0")


def message_of_token(token: bytes, structure_number: int) -> str | None:
    """Id of the message that a MsgToken names; None when it is of no message of this structure."""
    structure, number, code, look = _TOKEN.unpack_from(token.ljust(MSG_TOKEN_LENGTH, b"\0"))
    if structure != structure_number or look > 1:
        return None
    return f"{number}{f'.{code}' if code else ''}{'x' if look else ''}"
