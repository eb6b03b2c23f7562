"""Attributes of a queue manager that nothing here acts on and no command changes: MQINQ returns IBM's initial values.

Source: IBM MQ reference, "MQINQ" (selectors of queue managers on z/OS) and "ALTER QMGR" (initial values).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sharedq.mqi.constants import CharSelector, IntSelector

NUMBERS: Final[Mapping[int, int]] = {
    IntSelector.ACTIVE_CHANNELS: 200,
    IntSelector.ACTIVITY_RECORDING: 2,  # MSG
    IntSelector.ADOPTNEWMCA_CHECK: 1,  # ALL
    IntSelector.ADOPTNEWMCA_TYPE: 1,  # ALL
    IntSelector.BRIDGE_EVENT: 0,
    IntSelector.CERT_VAL_POLICY: 0,  # ANY
    IntSelector.CHANNEL_EVENT: 0,
    IntSelector.CHINIT_ADAPTERS: 8,
    IntSelector.CHINIT_DISPATCHERS: 5,
    IntSelector.CHINIT_TRACE_AUTO_START: 1,  # YES
    IntSelector.CHINIT_TRACE_TABLE_SIZE: 2,
    IntSelector.CHLAUTH_RECORDS: 0,
    IntSelector.CLUSTER_WORKLOAD_LENGTH: 100,
    IntSelector.CLWL_MRU_CHANNELS: 999_999_999,
    IntSelector.CLWL_USEQ: 0,  # LOCAL
    IntSelector.DEF_CLUSTER_XMIT_Q_TYPE: 0,  # SCTQ
    IntSelector.DNS_WLM: 0,
    IntSelector.IP_ADDRESS_VERSION: 0,  # IPV4
    IntSelector.LISTENER_TIMER: 60,
    IntSelector.LU62_CHANNELS: 200,
    IntSelector.MONITORING_AUTO_CLUSSDR: -3,  # QMGR
    IntSelector.MONITORING_CHANNEL: 0,
    IntSelector.MAX_CHANNELS: 200,
    IntSelector.MAX_PROPERTIES_LENGTH: -1,  # NOLIMIT
    IntSelector.OUTBOUND_PORT_MAX: 0,
    IntSelector.OUTBOUND_PORT_MIN: 0,
    IntSelector.PROT_POLICY_CAPABILITY: 0,
    IntSelector.PUBSUB_CLUSTER: 0,
    IntSelector.PUBSUB_MAXMSG_RETRY_COUNT: 5,
    IntSelector.PUBSUB_MODE: 0,
    IntSelector.PUBSUB_NP_MSG: 2,  # DISCARD
    IntSelector.PUBSUB_NP_RESP: 0,  # NORMAL
    IntSelector.PUBSUB_SYNC_PT: 1,  # IFPER
    IntSelector.RECEIVE_TIMEOUT: 0,
    IntSelector.RECEIVE_TIMEOUT_MIN: 0,
    IntSelector.RECEIVE_TIMEOUT_TYPE: 0,  # MULTIPLY
    IntSelector.REVERSE_DNS_LOOKUP: 1,
    IntSelector.SECURITY_CASE: 0,  # UPPER
    IntSelector.SSL_EVENT: 0,
    IntSelector.SSL_FIPS_REQUIRED: 0,
    IntSelector.SSL_RESET_COUNT: 0,
    IntSelector.SSL_TASKS: 0,
    IntSelector.STATISTICS_AUTO_CLUSSDR: -3,  # QMGR
    IntSelector.STATISTICS_CHANNEL: 0,
    IntSelector.SUITE_B_STRENGTH: 1,  # NONE
    IntSelector.TCP_CHANNELS: 200,
    IntSelector.TCP_KEEP_ALIVE: 0,
    IntSelector.TCP_STACK_TYPE: 0,  # SINGLE
    IntSelector.TRACE_ROUTE_RECORDING: 2,  # MSG
    IntSelector.TREE_LIFE_TIME: 1_800,
    IntSelector.XR_CAPABILITY: 0,
}

#: Selector -> the length of the value, bytes, and the value.
STRINGS: Final[Mapping[int, tuple[int, bytes]]] = {
    CharSelector.ALTERATION_DATE: (12, b""),
    CharSelector.ALTERATION_TIME: (8, b""),
    CharSelector.CERT_LABEL: (64, b""),
    CharSelector.CHANNEL_AUTO_DEF_EXIT: (128, b""),
    CharSelector.CHINIT_SERVICE_PARM: (32, b""),
    CharSelector.CLUSTER_WORKLOAD_DATA: (32, b""),
    CharSelector.CLUSTER_WORKLOAD_EXIT: (128, b""),
    CharSelector.COMMAND_INPUT_Q_NAME: (48, b"SYSTEM.ADMIN.COMMAND.QUEUE"),
    CharSelector.CONN_AUTH: (48, b""),
    CharSelector.CUSTOM: (128, b""),
    CharSelector.DNS_GROUP: (18, b""),
    CharSelector.LU62_ARM_SUFFIX: (2, b""),
    CharSelector.LU_GROUP_NAME: (8, b""),
    CharSelector.LU_NAME: (8, b""),
    CharSelector.PARENT: (48, b""),
    CharSelector.QSG_CERT_LABEL: (64, b""),
    CharSelector.REPOSITORY_NAME: (48, b""),
    CharSelector.REPOSITORY_NAMELIST: (48, b""),
    CharSelector.SSL_CRL_NAMELIST: (48, b""),
    CharSelector.SSL_CRYPTO_HARDWARE: (256, b""),
    CharSelector.SSL_KEY_REPOSITORY: (256, b""),
    CharSelector.TCP_NAME: (8, b"TCPIP"),
}
