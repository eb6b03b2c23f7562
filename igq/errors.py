"""The error that stops a command: one line."""

from __future__ import annotations

import errno
import os
from typing import Final

from recovery.target import valid_qmgr_name

#: Exit status of a server whose port another process has.
PORT_TAKEN: Final = 3


class CommandError(Exception):
    """A command cannot be done. The text is one line for the user.

    Attributes:
        status: the command's exit status.
    """

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


def check_qmgr_name(name: str, group: str) -> None:
    """Raise `CommandError` for a name that no queue manager of *group* can have."""
    if not valid_qmgr_name(name):
        raise CommandError(f"{name!r} cannot be a queue manager: 1 to 48 of A-Z a-z 0-9 _, the first a letter", 2)
    if name == group:
        # Programs connect to any member by the group's name, so they would never reach this one.
        raise CommandError(f"{name} cannot be a queue manager: the queue-sharing group has this name", 2)


def port_error(server: str, host: str, port: int, error: Exception) -> CommandError:
    """Return the error of a server that cannot listen at a port."""
    number = getattr(error, "errno", None) or 0
    # Errors of a host's name have negative numbers, and texts of their own.
    why = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or str(error)
    status = PORT_TAKEN if number == errno.EADDRINUSE else 1
    return CommandError(f"{server} cannot listen on {host} port {port}: {why}", status)
