"""What the workers of a source do once, behind its imports."""

from __future__ import annotations

import gc
from functools import cache


@cache
def settle() -> None:
    """Take what this process has imported out of the garbage collector's sight.

    Spark's workers collect garbage behind every task. Modules are none, and looking through all of theirs takes longer
    than making ten thousand rows.
    """
    gc.freeze()
