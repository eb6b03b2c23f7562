"""The structures of the C headers: each with its fields and initial values, in the order of the header.

Most come from the declarations of ``sharedq.mqi``. The rest is written here as text: a field's name and its kind, as
``sharedq.mqi.types.Field`` has it, or the name of a structure. ``=`` gives an initial value that is not zero; for
characters it means blanks.
Source: IBM MQ reference, "Data types used in the MQI", "Structures for commands and responses".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sharedq.mqi import headers, structures
from sharedq.mqi.conversion.structures import TMC2
from sharedq.mqi.types import declared, ibm_name
from sharedq.pymqi import CD, CMQC, CMQCFC, CMQXC


@dataclass(frozen=True, slots=True)
class StructureMember:
    """A member of a C structure.

    Attributes:
        type: the C type, without the size of an array.
        count: elements of an array; 0: no array.
        initial: a number, bytes, or C text for what is none of both.
    """

    name: str
    type: str
    count: int = 0
    initial: int | bytes | str = 0


Structure = tuple[StructureMember, ...]

#: Pointers that are typed.
_POINTERS: Final = {
    "SSLConfigPtr": "PMQSCO",
    "SecurityParmsPtr": "PMQCSP",
    "BalanceParmsPtr": "PMQBNO",
    "CCDTUrlPtr": "PMQCHAR",
    "AuthInfoRecPtr": "PMQAIR",
    "LDAPUserNamePtr": "PMQCHAR",
    "ClusterPtr": "PMQPTR",
}
#: Initial values that differ from those of the native structures.
_INITIAL: Final[dict[str, dict[str, int | bytes]]] = {
    "MQOD": {"DynamicQName": b"AMQ.*"},
    "MQGMO": {"GroupStatus": b" ", "SegmentStatus": b" ", "Segmentation": b" ", "Reserved1": b" "},
    "MQSD": {"SubLevel": 1},
    "MQTMC2": {"Version": CMQC.MQTMC_VERSION_2},
}
#: MQCD for a sender, and what a client's differs in from ``sharedq.pymqi``, where lists of compression name none.
_LENGTH: Final = {"StrucLength": "MQCD_CURRENT_LENGTH"}
_SENDER: Final[Mapping[str, int | str]] = {
    "ChannelType": CMQXC.MQCHT_SENDER,
    "TransportType": CMQXC.MQXPT_LU62,
    **_LENGTH,
}
_CLIENT: Final[Mapping[str, int | str]] = {
    "HeartbeatInterval": 1,
    "HdrCompList": "{-1,-1}",
    "MsgCompList": "{" + ",".join(["-1"] * 16) + "}",
    **_LENGTH,
}
_SAME_IDENTIFIER: Final = {"MQMD1": "MQMD", "MQMD2": "MQMD", "MQRFH2": "MQRFH", "MQTMC2": "MQTMC"}

#: Structures of which the native library has no declaration, or not all fields.
_TEXTS: Final = {
    "MQAIR": "AuthInfoType i=1, AuthInfoConnName c264, LDAPUserNamePtr P, LDAPUserNameOffset i, LDAPUserNameLength i,"
    " LDAPPassword c32, OCSPResponderURL c256",
    "MQSCO": "KeyRepository c256, CryptoHardware c256, AuthInfoRecCount i, AuthInfoRecOffset i, AuthInfoRecPtr P,"
    " KeyResetCount i, FipsRequired i, EncryptionPolicySuiteB i4={1,0,0,0}, CertificateValPolicy i,"
    " CertificateLabel c64, KeyRepoPasswordPtr P, KeyRepoPasswordOffset i, KeyRepoPasswordLength i,"
    " HTTPSCertValidation i, HTTPSCertRevocation i, HTTPSKeyStorePtr P, HTTPSKeyStoreOffset i, HTTPSKeyStoreLength i",
    "MQCSP": "AuthenticationType i, Reserved1 b4, CSPUserIdPtr P, CSPUserIdOffset i, CSPUserIdLength i, Reserved2 b8,"
    " CSPPasswordPtr P, CSPPasswordOffset i, CSPPasswordLength i, Reserved3 b8, InitialKeyPtr P, InitialKeyOffset i,"
    " InitialKeyLength i, Reserved4 b8, TokenPtr P, TokenOffset i, TokenLength i",
    "MQBNO": "ApplType i, Timeout i=-1, Options i",
    "MQCNO": "Options i, ClientConnOffset i, ClientConnPtr P, ConnTag b128, SSLConfigPtr P, SSLConfigOffset i,"
    " ConnectionId b24, SecurityParmsOffset i, SecurityParmsPtr P, CCDTUrlPtr P, CCDTUrlOffset i, CCDTUrlLength i,"
    " Reserved b8, ApplName c28=1, Reserved2 b4, BalanceParmsPtr P, BalanceParmsOffset i, Reserved3 b4",
    "MQBO": "Options i",
    "MQSTS": "CompCode i, Reason i, PutSuccessCount i, PutWarningCount i, PutFailureCount i, ObjectType i=1,"
    " ObjectName c48, ObjectQMgrName c48, ResolvedObjectName c48, ResolvedQMgrName c48, ObjectString MQCHARV,"
    " SubName MQCHARV, OpenOptions i, SubOptions i",
    "MQCBC": "CallType i, Hobj i=-1, CallbackArea P, ConnectionArea P, CompCode i, Reason i, State i, DataLength i,"
    " BufferLength i, Flags i, ReconnectDelay i",
    "MQCBD": "CallbackType i=1, Options i, CallbackArea P, CallbackFunction P, CallbackName c128, MaxMsgLength i=-1",
    "MQCTLO": "Options i, Reserved i=-1, ConnectionArea P",
    "MQRFH": "StrucLength i=32, Encoding i=546, CodedCharSetId i, Format c8=1, Flags i",
    "MQDH": "StrucLength i, Encoding i, CodedCharSetId i, Format c8=1, Flags i, PutMsgRecFields i, RecsPresent i,"
    " ObjectRecOffset i, PutMsgRecOffset i",
    "MQXQH": "RemoteQName c48, RemoteQMgrName c48, MsgDesc MQMD1",
}
#: Versions of initial values that are not 1.
_VERSIONS: Final = {"MQCBC": 2, "MQSCO": 1, "MQRFH2": 2, "MQMDE": 2, "MQMD2": 2}

_PARAMETER: Final = "Type i={0}, StrucLength i={1}, Parameter i"
_STRUCTURES_OF_PCF: Final = {
    "MQCFH": (1, 36, "Version i=1, Command i, MsgSeqNumber i=1, Control i=1, CompCode i, Reason i, ParameterCount i"),
    "MQCFBF": (CMQCFC.MQCFT_BYTE_STRING_FILTER, 20, "Operator i, FilterValueLength i, FilterValue b1"),
    "MQCFBS": (CMQCFC.MQCFT_BYTE_STRING, 16, "StringLength i, String b1"),
    "MQCFGR": (CMQCFC.MQCFT_GROUP, 16, "ParameterCount i"),
    "MQCFIF": (CMQCFC.MQCFT_INTEGER_FILTER, 20, "Operator i, FilterValue i"),
    "MQCFIL": (CMQCFC.MQCFT_INTEGER_LIST, 16, "Count i, Values i1"),
    "MQCFIL64": (CMQCFC.MQCFT_INTEGER64_LIST, 16, "Count i, Values q1"),
    "MQCFIN": (CMQCFC.MQCFT_INTEGER, 16, "Value i"),
    "MQCFIN64": (CMQCFC.MQCFT_INTEGER64, 24, "Reserved i, Value q"),
    "MQCFSF": (CMQCFC.MQCFT_STRING_FILTER, 24, "Operator i, CodedCharSetId i, FilterValueLength i, FilterValue c1"),
    "MQCFSL": (CMQCFC.MQCFT_STRING_LIST, 24, "CodedCharSetId i, Count i, StringLength i, Strings c1"),
    "MQCFST": (CMQCFC.MQCFT_STRING, 20, "CodedCharSetId i, StringLength i, String c1"),
}

_DECLARED: Final = (
    *(structures.MQMD, structures.MQGMO, structures.MQPMO, structures.MQOD, structures.MQSD, structures.MQSRO),
    *(structures.MQCMHO, structures.MQDMHO, structures.MQSMPO, structures.MQIMPO, structures.MQDMPO, structures.MQPD),
    *(structures.MQBMHO, structures.MQMHBO, structures.MQOR, structures.MQRR),
    *(headers.MQDLH, headers.MQMDE, headers.MQRFH2, headers.MQTM),
)
_WITHOUT_HEAD: Final = frozenset({"MQOR", "MQRR"})
_NUMBERS: Final = {"i": "MQLONG", "q": "MQINT64", "P": "MQPTR", "c": "MQCHAR", "b": "MQBYTE"}


def of_cmqc() -> dict[str, Structure]:
    """The structures of cmqc.h: name -> members."""
    found: dict[str, Structure] = {}
    for each in _DECLARED:
        name = each.__name__
        found[name] = (*_head(name), *_of_class(each, _INITIAL.get(name, {})))
    version_1 = [each.name for each in found["MQMD"]].index("GroupId")
    found["MQMD1"] = found["MQMD"][:version_1]
    found["MQMD2"] = (*_head("MQMD2"), *found["MQMD"][2:])
    found["MQTMC2"] = tuple(_of_fields(((ibm_name(name), kind) for name, kind in TMC2.versions[2]), _head_of_tmc2()))
    for name, text in _TEXTS.items():
        found[name] = (*_head(name), *_of_text(text))
    return found


def of_cmqcfc() -> dict[str, Structure]:
    """The structures of cmqcfc.h."""
    found = {
        name: tuple(_of_text(f"{_PARAMETER.format(kind, length)}, {rest}"))
        for name, (kind, length, rest) in _STRUCTURES_OF_PCF.items()
    }
    # A header of commands has no parameter's number.
    found["MQCFH"] = tuple(each for each in found["MQCFH"] if each.name != "Parameter")
    return found


def of_cmqxc() -> dict[str, Structure]:
    """The structures of cmqxc.h that a program gives to MQCONNX."""
    return {"MQCD": _of_pymqi(CD(), _SENDER)}


def of_client_channel() -> Structure:
    """MQCD with the initial values of a client's channel."""
    return _of_pymqi(CD(), _CLIENT)


def _head(name: str) -> Structure:
    if name in _WITHOUT_HEAD:
        return ()
    identifier = getattr(CMQC, f"{_SAME_IDENTIFIER.get(name, name)}_STRUC_ID")
    return StructureMember("StrucId", "MQCHAR", 4, identifier), StructureMember(
        "Version", "MQLONG", initial=_VERSIONS.get(name, 1)
    )


def _head_of_tmc2() -> Mapping[str, int | bytes]:
    return {"StrucId": CMQC.MQTMC_STRUC_ID, "Version": CMQC.MQTMC_VERSION_2}


def _of_class(structure: type, initial: Mapping[str, int | bytes]) -> Iterator[StructureMember]:
    native: Any = structure()
    members = iter(declared(structure))
    for field in members:
        if field.ibm_name.endswith("VSPtr"):
            # The pointer and the four numbers after it are one MQCHARV.
            for _ in range(4):
                next(members)
            yield StructureMember(field.ibm_name.removesuffix("VSPtr"), "MQCHARV", initial="{MQCHARV_DEFAULT}")
            continue
        value = getattr(native, field.name) if field.name and field.kind == "i" else 0
        value = initial.get(field.ibm_name, value)
        # A format is blanks, not nulls.
        yield _member(field.ibm_name, field.kind, b" " * 8 if field.ibm_name == "Format" else value)


def _of_fields(fields: Iterator[tuple[str, str]], initial: Mapping[str, int | bytes]) -> Iterator[StructureMember]:
    for name, kind in fields:
        yield _member(name, kind, initial.get(name, 0))


def _of_text(text: str) -> Iterator[StructureMember]:
    for field in text.replace("{1,0,0,0}", "{1;0;0;0}").split(", "):
        name, kind = field.split()
        kind, _, told = kind.partition("=")
        if kind.startswith("MQ"):
            yield StructureMember(name, kind, initial=f"{{{kind}_DEFAULT}}")
        elif told and kind.startswith("c"):
            yield _member(name, kind, b" " * int(kind[1:]))
        else:
            yield _member(name, kind, told.replace(";", ",") if told.startswith("{") else int(told or 0))


def _of_pymqi(value: Any, initial: Mapping[str, int | str]) -> Structure:
    """The members of a class of ``sharedq.pymqi`` that has no other description."""
    members = []
    for name, told, form, *count in value._members:
        if form.endswith("s"):
            kind = "MQBYTE" if name.endswith("SecurityId") else "MQCHAR"
            members.append(StructureMember(name, kind, int(form[:-1]), told))
        elif count:
            values = "{" + ",".join(map(str, told)) + "}"
            members.append(StructureMember(name, _NUMBERS[form], count[0], initial.get(name, values)))
        else:
            members.append(StructureMember(name, _POINTERS.get(name, _NUMBERS[form]), initial=initial.get(name, told)))
    return (
        *members,
        StructureMember("QuantumSafeAlgorithm", "MQLONG"),
        StructureMember("QuantumSafeRequired", "MQLONG"),
    )


def _member(name: str, kind: str, initial: int | bytes | str) -> StructureMember:
    if kind == "P":
        return StructureMember(name, _POINTERS.get(name, "MQPTR"))
    count = int(kind[1:] or 0)
    if kind[0] == "c" and count == 1 and not name.startswith(("String", "FilterValue")):
        count = 0
    if kind[0] == "q" and name.endswith("MsgHandle"):
        return StructureMember(name, "MQHMSG", count, initial)
    return StructureMember(name, _NUMBERS[kind[0]], count, initial)
