"""HTML pages made from a template, with tables and pictures inside. They refer to nothing outside."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from importlib import resources
from pathlib import Path
from string import Template


def write_page(template: str, path: Path, **parts: str) -> None:
    """Write a page, and rename it into place, so that no reader finds half of it.

    Args:
        template: a file of ``templates``.
        parts: HTML for the template's placeholders.
    """
    templates = resources.files("igq.pipeline") / "templates"
    text, style = ((templates / name).read_text(encoding="utf-8") for name in (template, "style.css"))
    unfinished = path.with_suffix(".html.new")
    made = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    unfinished.write_text(Template(text).substitute(parts, style=style, made=made), encoding="utf-8")
    unfinished.replace(path)


def table(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """An HTML table; a row is its CSS class and its cells."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    lines = (
        f'<tr class="{css}">' + "".join(f"<td>{escape(text)}</td>" for text in cells) + "</tr>" for css, cells in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def picture(png: bytes, text: str) -> str:
    """A picture inside the page; *text* describes it."""
    return f'<img alt="{escape(text)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
