"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar in a cell is written so that it does not end the cell."""
    lines = [_line(head), _line(["---"] * len(head))]
    lines += [_line([cell.replace("|", "\\|") for cell in row]) for row in rows]
    return "\n".join(lines)


def code(text: str) -> str:
    """Text as code; nothing for nothing."""
    return f"`{text}`" if text else ""


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
