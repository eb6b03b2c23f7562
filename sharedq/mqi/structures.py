"""The structures that an MQI call takes and returns: MQMD to MQSRO, and those of properties.

They are mutable, as IBM's are: a call reads what the program set and leaves its answers in the same place.
Fields are IBM's in snake_case and start with IBM's initial values. Nothing is checked here: calls check, and
answer with a reason code.

* Numbers are plain integers; the classes of ``sharedq.mqi.constants`` name them.
* Fields of IBM's type MQCHAR*n* are bytes without the padding: ``b""`` is all blanks.
* Fields of IBM's type MQBYTE*n* (identifiers, tokens) are bytes of exactly *n*.

The fields of each class are declared in IBM's order, with IBM's types: ``sharedq.mqi.wire`` makes IBM's layouts from
these declarations, and ``sharedq.pymqi`` its classes.
Source: IBM MQ reference, "Data types used in the MQI".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final

from sharedq.mqi.limits import NULL_ACCOUNTING_TOKEN, NULL_CONN_TAG, NULL_ID, NULL_MSG_TOKEN
from sharedq.mqi.types import (
    MQBYTE4,
    MQBYTE8,
    MQBYTE16,
    MQBYTE24,
    MQBYTE32,
    MQBYTE40,
    MQBYTE128,
    MQCHAR,
    MQCHAR4,
    MQCHAR8,
    MQCHAR12,
    MQCHAR28,
    MQCHAR32,
    MQCHAR48,
    MQCHARV,
    MQCHARV_TEXT,
    MQHMSG,
    MQLONG,
    MQPTR,
    reader_into,
)


@dataclass(slots=True)
class MQMD:
    """Message descriptor.

    ``expiry`` is in tenths of a second, -1 for ever. ``put_date`` is YYYYMMDD, ``put_time`` HHMMSSTH, in UTC.
    ``version`` says whether the program knows the fields from ``group_id`` on (2) or not (1).
    """

    version: MQLONG = 1
    report: MQLONG = 0
    msg_type: MQLONG = 8
    expiry: MQLONG = -1
    feedback: MQLONG = 0
    encoding: MQLONG = 0x222
    coded_char_set_id: MQLONG = 0
    format: MQCHAR8 = b""
    priority: MQLONG = -1
    persistence: MQLONG = 2
    msg_id: MQBYTE24 = NULL_ID
    correl_id: MQBYTE24 = NULL_ID
    backout_count: MQLONG = 0
    reply_to_q: MQCHAR48 = b""
    reply_to_q_mgr: MQCHAR48 = b""
    user_identifier: MQCHAR12 = b""
    accounting_token: MQBYTE32 = NULL_ACCOUNTING_TOKEN
    appl_identity_data: MQCHAR32 = b""
    put_appl_type: MQLONG = 0
    put_appl_name: MQCHAR28 = b""
    put_date: MQCHAR8 = b""
    put_time: MQCHAR8 = b""
    appl_origin_data: MQCHAR4 = b""
    group_id: MQBYTE24 = NULL_ID
    msg_seq_number: MQLONG = 1
    offset: MQLONG = 0
    msg_flags: MQLONG = 0
    original_length: MQLONG = -1


_same: Final[Callable[[MQMD], MQMD]] = reader_into(MQMD, [each.name for each in fields(MQMD)])


def copied(md: MQMD, **changes: Any) -> MQMD:
    """Return a descriptor that differs in these fields only. ``dataclasses.replace`` takes ten times as long."""
    copy = _same(md)
    for name, value in changes.items():
        setattr(copy, name, value)
    return copy


@dataclass(slots=True)
class MQGMO:
    """Get-message options.

    ``wait_interval`` is in milliseconds, -1 for ever. Match options need version 2, ``msg_token`` 3;
    ``group_status``, ``segment_status`` and ``segmentation`` are one character each, left by the call.
    """

    version: MQLONG = 1
    options: MQLONG = 0
    wait_interval: MQLONG = 0
    signal1: MQLONG = 0
    signal2: MQLONG = 0
    resolved_q_name: MQCHAR48 = b""
    match_options: MQLONG = 3
    group_status: MQCHAR = b" "
    segment_status: MQCHAR = b" "
    segmentation: MQCHAR = b" "
    reserved1: ClassVar[MQCHAR]
    msg_token: MQBYTE16 = NULL_MSG_TOKEN
    returned_length: MQLONG = -1
    reserved2: ClassVar[MQLONG]
    msg_handle: MQHMSG = 0


@dataclass(slots=True)
class MQPMO:
    """Put-message options. ``context`` is the input handle that PASS_*_CONTEXT takes the context from."""

    version: MQLONG = 1
    options: MQLONG = 0
    timeout: MQLONG = -1
    context: MQLONG = 0
    known_dest_count: MQLONG = 0
    unknown_dest_count: MQLONG = 0
    invalid_dest_count: MQLONG = 0
    resolved_q_name: MQCHAR48 = b""
    resolved_q_mgr_name: MQCHAR48 = b""
    recs_present: MQLONG = 0
    put_msg_rec_fields: MQLONG = 0
    put_msg_rec_offset: ClassVar[MQLONG]
    response_rec_offset: ClassVar[MQLONG]
    put_msg_rec_ptr: ClassVar[MQPTR]
    response_rec_ptr: ClassVar[MQPTR]
    original_msg_handle: MQHMSG = 0
    new_msg_handle: MQHMSG = 0
    action: MQLONG = 0
    pub_level: MQLONG = 9
    put_msg_records: Sequence[MQPMR] = ()
    response_records: Sequence[MQRR] = ()


@dataclass(slots=True)
class MQOR:
    """Object record: one destination of a distribution list."""

    object_name: MQCHAR48 = b""
    object_q_mgr_name: MQCHAR48 = b""


@dataclass(slots=True)
class MQRR:
    """Response record: the outcome for one destination, if the destinations have different ones (2136)."""

    comp_code: MQLONG = 0
    reason: MQLONG = 0


@dataclass(slots=True)
class MQPMR:
    """Put message record: fields of the message for one destination. PutMsgRecFields (MQPMRF_*) says which count.

    The identifiers among them return what the message was given.
    """

    msg_id: MQBYTE24 = NULL_ID
    correl_id: MQBYTE24 = NULL_ID
    group_id: MQBYTE24 = NULL_ID
    feedback: MQLONG = 0
    accounting_token: MQBYTE32 = NULL_ACCOUNTING_TOKEN


@dataclass(slots=True)
class MQOD:
    """Object descriptor: what is opened, and (version 3) what its name was resolved to.

    ``selection_string`` (version 4) is text: a pointer in IBM's layout, which ``sharedq.mqi.wire`` leaves out, as it
    does the records of a distribution list (version 2).
    """

    version: MQLONG = 1
    object_type: MQLONG = 1
    object_name: MQCHAR48 = b""
    object_q_mgr_name: MQCHAR48 = b""
    dynamic_q_name: MQCHAR48 = b"CSQ.*"
    alternate_user_id: MQCHAR12 = b""
    recs_present: MQLONG = 0
    known_dest_count: MQLONG = 0
    unknown_dest_count: MQLONG = 0
    invalid_dest_count: MQLONG = 0
    object_rec_offset: ClassVar[MQLONG]
    response_rec_offset: ClassVar[MQLONG]
    object_rec_ptr: ClassVar[MQPTR]
    response_rec_ptr: ClassVar[MQPTR]
    alternate_security_id: MQBYTE40 = bytes(40)
    resolved_q_name: MQCHAR48 = b""
    resolved_q_mgr_name: MQCHAR48 = b""
    #: Of a topic: its string, below that of the topic object that is named; and what was made of both.
    object_string: MQCHARV = b""
    selection_string: MQCHARV_TEXT = ""
    res_object_string: MQCHARV = b""
    resolved_type: MQLONG = 0
    object_records: Sequence[MQOR] = ()
    response_records: Sequence[MQRR] = ()


@dataclass(slots=True)
class MQCNO:
    """Connect options. ``conn_tag`` counts from version 3; ``connection_id`` (version 5) stays as it is.

    ``appl_name`` (version 7) is what the program is called.
    """

    version: MQLONG = 1
    options: MQLONG = 0
    client_conn_offset: ClassVar[MQLONG]
    client_conn_ptr: ClassVar[MQPTR]
    conn_tag: MQBYTE128 = NULL_CONN_TAG
    ssl_config_ptr: ClassVar[MQPTR]
    ssl_config_offset: ClassVar[MQLONG]
    connection_id: MQBYTE24 = NULL_ID
    security_parms_offset: ClassVar[MQLONG]
    security_parms_ptr: ClassVar[MQPTR]
    ccdt_url_ptr: ClassVar[MQPTR]
    ccdt_url_offset: ClassVar[MQLONG]
    ccdt_url_length: ClassVar[MQLONG]
    reserved: ClassVar[MQBYTE8]
    appl_name: MQCHAR28 = b""
    reserved2: ClassVar[MQBYTE4]
    balance_parms_ptr: ClassVar[MQPTR]
    balance_parms_offset: ClassVar[MQLONG]
    reserved3: ClassVar[MQBYTE4]


@dataclass(slots=True)
class MQBO:
    """Begin options."""

    version: MQLONG = 1
    options: MQLONG = 0


@dataclass(slots=True)
class MQSTS:
    """Status of asynchronous puts since the last MQSTAT: the first failure, and how many there were."""

    version: MQLONG = 1
    comp_code: MQLONG = 0
    reason: MQLONG = 0
    put_success_count: MQLONG = 0
    put_warning_count: MQLONG = 0
    put_failure_count: MQLONG = 0
    object_type: MQLONG = 1
    object_name: MQCHAR48 = b""
    object_q_mgr_name: MQCHAR48 = b""
    resolved_object_name: MQCHAR48 = b""
    resolved_q_mgr_name: MQCHAR48 = b""
    object_string: MQCHARV = b""
    sub_name: MQCHARV = b""
    open_options: MQLONG = 0
    sub_options: MQLONG = 0


@dataclass(slots=True)
class MQCMHO:
    """Create-message-handle options."""

    version: MQLONG = 1
    options: MQLONG = 0


@dataclass(slots=True)
class MQDMHO:
    """Delete-message-handle options."""

    version: MQLONG = 1
    options: MQLONG = 0


@dataclass(slots=True)
class MQSMPO:
    """Set-message-property options. ``value_ccsid`` is that of a string; -3: that of the program."""

    version: MQLONG = 1
    options: MQLONG = 0
    value_encoding: MQLONG = 0x222
    value_ccsid: MQLONG = -3


@dataclass(slots=True)
class MQIMPO:
    """Inquire-message-property options. The call leaves the ``returned_*`` fields and ``type_string``."""

    version: MQLONG = 1
    options: MQLONG = 0
    requested_encoding: MQLONG = 0x222
    requested_ccsid: MQLONG = -3
    returned_encoding: MQLONG = 0x222
    returned_ccsid: MQLONG = 0
    reserved1: ClassVar[MQLONG]
    returned_name: MQCHARV_TEXT = ""
    type_string: MQCHAR8 = b""


@dataclass(slots=True)
class MQDMPO:
    """Delete-message-property options."""

    version: MQLONG = 1
    options: MQLONG = 0


@dataclass(slots=True)
class MQPD:
    """Property descriptor. ``copy_options``: the messages that the property is copied into."""

    version: MQLONG = 1
    options: MQLONG = 0
    support: MQLONG = 1
    context: MQLONG = 0
    copy_options: MQLONG = 0x16


@dataclass(slots=True)
class MQBMHO:
    """Buffer-to-message-handle options."""

    version: MQLONG = 1
    options: MQLONG = 1


@dataclass(slots=True)
class MQMHBO:
    """Message-handle-to-buffer options."""

    version: MQLONG = 1
    options: MQLONG = 1


@dataclass(slots=True)
class MQSD:
    """Subscription descriptor. ``sub_expiry`` is in tenths of a second, -1 for ever."""

    version: MQLONG = 1
    options: MQLONG = 0
    object_name: MQCHAR48 = b""
    alternate_user_id: MQCHAR12 = b""
    alternate_security_id: MQBYTE40 = bytes(40)
    sub_expiry: MQLONG = -1
    object_string: MQCHARV = b""
    sub_name: MQCHARV = b""
    sub_user_data: MQCHARV = b""
    sub_correl_id: MQBYTE24 = NULL_ID
    pub_priority: MQLONG = -3
    pub_accounting_token: MQBYTE32 = NULL_ACCOUNTING_TOKEN
    pub_appl_identity_data: MQCHAR32 = b""
    selection_string: MQCHARV = b""
    sub_level: MQLONG = 1
    res_object_string: MQCHARV = b""


@dataclass(slots=True)
class MQSRO:
    """Options of a request for retained publications; ``num_pubs`` is how many came."""

    version: MQLONG = 1
    options: MQLONG = 0
    num_pubs: MQLONG = 0
