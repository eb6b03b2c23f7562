"""The tables of the REST interface, from its OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docs.generator.markdown import code, table
from igq.web.rest.openapi import description

_METHODS = ("post", "get", "delete")


def resource_table() -> str:
    """Each resource and method, its query parameters and status codes."""
    rows = [
        (
            f"{method.upper()} {code(path)}",
            operation["summary"],
            ", ".join(code(each) for each in _parameters(operation, "query")),
            ", ".join(operation["responses"]),
        )
        for path, method, operation in _operations()
    ]
    return table(("Resource", "Effect", "Query parameters", "Status codes"), rows)


def header_table() -> str:
    """Each header of a request, and the operations that take it."""
    found: dict[str, list[str]] = {}
    for _, _, operation in _operations():
        for name in _parameters(operation, "header"):
            found.setdefault(name, []).append(operation["operationId"])
    return table(("Header", "Requests"), [(code(name), ", ".join(where)) for name, where in found.items()])


def _operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, each in description()["paths"].items():
        for method in _METHODS:
            if method in each:
                yield path.removeprefix("/ibmmq/rest"), method, each[method]


def _parameters(operation: dict[str, Any], where: str) -> list[str]:
    return [each["name"] for each in operation.get("parameters", ()) if each["in"] == where]
