"""Structures that travel at the front of a message's data: MQXQH, MQDLH, MQMDE, MQRFH2, MQTM.

Fields as in ``sharedq.mqi.structures``. Source: IBM MQ reference, "Data types used in the MQI".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD
from sharedq.mqi.types import MQBYTE24, MQCHAR8, MQCHAR28, MQCHAR48, MQCHAR64, MQCHAR128, MQCHAR256, MQLONG


@dataclass(slots=True)
class MQXQH:
    """Transmission-queue header: where a message on a transmission queue must go, and its own descriptor."""

    version: MQLONG = 1
    remote_q_name: MQCHAR48 = b""
    remote_q_mgr_name: MQCHAR48 = b""
    #: Only the version-1 fields travel here; those of version 2 follow in an MQMDE.
    msg_desc: MQMD = field(default_factory=MQMD)


@dataclass(slots=True)
class MQDLH:
    """Dead-letter header: why a message is on the dead-letter queue, and where it should have gone.

    ``encoding``, ``coded_char_set_id`` and ``format`` describe the data after the header.
    """

    version: MQLONG = 1
    reason: MQLONG = 0
    dest_q_name: MQCHAR48 = b""
    dest_q_mgr_name: MQCHAR48 = b""
    encoding: MQLONG = 0
    coded_char_set_id: MQLONG = 0
    format: MQCHAR8 = b""
    put_appl_type: MQLONG = 0
    put_appl_name: MQCHAR28 = b""
    put_date: MQCHAR8 = b""
    put_time: MQCHAR8 = b""


@dataclass(slots=True)
class MQMDE:
    """Message-descriptor extension: the version-2 fields, where only a version-1 MQMD can travel."""

    version: MQLONG = 2
    struc_length: MQLONG = 72
    encoding: MQLONG = 0x222
    coded_char_set_id: MQLONG = 0
    format: MQCHAR8 = b""
    flags: MQLONG = 0
    group_id: MQBYTE24 = NULL_ID
    msg_seq_number: MQLONG = 1
    offset: MQLONG = 0
    msg_flags: MQLONG = 0
    original_length: MQLONG = -1


@dataclass(slots=True)
class MQRFH2:
    """Rules and formatting header 2, up to its folders. ``struc_length`` includes these."""

    version: MQLONG = 2
    struc_length: MQLONG = 36
    encoding: MQLONG = 0x222
    coded_char_set_id: MQLONG = -2
    format: MQCHAR8 = b""
    flags: MQLONG = 0
    name_value_ccsid: MQLONG = 1208


@dataclass(slots=True)
class MQTM:
    """Trigger message: what a trigger monitor reads from an initiation queue."""

    version: MQLONG = 1
    q_name: MQCHAR48 = b""
    process_name: MQCHAR48 = b""
    trigger_data: MQCHAR64 = b""
    appl_type: MQLONG = 0
    appl_id: MQCHAR256 = b""
    env_data: MQCHAR128 = b""
    user_data: MQCHAR128 = b""
