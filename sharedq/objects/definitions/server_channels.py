"""Server-connection channels and the listeners in front of them: the door for programs that are not Python. Pure.

Source: IBM MQ reference, "DEFINE CHANNEL" (server-connection channels), "DEFINE LISTENER".
"""

from __future__ import annotations

from ipaddress import ip_address
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.constants.pcf import PCFParameter as Param
from sharedq.objects.definitions import words
from sharedq.objects.definitions.attributes import Mqsc
from sharedq.objects.definitions.base import Description, NamedObject
from sharedq.objects.definitions.names import check_object_name
from sharedq.objects.definitions.queues import Monitoring, Name

_CHANNEL_NAME_MAX: Final = 20
_TRANSPORT: Final = MappingProxyType({"TCP": 2})
_CHANNEL_TYPE: Final = MappingProxyType({"SVRCONN": 7})
_CONTROL: Final = MappingProxyType({"QMGR": 0, "STARTONLY": 1, "MANUAL": 2})
_DISPOSITION: Final = MappingProxyType({"PRIVATE": 4, "SHARED": 2, "FIXSHARED": 5})
_AUTHORITY: Final = MappingProxyType({"DEF": 1, "CTX": 2, "ONLYMCA": 3, "ALTMCA": 4})
_CLIENT_CERTIFICATE: Final = MappingProxyType({"REQUIRED": 0, "OPTIONAL": 1})
_HEADERS: Final = MappingProxyType({"NONE": 0, "SYSTEM": 8})
_DATA: Final = MappingProxyType(
    {"NONE": 0, "RLE": 1, "ZLIBFAST": 2, "ZLIBHIGH": 4, "LZ4FAST": 16, "LZ4HIGH": 32, "ANY": 0x0FFFFFFF}
)
_AUTO: Final = MappingProxyType({"AUTO": -1})
_SHARES: Final = "each connection has a socket of its own"
_PLAIN: Final = "nothing is compressed"
_NO_EXITS: Final = "channels call no exits"
_NO_TLS: Final = "channels have no TLS"
_UNCHECKED: Final = "no exit would be called, so clients would not be checked as it says"
_UNENCRYPTED: Final = "channels have no TLS, so nothing would be encrypted"
_UNPROVED: Final = "channels have no TLS, so no client would be refused"
_Instances = Annotated[int, Field(ge=0, le=999_999_999)]
#: The name of an exit, and what it is given. Of several exits there are several, with commas between them.
_EXIT_LENGTH, _EXIT_DATA_LENGTH, _EXITS_MAX = 128, 32, 8


def _check_exit_data(listed: str) -> str:
    given = listed.split(",")
    if len(given) > _EXITS_MAX or any(len(each) > _EXIT_DATA_LENGTH for each in given):
        raise ValueError(f"at most {_EXITS_MAX} texts of {_EXIT_DATA_LENGTH} characters expected")
    return listed


_ExitData = Annotated[str, AfterValidator(_check_exit_data)]


def _check_channel_name(name: str) -> str:
    check_object_name(name)
    if len(name) > _CHANNEL_NAME_MAX:
        raise ValueError(f"{name!r} is no channel name: it has more than {_CHANNEL_NAME_MAX} characters")
    return name


def _check_address(address: str) -> str:
    if address in ("", "localhost"):
        return address
    try:
        is_loopback = ip_address(address).is_loopback
    except ValueError:
        raise ValueError(f"{address!r} is no IP address") from None
    if not is_loopback:
        raise ValueError(f"{address} is no loopback address: clients are not authenticated, so others are refused")
    return address


class Channel(NamedObject):
    """A server-connection channel: how programs connect that hold no key to Redis. It belongs to the group."""

    kind: ClassVar[str] = "CHANNEL"

    name: Annotated[
        str, AfterValidator(_check_channel_name), Mqsc("CHANNEL", Param.CHANNEL_NAME, is_output=True, length=20)
    ]
    channel_type: Annotated[Literal["SVRCONN"], Mqsc("CHLTYPE", Param.CHANNEL_TYPE, _CHANNEL_TYPE)] = "SVRCONN"
    transport: Annotated[Literal["TCP"], Mqsc("TRPTYPE", Param.XMIT_PROTOCOL_TYPE, _TRANSPORT)] = "TCP"
    description: Annotated[Description, Mqsc("DESCR", Param.DESC, length=64)] = ""
    heartbeat_s: Annotated[int, Field(ge=0, le=999_999), Mqsc("HBINT", Param.HB_INTERVAL)] = 300
    #: Connections at a time, of all programs and of one address.
    max_instances: Annotated[_Instances, Mqsc("MAXINST", Param.MAX_INSTANCES)] = 999_999_999
    max_instances_per_client: Annotated[_Instances, Mqsc("MAXINSTC", Param.MAX_INSTS_PER_CLIENT)] = 999_999_999
    max_msg_length: Annotated[int, Field(ge=0, le=104_857_600), Mqsc("MAXMSGL", Param.MAX_MSG_LENGTH)] = 4_194_304
    #: The user of every connection. Empty: the user that runs the program, as the socket says.
    user: Annotated[str, Field(max_length=64), Mqsc("MCAUSER", Param.MCA_USER_ID, length=64)] = ""
    conversations: Annotated[_Instances, Mqsc("SHARECNV", Param.SHARING_CONVERSATIONS, instead=_SHARES)] = 10
    header_compression: Annotated[
        str, Mqsc("COMPHDR", Param.HDR_COMPRESSION, _HEADERS, is_list=True, instead=_PLAIN)
    ] = "NONE"
    data_compression: Annotated[str, Mqsc("COMPMSG", Param.MSG_COMPRESSION, _DATA, is_list=True, instead=_PLAIN)] = (
        "NONE"
    )
    inactive_after_s: Annotated[
        int,
        Field(ge=0, le=999_999),
        Mqsc("DISCINT", Param.DISC_INTERVAL, instead="a client may be idle for ever; see HBINT"),
    ] = 0
    keep_alive_s: Annotated[
        int,
        Field(ge=-1, le=99_999),
        Mqsc("KAINT", Param.KEEP_ALIVE_INTERVAL, _AUTO, instead="heartbeats tell that a client is gone; see HBINT"),
    ] = -1
    figures_level: Annotated[
        Monitoring,
        Mqsc("MONCHL", Int.MONITORING_CHANNEL, words.MONITORING, instead="the figures of channels are always there"),
    ] = "QMGR"
    default_disposition: Annotated[
        Literal["PRIVATE", "FIXSHARED", "SHARED"],
        Mqsc("DEFCDISP", Param.DEF_CHANNEL_DISP, _DISPOSITION, instead="a channel runs at the manager of its listener"),
    ] = "PRIVATE"
    put_authority: Annotated[
        Literal["DEF", "CTX", "ONLYMCA", "ALTMCA"],
        Mqsc("PUTAUT", Param.PUT_AUTHORITY, _AUTHORITY, instead="a client acts as MCAUSER", done=("ONLYMCA",)),
    ] = "DEF"
    security_exit: Annotated[
        Literal[""], Mqsc("SCYEXIT", Param.SEC_EXIT_NAME, length=_EXIT_LENGTH, refused=_UNCHECKED)
    ] = ""
    security_exit_data: Annotated[
        str,
        Field(max_length=_EXIT_DATA_LENGTH),
        Mqsc("SCYDATA", Param.SEC_EXIT_USER_DATA, length=_EXIT_DATA_LENGTH, instead=_NO_EXITS),
    ] = ""
    send_exits: Annotated[
        Literal[""], Mqsc("SENDEXIT", Param.SEND_EXIT_NAME, length=_EXIT_LENGTH, is_list=True, refused=_NO_EXITS)
    ] = ""
    send_exit_data: Annotated[
        _ExitData,
        Mqsc("SENDDATA", Param.SEND_EXIT_USER_DATA, length=_EXIT_DATA_LENGTH, is_list=True, instead=_NO_EXITS),
    ] = ""
    receive_exits: Annotated[
        Literal[""], Mqsc("RCVEXIT", Param.RCV_EXIT_NAME, length=_EXIT_LENGTH, is_list=True, refused=_NO_EXITS)
    ] = ""
    receive_exit_data: Annotated[
        _ExitData,
        Mqsc("RCVDATA", Param.RCV_EXIT_USER_DATA, length=_EXIT_DATA_LENGTH, is_list=True, instead=_NO_EXITS),
    ] = ""
    tls_cipher: Annotated[Literal[""], Mqsc("SSLCIPH", Param.SSL_CIPHER_SPEC, length=32, refused=_UNENCRYPTED)] = ""
    tls_client_certificate: Annotated[
        Literal["REQUIRED", "OPTIONAL"],
        Mqsc("SSLCAUTH", Param.SSL_CLIENT_AUTH, _CLIENT_CERTIFICATE, instead=_NO_TLS),
    ] = "REQUIRED"
    tls_peer: Annotated[Literal[""], Mqsc("SSLPEER", Param.SSL_PEER_NAME, length=1024, refused=_UNPROVED)] = ""
    tls_certificate: Annotated[
        str, Field(max_length=64), Mqsc("CERTLABL", Char.CERT_LABEL, length=64, instead=_NO_TLS)
    ] = ""


class Listener(NamedObject):
    """Where a manager accepts connections by TCP. The definition belongs to the group, each manager starts its own."""

    kind: ClassVar[str] = "LISTENER"

    name: Annotated[Name, Mqsc("LISTENER", Param.LISTENER_NAME, is_output=True, length=48)]
    transport: Annotated[Literal["TCP"], Mqsc("TRPTYPE", Param.XMIT_PROTOCOL_TYPE, _TRANSPORT)] = "TCP"
    description: Annotated[Description, Mqsc("DESCR", Param.LISTENER_DESC, length=64)] = ""
    control: Annotated[Literal["MANUAL", "QMGR", "STARTONLY"], Mqsc("CONTROL", Param.LISTENER_CONTROL, _CONTROL)] = (
        "MANUAL"
    )
    port: Annotated[int, Field(ge=0, le=65_535), Mqsc("PORT", Param.PORT)] = 1414
    #: Empty: 127.0.0.1.
    address: Annotated[str, AfterValidator(_check_address), Mqsc("IPADDR", Param.IP_ADDRESS, length=48)] = ""
    #: Connections that wait to be accepted; 0: as many as the system has by default.
    backlog: Annotated[_Instances, Mqsc("BACKLOG", Param.BACKLOG)] = 0
