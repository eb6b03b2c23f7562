"""How many random examples a test looks at."""

from __future__ import annotations

from hypothesis import settings

#: Examples of a test in `make test-all` that says nothing else, and the fewest that say anything.
_USUAL, _FEWEST = 100, 5


def examples(count: int) -> int:
    """Return *count* for `make test-all`, and for `make test` as small a part of it as other tests look at there."""
    return max(min(count, _FEWEST), count * settings().max_examples // _USUAL)
