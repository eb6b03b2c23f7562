"""A client: the user that runs it, and its own words about itself."""

from __future__ import annotations

import pwd
import socket
import struct
from dataclasses import dataclass, replace

from sharedq.messages.context import Program

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
