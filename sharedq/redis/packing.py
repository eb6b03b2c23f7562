"""Commands in Redis' protocol.

hiredis 3.5 crashes the process (SIGSEGV) if a signal handler raises while it writes a number, so it gets no numbers.
"""

from __future__ import annotations

from typing import Any

import hiredis
from redis.connection import HiredisRespSerializer

Word = str | bytes | int | float

_TEXTS = (bytes, str)


def pack(*words: Word) -> bytes:
    """Pack a command."""
    packed: bytes = hiredis.pack_command(_texts(words))
    return packed


class Packer(HiredisRespSerializer):
    """Packs redis-py's own commands in the same way."""

    def pack(self, *words: Any) -> Any:
        """Pack a command, whose name may have several words."""
        return super().pack(*_texts(words))


def _texts(words: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([word if isinstance(word, _TEXTS) else _number(word) for word in words])


def _number(value: float) -> bytes:
    return b"%d" % value if isinstance(value, int) else repr(value).encode()
