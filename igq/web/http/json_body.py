"""Reads JSON from the body of a request."""

from __future__ import annotations

import json
from typing import Any

#: Bytes of a JSON text. Nothing else goes on while one is read, for some milliseconds.
LONGEST_JSON = 256 << 10


def read_json(body: bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON, is too long, is nested too deeply, or holds half of a surrogate pair, which is no
            character.
    """
    if len(body) > LONGEST_JSON:
        raise ValueError(f"longer than {LONGEST_JSON >> 10} KiB")
    try:
        value = json.loads(body)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value
