"""MQSC commands from standard input, as other programs write them."""

from __future__ import annotations

import codecs
import io
import sys

import pytest

from igq.cli.mqsc import typed_lines
from igq.errors import CommandError


class _Piped:
    """Standard input that is no terminal."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_a_byte_order_mark_is_no_part_of_the_first_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Piped(codecs.BOM_UTF8 + b"PING QMGR\nEND\n"))
    lines = typed_lines()
    assert lines is not None
    assert list(lines) == ["PING QMGR\n", "END\n"]


def test_the_line_that_is_no_text_is_named_and_those_before_it_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Piped(b"END\nDESCR('f\xfcr')\n"))
    lines = typed_lines()
    assert lines is not None
    assert next(iter(lines)) == "END\n"
    with pytest.raises(CommandError, match="standard input: line 2 is not UTF-8 text"):
        next(iter(lines))


def test_closed_standard_input_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(CommandError, match="standard input is closed"):
        typed_lines()
