"""The members of every structure, in IBM's order, and the length of its bytes."""

from __future__ import annotations

import pytest

from sharedq import pymqi

#: Structure -> its length without strings and lists, and its members.
STRUCTURES = {
    "MD": (
        364,
        (
            "StrucId Version Report MsgType Expiry Feedback Encoding CodedCharSetId Format Priority "
            "Persistence MsgId CorrelId BackoutCount ReplyToQ ReplyToQMgr UserIdentifier AccountingToken "
            "ApplIdentityData PutApplType PutApplName PutDate PutTime ApplOriginData GroupId MsgSeqNumber "
            "Offset MsgFlags OriginalLength"
        ),
    ),
    "GMO": (
        112,
        (
            "StrucId Version Options WaitInterval Signal1 Signal2 ResolvedQName MatchOptions GroupStatus "
            "SegmentStatus Segmentation Reserved1 MsgToken ReturnedLength Reserved2 MsgHandle"
        ),
    ),
    "PMO": (
        184,
        (
            "StrucId Version Options Timeout Context KnownDestCount UnknownDestCount InvalidDestCount "
            "ResolvedQName ResolvedQMgrName RecsPresent PutMsgRecFields PutMsgRecOffset ResponseRecOffset "
            "PutMsgRecPtr ResponseRecPtr OriginalMsgHandle NewMsgHandle Action PubLevel"
        ),
    ),
    "OD": (
        424,
        (
            "StrucId Version ObjectType ObjectName ObjectQMgrName DynamicQName AlternateUserId RecsPresent "
            "KnownDestCount UnknownDestCount InvalidDestCount ObjectRecOffset ResponseRecOffset ObjectRecPtr "
            "ResponseRecPtr AlternateSecurityId ResolvedQName ResolvedQMgrName ObjectStringVSPtr "
            "ObjectStringVSOffset ObjectStringVSBufSize ObjectStringVSLength ObjectStringVSCCSID "
            "SelectionStringVSPtr SelectionStringVSOffset SelectionStringVSBufSize SelectionStringVSLength "
            "SelectionStringVSCCSID ResObjectStringVSPtr ResObjectStringVSOffset ResObjectStringVSBufSize "
            "ResObjectStringVSLength ResObjectStringVSCCSID ResolvedType pad"
        ),
    ),
    "CD": (
        1988,
        (
            "ChannelName Version ChannelType TransportType Desc QMgrName XmitQName ShortConnectionName "
            "MCAName ModeName TpName BatchSize DiscInterval ShortRetryCount ShortRetryInterval "
            "LongRetryCount LongRetryInterval SecurityExit MsgExit SendExit ReceiveExit SeqNumberWrap "
            "MaxMsgLength PutAuthority DataConversion SecurityUserData MsgUserData SendUserData "
            "ReceiveUserData UserIdentifier Password MCAUserIdentifier MCAType ConnectionName "
            "RemoteUserIdentifier RemotePassword MsgRetryExit MsgRetryUserData MsgRetryCount "
            "MsgRetryInterval HeartbeatInterval BatchInterval NonPersistentMsgSpeed StrucLength "
            "ExitNameLength ExitDataLength MsgExitsDefined SendExitsDefined ReceiveExitsDefined MsgExitPtr "
            "MsgUserDataPtr SendExitPtr SendUserDataPtr ReceiveExitPtr ReceiveUserDataPtr ClusterPtr "
            "ClustersDefined NetworkPriority LongMCAUserIdLength LongRemoteUserIdLength LongMCAUserIdPtr "
            "LongRemoteUserIdPtr MCASecurityId RemoteSecurityId SSLCipherSpec SSLPeerNamePtr "
            "SSLPeerNameLength SSLClientAuth KeepAliveInterval LocalAddress BatchHeartbeat HdrCompList "
            "MsgCompList CLWLChannelRank CLWLChannelPriority CLWLChannelWeight ChannelMonitoring "
            "ChannelStatistics SharingConversations PropertyControl MaxInstances MaxInstancesPerClient "
            "ClientChannelWeight ConnectionAffinity BatchDataLimit UseDLQ DefReconnect CertificateLabel "
            "SPLProtection"
        ),
    ),
    "SCO": (
        628,
        (
            "StrucId Version KeyRepository CryptoHardware AuthInfoRecCount AuthInfoRecOffset AuthInfoRecPtr "
            "KeyResetCount FipsRequired EncryptionPolicySuiteB CertificateValPolicy CertificateLabel"
        ),
    ),
    "SD": (
        344,
        (
            "StrucId Version Options ObjectName AlternateUserId AlternateSecurityId SubExpiry "
            "ObjectStringVSPtr ObjectStringVSOffset ObjectStringVSBufSize ObjectStringVSLength "
            "ObjectStringVSCCSID SubNameVSPtr SubNameVSOffset SubNameVSBufSize SubNameVSLength "
            "SubNameVSCCSID SubUserDataVSPtr SubUserDataVSOffset SubUserDataVSBufSize SubUserDataVSLength "
            "SubUserDataVSCCSID SubCorrelId PubPriority PubAccountingToken PubApplIdentityData "
            "SelectionStringVSPtr SelectionStringVSOffset SelectionStringVSBufSize SelectionStringVSLength "
            "SelectionStringVSCCSID SubLevel ResObjectStringVSPtr ResObjectStringVSOffset "
            "ResObjectStringVSBufSize ResObjectStringVSLength ResObjectStringVSCCSID"
        ),
    ),
    "SRO": (
        16,
        "StrucId Version Options NumPubs",
    ),
    "TM": (
        684,
        "StrucId Version QName ProcessName TriggerData ApplType ApplId EnvData UserData",
    ),
    "TMC2": (
        732,
        "StrucId Version QName ProcessName TriggerData ApplType ApplId EnvData UserData QMgrName",
    ),
    "XQH": (
        104,
        "StrucId Version RemoteQName RemoteQMgrName",
    ),
    "RFH2": (
        36,
        "StrucId Version StrucLength Encoding CodedCharSetId Format Flags NameValueCCSID",
    ),
    "CFH": (
        36,
        "Type StrucLength Version Command MsgSeqNumber Control CompCode Reason ParameterCount",
    ),
    "CFBF": (
        20,
        "Type StrucLength Parameter Operator FilterValueLength FilterValue",
    ),
    "CFBS": (
        16,
        "Type StrucLength Parameter StringLength String",
    ),
    "CFGR": (
        16,
        "Type StrucLength Parameter ParameterCount",
    ),
    "CFIF": (
        20,
        "Type StrucLength Parameter Operator FilterValue",
    ),
    "CFIL": (
        16,
        "Type StrucLength Parameter Count Values",
    ),
    "CFIL64": (
        16,
        "Type StrucLength Parameter Count Values",
    ),
    "CFIN": (
        16,
        "Type StrucLength Parameter Value",
    ),
    "CFIN64": (
        24,
        "Type StrucLength Parameter Value",
    ),
    "CFSF": (
        24,
        "Type StrucLength Parameter Operator CodedCharSetId FilterValueLength FilterValue",
    ),
    "CFSL": (
        24,
        "Type StrucLength Parameter CodedCharSetId Count StringLength Strings",
    ),
    "CFST": (
        20,
        "Type StrucLength Parameter CodedCharSetId StringLength String",
    ),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_has_its_members_and_its_length(name: str) -> None:
    length, members = STRUCTURES[name]
    structure = getattr(pymqi, name)()
    assert (structure.get_length(), list(structure.get())) == (length, members.split())
    assert len(structure.pack()) == length
    assert str(structure).splitlines() == [f"{member}: {structure[member]}" for member in members.split()]


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_member_is_set_by_keyword_item_and_attribute(name: str) -> None:
    structure = getattr(pymqi, name)()
    for member, value in structure.get().items():
        structure.set(**{member: value})
        structure[member] = value
        assert getattr(structure, member) == structure[member] == value
    with pytest.raises(AttributeError):
        structure.set(NoSuchMember=1)
    with pytest.raises(AttributeError):
        structure["NoSuchMember"] = 1
