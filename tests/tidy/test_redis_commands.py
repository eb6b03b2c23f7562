"""Only sharedq says anything to Redis: neither a command nor a key is put together in igq or recovery."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Drills disturb a server on purpose from here, with commands that no reader has.
TROUBLES = ROOT / "igq" / "rehearsal" / "drills" / "troubles"
#: Of a connection, a group or a link: each takes the words of a command.
SENDERS = ("command", "commands", "execute_command")


def sent_in(text: str) -> Iterator[str]:
    """Calls with the words of a command."""
    for node in ast.walk(ast.parse(text)):
        match node:
            # A command of the command line has its name alone; what is no word of Redis is worked out.
            case ast.Call(
                func=ast.Attribute(attr=name), args=[_, ast.Constant() | ast.Name() | ast.List() | ast.Starred(), *_]
            ) if name in SENDERS:
                yield f"line {node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("package", ["igq", "recovery"])
def test_no_command_of_redis_is_put_together_outside_sharedq(package: str) -> None:
    modules = (path for path in (ROOT / package).rglob("*.py") if TROUBLES not in path.parents)
    found = {str(path.relative_to(ROOT)): list(sent_in(path.read_text("utf-8"))) for path in modules}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_a_command_would_be_seen() -> None:
    assert list(sent_in('group.command(key, "HGET", key, "field")')) != []
    assert list(sent_in("connection.commands(key, commands)")) != []
    assert list(sent_in('app.command("put")(put)')) == []
