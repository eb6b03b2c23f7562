"""Foreign text in a form that is safe for a terminal or a page."""

from __future__ import annotations


def visible(text: str, keep: str = "") -> str:
    r"""The text in one line. Characters that control a terminal or are invisible are written like ``\x1b``.

    These are all control characters (line ends and C1 too), marks that change the direction of writing, and halves of
    characters, which cannot be written at all.

    Args:
        keep: characters among these that stay.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
