"""A script's name is written in one place: the function in sharedq/scripts that makes its call."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from sharedq.redis.script_source import argument_names, load_script, script_names
from sharedq.scripts.get import GroupedArguments

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


def test_functions_of_scripts_take_no_callers() -> None:
    """A protocol would be a shadow of something that the layers above pass."""
    assert [path.name for path in HOME.glob("*.py") if "Protocol" in path.read_text("utf-8")] == []


@pytest.mark.parametrize("name", ["structure/get_grouped", "structure/get_selected"])
def test_arguments_have_the_names_that_the_header_gives_them(name: str) -> None:
    """The scripts use these names, too: the loader gives them their numbers."""
    fields = [field.removesuffix("_") for field in GroupedArguments._fields]
    assert list(argument_names(load_script(name).header)) == fields[: None if name.endswith("selected") else -2]
