"""The structures that an MQI call takes and returns: MQMD to MQSRO, and those of properties.

They are mutable, as IBM's are: a call reads what the program set and leaves its answers in the same place.
Fields are IBM's in snake_case and start with IBM's initial values. Nothing is checked here: calls check, and
answer with a reason code.

* Numbers are plain integers; the classes of ``sharedq.mqi.constants`` name them.
* Fields of IBM's type MQCHAR*n* are bytes without the padding: ``b""`` is all blanks.
* Fields of IBM's type MQBYTE*n* (identifiers, tokens) are bytes of exactly *n*.

``sharedq.mqi.wire`` turns them into IBM's layouts and back.
Source: IBM MQ reference, "Data types used in the MQI".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from sharedq.mqi.fields import reader_into
from sharedq.mqi.limits import NULL_ACCOUNTING_TOKEN, NULL_CONN_TAG, NULL_ID, NULL_MSG_TOKEN


@dataclass(slots=True)
class MQMD:
    """Message descriptor.

    ``expiry`` is in tenths of a second, -1 for ever. ``put_date`` is YYYYMMDD, ``put_time`` HHMMSSTH, in UTC.
    ``version`` says whether the program knows the fields from ``group_id`` on (2) or not (1).
    """

    version: int = 1
    report: int = 0
    msg_type: int = 8
    expiry: int = -1
    feedback: int = 0
    encoding: int = 0x222
    coded_char_set_id: int = 0
    format: bytes = b""
    priority: int = -1
    persistence: int = 2
    msg_id: bytes = NULL_ID
    correl_id: bytes = NULL_ID
    backout_count: int = 0
    reply_to_q: bytes = b""
    reply_to_q_mgr: bytes = b""
    user_identifier: bytes = b""
    accounting_token: bytes = NULL_ACCOUNTING_TOKEN
    appl_identity_data: bytes = b""
    put_appl_type: int = 0
    put_appl_name: bytes = b""
    put_date: bytes = b""
    put_time: bytes = b""
    appl_origin_data: bytes = b""
    group_id: bytes = NULL_ID
    msg_seq_number: int = 1
    offset: int = 0
    msg_flags: int = 0
    original_length: int = -1


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

    version: int = 1
    options: int = 0
    wait_interval: int = 0
    signal1: int = 0
    signal2: int = 0
    resolved_q_name: bytes = b""
    match_options: int = 3
    group_status: bytes = b" "
    segment_status: bytes = b" "
    segmentation: bytes = b" "
    msg_token: bytes = NULL_MSG_TOKEN
    returned_length: int = -1
    msg_handle: int = 0


@dataclass(slots=True)
class MQPMO:
    """Put-message options. ``context`` is the input handle that PASS_*_CONTEXT takes the context from."""

    version: int = 1
    options: int = 0
    timeout: int = -1
    context: int = 0
    known_dest_count: int = 0
    unknown_dest_count: int = 0
    invalid_dest_count: int = 0
    resolved_q_name: bytes = b""
    resolved_q_mgr_name: bytes = b""
    recs_present: int = 0
    put_msg_rec_fields: int = 0
    original_msg_handle: int = 0
    new_msg_handle: int = 0
    action: int = 0
    pub_level: int = 9
    put_msg_records: Sequence[MQPMR] = ()
    response_records: Sequence[MQRR] = ()


@dataclass(slots=True)
class MQOR:
    """Object record: one destination of a distribution list."""

    object_name: bytes = b""
    object_q_mgr_name: bytes = b""


@dataclass(slots=True)
class MQRR:
    """Response record: the outcome for one destination, if the destinations have different ones (2136)."""

    comp_code: int = 0
    reason: int = 0


@dataclass(slots=True)
class MQPMR:
    """Put message record: fields of the message for one destination. PutMsgRecFields (MQPMRF_*) says which count.

    The identifiers among them return what the message was given.
    """

    msg_id: bytes = NULL_ID
    correl_id: bytes = NULL_ID
    group_id: bytes = NULL_ID
    feedback: int = 0
    accounting_token: bytes = NULL_ACCOUNTING_TOKEN


@dataclass(slots=True)
class MQOD:
    """Object descriptor: what is opened, and (version 3) what its name was resolved to.

    ``selection_string`` (version 4) is text: a pointer in IBM's layout, which ``sharedq.mqi.wire`` leaves out, as it
    does the records of a distribution list (version 2).
    """

    version: int = 1
    object_type: int = 1
    object_name: bytes = b""
    object_q_mgr_name: bytes = b""
    dynamic_q_name: bytes = b"CSQ.*"
    alternate_user_id: bytes = b""
    recs_present: int = 0
    known_dest_count: int = 0
    unknown_dest_count: int = 0
    invalid_dest_count: int = 0
    alternate_security_id: bytes = bytes(40)
    resolved_q_name: bytes = b""
    resolved_q_mgr_name: bytes = b""
    resolved_type: int = 0
    selection_string: str = ""
    #: Of a topic: its string, below that of the topic object that is named; and what was made of both.
    object_string: bytes = b""
    res_object_string: bytes = b""
    object_records: Sequence[MQOR] = ()
    response_records: Sequence[MQRR] = ()


@dataclass(slots=True)
class MQCNO:
    """Connect options. ``conn_tag`` counts from version 3; ``connection_id`` (version 5) stays as it is."""

    version: int = 1
    options: int = 0
    conn_tag: bytes = NULL_CONN_TAG
    connection_id: bytes = NULL_ID


@dataclass(slots=True)
class MQSTS:
    """Status of asynchronous puts since the last MQSTAT: the first failure, and how many there were."""

    version: int = 1
    comp_code: int = 0
    reason: int = 0
    put_success_count: int = 0
    put_warning_count: int = 0
    put_failure_count: int = 0
    object_type: int = 1
    object_name: bytes = b""
    object_q_mgr_name: bytes = b""
    resolved_object_name: bytes = b""
    resolved_q_mgr_name: bytes = b""
    open_options: int = 0
    sub_options: int = 0


@dataclass(slots=True)
class MQCMHO:
    """Create-message-handle options."""

    version: int = 1
    options: int = 0


@dataclass(slots=True)
class MQDMHO:
    """Delete-message-handle options."""

    version: int = 1
    options: int = 0


@dataclass(slots=True)
class MQSMPO:
    """Set-message-property options. ``value_ccsid`` is that of a string; -3: that of the program."""

    version: int = 1
    options: int = 0
    value_encoding: int = 0x222
    value_ccsid: int = -3


@dataclass(slots=True)
class MQIMPO:
    """Inquire-message-property options. The call leaves the ``returned_*`` fields and ``type_string``."""

    version: int = 1
    options: int = 0
    requested_encoding: int = 0x222
    requested_ccsid: int = -3
    returned_encoding: int = 0x222
    returned_ccsid: int = 0
    returned_name: str = ""
    type_string: bytes = b""


@dataclass(slots=True)
class MQDMPO:
    """Delete-message-property options."""

    version: int = 1
    options: int = 0


@dataclass(slots=True)
class MQPD:
    """Property descriptor. ``copy_options``: the messages that the property is copied into."""

    version: int = 1
    options: int = 0
    support: int = 1
    context: int = 0
    copy_options: int = 0x16


@dataclass(slots=True)
class MQBMHO:
    """Buffer-to-message-handle options."""

    version: int = 1
    options: int = 1


@dataclass(slots=True)
class MQMHBO:
    """Message-handle-to-buffer options."""

    version: int = 1
    options: int = 1


@dataclass(slots=True)
class MQSD:
    """Subscription descriptor. ``sub_expiry`` is in tenths of a second, -1 for ever."""

    version: int = 1
    options: int = 0
    object_name: bytes = b""
    alternate_user_id: bytes = b""
    alternate_security_id: bytes = bytes(40)
    sub_expiry: int = -1
    object_string: bytes = b""
    sub_name: bytes = b""
    sub_user_data: bytes = b""
    sub_correl_id: bytes = NULL_ID
    pub_priority: int = -3
    pub_accounting_token: bytes = NULL_ACCOUNTING_TOKEN
    pub_appl_identity_data: bytes = b""
    selection_string: bytes = b""
    sub_level: int = 1
    res_object_string: bytes = b""


@dataclass(slots=True)
class MQSRO:
    """Options of a request for retained publications; ``num_pubs`` is how many came."""

    version: int = 1
    options: int = 0
    num_pubs: int = 0
