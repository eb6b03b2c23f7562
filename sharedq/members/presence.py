"""A program's messages to a manager on the same machine, which then notices the program's death at once.

A lease tells every member, but only after it has run out. Linux shows the manager the end of a process at that moment.
A program that lives on, but has lost a connection, says so itself.
On other systems, or if manager and program cannot see each other, only the lease tells.
"""

from __future__ import annotations

import contextlib
import socket

#: Seconds that MQCONN spends on a manager that does not listen. Beyond that the lease is enough.
_TIMEOUT_S = 0.1
#: The first byte of a message, before the process token.
BEGINS, ENDS, LOSES = b"+", b"-", b"!"


def address_of(manager_pid: int, incarnation: str) -> bytes:
    """Return the address at which a manager listens to programs: a socket without a file, which ends with its owner.

    Args:
        incarnation: ``QM.incarnation``.
    """
    return b"\0igq/%d/%s" % (manager_pid, incarnation.encode())


def tell_presence(address: bytes, what: bytes, token: str) -> None:
    """Tell the manager at *address* that this process uses it as *token* (`BEGINS`), or no longer does (`ENDS`).

    `LOSES` says that it has told the group of connections that it lost, whose work is to be backed out.
    A message that does not arrive is ignored. The kernel adds the sender.
    """
    family = getattr(socket, "AF_UNIX", None)
    if family is None:
        return
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.settimeout(_TIMEOUT_S)
        sender.sendto(what + token.encode(), address)
