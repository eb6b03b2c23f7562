"""JSON that somebody sends to the console or the REST interface."""

from __future__ import annotations

import pytest

from igq.web.http.json_body import read_json


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b'"\\ud800"', b'{"a": ["\\udfff"]}', b'{"\\ud83d": 1}', b"[" * 100_000, b'{"a":' * 100_000],
)
def test_other_bytes_are_refused_in_one_way(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(body)


def test_a_whole_pair_is_a_character() -> None:
    assert read_json(b'{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}
