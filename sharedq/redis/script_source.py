"""Finds the Lua scripts, puts together what each one needs, and names them by their SHA-1.

A script starts with a header comment (KEYS, ARGV, REPLY, REASONS, INVARIANTS, COST, USES). ``USES`` names the
prelude pieces it needs; only those are prepended, because every function costs every call a little. A script whose
common case needs none of them says ``-- PRELUDE`` behind it, and they come there. Reason codes
are written ``MQRC.NAME`` in the source and become IBM's numbers here, so no table is built at run time.

A full Redis refuses the scripts whose header says ``MEMORY refused when Redis is full``, each as a whole. All others
run then too: leases must be renewed, messages got and units of work ended, or it could never be emptied.

Redis undoes nothing of a script that it stops in the middle. So a script asks first whether its user may run every
command that it has, and is refused as a whole otherwise. Scripts that run for every message say ``RIGHTS asked by
structure/attach``: that script asks for them, once for a connection and structure.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from sharedq.mqi.constants import MQRC

_HEADER = re.compile(r"\A\s*--\[\[(.*?)\]\]", re.DOTALL)
_USES = re.compile(r"^USES\s+(.+)$", re.MULTILINE)
_IS_REFUSED_WHEN_FULL = re.compile(r"^MEMORY\s+refused", re.MULTILINE)
_RIGHTS_ASKED_BY = re.compile(r"^RIGHTS\s+asked by (\S+)$", re.MULTILINE)
_COMMAND = re.compile(r'\bredis\.call\(\s*"([A-Z]+)"')
_COMMENT = re.compile(r"--.*")
#: Whether the user may run the commands; a script that is stopped here has done nothing.
_RIGHTS = """for _, command in ipairs({{ {commands} }}) do
    if not redis.acl_check_cmd(command, KEYS[1], KEYS[1]) then
        return redis.error_reply("NOPERM this user may not run " .. command .. ", which igq needs")
    end
end"""
_REASON = re.compile(r"\bMQRC\.([A-Z0-9_]+)\b")
_BLANKS = re.compile(r"\n\s*\n+")


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script as Redis gets it.

    Attributes:
        asked: the commands that it asks for before it does anything; those of others, too, in ``structure/attach``.
    """

    name: str
    header: str
    source: str
    sha: str
    asked: tuple[str, ...]


@cache
def load_script(name: str) -> Script:
    """The script *name*, for example ``structure/put``.

    Raises:
        KeyError: there is no such script, no such prelude piece, or it names an unknown reason code.
    """
    header, texts = _parts(name)
    flags = "" if _IS_REFUSED_WHEN_FULL.search(header) else " flags=allow-oom"
    asked = _asked(name)
    rights = [_RIGHTS.format(commands=", ".join(f'"{command}"' for command in asked))] if asked else []
    source = "\n".join([f"#!lua{flags}", *rights, *texts, ""])
    return Script(name, header, source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest(), asked)


@cache
def commands_of(name: str) -> tuple[str, ...]:
    """The Redis commands in the script *name* and in the prelude pieces that it uses, sorted."""
    return tuple(sorted(set(_COMMAND.findall(_COMMENT.sub("", source_of(name))))))


def source_of(name: str) -> str:
    """The code of the script *name* and of the prelude pieces that it uses, without what the loader adds."""
    return "\n".join(_parts(name)[1])


def is_asked_for_by_attach(name: str) -> bool:
    """Whether ``structure/attach`` asks for the commands of the script *name*."""
    return _asker_of(name) is not None


def _asker_of(name: str) -> str | None:
    """The script that asks for the commands of the script *name*; None: it does so itself."""
    match = _RIGHTS_ASKED_BY.search(_parts(name)[0])
    return match and match.group(1)


def _asked(name: str) -> tuple[str, ...]:
    if is_asked_for_by_attach(name):
        return ()
    others = [other for other in script_names() if _asker_of(other) == name]
    return tuple(sorted({*commands_of(name), *(command for other in others for command in commands_of(other))}))


@cache
def _parts(name: str) -> tuple[str, list[str]]:
    """The header of a script, and what it consists of: its own code and the pieces that it uses."""
    header, body = split_header(name, _read(f"{name}.lua"))
    pieces = [_prelude(piece) for piece in _in_order(uses(header))]
    before, marker, behind = _condensed(name, body).partition("\n-- PRELUDE\n")
    return header, [before, *pieces, behind] if marker else [*pieces, before]


@cache
def script_names() -> tuple[str, ...]:
    """Names of all scripts, ``admin/...`` and ``structure/...``."""
    root = resources.files("sharedq") / "lua"
    return tuple(
        sorted(
            f"{folder}/{entry.name.removesuffix('.lua')}"
            for folder in ("admin", "structure")
            for entry in (root / folder).iterdir()
            if entry.name.endswith(".lua")
        )
    )


def split_header(name: str, text: str) -> tuple[str, str]:
    """The header comment and the code of a script's text."""
    match = _HEADER.match(text)
    if match is None:
        raise KeyError(f"{name}.lua has no header")
    return match.group(1), text[match.end() :]


def uses(header: str) -> tuple[str, ...]:
    """Prelude pieces that a header names."""
    match = _USES.search(header)
    return tuple(piece.strip() for piece in match.group(1).split(",")) if match else ()


def _in_order(pieces: tuple[str, ...]) -> list[str]:
    """The pieces with what they use themselves, each once, what is used first."""
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
def _prelude(piece: str) -> str:
    return _condensed(piece, split_header(piece, _read(f"prelude/{piece}.lua"))[1])


@cache
def _read(path: str) -> str:
    entry = resources.files("sharedq") / "lua" / path
    if not entry.is_file():
        raise KeyError(f"there is no script {path}")
    return entry.read_text(encoding="utf-8")


def _condensed(name: str, source: str) -> str:
    """Without blank lines, and with the numbers of reason codes."""

    def number(match: re.Match[str]) -> str:
        try:
            return str(int(MQRC[match.group(1)]))
        except KeyError:
            raise KeyError(f"{name}.lua names MQRC.{match.group(1)}, which does not exist") from None

    return _REASON.sub(number, _BLANKS.sub("\n", source).strip())
