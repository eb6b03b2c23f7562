"""Finds the Lua scripts, adds what each one needs, and names them by their SHA-1.

A script starts with a header comment (KEYS, ARGV, REPLY, REASONS, INVARIANTS, COST, USES). ``USES`` names the prelude
pieces that it needs. Of these it gets the functions and constants that it reaches, because every function costs every
call a little: a definition, which is a line that is not indented and what belongs to it, is left out where nothing
after it names it. A script whose common case needs none of them says ``-- PRELUDE`` after that case,
and the pieces are put there. Comments, indents and blank lines are left out. Reason codes are
written ``MQRC.NAME`` in the source and become IBM's numbers here, so no table is built at run time. ``CONST.NAME`` and
``INLINE.name(...)`` become text, too (see ``pasted_text``). A script of many arguments writes ``ARGV.name``: its header
gives the name its number.

A script that says ``EXTENDS structure/NAME`` in its header is that script, with its own code in the place of
``-- EXTENSION``: so what it adds costs those nothing who do not call it.

A full Redis refuses, as a whole, each script whose header says ``MEMORY refused when Redis is full``. All others still
run: leases must be renewed, messages got and units of work ended, or Redis could never be emptied.

Redis does not undo a script that it stops halfway. So a script first checks that its user may run all of its commands,
and is otherwise refused as a whole. Scripts that run for every message say ``RIGHTS asked by structure/attach``: that
script checks for them, once for a connection and structure.

Redis names the line of a script at which an error came. `in_our_files` turns that into a line of our files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from sharedq.mqi.constants import MQRC
from sharedq.redis.pasted_text import pasted, pasted_functions

_USES = re.compile(r"^USES\s+(.+)$", re.MULTILINE)
_IS_REFUSED_WHEN_FULL = re.compile(r"^MEMORY\s+refused", re.MULTILINE)
_RIGHTS_ASKED_BY = re.compile(r"^RIGHTS\s+asked by (\S+)$", re.MULTILINE)
#: The section of a header about arguments; a number there, and a name; a name in the code.
_ARGUMENTS = re.compile(r"^ARGV\n(.+?)^\w", re.MULTILINE | re.DOTALL)
_NUMBERED = re.compile(r"(?:^  |, )(\d+) +([a-z_]+)", re.MULTILINE)
_ARGUMENT = re.compile(r"\bARGV\.([a-z_]+)")
_EXTENDS = re.compile(r"^EXTENDS (\S+)$", re.MULTILINE)
#: The place in a script where the code of one that extends it stands.
_EXTENSION = "\n-- EXTENSION\n"
_COMMAND = re.compile(r'redis\.call\(\s*"([A-Z]+)"')
#: A comment, and on its line what stands before it: texts in quotes may have two hyphens, too.
_COMMENT = re.compile(r"""^((?:[^"'\n-]|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|-(?!-))*)--.*""", re.MULTILINE)
#: The names that a line which is not indented defines.
_DEFINITION = re.compile(r"local (?:function )?(\w+(?:, \w+)*)")
_INDENT = re.compile(r"\n +")
#: A line that goes on with what the lines before it began.
_GOES_ON = re.compile(r" |end\b|[})]")
_WORD = re.compile(r"[A-Za-z_]\w*")
#: The line of a script in an error of Redis.
_ERROR_LINE = re.compile(r"user_script:(\d+)")
#: Checks whether the user may run the commands. A script that stops here has done nothing.
_RIGHTS = """for _, command in ipairs({{ {commands} }}) do
    if not redis.acl_check_cmd(command, KEYS[1], KEYS[1]) then
        return redis.error_reply("NOPERM this user may not run " .. command .. ", which igq needs")
    end
end"""
# Without \b, which keeps `re` from looking for the letters first.
_REASON = re.compile(r"MQRC\.([A-Z0-9_]+)\b")
#: The name of a file, a piece of its code, and the number of its first line.
_Code = tuple[str, str, int]
#: The text of a line, and where it stands, for example ``prelude/place.lua:12``.
_Line = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script as it is sent to Redis.

    Attributes:
        asked: the commands that it checks before it does anything; in ``structure/attach`` also those of other scripts.
    """

    name: str
    header: str
    source: str
    sha: str
    asked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines of a prelude piece: a definition, or anything else, which defines nothing."""

    defined: frozenset[str]
    words: frozenset[str]
    lines: tuple[_Line, ...]


@cache
def load_script(name: str) -> Script:
    """Return the script *name*, for example ``structure/put``.

    Raises:
        KeyError: there is no such script or prelude piece, or it names an unknown reason code.
    """
    header, lines = _lines_of(name)
    flags = "" if _IS_REFUSED_WHEN_FULL.search(header) else " flags=allow-oom"
    asked = _asked(name)
    rights = [_RIGHTS.format(commands=", ".join(f'"{command}"' for command in asked))] if asked else []
    source = _INDENT.sub("\n", "\n".join([f"#!lua{flags}", *rights, *(text for text, _ in lines), ""]))
    return Script(name, header, source, _sha(source), asked)


def in_our_files(error: str, name: str) -> str:
    """Return an error of the script *name* with lines of our files where Redis names lines of the script."""
    lines = _lines_of(name)[1]
    added = load_script(name).source.count("\n") - len(lines)
    places = [*["what the loader adds"] * added, *(place for _, place in lines)]
    return _ERROR_LINE.sub(lambda line: places[int(line[1]) - 1], error)


@cache
def mark_of_all() -> Script:
    """Return a script that does nothing. It is loaded last, so a server that knows it knows every script.

    A program asks a server for it alone, and puts together only those scripts that it calls. It has another name where
    the code of any script has changed, or how they are put together.
    """
    package = resources.files("sharedq")
    texts = [_read(path) for path in _paths()]
    makers = [(package / "redis" / name).read_bytes() for name in ("script_source.py", "pasted_text.py")]
    whole = hashlib.sha1(b"\0".join([*(text.encode() for text in texts), *makers]), usedforsecurity=False)
    source = f"#!lua flags=allow-oom\nreturn '{whole.hexdigest()}'\n"
    return Script("", "", source, _sha(source), ())


def _sha(source: str) -> str:
    return hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()


def commands_of(name: str) -> tuple[str, ...]:
    """Return the Redis commands of the script *name* and of its prelude pieces, sorted."""
    header, body = script_text(name)
    texts = [body, *(split_header(piece, _read(f"prelude/{piece}.lua"))[1] for piece in _in_order(uses(header)))]
    return tuple(sorted({command for text in texts for command in _commands(text)}))


@cache
def _commands(text: str) -> frozenset[str]:
    # Most texts are prelude pieces, which are the same for many scripts. Nothing is pasted for that: it takes long.
    code = _without_comments(text)
    return frozenset(_COMMAND.findall("\n".join([code, *pasted_functions(code)])))


def source_of(name: str) -> str:
    """Return the code of the script *name* and of what it reaches in its pieces, without what the loader adds."""
    return "\n".join(text for text, _ in _lines_of(name)[1])


def is_asked_for_by_attach(name: str) -> bool:
    """Whether ``structure/attach`` checks the commands of the script *name*."""
    return _asker_of(name) is not None


@cache
def _asker_of(name: str) -> str | None:
    """Return the script that checks the commands of the script *name*. None: it does so itself."""
    match = _RIGHTS_ASKED_BY.search(script_text(name)[0])
    return match and match.group(1)


def _asked(name: str) -> tuple[str, ...]:
    if is_asked_for_by_attach(name):
        return ()
    others = [other for other in script_names() if _asker_of(other) == name]
    return tuple(sorted({*commands_of(name), *(command for other in others for command in commands_of(other))}))


@cache
def _lines_of(name: str) -> tuple[str, list[_Line]]:
    """Return a script's header, and its lines: its own, and those that it reaches of its prelude pieces."""
    header, codes = _codes(name)
    before: list[_Line] = []
    after: list[_Line] = []
    for path, code, first in codes:
        begin, marker, rest = code.partition("\n-- PRELUDE\n")
        after += _lines(path, begin, first)
        if marker:
            before, after = after, list(_lines(path, rest, first + begin.count("\n") + 2))
    parts = [part for piece in _in_order(uses(header)) for part in _prelude(piece)]
    return header, [*before, *_reached(parts, after), *after]


def _reached(parts: Sequence[_Part], code: Sequence[_Line]) -> list[_Line]:
    """Return the lines of what *code* names of these parts, or what they name of those before them."""
    words = _words(code)
    found: list[_Part] = []
    for part in reversed(parts):
        if not part.defined or part.defined & words:
            found.append(part)
            words |= part.words
    return [line for part in reversed(found) for line in part.lines]


def _words(lines: Iterable[_Line]) -> frozenset[str]:
    # Names of fields and words in texts are among them: they keep a function too many at worst.
    return frozenset(_WORD.findall("\n".join(text for text, _ in lines)))


@cache
def script_names() -> tuple[str, ...]:
    """Return the names of all scripts, ``admin/...`` and ``structure/...``."""
    return tuple(path.removesuffix(".lua") for path in _paths() if path.startswith(("admin/", "structure/")))


@cache
def _paths() -> tuple[str, ...]:
    """Return the path of every file, sorted."""
    root = _root()
    folders = [entry for entry in root.iterdir() if entry.is_dir()]
    found = [f"{folder.name}/{entry.name}" for folder in folders for entry in folder.iterdir()]
    return tuple(sorted(path for path in ["pasted.lua", *found] if path.endswith(".lua")))


@cache
def _root() -> Traversable:
    # The package may be in an archive, as for workers of Spark.
    return resources.files("sharedq") / "lua"


def script_text(name: str) -> tuple[str, str]:
    """Return the header of a script and its code, with that of the script which it extends around it.

    Raises:
        KeyError: there is no such script.
    """
    header, codes = _codes(name)
    return header, "\n".join(code for _, code, _ in codes)


@cache
def _codes(name: str) -> tuple[str, list[_Code]]:
    """Return the header of a script, and the pieces of which its code is made."""
    header, body = split_header(name, _read(f"{name}.lua"))
    first = header.count("\n") + 1
    match = _EXTENDS.search(header)
    if match is None:
        return header, [(name, _numbered(header, body), first)]
    extended = match[1]
    around, code = split_header(extended, _read(f"{extended}.lua"))
    before, marker, after = code.partition(_EXTENSION)
    if not marker:
        raise KeyError(f"{extended}.lua has no place for {name}.lua")
    begin = around.count("\n") + 1
    codes = [(extended, before, begin), (name, body, first), (extended, after, begin + before.count("\n") + 2)]
    return header, [(path, _numbered(header, text), line) for path, text, line in codes]


def argument_names(header: str) -> tuple[str, ...]:
    """Return the names of the arguments that a header lists by number, in order."""
    match = _ARGUMENTS.search(header)
    names: list[str] = []
    for number, name in _NUMBERED.findall(match[1] if match else ""):
        # Other numbers are values of an argument.
        if int(number) == len(names) + 1:
            names.append(name)
    return tuple(names)


def _numbered(header: str, body: str) -> str:
    """Give arguments that the code names their numbers."""
    if not _ARGUMENT.search(body):
        return body
    numbers = {name: number for number, name in enumerate(argument_names(header), 1)}
    return _ARGUMENT.sub(lambda match: f"ARGV[{numbers[match[1]]}]", body)


def split_header(name: str, text: str) -> tuple[str, str]:
    """Split a script's text into header comment and code."""
    header, end, code = text.partition("]]")
    if not end or not header.lstrip().startswith("--[["):
        raise KeyError(f"{name}.lua has no header")
    return header.lstrip().removeprefix("--[["), code


def uses(header: str) -> tuple[str, ...]:
    """Return the prelude pieces that a header names."""
    match = _USES.search(header)
    return tuple(piece.strip() for piece in match.group(1).split(",")) if match else ()


def _in_order(pieces: tuple[str, ...]) -> list[str]:
    """Return the pieces and the pieces that they use, each once, in the order of their use."""
    ordered: list[str] = []

    def add(piece: str) -> None:
        if piece in ordered:
            return
        header, _ = split_header(piece, _read(f"prelude/{piece}.lua"))
        for other in uses(header):
            add(other)
        ordered.append(piece)

    for piece in pieces:
        add(piece)
    return ordered


@cache
def _prelude(piece: str) -> tuple[_Part, ...]:
    """Return the parts of a prelude piece: each begins with a line that is not indented."""
    path = f"prelude/{piece}"
    header, body = split_header(piece, _read(f"{path}.lua"))
    parts: list[list[_Line]] = []
    for line in _lines(path, body, header.count("\n") + 1):
        if _GOES_ON.match(line[0]):
            parts[-1].append(line)
        else:
            parts.append([line])
    return tuple(_part(lines) for lines in parts)


def _part(lines: list[_Line]) -> _Part:
    match = _DEFINITION.match(lines[0][0])
    defined = match[1].split(", ") if match else ()
    return _Part(frozenset(defined), _words(lines), tuple(lines))


@cache
def _read(path: str) -> str:
    try:
        return (_root() / path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise KeyError(f"there is no script {path}") from None


def _lines(path: str, code: str, first: int) -> list[_Line]:
    """Return the lines of some code of a file: pasted, with the numbers of reason codes, and without comments."""

    def number(match: re.Match[str]) -> str:
        try:
            return str(int(MQRC[match.group(1)]))
        except KeyError:
            raise KeyError(f"{path}.lua names MQRC.{match.group(1)}, which does not exist") from None

    texts = _REASON.sub(number, pasted(path, _without_comments(code))).split("\n")
    return [(text.rstrip(), f"{path}.lua:{line}") for line, text in enumerate(texts, first) if text.strip()]


def _without_comments(code: str) -> str:
    return "\n".join(_COMMENT.sub(r"\1", line) if "--" in line else line for line in code.split("\n"))
