"""Structures that travel at the front of a message's data: MQXQH, MQDLH, MQMDE, MQTM.

Fields as in ``sharedq.mqi.structures``. Source: IBM MQ reference, "Data types used in the MQI".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD


@dataclass(slots=True)
class MQXQH:
    """Transmission-queue header: where a message on a transmission queue must go, and its own descriptor."""

    version: int = 1
    remote_q_name: bytes = b""
    remote_q_mgr_name: bytes = b""
    #: Only the version-1 fields travel here; those of version 2 follow in an MQMDE.
    msg_desc: MQMD = field(default_factory=MQMD)


@dataclass(slots=True)
class MQDLH:
    """Dead-letter header: why a message is on the dead-letter queue, and where it should have gone.

    ``encoding``, ``coded_char_set_id`` and ``format`` describe the data after the header.
    """

    version: int = 1
    reason: int = 0
    dest_q_name: bytes = b""
    dest_q_mgr_name: bytes = b""
    encoding: int = 0
    coded_char_set_id: int = 0
    format: bytes = b""
    put_appl_type: int = 0
    put_appl_name: bytes = b""
    put_date: bytes = b""
    put_time: bytes = b""


@dataclass(slots=True)
class MQMDE:
    """Message-descriptor extension: the version-2 fields, where only a version-1 MQMD can travel."""

    version: int = 2
    struc_length: int = 72
    encoding: int = 0x222
    coded_char_set_id: int = 0
    format: bytes = b""
    flags: int = 0
    group_id: bytes = NULL_ID
    msg_seq_number: int = 1
    offset: int = 0
    msg_flags: int = 0
    original_length: int = -1


@dataclass(slots=True)
class MQTM:
    """Trigger message: what a trigger monitor reads from an initiation queue."""

    version: int = 1
    q_name: bytes = b""
    process_name: bytes = b""
    trigger_data: bytes = b""
    appl_type: int = 0
    appl_id: bytes = b""
    env_data: bytes = b""
    user_data: bytes = b""
