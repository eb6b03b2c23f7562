"""Decides which clients may connect, as which user, and with what limits."""

from __future__ import annotations

import os
import pwd
import socket
import struct
from dataclasses import dataclass, field, replace
from typing import Final

from igq.channels.figures import Instances, ServerFigures
from igq.operations.listeners import is_channel_stopped
from sharedq.members.group import Group
from sharedq.messages.context import Program
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import MAX_MSG_LENGTH
from sharedq.objects.definitions.server_channels import Channel
from sharedq.objects.repository import Repository

_CREDENTIALS = struct.Struct("3i")
#: Characters of a user in a descriptor.
_USER_LENGTH = 12


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """A client.

    Attributes:
        user: the name of its user.
        uid: of the process that has connected; -1: not known, because it is not on this machine's unix socket.
        pid: as it says itself. ``channel``: the name that it connected with.
        address: where it is (CONNAME).
    """

    user: str
    uid: int = -1
    pid: int = 0
    channel: str = ""
    address: str = ""

    @property
    def is_local(self) -> bool:
        """Whether it has connected at the unix socket."""
        return self.uid >= 0

    @property
    def host(self) -> str:
        """Where it is, without its port."""
        return self.address.partition("(")[0]

    def acting_as(self, user: str) -> ClientIdentity:
        """The same client as another user, unless that is empty."""
        return replace(self, user=user or self.user)

    def named(self, pid: int, channel: str) -> ClientIdentity:
        """The same client after it has told more."""
        return replace(self, pid=self.pid or pid, channel=channel)

    def program(self) -> Program:
        """As a connection knows it."""
        return Program(self.user[:_USER_LENGTH], self.pid, self.channel, self.address)


def client_of(connected: socket.socket) -> ClientIdentity:
    """The client at the other end of a socket, as the kernel tells."""
    if connected.family != socket.AF_UNIX:
        host, port = connected.getpeername()[:2]
        return ClientIdentity("", address=f"{host}({port})")
    data = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(data)
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    return ClientIdentity(user, uid, pid)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A client that may connect.

    Attributes:
        client: with the user as whom it makes its calls.
        heartbeat_s: the longest silence on its socket; 0: any. ``max_message``: bytes of a message, at most.
        counted: what it counts for, until it leaves.
    """

    client: ClientIdentity
    heartbeat_s: int
    max_message: int
    counted: tuple[str, ...] = field(default=())


class Admission:
    """Of one server.

    Args:
        instances: those of its channels.

    Attributes:
        served: what its clients do.
    """

    def __init__(self, group: Group, qmgr: str, instances: Instances) -> None:
        self.served = ServerFigures()
        self._group, self._qmgr, self._instances = group, qmgr, instances
        self._own: Final = os.geteuid()

    def admit(self, client: ClientIdentity) -> Admitted:
        """Let a client in that has named its channel.

        The unix socket is for the manager's own user, and needs no channel. By TCP nobody knows the user of a client:
        it comes by a channel whose MCAUSER says it.

        Raises:
            MQIError: 2035 its user may not, or is not known; 2537 the channel is stopped, or has MAXINST or MAXINSTC
                clients; 2540 there is no such channel; 2009.
        """
        if client.is_local and client.uid != self._own:
            raise error_for(MQRC.NOT_AUTHORIZED, "MQCONNX", self._qmgr, f"user {client.user}")
        channel = self._channel(client)
        if channel is None:
            # The kernel tells of the death of a local client at once, so nobody sends heartbeats.
            return Admitted(client, 0, MAX_MSG_LENGTH)
        if not (client.is_local or channel.user):
            detail = f"channel {channel.name} has no MCAUSER, so the user of a TCP client is not known"
            raise error_for(MQRC.NOT_AUTHORIZED, "MQCONNX", self._qmgr, detail)
        counted = (channel.name, f"{channel.name} {client.host}")
        most = dict(zip(counted, (channel.max_instances, channel.max_instances_per_client), strict=True))
        if full := self._instances.take(most):
            detail = f"channel {channel.name} has {most[full]} instances"
            raise error_for(MQRC.CHANNEL_NOT_AVAILABLE, "MQCONNX", self._qmgr, detail)
        heartbeat_s = 0 if client.is_local else channel.heartbeat_s
        return Admitted(client.acting_as(channel.user), heartbeat_s, channel.max_msg_length or MAX_MSG_LENGTH, counted)

    def leave(self, admitted: Admitted) -> None:
        """Count a client no longer."""
        self._instances.leave(admitted.counted)

    def _channel(self, client: ClientIdentity) -> Channel | None:
        if not client.channel and client.is_local:
            return None
        found = Repository(self._group, self._qmgr).channels.named(client.channel)
        if found is None:
            detail = f"there is no channel {client.channel!r}"
            raise error_for(MQRC.UNKNOWN_CHANNEL_NAME, "MQCONNX", self._qmgr, detail)
        member = self._group.member(self._qmgr)
        if member is None or is_channel_stopped(member.details, found.name):
            raise error_for(MQRC.CHANNEL_NOT_AVAILABLE, "MQCONNX", self._qmgr, f"channel {found.name} is stopped")
        return found
