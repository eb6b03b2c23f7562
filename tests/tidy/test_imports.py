"""Imports by a string, which the contracts in pyproject.toml do not see."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = re.compile(r"(sharedq|recovery|igq)(\.\w*)+|\.\.[\w.]*")
IMPORTERS = {"__import__", "import_module", "resolve_name", "run_module", "run_path", "spec_from_file_location"}


def names_by_string(source: str) -> list[str]:
    """The modules of ours that *source* names in strings, if it has a function that imports by a string."""
    nodes = list(ast.walk(ast.parse(source)))
    called = {node.id for node in nodes if isinstance(node, ast.Name)}
    called |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    called |= {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    if not called & IMPORTERS:
        return []
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [text for text in texts if OURS.fullmatch(text)]


def test_a_module_imports_by_a_string_only_from_its_own_package() -> None:
    found = {}
    for package in ("sharedq", "recovery", "igq"):
        for path in sorted((ROOT / package).rglob("*.py")):
            own = ".".join(path.relative_to(ROOT).parent.parts) + "."
            foreign = [name for name in names_by_string(path.read_text("utf-8")) if not name.startswith(own)]
            if foreign:
                found[str(path.relative_to(ROOT))] = foreign
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "import importlib\nimportlib.import_module('sharedq.tracing.connections')",
        "from importlib import import_module as load\nload('sharedq.tracing.connections')",
        "__import__('sharedq.tracing.connections')",
        "import importlib\nimportlib.import_module(f'sharedq.{name}')",
        "from pkgutil import resolve_name\nresolve_name('igq.cli:main'.split(':')[0])\nHOMES = {'a': 'igq.cli.app'}",
        "from importlib import import_module\nimport_module('..tracing', __package__)",
    ],
)
def test_the_search_sees_each_way_to_import_by_a_string(source: str) -> None:
    assert names_by_string(source)
