"""A script's name is written in one place: the function in sharedq/scripts that makes its call."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from sharedq.redis.script_source import script_names

ROOT = Path(__file__).parents[2]
HOME = ROOT / "sharedq" / "scripts"


def named_in(path: Path) -> list[str]:
    """Scripts that the module at *path* names by a string."""
    strings = (node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant))
    return [each for each in strings if each in script_names()]


def test_every_script_is_named_once_in_its_place() -> None:
    named = Counter(name for path in HOME.glob("*.py") for name in named_in(path))
    # A connection wakes itself, and the manager wakes its agent.
    assert named.pop("structure/wake") == 2
    assert named == Counter(set(script_names()) - {"structure/wake"})


def test_no_other_module_names_a_script() -> None:
    packages = ("sharedq", "igq", "recovery")
    modules = (path for package in packages for path in (ROOT / package).rglob("*.py") if path.parent != HOME)
    assert {str(path): found for path in modules if (found := named_in(path))} == {}


def test_no_other_module_puts_the_name_of_a_script_together() -> None:
    """A name in pieces would escape the other tests."""
    packages = ("sharedq", "igq", "recovery")
    for path in (path for package in packages for path in (ROOT / package).rglob("*.py")):
        text = path.read_text("utf-8")
        assert 'f"structure/' not in text, path
        assert 'f"admin/' not in text, path
