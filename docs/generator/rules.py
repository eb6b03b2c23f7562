"""The tables of rules: each a sentence at a test, ``@pytest.mark.rule("mqi/locks", "...")``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from docs.generator.markdown import code
from docs.generator.markdown import table as markdown_table
from docs.generator.markers import claims
from sharedq.mqi.constants import GetOption
from sharedq.mqi.options import GET_CHOICES, GET_EXCLUSIONS, GET_NEEDS

#: The longest cell of a table.
LONGEST_CELL = 120
#: Names of no bit, and of several.
NO_OPTIONS = ("NONE", "BROWSE_HANDLE", "BROWSE_CO_OP")


def rules() -> dict[str, dict[str, list[str]]]:
    """Area -> sentence -> the files whose tests hold it."""
    found: dict[str, dict[str, list[str]]] = {}
    for claim in claims():
        if claim.marker == "rule":
            area, sentence = map(str, claim.arguments)
            files = found.setdefault(area, {}).setdefault(sentence, [])
            if claim.file not in files:
                files.append(claim.file)
    return found


def table(area: str) -> str:
    """The rules of an area, in the order of the alphabet of their test files, each with these files.

    Raises:
        KeyError: no rule is in this area.
    """
    rows = [(sentence, files_cell(files)) for sentence, files in rules()[area].items()]
    return markdown_table(("Rule", "Tests"), rows)


def files_cell(files: Iterable[str]) -> str:
    """Files below ``tests/``, as many as a cell holds."""
    names = [code(file) for file in files]
    shown = list(names)
    while len(_cell(shown, len(names))) > LONGEST_CELL:
        shown.pop()
    return _cell(shown, len(names))


def _cell(shown: list[str], count: int) -> str:
    rest = count - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def get_option_table() -> str:
    """For each get option those that it needs and those that it is refused with, several rows for a long list."""
    rows: list[tuple[str, str, str]] = []
    for name, option in GetOption.__members__.items():
        if name in NO_OPTIONS:
            continue
        excluded = _excluded_by(option)
        if len(excluded) > len(GetOption.__members__) // 2:
            allowed = [other for other in _names() if other not in excluded and other != name]
            lines = [f"everything but {_codes(allowed)}"]
        else:
            lines = _wrapped(excluded)
        needs = [_needed(needed) for options, needed in GET_NEEDS if options & option]
        rows.append((code(name), " and ".join(needs), lines[0]))
        rows += [("", "", line) for line in lines[1:]]
    return markdown_table(("Option", "Needs", "Refused with (2046)"), rows)


def _needed(options: int) -> str:
    names = _named(options)
    return code(names[0]) if len(names) == 1 else "a browse"


def _names() -> list[str]:
    return [name for name in GetOption.__members__ if name not in NO_OPTIONS]


def _named(bits: int) -> list[str]:
    return [name for name in _names() if GetOption[name] & bits]


def _excluded_by(option: int) -> list[str]:
    excluded = 0
    for one, others in GET_EXCLUSIONS:
        excluded |= (others if one & option else 0) | (one if others & option else 0)
    for choice in GET_CHOICES:
        if option in choice:
            excluded |= _all_of(other for other in choice if other != option)
    return _named(excluded & ~option)


def _all_of(bits: Iterable[Any]) -> int:
    together = 0
    for bit in bits:
        together |= int(bit)
    return together


def _codes(names: Iterable[str]) -> str:
    return ", ".join(code(name) for name in names)


def _wrapped(names: list[str]) -> list[str]:
    """Names in cells that are no longer than a cell may be; one cell at least."""
    lines = [""]
    for name in names:
        longer = f"{lines[-1]}, {code(name)}" if lines[-1] else code(name)
        if len(longer) >= LONGEST_CELL:
            lines[-1] += ","
            lines.append(code(name))
        else:
            lines[-1] = longer
    return lines
