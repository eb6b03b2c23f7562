"""Server-connection channels and the listeners in front of them: the door for programs that are not Python. Pure.

Source: IBM MQ reference, "DEFINE CHANNEL" (server-connection channels), "DEFINE LISTENER".
"""

from __future__ import annotations

from ipaddress import ip_address
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from sharedq.mqi.constants.pcf import PCFParameter as Param
from sharedq.objects.definitions.attributes import Mqsc
from sharedq.objects.definitions.base import Description, NamedObject
from sharedq.objects.definitions.names import check_object_name
from sharedq.objects.definitions.queues import Name

_CHANNEL_NAME_MAX: Final = 20
_TRANSPORT: Final = MappingProxyType({"TCP": 2})
_CHANNEL_TYPE: Final = MappingProxyType({"SVRCONN": 7})
_CONTROL: Final = MappingProxyType({"QMGR": 0, "STARTONLY": 1, "MANUAL": 2})
_SHARES: Final = "each connection has a socket of its own"
_Instances = Annotated[int, Field(ge=0, le=999_999_999)]


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
