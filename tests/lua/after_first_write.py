"""Lists what each script does after its first write, read off its source: ``python -m tests.lua.after_first_write``.

The list stands in docs/reference/scripts.md. A function counts where it is called.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from sharedq.redis.script_source import is_asked_for_by_attach, script_names, source_of
from tests.lua.commands import WRITES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "scripts.md"
BEGIN, END = "<!-- begin: python -m tests.lua.after_first_write -->\n", "<!-- end -->\n"
_COMMENT = re.compile(r"--.*")
_FUNCTION = re.compile(r"^local function (\w+)\([^\n]*\n(.*?)^end$|^local function (\w+)\(([^\n]*) end$", re.M | re.S)
#: A command, or the call of a function.
_EVENT = re.compile(r"\bredis\.call\(\s*\"([A-Z]+)\"|\b(cjson\.decode|(?<!struct\.)(?<!\.)unpack|\w+)\(")


@cache
def events(name: str) -> tuple[str, ...]:
    """Commands, and calls that could fail, in the order of the source, with functions where they are called."""
    text = _COMMENT.sub("", source_of(name))
    functions = {match[1] or match[3]: match[2] or match[4] for match in _FUNCTION.finditer(text)}

    def walk(part: str, inside: tuple[str, ...]) -> list[str]:
        found: list[str] = []
        for match in _EVENT.finditer(part):
            command, called = match.groups()
            if command or called in ("cjson.decode", "unpack"):
                found.append(command or called)
            elif called in functions and called not in inside:
                found += walk(functions[called], (*inside, called))
        return found

    return tuple(walk(_FUNCTION.sub("", text), ()))


def after_first_write(name: str) -> tuple[str, list[str]]:
    """The first write of a script, or "", and the commands after it, sorted."""
    order = events(name)
    first = next((place for place, event in enumerate(order) if event in WRITES), None)
    return ("", []) if first is None else (order[first], sorted(set(order[first + 1 :])))


def listing() -> str:
    """The list of docs/reference/scripts.md."""
    lines = []
    for name in script_names():
        asker = " *Attach*." if is_asked_for_by_attach(name) else ""
        write, later = after_first_write(name)
        if not write:
            said = "writes nothing."
        else:
            said = f"{write}, then {' '.join(later)}." if later else f"{write}, then nothing."
        lines.append(f"* `{name}`: {said}{asker}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the list again."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + listing() + "\n" + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
