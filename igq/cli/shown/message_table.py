"""Messages as a table with one line each: `igq browse --short`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from igq.cli.messages import printable
from igq.output.tables import new_table, widen
from sharedq.display.terminal import Terminal
from sharedq.mqi.constants import Persistence
from sharedq.mqi.limits import NULL_ID

if TYPE_CHECKING:
    from sharedq.messages.message import Message

#: Rows for which the columns are laid out together, so that a queue of millions is shown as it is read.
PAGE = 500
#: Characters of a body to show: at most, and at least.
_BODY_MOST, _BODY_LEAST = 40, 12
#: The width of a row with both identifiers in hexadecimal.
_WIDTH = 200
_NUMBERS = ("#", "Pri", "Length")
#: Widths of an identifier and a time, on one line or folded, the best first.
_FOLDS = ((48, 22), (24, 11), (16, 11), (12, 11))
#: Blanks between two columns.
_GAP = 2


def print_messages(found: Iterable[Message], console: Terminal | None = None) -> int:
    """Print a table of messages, in pages of `PAGE`. Returns the number of messages.

    On a terminal that is too narrow, identifiers are folded and bodies are cut; elsewhere each row is one line. The
    column of CorrelIds begins with the first page that has one.
    """
    console = console or Terminal()
    widen(console, _WIDTH)
    rows = enumerate(found, start=1)
    count, columns = 0, list[str]()
    while page := list(islice(rows, PAGE)):
        known = columns
        columns = _columns(with_correl_id="CorrelId" in known or any(each.md.correl_id != NULL_ID for _, each in page))
        cells = [dict(_cells(position, message)) for position, message in page]
        count += len(page)
        table = new_table("", *columns)
        table.show_header = columns != known
        for column, most in zip(table.columns, _widths(columns, cells, console.width), strict=True):
            column.justify = "right" if column.header in _NUMBERS else "left"
            column.max_width = most
        # The sign for what is cut is not in every encoding.
        is_unicode = console.encoding.startswith("utf")
        table.columns[-1].no_wrap, table.columns[-1].overflow = True, "ellipsis" if is_unicode else "crop"
        for row in cells:
            table.add_row(*(row[name] for name in columns))
        console.print(table)
    return count


def _widths(columns: list[str], cells: list[dict[str, str]], room: int) -> list[int]:
    """Return the greatest width of each column. Identifiers and times are folded before the body loses its room."""
    natural = {name: max(len(name), *(len(row[name]) for row in cells)) for name in columns}
    most = dict(natural)
    for identifier, moment in _FOLDS:
        folded = {"MsgId": identifier, "CorrelId": identifier, "Put (UTC)": moment}
        most = {name: min(width, folded.get(name, width)) for name, width in natural.items()}
        most["Body"] = room - sum(most.values()) + most["Body"] - _GAP * (len(columns) - 1)
        if most["Body"] >= min(natural["Body"], _BODY_LEAST):
            break
    most["Body"] = max(most["Body"], _BODY_LEAST)
    return [most[name] for name in columns]


def _columns(*, with_correl_id: bool) -> list[str]:
    identifiers = ["MsgId", "CorrelId"] if with_correl_id else ["MsgId"]
    return ["#", *identifiers, "Pri", "Pers", "Length", "Put (UTC)", "Body"]


def _cells(position: int, message: Message) -> Iterator[tuple[str, str]]:
    md = message.md
    yield "#", str(position)
    yield "MsgId", _identifier(md.msg_id)
    yield "CorrelId", _identifier(md.correl_id)
    yield "Pri", str(md.priority)
    yield "Pers", "yes" if md.persistence == Persistence.PERSISTENT else "no"
    yield "Length", str(message.data_length)
    yield "Put (UTC)", _moment(md.put_date.decode("ascii", "replace"), md.put_time.decode("ascii", "replace"))
    # A character is at most four bytes.
    start = printable(message.body[: 4 * _BODY_MOST])
    yield "Body", start if len(start) <= _BODY_MOST else f"{start[:_BODY_MOST]}..."


def _identifier(value: bytes) -> str:
    """Write an identifier as ``--msg-id`` and ``--correl-id`` take it: as text, or hexadecimal; empty for nulls."""
    text = value.rstrip(b"\0").decode("ascii", "replace")
    is_text = text.isprintable() and text.isascii() and " " not in text
    return text if is_text else value.hex()


def _moment(date: str, time: str) -> str:
    """Write ``YYYYMMDD`` and ``HHMMSSTH`` for people. Empty if a program set neither."""
    if not (date.strip() and time.strip()):
        return ""
    return f"{date[:4]}-{date[4:6]}-{date[6:8]} {time[:2]}:{time[2:4]}:{time[4:6]}.{time[6:8]}"
