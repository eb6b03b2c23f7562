"""The stored form of a message: its descriptor, completed by the queue's definition, its record, its priority.

ReplyToQ and ReplyToQMgr where a program leaves the manager blank: its own queue manager says where replies go.

Source: IBM MQ reference, "ReplyToQ (MQCHAR48)": replies go where a local definition of a remote
queue of that name points.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, Final

from sharedq.calls.routes.refresh import raise_if_in_force
from sharedq.logical import NOTHING
from sharedq.messages.context import fill_in_context, new_identifier
from sharedq.messages.extension import has_group_fields
from sharedq.messages.record import (
    DEAD_LETTER,
    RECORD_NEEDS_LOOK,
    PutArguments,
    encode_record,
    plain_head,
    put_date_and_time,
    record_flags,
    score_base,
    with_put_time,
)
from sharedq.messages.transmission import as_transmitted
from sharedq.mqi.constants import MQRC, Feedback, Format, MsgFlag, MsgType, Persistence, PutOption
from sharedq.mqi.constants.descriptor import (
    REPORT_ACCEPT_UNSUP_IF_XMIT_MASK,
    REPORT_REJECT_UNSUP_MASK,
    REPORTS_WANTED,
    UNKNOWN_REPORTS,
)
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import (
    DEFAULT_CCSID,
    MAX_EXPIRY,
    MAX_MSG_LENGTH,
    MAX_PRIORITY,
    NULL_ACCOUNTING_TOKEN,
    NULL_ID,
    PRIORITY_AS_Q_DEF,
    UNLIMITED_EXPIRY,
)
from sharedq.mqi.structures import MQMD, copied
from sharedq.mqi.types import reader
from sharedq.objects.definitions.queues import QueueRemote
from sharedq.objects.repository import Repository
from sharedq.properties.headers import lengths
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle, LastPut
from sharedq.session.refusals import inhibited
from sharedq.session.route import QueueFacts, ReplyTo, lowest_cap

#: Seconds for which a resolved name is kept: a request costs no round trip more than another message.
REMEMBERED_S = 1.0
#: Names that are remembered, at most.
_NAMES_MAX = 64
#: In a queue that is indexed by GroupId the first message of a group is placed with this priority at least.
GROUP_PRIORITY_MIN = 2
# Plain integers: an operation on IntFlag members costs about a microsecond, and these are tested on every call.
_IN_GROUP = int(MsgFlag.MSG_IN_GROUP | MsgFlag.LAST_MSG_IN_GROUP)
_NEW_MSG_ID = int(PutOption.NEW_MSG_ID)
_NEW_CORREL_ID = int(PutOption.NEW_CORREL_ID)
#: Options that give a message new identifiers.
NEW_IDS = _NEW_MSG_ID | _NEW_CORREL_ID
_NO_CONTEXT, _SET_ALL = int(PutOption.NO_CONTEXT), int(PutOption.SET_ALL_CONTEXT)
#: With these options a put cannot reuse the last put: two messages of one descriptor may differ.
_UNLIKE = NEW_IDS | _NO_CONTEXT | _SET_ALL | int(PutOption.SET_IDENTITY_CONTEXT) | int(PutOption.LOGICAL_ORDER)
_AS_Q_DEF = int(Persistence.AS_Q_DEF)
_RF_HEADER_2 = Format.RF_HEADER_2
_REQUEST = int(MsgType.REQUEST)
_MSG_TYPE_MAX = int(MsgType.APPL_LAST)
_FEEDBACK_MAX = int(Feedback.APPL_LAST)
_TIME: Final = ("put_date", "put_time")
_ASKED: Final = (*(field.name for field in fields(MQMD) if field.name not in ("backout_count", *_TIME)), *_TIME)
#: The fields of a descriptor before it is put, its time at the end; BackoutCount is not read.
_asked_by: Final = reader(_ASKED)
#: The fields that `complete_descriptor` may change, without identifiers and without fields that are usually empty.
_completed_of: Final = reader(("persistence", "priority", "user_identifier", "put_appl_type", "put_appl_name"))
#: NONE, or the reason of a warning; the arguments of the put script and, for the journal, a line for each message.
Prepared = tuple[MQRC, list[PutArguments], list[str]]


def resolve_reply_to(connection: Connection, md: MQMD) -> None:
    """Fill in where replies to a message go, unless it says so, or asks for none.

    A definition that was made, altered or deleted within the last second may not count yet.

    Raises:
        MQIError: 2009 Redis cannot be asked.
    """
    name = _up_to_null(md.reply_to_q)
    if not name or _up_to_null(md.reply_to_q_mgr):
        return
    found = connection.reply_to.get(name)
    if found is None or found.until < time.monotonic():
        if len(connection.reply_to) >= _NAMES_MAX:
            connection.reply_to.clear()
        found = connection.reply_to[name] = _looked_up(connection, name)
    md.reply_to_q, md.reply_to_q_mgr = found.queue, found.qmgr


def _up_to_null(name: bytes) -> bytes:
    """A name as MQ takes it: a null ends it, and trailing blanks count for nothing."""
    return name.partition(b"\0")[0].rstrip(b" ")


def _looked_up(connection: Connection, name: bytes) -> ReplyTo:
    until = time.monotonic() + REMEMBERED_S
    here = connection.qmgr_name
    located = Repository(connection.group, here).lookup(name.decode("utf-8", "replace"))
    definition = None if located is None else located.definition
    if isinstance(definition, QueueRemote) and definition.remote_queue:
        return ReplyTo(definition.remote_queue.encode(), (definition.remote_qmgr or here).encode(), until)
    return ReplyTo(name, connection.origin, until)


def prepare_like_last(
    connection: Connection, handle: Handle, md: MQMD, body: bytes, options: int, before: list[tuple[Any, ...]]
) -> Prepared | None:
    """As ``prepare``, for a message that is like the last one through its handle. None: it is not, or may not be.

    So it is in no group, and needs none of the decisions and checks that the last one needed.
    """
    last = handle.puts.last
    if (
        last is None
        or last.options != options
        or last.definition is not handle.definition
        or len(body) > last.definition.facts.max_msg_length
        or md.reply_to_q
        or handle.order.puts is not NOTHING
    ):
        return None
    asked = _asked_by(md)
    if asked[:-2] != last.asked:
        return None
    before.append(asked)
    put_time_ms = int(time.time() * 1000)
    if last.put_time_ms != put_time_ms:
        last.head, last.put_time_ms = with_put_time(last.head, put_time_ms), put_time_ms
    md.persistence, md.priority, md.user_identifier, md.put_appl_type, md.put_appl_name = last.completed
    md.put_date, md.put_time = _told_time(put_time_ms)
    details = [str(len(body)).join(last.detail)] if connection.journal_max != "0" else []
    return MQRC.NONE, [(last.base, "", last.head + body)], details


def prepare(
    connection: Connection,
    handle: Handle,
    messages: Sequence[tuple[MQMD, bytes]],
    options: int,
    before: list[tuple[Any, ...]],
) -> Prepared:
    """Arguments of the put script for each message, by the handle's definition.

    Args:
        before: takes what each descriptor said before it was completed: for ``empty_again``.
    """
    facts = handle.definition.facts
    if facts.is_put_inhibited:
        raise inhibited(connection, handle, MQRC.PUT_INHIBITED, "MQPUT")
    length_max, has_limit = facts.max_msg_length, connection.max_properties >= 0
    is_journaled = connection.journal_max != "0"
    # A program that sets all context may leave the time blank.
    put_time_ms = 0 if options & (_NO_CONTEXT | _SET_ALL) else int(time.time() * 1000)
    now = _told_time(put_time_ms)
    warning = MQRC.NONE
    arguments: list[PutArguments] = []
    details: list[str] = []
    last = handle.puts.last
    if last is not None and (last.definition is not handle.definition or last.options != options):
        last = None
    asked: tuple[Any, ...] = ()
    #: The descriptor of the message before, which is completed like that of `last`. Many messages may share it.
    alike: MQMD | None = None
    #: Descriptors that were given a MsgId. Another message that shares one gets a MsgId of its own.
    given: set[int] = set()
    for md, body in messages:
        if len(body) > length_max or (has_limit and md.format == _RF_HEADER_2):
            _check_lengths(connection, handle, md, body)
        if md is not alike:
            asked = _asked_by(md)
        before.append(asked)
        if md.reply_to_q and md is not alike:
            resolve_reply_to(connection, md)
            asked = _asked_by(md)
        if last is not None and (md is alike or last.asked == asked[:-2]):
            if md is not alike:
                if last.put_time_ms != put_time_ms:
                    last.head, last.put_time_ms = with_put_time(last.head, put_time_ms), put_time_ms
                (
                    md.persistence,
                    md.priority,
                    md.user_identifier,
                    md.put_appl_type,
                    md.put_appl_name,
                ) = last.completed
                md.put_date, md.put_time = now
                alike = md
            arguments.append((last.base, "", last.head + body))
            if is_journaled:
                details.append(str(len(body)).join(last.detail))
            continue
        alike = None
        its_warning, argument, detail, like = _prepare_one(connection, handle, md, body, options, put_time_ms, given)
        warning = its_warning or warning
        if not options & _SET_ALL:
            # Set the time after encoding. The encoder takes an earlier one for the program's own.
            md.put_date, md.put_time = now
        arguments.append(argument)
        if is_journaled:
            details.append(str(len(body)).join(detail))
        if like is not None:
            last = LastPut(
                handle.definition, options, asked[:-2], _completed_of(md), argument[0], put_time_ms, like, detail
            )
            handle.puts.last = last
    return warning, arguments, details


def _prepare_one(
    connection: Connection, handle: Handle, md: MQMD, body: bytes, options: int, put_time_ms: int, given: set[int]
) -> tuple[MQRC, PutArguments, tuple[str, str], bytes | None]:
    """Prepare a message that is not like the one before it.

    Returns:
        A warning, the arguments, what the journal says of it before and after its length, and the head of its record,
        if a message of the same descriptor may be like it.
    """
    is_marked = bool(md.appl_identity_data or md.appl_origin_data or md.accounting_token != NULL_ACCOUNTING_TOKEN)
    is_conventional = bool(handle.destination) and not handle.is_intra_group
    if is_conventional and id(md) in given:
        # An earlier message that shares the descriptor was given this MsgId.
        md.msg_id = NULL_ID
    elif is_conventional and md.msg_id == NULL_ID:
        given.add(id(md))
    warning = complete_descriptor(connection, handle, md, options)
    record = _record(connection, handle, md, body, put_time_ms, is_conventional=is_conventional)
    # A get looks whether it returns the properties in such a header.
    has_header = md.format == _RF_HEADER_2
    look = "x" if has_header or record_flags(record) & RECORD_NEEDS_LOOK else ""
    # Not where a field is new at each put, is the program's own put time, or makes a warning.
    is_like = not (warning or is_conventional or is_marked or has_header or options & _UNLIKE or has_group_fields(md))
    head = plain_head(record, body) if is_like else None
    detail = _detail_around(md) if connection.journal_max != "0" else ("", "")
    return warning, (score_base(place_of(handle.definition.facts, md)), look, record), detail, head


def prepare_in_force(
    connection: Connection,
    handle: Handle,
    messages: Sequence[tuple[MQMD, bytes]],
    options: int,
    before: list[tuple[Any, ...]],
    stored: int = 0,
) -> Prepared:
    """As ``prepare``, for the messages after the first *stored* ones; only the definitions in force may refuse them.

    Raises:
        MQIError: the refusal, or those of ``refresh_definition``. Then the descriptors are as they were.
    """
    # A function for `until_in_force` would cost each put more than this loop.
    while True:
        known = handle.definition
        try:
            return prepare(connection, handle, messages[stored:] if stored else messages, options, before)
        except MQIError as error:
            # Values that were filled in may come from a definition that is not in force.
            empty_again(messages, before, stored)
            del before[stored:]
            raise_if_in_force(connection, handle, known, error)


def _check_lengths(connection: Connection, handle: Handle, md: MQMD, body: bytes) -> None:
    """Refuse data, or properties, that are too long. Raises MQIError: 2030, 2478."""
    found, length_max = lengths(md, body), handle.definition.facts.max_msg_length
    if found.data > length_max:
        raise error_for(
            MQRC.MSG_TOO_BIG_FOR_Q, "MQPUT", handle.object_name, f"{found.data} bytes, MAXMSGL({length_max})"
        )
    _refuse_long(connection, handle.object_name, found.properties)


def check_properties(connection: Connection, name: str, md: MQMD, body: bytes) -> None:
    """Refuse properties that are longer than MAXPROPL of the manager. Raises MQIError: 2478."""
    if connection.max_properties >= 0 and md.format == _RF_HEADER_2:
        _refuse_long(connection, name, lengths(md, body).properties)


def _refuse_long(connection: Connection, name: str, length: int) -> None:
    limit = connection.max_properties if connection.max_properties >= 0 else MAX_MSG_LENGTH
    if length > limit:
        raise error_for(MQRC.PROPERTIES_TOO_BIG, "MQPUT", name, f"{length} bytes of properties, MAXPROPL({limit})")


def empty_again(messages: Sequence[tuple[MQMD, bytes]], before: Sequence[tuple[Any, ...]], first: int = 0) -> None:
    """Restore the descriptors of *messages*, from the *first* on, to their values *before* they were prepared."""
    # Messages may share one, which the first of them has completed.
    originals: dict[int, tuple[Any, ...]] = {}
    for (md, _), values in zip(messages, before, strict=False):
        originals.setdefault(id(md), values)
    for md, _ in messages[first:]:
        for name, value in zip(_ASKED, originals.get(id(md), ()), strict=False):
            setattr(md, name, value)


@lru_cache(maxsize=1)
def _told_time(put_time_ms: int) -> tuple[bytes, bytes]:
    """PutDate and PutTime as the descriptor of the MQPUT tells them: blank without context."""
    return put_date_and_time(put_time_ms) if put_time_ms else (b"", b"")


def place_of(facts: QueueFacts, md: MQMD) -> int:
    """The priority by which a message is placed on a queue."""
    place = facts.default_priority if facts.is_fifo else min(md.priority, MAX_PRIORITY)
    if facts.is_group_indexed and place < GROUP_PRIORITY_MIN and _begins_group(md):
        return GROUP_PRIORITY_MIN
    return place


def _begins_group(md: MQMD) -> bool:
    return md.msg_seq_number == 1 and md.offset == 0 and bool(md.msg_flags & _IN_GROUP)


def _record(
    connection: Connection, handle: Handle, md: MQMD, body: bytes, put_time_ms: int, *, is_conventional: bool
) -> bytes:
    said = md
    # MQCCSI_Q_MGR means the manager that it is put at, and its number goes with the message, not into ``md``.
    if not md.coded_char_set_id and (is_conventional or connection.ccsid != DEFAULT_CCSID):
        said = copied(md, coded_char_set_id=connection.ccsid)
    if not is_conventional:
        return encode_record(said, body, connection.origin, put_time_ms, handle.destination or None)
    if md.msg_id == NULL_ID:
        # The header shows it, before the message has a number of its own.
        md.msg_id = said.msg_id = new_identifier(connection.origin)
    return _conventional_record(connection, handle, said, body, put_time_ms)


def _conventional_record(connection: Connection, handle: Handle, md: MQMD, body: bytes, put_time_ms: int) -> bytes:
    """A message for a conventional transmission queue: programs that take it from there know IBM's headers only."""
    outer = copied(md)
    if put_time_ms and not md.put_date:
        outer.put_date, outer.put_time = put_date_and_time(put_time_ms)
    data = as_transmitted(outer, body, handle.destination, handle.target_qmgr)
    return encode_record(outer, data, connection.origin, put_time_ms)


def complete_descriptor(connection: Connection, handle: Handle, md: MQMD, options: int) -> MQRC:
    """Check the descriptor, and complete the fields that it leaves to the queue.

    Returns:
        NONE, or the reason of a warning: see `check_descriptor`.
    """
    facts = handle.definition.facts
    is_remote = facts.is_transmission or bool(handle.destination)
    warning = check_descriptor(md, handle.object_name, for_transmission=is_remote)
    if md.persistence == _AS_Q_DEF:
        default = handle.definition.default_persistence
        md.persistence = facts.default_persistence if default is None else default
    if md.persistence and facts.is_temporary:
        raise error_for(MQRC.PERSISTENT_NOT_ALLOWED, "MQPUT", handle.object_name, "a temporary dynamic queue")
    if md.priority == PRIORITY_AS_Q_DEF:
        default = handle.definition.default_priority
        md.priority = facts.default_priority if default is None else default
    if facts.cap_expiry != UNLIMITED_EXPIRY:
        md.expiry = lowest_cap(md.expiry, facts.cap_expiry)
    if options & _NEW_MSG_ID:
        md.msg_id = NULL_ID
    if options & _NEW_CORREL_ID:
        md.correl_id = new_identifier(connection.origin)
    fill_in_context(md, options, connection.appl_name_bytes, handle.puts.alternate_user or connection.user_bytes)
    return warning


def check_descriptor(md: MQMD, name: str, *, for_transmission: bool) -> MQRC:
    """Refuse a descriptor that cannot be put anywhere.

    Args:
        name: of the queue, or the topic string.
        for_transmission: the message goes to a transmission queue, where some report options are for others to judge.

    Returns:
        NONE, or the reason of a warning: 2049 its priority was too high, 2104 a report option that nobody knows.
    """
    warning = MQRC.NONE
    if not 1 <= md.msg_type <= _MSG_TYPE_MAX:
        raise error_for(MQRC.MSG_TYPE_ERROR, "MQPUT", name, f"MsgType {md.msg_type}")
    if not 0 <= md.feedback <= _FEEDBACK_MAX:
        raise error_for(MQRC.FEEDBACK_ERROR, "MQPUT", name, f"Feedback {md.feedback}")
    if md.report & UNKNOWN_REPORTS:
        warning = _judge_unknown_reports(md.report & UNKNOWN_REPORTS, name, for_transmission=for_transmission)
    if md.persistence not in (0, 1, _AS_Q_DEF):
        raise error_for(MQRC.PERSISTENCE_ERROR, "MQPUT", name, f"Persistence {md.persistence}")
    if md.priority > MAX_PRIORITY:
        # The message is placed by the highest priority, and its descriptor stays as it is.
        warning = MQRC.PRIORITY_EXCEEDS_MAXIMUM
    elif md.priority < 0 and md.priority != PRIORITY_AS_Q_DEF:
        raise error_for(MQRC.PRIORITY_ERROR, "MQPUT", name, f"Priority {md.priority}")
    if md.expiry != UNLIMITED_EXPIRY and not 0 < md.expiry <= MAX_EXPIRY:
        raise error_for(MQRC.EXPIRY_ERROR, "MQPUT", name, f"Expiry {md.expiry}, in tenths of a second")
    if (md.msg_type == _REQUEST or md.report & REPORTS_WANTED) and not md.reply_to_q.strip(b" \0"):
        raise error_for(MQRC.MISSING_REPLY_TO_Q, "MQPUT", name, "a request, or a report, needs ReplyToQ")
    return warning


def _judge_unknown_reports(unknown: int, name: str, *, for_transmission: bool) -> MQRC:
    """Return 2104, a warning. Raise 2061 if an unknown option must be understood here; some may travel on."""
    refused = REPORT_REJECT_UNSUP_MASK
    if not for_transmission:
        refused |= REPORT_ACCEPT_UNSUP_IF_XMIT_MASK
    if unknown & refused:
        raise error_for(MQRC.REPORT_OPTIONS_ERROR, "MQPUT", name, f"Report {unknown:#x} is unknown")
    return MQRC.UNKNOWN_REPORT_OPTION


def _digits(identifier: bytes) -> str:
    """Return the identifier in hexadecimal at full length; empty if all its bytes are zero."""
    if len(identifier) == len(NULL_ID):
        return identifier.hex()
    return identifier.hex().ljust(2 * len(NULL_ID), "0") if identifier.strip(b"\0") else ""


def journal_detail(md: MQMD, length: int) -> str:
    """One line of the journal about a message put: the fields of ``docs/reference/key-space.md``, "The journal"."""
    return str(length).join(_detail_around(md))


def _detail_around(md: MQMD) -> tuple[str, str]:
    """The line of the journal before and after the length of the message."""
    msg_id = "" if md.msg_id == NULL_ID else _digits(md.msg_id)
    correl_id = "" if md.correl_id == NULL_ID else _digits(md.correl_id)
    group_id = "" if md.group_id == NULL_ID else _digits(md.group_id)
    marks = int(md.persistence) | (DEAD_LETTER if md.format == Format.DEAD_LETTER_HEADER else 0)
    return f"{msg_id},{correl_id},{group_id},{md.msg_seq_number},", f",{marks},{md.priority}"
