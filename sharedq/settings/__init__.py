"""Settings from a TOML file and from the environment.

Imports nothing: a Spark worker needs `redis_mask` only, and must not wait for pydantic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: A setting that begins the work of a higher layer, and the function that the layer registers for it.
STARTERS: Final[dict[str, Callable[[], None]]] = {}
