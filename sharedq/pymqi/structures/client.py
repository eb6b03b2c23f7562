"""The structures of a client connection: MQCD and MQSCO.

A connection is always made in-process here. ConnectionName and DefReconnect of MQCD are read; the other fields have no
effect (docs/reference/fates.md).
Members, their order and initial values are IBM's (cmqxc.h, cmqc.h).
"""

from __future__ import annotations

from sharedq.pymqi import CMQC, CMQXC
from sharedq.pymqi.structures.options import MQLONG_TYPE as LONG
from sharedq.pymqi.structures.options import Declared, Members

_CD: Members = (
    ("ChannelName", b"", "20s"),
    ("Version", CMQXC.MQCD_VERSION_6, LONG),
    ("ChannelType", CMQC.MQCHT_CLNTCONN, LONG),
    ("TransportType", CMQC.MQXPT_TCP, LONG),
    ("Desc", b"", "64s"),
    ("QMgrName", b"", "48s"),
    ("XmitQName", b"", "48s"),
    ("ShortConnectionName", b"", "20s"),
    ("MCAName", b"", "20s"),
    ("ModeName", b"", "8s"),
    ("TpName", b"", "64s"),
    ("BatchSize", 50, LONG),
    ("DiscInterval", 6000, LONG),
    ("ShortRetryCount", 10, LONG),
    ("ShortRetryInterval", 60, LONG),
    ("LongRetryCount", 999999999, LONG),
    ("LongRetryInterval", 1200, LONG),
    ("SecurityExit", b"", "128s"),
    ("MsgExit", b"", "128s"),
    ("SendExit", b"", "128s"),
    ("ReceiveExit", b"", "128s"),
    ("SeqNumberWrap", 999999999, LONG),
    ("MaxMsgLength", 4194304, LONG),
    ("PutAuthority", CMQC.MQPA_DEFAULT, LONG),
    ("DataConversion", CMQC.MQCDC_NO_SENDER_CONVERSION, LONG),
    ("SecurityUserData", b"", "32s"),
    ("MsgUserData", b"", "32s"),
    ("SendUserData", b"", "32s"),
    ("ReceiveUserData", b"", "32s"),
    ("UserIdentifier", b"", "12s"),
    ("Password", b"", "12s"),
    ("MCAUserIdentifier", b"", "12s"),
    ("MCAType", CMQC.MQMCAT_PROCESS, LONG),
    ("ConnectionName", b"", "264s"),
    ("RemoteUserIdentifier", b"", "12s"),
    ("RemotePassword", b"", "12s"),
    ("MsgRetryExit", b"", "128s"),
    ("MsgRetryUserData", b"", "32s"),
    ("MsgRetryCount", 10, LONG),
    ("MsgRetryInterval", 1000, LONG),
    ("HeartbeatInterval", 300, LONG),
    ("BatchInterval", 0, LONG),
    ("NonPersistentMsgSpeed", CMQC.MQNPMS_FAST, LONG),
    ("StrucLength", CMQXC.MQCD_CURRENT_LENGTH, LONG),
    ("ExitNameLength", CMQC.MQ_EXIT_NAME_LENGTH, LONG),
    ("ExitDataLength", CMQC.MQ_EXIT_DATA_LENGTH, LONG),
    ("MsgExitsDefined", 0, LONG),
    ("SendExitsDefined", 0, LONG),
    ("ReceiveExitsDefined", 0, LONG),
    ("MsgExitPtr", 0, "P"),
    ("MsgUserDataPtr", 0, "P"),
    ("SendExitPtr", 0, "P"),
    ("SendUserDataPtr", 0, "P"),
    ("ReceiveExitPtr", 0, "P"),
    ("ReceiveUserDataPtr", 0, "P"),
    ("ClusterPtr", 0, "P"),
    ("ClustersDefined", 0, LONG),
    ("NetworkPriority", 0, LONG),
    ("LongMCAUserIdLength", 0, LONG),
    ("LongRemoteUserIdLength", 0, LONG),
    ("LongMCAUserIdPtr", 0, "P"),
    ("LongRemoteUserIdPtr", 0, "P"),
    ("MCASecurityId", b"", "40s"),
    ("RemoteSecurityId", b"", "40s"),
    ("SSLCipherSpec", b"", "32s"),
    ("SSLPeerNamePtr", 0, "P"),
    ("SSLPeerNameLength", 0, LONG),
    ("SSLClientAuth", 0, LONG),
    ("KeepAliveInterval", -1, LONG),
    ("LocalAddress", b"", "48s"),
    ("BatchHeartbeat", 0, LONG),
    ("HdrCompList", [0, -1], LONG, 2),
    ("MsgCompList", [0] + 15 * [-1], LONG, 16),
    ("CLWLChannelRank", 0, LONG),
    ("CLWLChannelPriority", 0, LONG),
    ("CLWLChannelWeight", 50, LONG),
    ("ChannelMonitoring", 0, LONG),
    ("ChannelStatistics", 0, LONG),
    ("SharingConversations", 10, LONG),
    ("PropertyControl", CMQC.MQPROP_COMPATIBILITY, LONG),
    ("MaxInstances", 999999999, LONG),
    ("MaxInstancesPerClient", 999999999, LONG),
    ("ClientChannelWeight", 0, LONG),
    ("ConnectionAffinity", CMQXC.MQCAFTY_PREFERRED, LONG),
    ("BatchDataLimit", 5000, LONG),
    ("UseDLQ", CMQC.MQUSEDLQ_YES, LONG),
    ("DefReconnect", CMQXC.MQRCN_NO, LONG),
    ("CertificateLabel", b"", "64s"),
    ("SPLProtection", 0, LONG),
)

_SCO: Members = (
    ("StrucId", CMQC.MQSCO_STRUC_ID, "4s"),
    ("Version", CMQC.MQSCO_VERSION_5, LONG),
    ("KeyRepository", b"", "256s"),
    ("CryptoHardware", b"", "256s"),
    ("AuthInfoRecCount", 0, LONG),
    ("AuthInfoRecOffset", 0, LONG),
    ("AuthInfoRecPtr", 0, "P"),
    ("KeyResetCount", 0, LONG),
    ("FipsRequired", CMQC.MQSSL_FIPS_NO, LONG),
    ("EncryptionPolicySuiteB", [CMQC.MQ_SUITE_B_NONE, 0, 0, 0], LONG, 4),
    ("CertificateValPolicy", 0, LONG),
    ("CertificateLabel", b"", "64s"),
)


class CD(Declared, members=_CD):
    """Channel definition."""


class SCO(Declared, members=_SCO):
    """TLS configuration options."""


cd, sco = CD, SCO
