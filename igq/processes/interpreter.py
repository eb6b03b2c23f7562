"""How this package starts Python: without the current folder on the path.

A user's folder may hold a ``config.py``, a ``recovery.py`` or a ``typer.py``. ``python -m`` puts the current folder in
front of the path, and would import those files in place of this package's modules, or of modules that it uses. ``-P``
leaves the folder out.
"""

from __future__ import annotations

import os
import sys

import igq


def python_command(module: str, *arguments: str) -> list[str]:
    """The words that run a module of this package in another process, or in place of this one."""
    return [sys.executable, "-P", "-m", module, *arguments]


def leave_current_folder() -> None:
    """Take the folder off the path that ``python -m`` has put there, unless this package lies in it."""
    if not sys.flags.safe_path and igq.__path__ != [f"{sys.path[0]}{os.sep}igq"]:
        del sys.path[0]
