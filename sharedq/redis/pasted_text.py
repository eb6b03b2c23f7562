"""Pastes into a script what ``lua/pasted.lua`` defines: ``CONST.NAME`` and ``INLINE.name(arguments)``.

A function of Lua is made anew by each call of a script, and a constant takes a local. So the loader puts their text
where they are named, and a script pays for what it uses only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

_COMMENT = re.compile(r"--\[\[.*?\]\]|--[^\n]*", re.DOTALL)
_CONSTANT = re.compile(r"^local ([A-Z_]+) = (.+)$", re.MULTILINE)
_FUNCTION = re.compile(r"^local function (\w+)\(([^)]*)\)\n(.*?)^end$", re.MULTILINE | re.DOTALL)
_CAPITALS = re.compile(r"(?<!\w)[A-Z_]+(?!\w)")
_CALL = re.compile(r"(?<![\w.])(\w+)\(")
_USE = re.compile(r"CONST\.([A-Z_]+)\b|INLINE\.(\w+)\(")
_INLINE = re.compile(r"INLINE\.(\w+)\(")
#: A text, a bracket, or a comma: the commas that separate arguments are outside the first two.
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[()\[\]{},]')
#: A text, or a name that may be that of a parameter.
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\w.])(?:\w+|\.\.\.)(?![\w.])')
#: An expression that needs no brackets wherever it stands.
_ATOM = re.compile(r'[\w.]+(?:\[[^\[\]]*\])*|"[^"]*"|\.\.\.')


@dataclass(frozen=True, slots=True)
class Inline:
    """A function whose text is pasted. Its last parameter may be ``...``."""

    parameters: tuple[str, ...]
    text: str

    def with_arguments(self, arguments: list[str]) -> str:
        """Return the text with the arguments in place of the parameters."""
        given = dict(zip(self.parameters, arguments, strict=False))
        if self.parameters[-1] == "...":
            given["..."] = ", ".join(arguments[len(self.parameters) - 1 :])

        def put(match: re.Match[str]) -> str:
            argument = given.get(match[0])
            if argument is None:
                return match[0]
            return argument if match[0] == "..." or _ATOM.fullmatch(argument) else f"({argument})"

        return _NAME.sub(put, self.text)


@cache
def definitions() -> tuple[dict[str, str], dict[str, Inline]]:
    """Return the constants and the functions of ``lua/pasted.lua``, by their names."""
    source = (resources.files("sharedq") / "lua" / "pasted.lua").read_text(encoding="utf-8")
    code = _COMMENT.sub("", source)
    constants, inlines = dict(_CONSTANT.findall(code)), dict[str, Inline]()
    for name, parameters, body in _FUNCTION.findall(code):
        text = " ".join(line.strip() for line in body.splitlines())
        text = _CAPITALS.sub(lambda match: f"CONST.{match[0]}" if match[0] in constants else match[0], text)
        text = _CALL.sub(lambda match: f"INLINE.{match[0]}" if match[1] in inlines else match[0], text)
        text = _expanded(name, text, constants, inlines)
        if text.startswith("return "):
            text = text.removeprefix("return ")
        elif text.startswith("local "):
            text = f"do {text} end"
        inlines[name] = Inline(tuple(part.strip() for part in parameters.split(",")), text)
    return constants, inlines


def pasted(name: str, source: str) -> str:
    """Return *source*, the code of the script *name*, with everything pasted that it names.

    Raises:
        KeyError: it names something that is not defined, or gives a function too few or too many arguments.
    """
    return _expanded(name, source, *definitions())


def pasted_functions(source: str) -> list[str]:
    """Return the text of each function that *source* names, as `pasted` puts it there."""
    inlines = definitions()[1]
    return [inlines[name].text for name in _INLINE.findall(source) if name in inlines]


def _expanded(name: str, source: str, constants: dict[str, str], inlines: dict[str, Inline]) -> str:
    match = _USE.search(source)
    if match is None:
        return source
    constant, function = match.groups()
    if (constant or function) not in (constants if constant else inlines):
        raise KeyError(f"{name}.lua names {match[0].rstrip('(')}, which lua/pasted.lua does not define")
    if constant:
        text, end = constants[constant], match.end()
    else:
        arguments, end = _arguments(source, match.end())
        inline = inlines[function]
        wanted = len(inline.parameters)
        if len(arguments) != wanted and not (inline.parameters[-1] == "..." and len(arguments) >= wanted):
            raise KeyError(f"{name}.lua gives INLINE.{function} {len(arguments)} arguments")
        text = inline.with_arguments([_expanded(name, argument, constants, inlines) for argument in arguments])
    # A call of several lines stays as long: each line after the call keeps its number.
    text += "\n" * source.count("\n", match.start(), end)
    return source[: match.start()] + text + _expanded(name, source[end:], constants, inlines)


def _arguments(source: str, begin: int) -> tuple[list[str], int]:
    """Return the arguments that begin at *begin*, and the place after the bracket that ends them."""
    depth, start, found = 0, begin, list[str]()
    for match in _MARK.finditer(source, begin):
        mark = match[0]
        if mark in ("(", "[", "{"):
            depth += 1
        elif depth == 0 and mark in (",", ")"):
            found.append(" ".join(source[start : match.start()].split()))
            start = match.end()
            if mark == ")":
                break
        elif mark in (")", "]", "}"):
            depth -= 1
    return found, start
