"""The rules and invariants that tests claim: read from their markers, without importing a test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

TESTS = Path(__file__).parents[2] / "tests"


@dataclass(frozen=True, slots=True)
class Claim:
    """One marker at one test.

    Attributes:
        marker: ``rule`` or ``invariant``.
        arguments: of the marker.
        file: of the test, below ``tests/``.
        test: name of the function.
    """

    marker: str
    arguments: tuple[object, ...]
    file: str
    test: str


@lru_cache
def claims() -> tuple[Claim, ...]:
    """Every ``pytest.mark.rule`` and ``pytest.mark.invariant``, in the order of files and lines."""
    return tuple(claim for path in sorted(TESTS.rglob("test_*.py")) for claim in _claims_in(path))


def _claims_in(path: Path) -> Iterator[Claim]:
    text = path.read_text("utf-8")
    if "mark.rule(" not in text and "mark.invariant(" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            marker = _marker_of(decorator)
            if marker:
                assert isinstance(decorator, ast.Call)
                arguments = tuple(ast.literal_eval(argument) for argument in decorator.args)
                yield Claim(marker, arguments, str(path.relative_to(TESTS)), node.name)


def _marker_of(decorator: ast.expr) -> str:
    """``rule`` for ``@pytest.mark.rule(...)``; nothing for any other decorator."""
    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) in ("pytest.mark.rule", "pytest.mark.invariant"):
        return ast.unparse(decorator.func).rpartition(".")[2]
    return ""
