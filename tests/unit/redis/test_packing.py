"""Commands are packed as Redis reads them, and hiredis never gets a number."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import hiredis
import pytest

from sharedq.redis import wire


class Number(IntEnum):
    SEVEN = 7


class Text(str):
    """A text of another class."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        *((b"\xff", b"\xff"), ("a", b"a"), (Text("a"), b"a")),
        *((7, b"7"), (-1, b"-1"), (2**60, b"%d" % 2**60), (Number.SEVEN, b"7"), (True, b"1")),
        *((0.5, b"0.5"), (1.0, b"1.0"), (float("inf"), b"inf")),
    ],
)
def test_a_word_is_packed_as_text_whatever_it_is(word: wire.Word, said: bytes) -> None:
    # 1 and 1.0 and True are equal, but are other words.
    for _ in range(2):
        assert wire.pack("SET", word) == b"*2\r\n$3\r\nSET\r\n$%d\r\n%b\r\n" % (len(said), said)


@pytest.mark.parametrize("words", [("A", b"b"), ("A", 1), (1.5, True), (Number.SEVEN, Text("x"))])
def test_hiredis_gets_texts_only(monkeypatch: pytest.MonkeyPatch, words: tuple[Any, ...]) -> None:
    given: list[object] = []

    def pack_command(words: tuple[object, ...]) -> bytes:
        given.extend(words)
        return b""

    monkeypatch.setattr(hiredis, "pack_command", pack_command)
    wire.pack(*words)
    assert given
    assert [word for word in given if not isinstance(word, str | bytes)] == []
