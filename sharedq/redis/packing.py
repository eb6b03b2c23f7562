"""Commands in Redis' protocol.

hiredis 3.5 crashes the process (SIGSEGV) if a signal handler raises while it writes a number, so it gets no numbers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import hiredis
from redis.connection import HiredisRespSerializer

Word = str | bytes | int | float

_TEXTS = (bytes, str)
_ARE_TEXTS = frozenset(_TEXTS).issuperset


def pack(*words: Word) -> bytes:
    """Pack a command."""
    # The calls of each message give texts only, and asking so takes a quarter of the time.
    texts: Any = words if _ARE_TEXTS(map(type, words)) else _texts(words)
    packed: bytes = hiredis.pack_command(texts)
    return packed


class Packer(HiredisRespSerializer):
    """Packs redis-py's own commands in the same way."""

    def pack(self, *words: Any) -> Any:
        """Pack a command, whose name may have several words."""
        return super().pack(*_texts(words))


def _texts(words: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([word if isinstance(word, _TEXTS) else _number(word) for word in words])


# Most numbers come again and again: a queue's depth, a priority, a count.
@lru_cache(maxsize=1024, typed=True)
def _number(value: float) -> bytes:
    return b"%d" % value if isinstance(value, int) else repr(value).encode()
