"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, thing: str, things: str = "") -> str:
    """Return *number* with the singular or the plural: ``1 message``, ``2 messages``.

    Args:
        things: the plural. Default: *thing* with an s.
    """
    return f"{number} {thing if number == 1 else things or f'{thing}s'}"
