"""Reads JSON from the body of a request."""

from __future__ import annotations

import json
from typing import Any


def read_json(body: bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON, is nested too deeply, or holds half of a surrogate pair, which is no character.
    """
    try:
        value = json.loads(body)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value
