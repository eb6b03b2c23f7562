"""Messages of a manager to systemd, or to another supervisor with its protocol: ready, stopping, a line of status.

The protocol is sd_notify(3): lines of ``NAME=VALUE`` in one datagram to the socket that ``NOTIFY_SOCKET`` names.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress


def notify(status: str, *, env: Mapping[str, str] = os.environ, **state: str) -> None:
    """Tell the supervisor. Does nothing if there is none; a supervisor that cannot be reached is no error of ours.

    Args:
        status: one line for people, shown by ``systemctl status``.
        state: further variables of the protocol, such as ``READY="1"``.
    """
    path = env.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return
    address = "\0" + path[1:] if path.startswith("@") else path
    lines = [f"{name}={value}" for name, value in ({"STATUS": status} | state).items()]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as told:
        # A supervisor that reads nothing must not stop the manager.
        told.setblocking(False)
        told.sendto("\n".join(lines).encode(), address)
