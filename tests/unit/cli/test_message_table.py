"""`igq browse --short`: one line for each message if there is room, and whole identifiers at any width."""

from __future__ import annotations

import io
from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

import pytest

from igq.cli.shown.message_table import PAGE, print_messages
from sharedq.display.terminal import Terminal
from sharedq.messages.message import Message
from sharedq.mqi.structures import MQMD

MSG_ID = bytes.fromhex("43535120514d31202020202020202020000100000000000a")


def message(body: bytes = b"hello", **fields: object) -> Message:
    md = MQMD(msg_id=MSG_ID, put_date=b"20260102", put_time=b"03040512", priority=7, persistence=1)
    for name, value in fields.items():
        setattr(md, name, value)
    return cast(Message, SimpleNamespace(md=md, body=body, data_length=len(body)))


def shown(found: Iterable[Message], width: int | None = None) -> list[str]:
    """The lines of the table; without a width as a program reads them."""
    out = io.StringIO()
    console = Terminal(file=out, width=width, force_terminal=width is not None, color_system=None)
    print_messages(found, console)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_a_program_reads_a_line_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    header, _, *rows = shown([message(), message(b"x" * 50, correl_id=bytes(23) + b"\1", persistence=0)])

    assert header.split() == ["#", "MsgId", "CorrelId", "Pri", "Pers", "Length", "Put", "(UTC)", "Body"]
    assert [row.split() for row in rows] == [
        ["1", MSG_ID.hex(), "7", "yes", "5", "2026-01-02", "03:04:05.12", "hello"],
        ["2", MSG_ID.hex(), 46 * "0" + "01", "7", "no", "50", "2026-01-02", "03:04:05.12", 40 * "x" + "..."],
    ]


def test_without_correl_ids_there_is_no_column_for_them() -> None:
    assert "CorrelId" not in shown([message()], 120)[0]


def test_identifiers_are_text_where_they_are_text() -> None:
    assert "order-4711" in shown([message(correl_id=b"order-4711".ljust(24, b"\0"))], 120)[2]


@pytest.mark.parametrize("width", [80, 100, 117, 200])
def test_a_terminal_cuts_no_identifier_and_leaves_room_for_the_body(width: int) -> None:
    lines = shown([message(b"the beginning of a body", correl_id=bytes(range(200, 224)))], width)

    assert max(map(len, lines)) <= width
    at = lines[0].index("MsgId"), lines[0].index("CorrelId"), lines[0].index("Pri")
    assert "".join(line[at[0] : at[1]].strip() for line in lines[2:]) == MSG_ID.hex()
    assert "".join(line[at[1] : at[2]].split("  ")[0].strip() for line in lines[2:]) == bytes(range(200, 224)).hex()
    assert "the beginni" in lines[2]


def test_markup_and_terminal_controls_are_shown_as_text() -> None:
    lines = shown([message(b"[bold]a[/bold]\x1b[31m\n")], 140)

    assert "[bold]a[/bold]\\x1b[31m\\x0a" in lines[2]


def test_a_long_queue_has_one_header_until_a_column_comes_on() -> None:
    found = [message() for _ in range(2 * PAGE)] + [message(correl_id=b"late".ljust(24, b"\0"))]

    lines = shown(found, 200)

    assert [at for at, line in enumerate(lines) if "MsgId" in line] == [0, 2 * PAGE + 2]
    assert len(lines) == 2 * PAGE + 1 + 2 * 2
    assert lines[-1].split()[:3] == [str(2 * PAGE + 1), MSG_ID.hex(), "late"]


def test_no_messages_are_no_table() -> None:
    assert shown([], 80) == []


def test_a_time_that_a_program_left_out_is_blank() -> None:
    assert "2026" not in shown([message(put_date=b"", put_time=b"")], 120)[2]
