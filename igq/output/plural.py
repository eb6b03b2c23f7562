"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, thing: str, things: str = "") -> str:
    """Return *number* with the singular or the plural: ``1 message``, ``2 messages``.

    Args:
        things: the plural. Default: *thing* with an s.
    """
    return f"{number} {thing if number == 1 else things or f'{thing}s'}"


def short_time(seconds: float) -> str:
    """Return a length of time in its largest unit, rounded down: ``"59 s"``, ``"3 min"``, ``"2 h"``, ``"5 d"``."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"
