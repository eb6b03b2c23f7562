"""Text of others cannot forge a line, steer a terminal or become part of a page, through any channel.

Each channel is fed the same texts; what comes out is looked at, not the calls that led there.
"""

from __future__ import annotations

import ast
import io
import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import structlog
from rich.text import Text

from igq.cli.messages import printable
from igq.cli.runner import run
from igq.mqsc.executor import _list, _write
from igq.mqsc.language.lines import CommandText
from igq.operations.fsck import Checked, print_checked
from igq.output.log import log_to_stderr, start_log
from igq.output.tables import new_table
from igq.pipeline.reports.page import picture, table
from igq.pipeline.tables import print_rows
from recovery.accounting.finding import Fault, FaultKind
from sharedq.display.lines import say, tell
from sharedq.display.terminal import Terminal
from sharedq.log import LibraryLogger

ROOT = Path(__file__).parents[2]
FORGED = "2026-11-25 17:45:25.031Z CSQY002I QM1 stopped"
#: A newline of each kind, sequences that control a terminal (seven and eight bits), marks of direction, markup.
HOSTILE = [
    *(f"X{end}{FORGED}" for end in ("\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029")),
    *("X\x1b[31m\x1b]0;PWN\x07", "X\x9b2J", "X\x9d0;PWN\x9c", "X\x08\x08\x7f\x00", "X\ty"),
    *("X\u202egnp.exe", "X\u2066a\u2069", "X\u200b\ufeff", "X\udcff"),
    *("[bold red]Q[/x]", "[/]", ":smile:", "<script>alert(1)</script>\"'&"),
]


def logged(text: str, directory: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A message with an id, one of a library, an exception; the last two also from an agent's process."""
    log, _ = start_log("QM1", directory)
    try:
        log.info("IGQ0001E", why=text)
        log.info(text, name=text)
        try:
            raise ValueError(text)
        except ValueError:
            log.exception("it failed", name=text)
        log_to_stderr()
        structlog.get_logger().warning(text, name=text)
        sys.excepthook(ValueError, ValueError(text), None)
    finally:
        structlog.reset_defaults()
        sys.excepthook = sys.__excepthook__
    captured = capsys.readouterr()
    return (directory / "QM1.log").read_text(encoding="utf-8") + captured.out + captured.err


def library(text: str, _directory: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A program that has not set up logging, or has done so in the usual way."""
    handler = logging.StreamHandler(io.StringIO())
    logging.getLogger("hostile").addHandler(handler)
    try:
        LibraryLogger("hostile").warning(text, name=text)
    finally:
        logging.getLogger("hostile").removeHandler(handler)
    assert isinstance(handler.stream, io.StringIO)
    return handler.stream.getvalue() + capsys.readouterr().err


def lines(text: str, _directory: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The lines of commands, and the error that ends one, with its arguments."""
    tell(text)
    say(text)
    for arguments in ([text], ["qmgr", "start", text], ["mqsc", "QM1", text], ["qmgr", "stop", "QM1", text]):
        assert run(arguments) != 0
    captured = capsys.readouterr()
    return captured.out + captured.err


def mqsc(text: str, _directory: Path, _capsys: pytest.CaptureFixture[str]) -> str:
    """The listing of commands, and the answers."""
    out = io.StringIO()
    _list(CommandText(1, text, (text,)), 1, out)
    _write([text], out)
    # A tab separates words of a command, and forges nothing.
    return out.getvalue().replace("\t", " ")


def terminal(text: str, _directory: Path, _capsys: pytest.CaptureFixture[str]) -> str:
    """Tables of each kind, lines, titles and findings."""
    out = io.StringIO()
    for width in (40, 200):
        console = Terminal(file=out, width=width, color_system=None, soft_wrap=width > 100)
        shown = new_table(text, "column")
        shown.add_row(text)
        console.print(shown)
        console.print(text)
        console.print(Text(text.replace("\n", " ")))
        print_rows(text, {"column": False}, [[text]], console)
        print_checked(Checked([Fault(next(iter(FaultKind)), text, text, text)], []), console)
    return out.getvalue()


def bodies(text: str, _directory: Path, _capsys: pytest.CaptureFixture[str]) -> str:
    """The output of `igq get` and `igq browse` about a message."""
    return printable(text.encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("channel", [logged, library, lines, mqsc, terminal, bodies])
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_channel_lets_a_text_steer_or_forge(
    channel: Callable[[str, Path, pytest.CaptureFixture[str]], str],
    text: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("IGQ_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "log").mkdir()

    shown = channel(text, tmp_path / "log", capsys)

    assert shown
    assert [char for char in shown if not char.isprintable() and char != "\n"] == []
    assert not [line for line in shown.split("\n") if line.startswith(FORGED)]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_page_has_no_element_of_a_text(text: str) -> None:
    page = table([text], [("", [text])]) + picture(b"", text)

    assert "<script" not in page
    assert text not in page or not set(text) & set("<>&\"'")


def test_markup_and_emoji_stay_as_they_were_written() -> None:
    out = io.StringIO()
    Terminal(file=out, width=80, color_system=None).print("[bold]a[/bold] :smile: [/]")

    assert out.getvalue() == "[bold]a[/bold] :smile: [/]\n"


@pytest.mark.parametrize("package", ["igq", "recovery", "sharedq"])
def test_nothing_goes_past_the_channels(package: str) -> None:
    """A console of rich's own knows markup and lets everything through. So do a bare print and typer's echo."""
    consoles, prints = set[str](), set[str]()
    for path in (ROOT / package).rglob("*.py"):
        name = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "rich.console":
                consoles |= {name for alias in node.names if alias.name == "Console"}
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id == "print":
                prints.add(name)
            if isinstance(called, ast.Attribute) and called.attr == "echo":
                prints.add(name)

    assert consoles <= {"sharedq/display/terminal.py"}
    assert prints <= {
        # The channel itself; bodies through `printable`; the help and the version, which are ours.
        *("sharedq/display/lines.py", "igq/cli/messages.py", "igq/cli/shown/browse.py"),
        *("igq/cli/help.py", "igq/cli/app.py"),
        # Of programs that a drill starts; their standard error is a file.
        *("igq/rehearsal/load/programs/program.py", "igq/rehearsal/load/programs/control.py"),
    }
