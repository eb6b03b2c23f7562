"""The options and fields of each call, and the reasons that IBM MQ documents for it: what igq does with each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from enum import EnumType
from functools import cache
from pathlib import Path
from textwrap import fill
from types import MappingProxyType
from typing import Any, Final

from docs.generator.markdown import code, table
from sharedq.mqi import structures
from sharedq.mqi.constants import MQRC, callbacks, options, properties
from sharedq.pymqi.structures import client

ROOT: Final = Path(__file__).parents[2]
#: The families of options that calls take.
OPTIONS: Final[tuple[EnumType, ...]] = tuple(
    each
    for module in (options, properties, callbacks)
    for each in vars(module).values()
    if isinstance(each, EnumType) and each.__module__ == module.__name__ and each.__members__
)
#: The structures that calls take.
STRUCTURES: Final[tuple[type[Any], ...]] = tuple(
    each
    for name, each in vars(structures).items()
    if name.startswith("MQ") and isinstance(each, type) and each.__module__ == structures.__name__
)


def read_names(text: str) -> Mapping[str, tuple[str, ...]]:
    """Read lines of a word or sentence, a colon and names. A line that is indented goes on with the line before."""
    lines = text.strip().replace("\n  ", " ").splitlines()
    entries = (line.partition(": ") for line in lines)
    return MappingProxyType({about: tuple(names.split()) for about, _, names in entries})


#: Call -> the reasons that IBM's reference lists for it ("Reason code" of each call), by name without MQRC_.
VERB_REASONS: Final = read_names(Path(__file__).with_name("verb_reasons.txt").read_text("utf-8"))


@cache
def _trees() -> Mapping[Path, ast.Module]:
    """The product's modules, without the tables of constants."""
    return {
        path: ast.parse(path.read_text("utf-8"))
        for package in ("sharedq", "recovery", "igq")
        for path in sorted((ROOT / package).rglob("*.py"))
        if "constants" not in path.parts and not path.name.startswith("CMQ")
    }


def _names_of(tree: ast.Module) -> dict[str, str]:
    """Map the names of a module to the families of options that they stand for."""
    known = {each.__name__ for each in OPTIONS} | {"MQRC"}
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name: each.name for each in node.names if each.name in known}
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Name):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            family = names.get(node.value.id)
            names |= {to.id: family for to in targets if family and isinstance(to, ast.Name)}
    return names


@cache
def named_members() -> frozenset[tuple[str, str]]:
    """Family and name of each option, and of each reason, that the product's code names."""
    found = set()
    for tree in _trees().values():
        names = _names_of(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
                found.add((names[node.value.id], node.attr))
    lua = "".join(path.read_text("utf-8") for path in sorted((ROOT / "sharedq" / "lua").rglob("*.lua")))
    found |= {("MQRC", name) for name in re.findall(r"\bMQRC\.([A-Z0-9_]+)", lua)}
    return frozenset(found)


@cache
def loaded_fields() -> frozenset[str]:
    """The names of attributes that the product's code reads or sets, apart from the definitions of structures."""
    return frozenset(
        node.attr
        for path, tree in _trees().items()
        if path.name != "structures.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
    ) | frozenset(
        keyword.arg or ""
        for path, tree in _trees().items()
        if path.name != "structures.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    )


def unnamed_options() -> Iterator[tuple[str, str]]:
    """Options that no code names."""
    for family in OPTIONS:
        members: Mapping[str, Any] = family.__members__
        for name, member in members.items():
            # Zero says what is done anyway.
            if int(member) and (family.__name__, name) not in named_members():
                yield family.__name__, name


def unread_fields() -> Iterator[tuple[str, str]]:
    """Fields that no code reads or sets."""
    for structure in STRUCTURES:
        for each in fields(structure):
            if each.name not in loaded_fields():
                yield structure.__name__, each.name


def unread_client_fields() -> Iterator[str]:
    """Fields of the structures of a client's connection that no code reads or sets."""
    for name, structure in (("MQCD", client.CD), ("MQSCO", client.SCO)):
        for each in structure().get():
            if each not in loaded_fields():
                yield f"{name}.{each}"


#: Options that no code names, and why a call takes them nevertheless; or the reason that it refuses them with.
OPTION_FATES: Final[Mapping[str, tuple[str, ...]]] = {
    "they stand for several other options": ("GetOption.BROWSE_HANDLE", "GetOption.BROWSE_CO_OP"),
    "done anyway": ("PutOption.DEFAULT_CONTEXT", "CallbackType.MESSAGE_CONSUMER"),
    "read by the number of the put option that needs it": (
        "OpenOption.PASS_ALL_CONTEXT",
        "OpenOption.SET_IDENTITY_CONTEXT",
    ),
    "no effect: there is no hierarchy of managers": ("PutOption.SCOPE_QMGR",),
    "no effect: reading ahead is for clients": (
        "OpenOption.READ_AHEAD",
        "OpenOption.NO_READ_AHEAD",
        "CloseOption.QUIESCE",
    ),
    "no effect: one way to bind, and any thread may use a handle": tuple(
        f"ConnectOption.{name}"
        for name in (
            *("FASTPATH_BINDING", "SHARED_BINDING", "ISOLATED_BINDING", "LOCAL_BINDING", "CLIENT_BINDING"),
            *("HANDLE_SHARE_NONE", "HANDLE_SHARE_BLOCK", "HANDLE_SHARE_NO_BLOCK"),
        )
    ),
    "no effect: there are no channels, no accounting and no activity trace": tuple(
        f"ConnectOption.{name}"
        for name in (
            *("ACCOUNTING_MQI_ENABLED", "ACCOUNTING_MQI_DISABLED", "ACCOUNTING_Q_ENABLED", "ACCOUNTING_Q_DISABLED"),
            *("NO_CONV_SHARING", "ALL_CONVS_SHARE", "CD_FOR_OUTPUT_ONLY", "USE_CD_SELECTION"),
            *("ACTIVITY_TRACE_ENABLED", "ACTIVITY_TRACE_DISABLED"),
        )
    ),
    "refused with 2046": ("ConnectOption.GENERATE_CONN_TAG",),
    "read by `sharedq.pymqi` under the names of CMQC; no effect in the other faces": (
        "ConnectOption.RECONNECT",
        "ConnectOption.RECONNECT_DISABLED",
        "ConnectOption.RECONNECT_Q_MGR",
    ),
    "refused with 2012: reconnection is for clients": ("StatusType.RECONNECTION", "StatusType.RECONNECTION_ERROR"),
    "one value of a field that is read whole": (
        *("ConversionOption.SOURCE_ENC_NATIVE", "ConversionOption.TARGET_ENC_NATIVE"),
        *("PropertyControl.NONE", "PropertyControl.ALL", "PropertyControl.FORCE_MQRFH2", "PropertyControl.V6COMPAT"),
    ),
    "no effect: event handlers are told every event": ("CallbackOption.EVENT_CALL",),
    "no effect: one thread calls the consumers of a connection": ("ControlOption.THREAD_AFFINITY",),
}
#: Fields that no code reads, and why.
FIELD_FATES: Final[Mapping[str, tuple[str, ...]]] = {
    "signals are refused with 2046": ("MQGMO.signal1", "MQGMO.signal2"),
    "not returned: DISPLAY CONN shows the connection": ("MQCNO.connection_id",),
    "no effect: values of properties are in the program's own representation": (
        *("MQIMPO.requested_encoding", "MQIMPO.requested_ccsid"),
    ),
}
_OF_CLIENTS: Final = """
no effect, because the settings name the group, and the program puts and gets in this process:
  MQCD.Desc MQCD.QMgrName MQCD.XmitQName MQCD.ShortConnectionName MQCD.MCAName MQCD.ModeName MQCD.TpName
  MQCD.BatchSize MQCD.DiscInterval MQCD.ShortRetryCount MQCD.ShortRetryInterval MQCD.LongRetryCount
  MQCD.LongRetryInterval MQCD.SecurityExit MQCD.MsgExit MQCD.SendExit MQCD.ReceiveExit MQCD.SeqNumberWrap
  MQCD.MaxMsgLength MQCD.PutAuthority MQCD.DataConversion MQCD.SecurityUserData MQCD.MsgUserData
  MQCD.SendUserData MQCD.ReceiveUserData MQCD.UserIdentifier MQCD.Password MQCD.MCAUserIdentifier MQCD.MCAType
  MQCD.RemoteUserIdentifier MQCD.RemotePassword MQCD.MsgRetryExit MQCD.MsgRetryUserData MQCD.MsgRetryCount
  MQCD.MsgRetryInterval MQCD.HeartbeatInterval MQCD.BatchInterval MQCD.NonPersistentMsgSpeed
  MQCD.ExitNameLength MQCD.ExitDataLength MQCD.MsgExitsDefined MQCD.SendExitsDefined MQCD.ReceiveExitsDefined
  MQCD.MsgExitPtr MQCD.MsgUserDataPtr MQCD.SendExitPtr MQCD.SendUserDataPtr MQCD.ReceiveExitPtr
  MQCD.ReceiveUserDataPtr MQCD.ClusterPtr MQCD.ClustersDefined MQCD.NetworkPriority MQCD.LongMCAUserIdLength
  MQCD.LongRemoteUserIdLength MQCD.LongMCAUserIdPtr MQCD.LongRemoteUserIdPtr MQCD.MCASecurityId
  MQCD.RemoteSecurityId MQCD.SSLPeerNamePtr MQCD.SSLPeerNameLength MQCD.SSLClientAuth MQCD.KeepAliveInterval
  MQCD.LocalAddress MQCD.BatchHeartbeat MQCD.HdrCompList MQCD.MsgCompList MQCD.CLWLChannelRank
  MQCD.CLWLChannelPriority MQCD.CLWLChannelWeight MQCD.ChannelMonitoring MQCD.ChannelStatistics
  MQCD.SharingConversations MQCD.PropertyControl MQCD.MaxInstances MQCD.MaxInstancesPerClient
  MQCD.ClientChannelWeight MQCD.ConnectionAffinity MQCD.BatchDataLimit MQCD.UseDLQ MQCD.CertificateLabel
  MQCD.SPLProtection
no effect, because the URL of Redis says how TLS is used:
  MQSCO.StrucId MQSCO.KeyRepository MQSCO.CryptoHardware MQSCO.AuthInfoRecCount MQSCO.AuthInfoRecOffset
  MQSCO.AuthInfoRecPtr MQSCO.KeyResetCount MQSCO.FipsRequired MQSCO.EncryptionPolicySuiteB
  MQSCO.CertificateValPolicy MQSCO.CertificateLabel
"""
#: Fields of MQCD and MQSCO, which `sharedq.pymqi` takes, that no code reads, by the reason.
CLIENT_FATES: Final = read_names(_OF_CLIENTS)
_CAUSES: Final = """
There are no adapters, exits, CICS, IMS, address spaces or modules to load: ADAPTER_CONN_LOAD_ERROR ADAPTER_DEFS_ERROR
  ADAPTER_DEFS_LOAD_ERROR ADAPTER_NOT_AVAILABLE ADAPTER_SERV_LOAD_ERROR ADAPTER_STORAGE_SHORTAGE API_EXIT_ERROR
  API_EXIT_INIT_ERROR API_EXIT_LOAD_ERROR API_EXIT_TERM_ERROR ASID_MISMATCH BRIDGE_STARTED CICS_BRIDGE_RESTRICTION
  CICS_WAIT_FAILED CALLBACK_LINK_ERROR MODULE_ENTRY_NOT_FOUND MODULE_INVALID MODULE_NOT_FOUND XWAIT_CANCELED
  XWAIT_ERROR PUBLISH_EXIT_ERROR ANOTHER_Q_MGR_CONNECTED CONN_ID_IN_USE DUPLICATE_RECOV_COORD
  CONNECTION_NOT_AUTHORIZED INSTALLATION_MISMATCH STANDBY_Q_MGR OPTION_ENVIRONMENT_ERROR
There are no channels, and no TLS or authentication of the MQI's own: AIR_ERROR AUTH_INFO_CONN_NAME_ERROR
  AUTH_INFO_REC_COUNT_ERROR AUTH_INFO_REC_ERROR AUTH_INFO_TYPE_ERROR CD_ERROR CLIENT_CONN_ERROR
  CONNECTION_ERROR CONNECTION_NOT_AVAILABLE CRYPTO_HARDWARE_ERROR CSP_ERROR HOST_NOT_AVAILABLE KEY_REPOSITORY_ERROR
  LDAP_PASSWORD_ERROR LDAP_USER_NAME_ERROR LDAP_USER_NAME_LENGTH_ERR MAX_CONNS_LIMIT_REACHED SCO_ERROR
  SSL_INITIALIZATION_ERROR SSL_NOT_ALLOWED
There are no clusters of queue managers: CLUSTER_EXIT_ERROR CLUSTER_EXIT_LOAD_ERROR CLUSTER_PUT_INHIBITED
  CLUSTER_RESOLUTION_ERROR CLUSTER_RESOURCE_ERROR STOPPED_BY_CLUSTER_EXIT NO_DESTINATIONS_AVAILABLE
There are no page sets, storage classes, Db2, external security manager or damaged objects: PAGESET_ERROR PAGESET_FULL
  STORAGE_CLASS_ERROR DB2_NOT_AVAILABLE SECURITY_ERROR OBJECT_DAMAGED Q_SPACE_NOT_AVAILABLE OBJECT_LEVEL_INCOMPATIBLE
  RETAINED_MSG_Q_ERROR
Any match is found without an index of that type: Q_INDEX_TYPE_ERROR CORREL_ID_ERROR MSG_ID_ERROR MSG_TOKEN_ERROR
  MSG_NOT_MATCHED
Signals and grouped subscriptions are refused with 2046: SIGNAL1_ERROR SIGNAL_OUTSTANDING GROUPING_NOT_ALLOWED
  GROUPING_NOT_ALTERABLE SUB_JOIN_NOT_ALTERABLE MULTIPLE_INSTANCE_ERROR
Python raises MemoryError, and its values know their lengths: STORAGE_NOT_AVAILABLE
  CHAR_ATTRS_ERROR INT_ATTRS_ARRAY_ERROR SELECTOR_COUNT_ERROR
  SOURCE_BUFFER_ERROR TARGET_BUFFER_ERROR PROPERTY_NAME_TOO_BIG
A put takes these headers as data; a get that converts reports 2110: CFH_ERROR CFIL_ERROR CFIN_ERROR CFSL_ERROR
  CFST_ERROR EPH_ERROR PCF_ERROR DH_ERROR HEADER_ERROR IIH_ERROR RMH_ERROR TMC_ERROR WIH_ERROR MISSING_WIH
  CONTENT_ERROR NO_DATA_AVAILABLE FORMAT_NOT_SUPPORTED
A unit of work belongs to one connection, and needs no other manager of transactions: GLOBAL_UOW_CONFLICT
  LOCAL_UOW_CONFLICT HANDLE_IN_USE_FOR_UOW SYNCPOINT_NOT_AVAILABLE UOW_ENLISTMENT_ERROR UOW_MIX_NOT_SUPPORTED
  ASYNC_UOW_CONFLICT ASYNC_XA_CONFLICT
Nothing is checked, or another reason is given (2085, 2152, 2425): NAME_NOT_VALID_FOR_TYPE OBJECT_STRING_ERROR
"""
#: Reasons that IBM lists for calls and that igq never gives, by the cause.
NEVER: Final = read_names(_CAUSES)


def never_given() -> frozenset[str]:
    """Reasons that IBM lists for a call and that no code names."""
    named = {name for family, name in named_members() if family == "MQRC"}
    return frozenset(name for names in VERB_REASONS.values() for name in names if name not in named)


def option_list() -> str:
    """The options and fields that calls take and no code names, by their fate."""
    return _list((fate, names) for fates in (OPTION_FATES, FIELD_FATES, CLIENT_FATES) for fate, names in fates.items())


def reason_table() -> str:
    """For each call, how many of the reasons that IBM lists the code names."""
    never = never_given()
    return table(
        ["Call", "Listed by IBM", "Named in the code"],
        (
            [code(call), str(len(names)), str(sum(name not in never for name in names))]
            for call, names in VERB_REASONS.items()
        ),
    )


def cause_list() -> str:
    """The reasons that are never given, by their cause."""
    return _list((cause, [f"{int(MQRC[name])} {name}" for name in names]) for cause, names in NEVER.items())


def _list(entries: Iterable[tuple[str, Sequence[str]]]) -> str:
    """A list with an entry for each fate: the fate, and the names that share it."""
    return "\n".join(
        fill(
            f"* {fate.rstrip('.')}: {', '.join(map(code, names))}", 120, subsequent_indent="  ", break_on_hyphens=False
        )
        for fate, names in entries
    )
