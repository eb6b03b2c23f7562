"""What stops a command: said in one line."""

from __future__ import annotations


def not_a_name(name: str) -> str:
    """What to say about a name that no queue manager can have."""
    return f"{name!r} cannot be a queue manager: 1 to 48 of A-Z a-z 0-9 _, the first a letter"


class CommandError(Exception):
    """A command cannot be done. The text is one line for the user.

    Attributes:
        status: the command's exit status.
    """

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status
