"""Files that people write: what their editors put into them."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from sharedq.settings.loader import load_settings
from sharedq.settings.text_files import NotTextError, decode_text

_TEXT = "DEFINE QLOCAL(A) DESCR('für alle')\nEND\n"


@pytest.mark.parametrize(
    "data",
    [
        _TEXT.encode(),
        codecs.BOM_UTF8 + _TEXT.encode(),
        _TEXT.replace("\n", "\r\n").encode(),
        codecs.BOM_UTF16_LE + _TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + _TEXT.replace("\n", "\r\n").encode("utf-16-be"),
    ],
    ids=["utf-8", "mark", "windows", "utf-16 little", "utf-16 big"],
)
def test_text_is_the_same_however_an_editor_stores_it(data: bytes) -> None:
    assert decode_text(data) == _TEXT


@pytest.mark.parametrize("data", [b"one\ntwo\nf\xfcr\n", b"one\r\ntwo\r\n\xff"])
def test_the_line_of_other_text_is_named(data: bytes) -> None:
    with pytest.raises(NotTextError, match="line 3 is not UTF-8 text"):
        decode_text(data)


def test_half_a_character_of_utf_16_is_no_text() -> None:
    with pytest.raises(NotTextError, match="UTF-16"):
        decode_text(codecs.BOM_UTF16_LE + b"A")


def test_files_of_settings_and_of_the_url_may_begin_with_a_mark(tmp_path: Path) -> None:
    url, settings = tmp_path / "url", tmp_path / "igq.toml"
    url.write_bytes(codecs.BOM_UTF8 + b"redis://127.0.0.1:6379\r\n")
    settings.write_bytes(codecs.BOM_UTF8 + b'group = "MARK"\nredis_url_file = "' + bytes(url) + b'"\n')

    loaded = load_settings({"IGQ_CONFIG": str(settings)})

    assert (loaded.group, loaded.redis_url) == ("MARK", "redis://127.0.0.1:6379")
