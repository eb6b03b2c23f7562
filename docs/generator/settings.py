"""The table of the settings."""

from __future__ import annotations

import inspect
import re
from typing import Any

from pydantic_core import PydanticUndefined

from docs.generator.markdown import code
from docs.generator.markdown import table as markdown_table
from sharedq.settings.values import Settings

_COMMENTED = re.compile(r"((?:^    #: .*\n)+)^    (\w+):", re.MULTILINE)
#: Settings whose range the model does not describe in words.
_ALLOWED = {"redis_url": "a URL of one of the forms below"}
#: Defaults that depend on the machine.
_DEFAULTS = {"data_dir": "~/.local/share/igq"}


def table() -> str:
    """Each setting: its variable, default, range and meaning."""
    meanings = {name: _sentence(comment) for comment, name in _COMMENTED.findall(inspect.getsource(Settings))}
    rows = [
        (code(name), code(f"IGQ_{name.upper()}"), _default(name, field), _allowed(name, field), meanings[name])
        for name, field in Settings.model_fields.items()
    ]
    return markdown_table(("Setting", "Variable", "Default", "Allowed", "Meaning"), rows)


def _sentence(comment: str) -> str:
    """The comment above a setting, up to its first full stop."""
    text = " ".join(line.strip().removeprefix("#:").strip() for line in comment.splitlines())
    return re.split(r"(?<=\.) ", text.replace("`", ""))[0]


def _default(name: str, field: Any) -> str:
    if name in _DEFAULTS:
        return code(_DEFAULTS[name])
    if field.default is PydanticUndefined or field.default is None:
        return ""
    return code(str(field.default).lower() if isinstance(field.default, bool) else str(field.default))


def _allowed(name: str, field: Any) -> str:
    described = [extra.description for extra in field.metadata if getattr(extra, "description", None)]
    return str(field.description or next(iter(described), "") or _ALLOWED.get(name, ""))
