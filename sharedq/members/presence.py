"""Telling a manager on this machine which process uses it, so that it sees at once when that has died.

A lease tells everybody, but only when it has run out. Linux lets the manager see the end of a process in that moment;
elsewhere, and where manager and program cannot see each other, the lease alone tells.
"""

from __future__ import annotations

import contextlib
import socket

#: A manager that does not listen just now is not worth more time at MQCONN; the lease will do, seconds.
_TIMEOUT_S = 0.1
#: What the first byte of a message says of the process token behind it.
BEGINS, ENDS = b"+", b"-"


def address_of(manager_pid: int, incarnation: str) -> bytes:
    """Where a manager hears of programs: a socket without a file, which ends with whoever has bound it.

    Args:
        incarnation: ``QM.incarnation``.
    """
    return b"\0igq/%d/%s" % (manager_pid, incarnation.encode())


def tell_presence(address: bytes, what: bytes, token: str) -> None:
    """Tell the manager at *address* that this process uses it as *token* (`BEGINS`), or does no longer (`ENDS`).

    Nothing is said of a message that does not arrive. The kernel adds who sent it.
    """
    family = getattr(socket, "AF_UNIX", None)
    if family is None:
        return
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.settimeout(_TIMEOUT_S)
        sender.sendto(what + token.encode(), address)
