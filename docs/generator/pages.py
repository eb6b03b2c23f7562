"""Which parts of the pages are generated, and from what."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from docs.generator import (
    columns,
    command_line,
    conversion,
    fates,
    invariants,
    messages,
    mqsc,
    pcf,
    rest,
    rules,
    settings,
)

DOCS = Path(__file__).parents[1]
_PART = re.compile(
    r"^(<!-- generated: (?P<name>[^\n]+) -->\n).*?^(<!-- end of (?P=name) -->)$", re.DOTALL | re.MULTILINE
)
_BEGIN = re.compile(r"^<!-- generated: ([^\n]+) -->$", re.MULTILINE)

#: Name of a generated part -> what makes it. The parts named ``rules ...`` are made by `rules.table`.
_MAKERS: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "get options": rules.get_option_table,
        "invariants": invariants.table,
        "queue columns": partial(columns.table, "queue"),
        "journal columns": partial(columns.table, "journal"),
        "parquet columns": partial(columns.table, "parquet"),
        "command line": command_line.sections,
        "settings": settings.table,
        "metrics": columns.metric_table,
        "fates options": fates.option_list,
        "fates calls": fates.reason_table,
        "fates reasons": fates.cause_list,
        "conversion structures": conversion.structure_table,
        "conversion character sets": conversion.character_set_table,
        "mqsc commands": mqsc.command_table,
        "mqsc words": mqsc.word_table,
        "mqsc attributes": mqsc.attribute_sections,
        "mqsc inert": mqsc.inert_table,
        "pcf commands": pcf.command_table,
        "pcf attributes": pcf.attribute_sections,
        "pcf figures": pcf.figure_sections,
        "pcf options": pcf.option_table,
        "rest resources": rest.resource_table,
        "rest headers": rest.header_table,
        "log messages": messages.log_table,
        "mqsc messages": messages.mqsc_table,
        "error messages": messages.error_table,
    }
)


def generated_pages() -> list[Path]:
    """The pages that have a generated part."""
    return [page for page in sorted(DOCS.rglob("*.md")) if _BEGIN.search(page.read_text("utf-8"))]


def parts_of(text: str) -> list[str]:
    """The names of the generated parts of a page."""
    return _BEGIN.findall(text)


def refresh(text: str) -> str:
    """A page with its generated parts made anew.

    Raises:
        KeyError: no such part.
        ValueError: a part has no end.
    """
    if len(_BEGIN.findall(text)) != len(_PART.findall(text)):
        raise ValueError("a generated part has no end")
    return _PART.sub(lambda part: f"{part[1]}\n{_maker(part['name'])().strip()}\n\n{part[3]}", text)


def _maker(name: str) -> Callable[[], str]:
    return partial(rules.table, name.removeprefix("rules ")) if name.startswith("rules ") else _MAKERS[name]
