"""The MQI, call by call: structures in, completion code and reason code out. Nothing is raised.

Other faces (pymqi, IBM's own client libraries) stand on this layer. Handles are the native objects; structures
are changed in place as IBM's are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import fields, replace
from functools import partial
from typing import TypeVar

from sharedq.calls.get import browse as locking
from sharedq.calls.get import get as getting
from sharedq.calls.get.properties import PROPERTY_OPTIONS
from sharedq.calls.handles import inquire as inquiry
from sharedq.calls.handles import open as opening
from sharedq.calls.handles.connect import connect_to, disconnect
from sharedq.calls.handles.subscriptions import close_subscription
from sharedq.calls.put import put as putting
from sharedq.calls.put.distribution import close_list, open_list, put_list
from sharedq.calls.put.extension import put_message
from sharedq.calls.put.properties import put_with_properties
from sharedq.calls.topics import open as topics
from sharedq.calls.topics.alias import open_named
from sharedq.calls.topics.publish import publish
from sharedq.calls.topics.subscribe import request, subscribe
from sharedq.calls.unit.commit import backout, commit
from sharedq.calls.unit.put_buffer import flush_pending
from sharedq.members.group import Group
from sharedq.messages.context import Program
from sharedq.messages.extension import EXTENSION_LENGTH, GROUP_FIELDS, has_group_fields, is_extended, with_extension
from sharedq.messages.message import Message
from sharedq.mqi.arguments import refuse_data, refuse_other, refuse_structure, whole
from sharedq.mqi.constants import (
    MQCC,
    MQRC,
    Encoding,
    GetOption,
    HandleToBufferOption,
    InquirePropertyOption,
    ObjectType,
    PutOption,
)
from sharedq.mqi.constants.properties import NO_MSG_HANDLE, UNUSABLE_MSG_HANDLE
from sharedq.mqi.conversion.characters import converted_characters
from sharedq.mqi.conversion.errors import ConversionError
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import DEFAULT_CCSID, MAX_COUNT, NULL_CONN_TAG
from sharedq.mqi.options import check_put_options, split_put1_options
from sharedq.mqi.structures import (
    MQBMHO,
    MQCMHO,
    MQCNO,
    MQDMHO,
    MQDMPO,
    MQGMO,
    MQIMPO,
    MQMD,
    MQMHBO,
    MQOD,
    MQPD,
    MQPMO,
    MQSD,
    MQSMPO,
    MQSRO,
    MQSTS,
)
from sharedq.mqi.wire import BMHO, CMHO, DMHO, DMPO, GMO, IMPO, MD, MHBO, OD, PD, PMO, SMPO
from sharedq.properties.handle import Inquired, MessageHandle
from sharedq.properties.values import Value, length_of
from sharedq.redis.deployment import DeploymentError
from sharedq.session import message_handles
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle, ListHandle, ObjectHandle
from sharedq.session.topics import SubscriptionHandle, TopicHandle

T = TypeVar("T")
AnyHandle = Handle | ObjectHandle | TopicHandle | ListHandle
Outcome = tuple[MQCC, MQRC]
_Known = Handle | ObjectHandle | TopicHandle | SubscriptionHandle

#: Of MQCNO and MQSTS. Later ones of MQCNO also say how a client reaches a manager, and what it is
#: called: not used here.
_CNO_VERSIONS, _STS_VERSIONS = range(1, 9), range(1, 3)
#: The version of MQCNO that has ConnTag.
_VERSION_WITH_TAG = 3
#: The versions of MQPMO and MQGMO that have message handles, and of MQGMO that has ReturnedLength.
_PMO_WITH_HANDLES, _GMO_WITH_HANDLE, _GMO_WITH_LENGTH = 3, 4, 3
#: The version of MQOD and of MQPMO that has records of a distribution list.
_VERSION_WITH_RECORDS = 2
#: MQSR_ACTION_PUBLICATION.
_ACTION_PUBLICATION = 1
_UNLOCK = int(GetOption.UNLOCK)
_FOR_OUTPUT_ONLY = int(PutOption.MD_FOR_OUTPUT_ONLY)
_DELETE_PROPERTIES = int(HandleToBufferOption.DELETE_PROPERTIES)
_BROWSES = int(GetOption.BROWSE_FIRST | GetOption.BROWSE_NEXT | GetOption.BROWSE_MSG_UNDER_CURSOR)
#: MQSTAT_TYPE_ASYNC_ERROR; MQSTAT_TYPE_RECONNECTION and MQSTAT_TYPE_RECONNECTION_ERROR.
ASYNC_ERROR, _RECONNECTION_TYPES = 0, (1, 2)
#: Selectors of one MQINQ or MQSET.
SELECTORS_MAX = 256
#: The fields that an MQGET returns in a descriptor, by its version.
_MD_FIELDS = {2: tuple(field.name for field in fields(MQMD) if field.name != "version")}
_MD_FIELDS[1] = tuple(name for name in _MD_FIELDS[2] if name not in GROUP_FIELDS)


def mqconnx(
    group: Group, name: str, cno: MQCNO, appl_name: str = "", program: Program | None = None
) -> tuple[Connection | None, MQCC, MQRC]:
    """MQCONNX. *name* is a manager's, the group's, or ``*`` and the group's. *program*: if not this process."""

    def call() -> Connection:
        refuse_structure(MQCNO, MQRC.CNO_ERROR, cno, "MQCONNX")
        if cno.version not in _CNO_VERSIONS:
            raise error_for(MQRC.CNO_ERROR, "MQCONNX", "", f"version {cno.version}")
        tag = cno.conn_tag if cno.version >= _VERSION_WITH_TAG else NULL_CONN_TAG
        return connect_to(group, name, tag=tag, options=cno.options, appl_name=appl_name, program=program)

    return outcome_of(None, call, needs=False)


def mqconn(group: Group, name: str) -> tuple[Connection | None, MQCC, MQRC]:
    """MQCONN."""
    return mqconnx(group, name, MQCNO())


def mqdisc(connection: Connection) -> Outcome:
    """MQDISC; stops callbacks and commits what is outstanding."""
    if isinstance(connection, Connection):
        _, comp_code, reason = outcome_of(None, connection.end_callbacks, needs=False)
        if comp_code == MQCC.FAILED and not connection.is_ended:
            return comp_code, reason
    return _with_warning(*outcome_of(connection, lambda: disconnect(connection)))


def mqopen(connection: Connection, od: MQOD, options: int) -> tuple[AnyHandle | None, MQCC, MQRC]:
    """MQOPEN of a queue, a topic or a distribution list; or, for MQINQ, of the queue manager, a process definition or a
    namelist."""

    def call() -> AnyHandle:
        OD.check(od)
        if _is_list(od):
            connection.check()
            return open_list(connection, od, options)
        if od.object_type == ObjectType.TOPIC:
            connection.check()
            return topics.open_topic(connection, od, options)
        if od.object_type in opening.OBJECT_KINDS:
            connection.check()
            return opening.open_object(connection, od, options)
        return open_named(connection, od, options)

    handle, comp_code, reason = outcome_of(connection, call)
    if isinstance(handle, ListHandle):
        return handle, *_with_warning(handle.warning, comp_code, reason)
    return handle, comp_code, reason


def mqclose(connection: Connection, handle: AnyHandle | SubscriptionHandle, options: int = 0) -> Outcome:
    """MQCLOSE."""

    def call() -> MQRC:
        connection.check()
        check_usable(connection, handle)
        if isinstance(handle, Handle):
            return opening.close_handle(connection, handle, options)
        if isinstance(handle, ListHandle):
            return close_list(connection, handle, options)
        if isinstance(handle, TopicHandle):
            topics.close_topic(connection, handle, options)
        elif isinstance(handle, SubscriptionHandle):
            close_subscription(connection, handle, options)
        else:
            opening.close_object(connection, handle, options)
        return MQRC.NONE

    warning, comp_code, reason = outcome_of(connection, call)
    return _with_warning(warning, comp_code, reason)


def mqput(connection: Connection, handle: AnyHandle, md: MQMD, pmo: MQPMO, body: bytes) -> Outcome:
    """MQPUT; *md* and *pmo* return identifiers and resolved names."""

    def call() -> MQRC:
        PMO.check(pmo)
        MD.check(md)
        refuse_data("MQPUT", "", body)
        if isinstance(handle, TopicHandle | ListHandle):
            check_usable(connection, handle)
            target: Handle | TopicHandle | ListHandle = handle
        else:
            target = _queue(connection, handle, MQRC.NOT_OPEN_FOR_OUTPUT)
        if pmo.recs_present and pmo.version >= _VERSION_WITH_RECORDS and not isinstance(target, ListHandle):
            raise error_for(MQRC.RECS_PRESENT_ERROR, "MQPUT", target.object_name, "it is no distribution list")
        has_handles = pmo.version >= _PMO_WITH_HANDLES and _has_handles(pmo)
        if not has_handles and not is_extended(md):
            return _send(connection, target, pmo, md, body)
        name = target.topic_string if isinstance(target, TopicHandle) else target.object_name
        send = partial(_send, connection, target, pmo)
        if not has_handles:
            return put_message(connection, name, send, md, int(pmo.options), body)
        connection.check()
        original = message_handles.find_if_given(connection, pmo.original_msg_handle, "MQPUT")
        new = message_handles.find_if_given(connection, pmo.new_msg_handle, "MQPUT")

        def send_with_properties(md: MQMD, body: bytes) -> MQRC:
            return put_with_properties(send, name, md, pmo, body, original=original, new=new)

        return put_message(connection, name, send_with_properties, md, int(pmo.options), body)

    warning, comp_code, reason = outcome_of(connection, call)
    return _with_warning(warning, comp_code, reason)


def mqput1(connection: Connection, od: MQOD, md: MQMD, pmo: MQPMO, body: bytes) -> Outcome:
    """MQPUT1: open, put one message, close."""

    def call() -> tuple[Handle | TopicHandle | ListHandle, MQOD, MQPMO]:
        OD.check(od)
        PMO.check(pmo)
        MD.check(md)
        refuse_data("MQPUT1", "", body)
        refused = check_put_options(int(pmo.options), is_put1=True)
        if refused:
            raise error_for(refused, "MQPUT1", "")
        open_options, put_options = split_put1_options(int(pmo.options))
        opened, given = replace(od), replace(pmo, options=put_options)
        if _is_list(od):
            connection.check()
            of_list = open_list(connection, opened, open_options, pmo.response_records)
            of_list.responses = od.response_records
            return of_list, opened, given
        if od.object_type == ObjectType.TOPIC:
            connection.check()
            return topics.open_topic(connection, opened, open_options, is_put1=True), opened, given
        return open_named(connection, opened, open_options, is_put1=True), opened, given

    made, comp_code, reason = outcome_of(connection, call)
    if made is None:
        return comp_code, reason
    handle, opened, given = made
    outcome = mqput(connection, handle, md, given, body)
    if outcome[0] != MQCC.FAILED:
        for told, now in ((pmo, given), (od, opened)):
            told.resolved_q_name, told.resolved_q_mgr_name = now.resolved_q_name, now.resolved_q_mgr_name
            told.known_dest_count, told.unknown_dest_count = now.known_dest_count, now.unknown_dest_count
            told.invalid_dest_count = now.invalid_dest_count
        od.resolved_type = opened.resolved_type
    closed = mqclose(connection, handle)
    return closed if outcome[0] == MQCC.OK else outcome


def mqget(
    connection: Connection, handle: AnyHandle, md: MQMD, gmo: MQGMO, buffer_length: int
) -> tuple[bytes, int, MQCC, MQRC]:
    """MQGET into a buffer of *buffer_length* bytes.

    With MQGMO_UNLOCK there is no message, and *md* stays as it is. Into a version-1 *md* a message that is in a group,
    or is a segment, comes with an MQMDE in front.

    Returns:
        The data (cut when the reason is 2079 or 2080), the length of the whole message, and the codes.
    """

    def unlock() -> MQRC:
        return locking.unlock(connection, _queue(connection, handle, MQRC.NOT_OPEN_FOR_BROWSE), gmo)

    def get() -> Message:
        MD.check(md)
        length = _length(buffer_length, "MQGET")
        is_browse = int(gmo.options) & _BROWSES
        queue = _queue(connection, handle, MQRC.NOT_OPEN_FOR_BROWSE if is_browse else MQRC.NOT_OPEN_FOR_INPUT)
        number = gmo.msg_handle if gmo.version >= _GMO_WITH_HANDLE else NO_MSG_HANDLE
        front = EXTENSION_LENGTH if md.version < 2 else 0
        if number or int(gmo.options) & PROPERTY_OPTIONS:
            connection.check()
            properties = message_handles.find_if_given(connection, number, "MQGET")
            found = getting.get_with_properties(connection, queue, md, gmo, properties, max_length=length, front=front)
        else:
            found = getting.get(connection, queue, md, gmo, max_length=length, front=front)
        if front and found.has_group and has_group_fields(found.md):
            found.data_length += front
            found.body = with_extension(found.md, found.body)[:length]
            if gmo.version >= _GMO_WITH_LENGTH:
                gmo.returned_length = len(found.body)
        return found

    def call() -> Message | MQRC:
        GMO.check(gmo)
        return unlock() if int(gmo.options) & _UNLOCK else get()

    message, comp_code, reason = outcome_of(connection, call)
    if not isinstance(message, Message):
        return b"", 0, *_with_warning(message, comp_code, reason)
    for name in _MD_FIELDS[md.version]:
        setattr(md, name, getattr(message.md, name))
    comp_code, reason = _with_warning(message.reason, comp_code, reason)
    return message.body, message.data_length, comp_code, reason


# -- message handles -------------------------------------------------------------------------------------------------


def mqcrtmh(connection: Connection | None, cmho: MQCMHO) -> tuple[int, MQCC, MQRC]:
    """MQCRTMH; the number of the message handle, or MQHM_UNUSABLE_HMSG.

    Args:
        connection: None (MQHC_UNASSOCIATED_HCONN): calls of every connection of this process may use it.
    """

    def call() -> MessageHandle:
        CMHO.check(cmho)
        handle = MessageHandle(cmho.options)
        message_handles.register(connection, handle)
        return handle

    made, comp_code, reason = outcome_of(connection, call, needs=False)
    return UNUSABLE_MSG_HANDLE if made is None else made.number, comp_code, reason


def mqdltmh(connection: Connection | None, number: int, dmho: MQDMHO) -> Outcome:
    """MQDLTMH."""

    def call() -> None:
        DMHO.check(dmho)
        _check_no_options("MQDLTMH", dmho.options)
        message_handles.forget(connection, number, "MQDLTMH")

    return _done(connection, call)


def mqsetmp(
    connection: Connection | None, number: int, smpo: MQSMPO, name: str, pd: MQPD, type_: int, value: Value
) -> Outcome:
    """MQSETMP; *value* is a Python value of the type, see ``sharedq.properties.values``."""

    def call() -> None:
        SMPO.check(smpo)
        PD.check(pd)
        handle = message_handles.find(connection, number, "MQSETMP")
        handle.set(name, value, type_, options=smpo.options, descriptor=pd)

    return _done(connection, call)


def mqinqmp(
    connection: Connection | None, number: int, impo: MQIMPO, name: str, pd: MQPD, type_: int, buffer_length: int
) -> tuple[Inquired | None, int, MQCC, MQRC]:
    """MQINQMP into a buffer of *buffer_length* bytes; *impo* and *pd* return what is known of the property.

    Returns:
        The property (also with 2469 and 2467), the length of its value in bytes, and the codes.
    """

    def call() -> Inquired:
        IMPO.check(impo)
        PD.check(pd)
        _length(buffer_length, "MQINQMP")
        handle = message_handles.find(connection, number, "MQINQMP")
        return handle.inquire(name, options=impo.options, wanted=type_)

    found, comp_code, reason = outcome_of(connection, call, needs=False)
    if found is None:
        return None, 0, comp_code, reason
    impo.returned_name, impo.type_string = found.name, found.unknown_type.encode(errors="replace")[:8]
    impo.returned_encoding, impo.returned_ccsid = int(Encoding.NATIVE), DEFAULT_CCSID
    for field in fields(MQPD):
        setattr(pd, field.name, getattr(found.descriptor, field.name))
    length = length_of(found.type_, found.value)
    if length > buffer_length and not impo.options & InquirePropertyOption.QUERY_LENGTH:
        return found, length, MQCC.FAILED, MQRC.PROPERTY_VALUE_TOO_BIG
    if found.unknown_type:
        return found, length, MQCC.WARNING, MQRC.PROP_TYPE_NOT_SUPPORTED
    return found, length, comp_code, reason


def mqdltmp(connection: Connection | None, number: int, dmpo: MQDMPO, name: str) -> Outcome:
    """MQDLTMP."""

    def call() -> None:
        DMPO.check(dmpo)
        message_handles.find(connection, number, "MQDLTMP").delete(name, options=dmpo.options)

    return _done(connection, call)


def mqbufmh(
    connection: Connection | None, number: int, bmho: MQBMHO, md: MQMD, buffer: bytes
) -> tuple[bytes, MQCC, MQRC]:
    """MQBUFMH; the data that are left in the buffer, which *md* describes then."""

    def call() -> bytes:
        BMHO.check(bmho)
        MD.check(md)
        refuse_data("MQBUFMH", "", buffer)
        return message_handles.find(connection, number, "MQBUFMH").from_buffer(md, buffer, options=bmho.options)

    left, comp_code, reason = outcome_of(connection, call, needs=False)
    return buffer if left is None else left, comp_code, reason


def mqmhbuf(
    connection: Connection | None, number: int, mhbo: MQMHBO, name: str, md: MQMD, buffer_length: int
) -> tuple[bytes, int, MQCC, MQRC]:
    """MQMHBUF into a buffer of *buffer_length* bytes; the header, which *md* describes then, and its length."""

    def call() -> bytes:
        MHBO.check(mhbo)
        MD.check(md)
        _length(buffer_length, "MQMHBUF")
        handle = message_handles.find(connection, number, "MQMHBUF")
        described = replace(md)
        with handle.in_use("MQMHBUF"):
            found = handle.to_buffer(name, described, options=mhbo.options & ~_DELETE_PROPERTIES)
            if len(found) <= buffer_length:
                handle.to_buffer(name, md, options=mhbo.options)
        return found

    found, comp_code, reason = outcome_of(connection, call, needs=False)
    if found is not None and len(found) > buffer_length:
        return b"", len(found), MQCC.FAILED, MQRC.PROPERTIES_TOO_BIG
    return found or b"", len(found or b""), comp_code, reason


def mqxcnvc(
    connection: Connection | None,
    options: int,
    source_ccsid: int,
    source: bytes,
    target_ccsid: int,
    target_length: int,
) -> tuple[bytes, int, MQCC, MQRC]:
    """MQXCNVC into a buffer of *target_length* bytes; the converted characters, and their length.

    A connection is needed by IBM MQ only: here one that is usable, or None.
    """

    def call() -> tuple[bytes, MQRC]:
        if connection is not None:
            connection.check()
        refuse_data("MQXCNVC", "", source)
        whole(options, MQRC.OPTIONS_ERROR, "MQXCNVC", "")
        whole(source_ccsid, MQRC.SOURCE_CCSID_ERROR, "MQXCNVC", "", "the CCSID")
        whole(target_ccsid, MQRC.TARGET_CCSID_ERROR, "MQXCNVC", "", "the CCSID")
        whole(target_length, MQRC.TARGET_LENGTH_ERROR, "MQXCNVC", "", "the length")
        try:
            return converted_characters(options, source_ccsid, source, target_ccsid, target_length)
        except ConversionError as error:
            # Some of these reasons are warnings elsewhere. No MQXCNVC that fails has converted anything.
            raise error_for(error.reason, "MQXCNVC", "", comp_code=MQCC.FAILED) from error

    found, comp_code, reason = outcome_of(connection, call, needs=False)
    if found is None:
        return b"", 0, comp_code, reason
    converted, warning = found
    return converted, len(converted), MQCC.WARNING if warning else MQCC.OK, warning


def mqbegin(connection: Connection) -> Outcome:
    """MQBEGIN: a warning (2121), because nobody but the queue manager takes part in a unit of work."""

    def call() -> None:
        connection.check()
        if connection.has_unit:
            raise error_for(MQRC.UOW_IN_PROGRESS, "MQBEGIN", connection.qmgr_name)
        raise error_for(MQRC.NO_EXTERNAL_PARTICIPANTS, "MQBEGIN", connection.qmgr_name)

    return _locked(connection, call)


def mqcmit(connection: Connection) -> Outcome:
    """MQCMIT."""

    def call() -> None:
        connection.check()
        commit(connection)

    return _locked(connection, call)


def mqback(connection: Connection) -> Outcome:
    """MQBACK."""

    def call() -> None:
        connection.check()
        backout(connection, by_program=True)

    return _locked(connection, call)


def mqsub(
    connection: Connection, sd: MQSD, queue: Handle | None = None
) -> tuple[SubscriptionHandle | None, MQCC, MQRC]:
    """MQSUB; *sd* returns the CorrelId of publications. The handle's ``queue`` is that of a destination it opened."""

    def call() -> SubscriptionHandle:
        connection.check()
        refuse_other(Handle, MQRC.HOBJ_ERROR, queue, "MQSUB")
        if queue is not None:
            check_usable(connection, queue)
        return subscribe(connection, sd, queue)

    return outcome_of(connection, call)


def mqsubrq(connection: Connection, handle: SubscriptionHandle, action: int, sro: MQSRO) -> Outcome:
    """MQSUBRQ: have retained publications sent; *sro* returns how many."""

    def call() -> None:
        connection.check()
        check_usable(connection, handle)
        if not isinstance(handle, SubscriptionHandle):
            raise error_for(MQRC.HOBJ_ERROR, "MQSUBRQ", "")
        if action != _ACTION_PUBLICATION:
            raise error_for(MQRC.ACTION_ERROR, "MQSUBRQ", handle.object_name, f"action {action!r}")
        request(connection, handle, sro)

    return _locked(connection, call)


def mqinq(
    connection: Connection, handle: AnyHandle, selectors: Sequence[int]
) -> tuple[dict[int, int | bytes], MQCC, MQRC]:
    """MQINQ of a queue, the queue manager, a process definition or a namelist: the value for each selector."""

    def call() -> tuple[dict[int, int | bytes], MQRC]:
        connection.check()
        _check_count(selectors)
        check_usable(connection, handle)
        if isinstance(handle, ObjectHandle):
            return inquiry.inquire_object(connection, handle, selectors), MQRC.NONE
        return inquiry.inquire(connection, _queue(connection, handle, MQRC.NOT_OPEN_FOR_INQUIRE), selectors)

    found, comp_code, reason = outcome_of(connection, call)
    values, warning = found or ({}, None)
    return values, *_with_warning(warning, comp_code, reason)


def mqset(connection: Connection, handle: AnyHandle, values: Mapping[int, int | bytes]) -> Outcome:
    """MQSET."""

    def call() -> None:
        _check_count(values)
        inquiry.set_attributes(connection, _queue(connection, handle, MQRC.NOT_OPEN_FOR_SET), values)

    return _locked(connection, call)


def mqstat(connection: Connection, sts: MQSTS, status_type: int = ASYNC_ERROR) -> Outcome:
    """MQSTAT: of asynchronous puts since the last call (MQSTAT_TYPE_ASYNC_ERROR).

    A program's connection is a bindings connection, which never reconnects: the other types are refused with 2012, and
    what is no type with 2430.
    """

    def call() -> None:
        if status_type != ASYNC_ERROR:
            is_known = status_type in _RECONNECTION_TYPES
            reason = MQRC.ENVIRONMENT_ERROR if is_known else MQRC.STAT_TYPE_ERROR
            raise error_for(reason, "MQSTAT", connection.qmgr_name, f"type {status_type!r}")
        refuse_structure(MQSTS, MQRC.STS_ERROR, sts, "MQSTAT")
        if sts.version not in _STS_VERSIONS:
            raise error_for(MQRC.STS_ERROR, "MQSTAT", connection.qmgr_name, f"version {sts.version}")
        connection.check()
        flush_pending(connection)
        status = connection.take_put_status()
        failure = status.first_failure
        sts.put_success_count, sts.put_failure_count = (
            min(count, MAX_COUNT) for count in (status.successes, status.failures)
        )
        sts.comp_code = int(MQCC.FAILED if failure else MQCC.OK)
        sts.reason = int(failure.reason if failure else MQRC.NONE)
        sts.object_name = failure.object_name.encode() if failure else b""
        sts.object_type, sts.put_warning_count = int(ObjectType.Q), 0
        sts.object_q_mgr_name = connection.origin if failure else b""
        sts.resolved_object_name, sts.resolved_q_mgr_name = status.resolved
        # They are about a reconnection.
        sts.open_options = sts.sub_options = 0

    return _locked(connection, call)


def _send(connection: Connection, target: Handle | TopicHandle | ListHandle, pmo: MQPMO, md: MQMD, body: bytes) -> MQRC:
    if isinstance(target, TopicHandle):
        return publish(connection, target, md, pmo, body)
    if isinstance(target, ListHandle):
        return put_list(connection, target, md, pmo, body)
    return putting.put(connection, target, md, pmo, body)


def _is_list(od: MQOD) -> bool:
    return bool(od.recs_present) and od.version >= _VERSION_WITH_RECORDS


def _has_handles(pmo: MQPMO) -> bool:
    return bool(pmo.original_msg_handle or pmo.new_msg_handle or pmo.action or int(pmo.options) & _FOR_OUTPUT_ONLY)


def _done(connection: Connection | None, call: Callable[[], None]) -> Outcome:
    _, comp_code, reason = outcome_of(connection, call, needs=False)
    return comp_code, reason


def _check_no_options(verb: str, options: int) -> None:
    if options:
        raise error_for(MQRC.OPTIONS_ERROR, verb, "", f"options {options:#x}")


def _locked(connection: Connection, call: Callable[[], None]) -> Outcome:
    _, comp_code, reason = outcome_of(connection, call)
    return comp_code, reason


def outcome_of(
    connection: Connection | None, call: Callable[[], T], *, needs: bool = True
) -> tuple[T | None, MQCC, MQRC]:
    """The codes of a call. It ends its turn by raising, so that a connection learns that it is lost.

    Args:
        needs: whether the call needs a connection.
    """
    try:
        if connection is None and not needs:
            return call(), MQCC.OK, MQRC.NONE
        with checked_connection(connection).lock:
            return call(), MQCC.OK, MQRC.NONE
    except MQIError as error:
        return None, error.comp_code, error.reason
    except DeploymentError:
        return None, MQCC.FAILED, MQRC.Q_MGR_NOT_AVAILABLE


def checked_connection(given: object) -> Connection:
    """A connection. Raises MQIError: 2018, it is none."""
    if not isinstance(given, Connection):
        raise error_for(MQRC.HCONN_ERROR, "", "", f"it is {type(given).__name__}, must be Connection")
    return given


def _length(given: int, verb: str) -> int:
    """The length of a buffer. Raises MQIError: 2005."""
    length = whole(given, MQRC.BUFFER_LENGTH_ERROR, verb, "", "the length")
    if length < 0:
        raise error_for(MQRC.BUFFER_LENGTH_ERROR, verb, "", f"{length} bytes")
    return length


def _check_count(selectors: Sized) -> None:
    if not isinstance(selectors, Sized):
        raise error_for(MQRC.SELECTOR_ERROR, "", "", f"they are {type(selectors).__name__}")
    if len(selectors) > SELECTORS_MAX:
        raise error_for(MQRC.SELECTOR_LIMIT_EXCEEDED, "", "", f"{len(selectors)} selectors, at most {SELECTORS_MAX}")


def check_usable(connection: Connection, handle: object) -> None:
    """Refuse what is not open on this connection. Raises MQIError: 2019."""
    if isinstance(handle, ListHandle):
        opened = [member.handle for member in handle.members if member.handle is not None]
        is_open = not handle.is_closed and all(each.is_closed or connection.has_open(each) for each in opened)
    else:
        is_open = isinstance(handle, _Known) and connection.has_open(handle)
    if not is_open:
        raise error_for(MQRC.HOBJ_ERROR, "", getattr(handle, "object_name", ""))


def _queue(connection: Connection, handle: AnyHandle, reason: MQRC) -> Handle:
    """The queue of a handle. The queue manager's own is refused with *reason*: it is open for inquiries only."""
    check_usable(connection, handle)
    if isinstance(handle, Handle):
        return handle
    raise error_for(reason, "", handle.object_name)


def _with_warning(warning: MQRC | None, comp_code: MQCC, reason: MQRC) -> Outcome:
    return (MQCC.WARNING, warning) if warning else (comp_code, reason)
