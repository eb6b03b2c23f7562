"""Things that a forked child must not share with its parent: registrations, sockets, locks held by its threads."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from types import FunctionType

_actions: list[weakref.ref[Callable[[], None]]] = []


def after_fork(action: Callable[[], None]) -> None:
    """Run *action* first in every child that this process forks. A method is run only while its object lives."""
    _actions[:] = [known for known in _actions if known() is not None]
    _actions.append(weakref.ref(action) if isinstance(action, FunctionType) else weakref.WeakMethod(action))


def _run_in_child() -> None:
    for known in _actions:
        action = known()
        if action is not None:
            action()


os.register_at_fork(after_in_child=_run_in_child)
