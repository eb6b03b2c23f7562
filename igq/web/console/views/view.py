"""Helps a view to answer: who may ask, and how an answer is made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from igq.web.access.gate import Identity, Refused
from igq.web.access.users import Role
from igq.web.http.json_body import read_json
from igq.web.site import Site, site_of
from sharedq.reading.history import SPANS

Answer = Callable[[Site, Identity, Request], Awaitable[Any]]


def data_route(path: str, answer: Answer, role: Role = Role.VIEWER) -> Route:
    """A route below ``/console/api`` that a GET asks for data. *answer* returns them, or a whole response."""
    return _route(path, answer, role, "GET")


def action_route(path: str, answer: Answer, role: Role = Role.OPERATOR) -> Route:
    """A route below ``/console/api`` that changes something by a POST with JSON.

    The answer calls `Site.record` for what it did. The request must show the token of its session.
    """
    return _route(path, answer, role, "POST")


def _route(path: str, answer: Answer, role: Role, method: str) -> Route:
    async def endpoint(request: Request) -> Response:
        site = site_of(request)
        identity = await site.gate.admit(request, role, is_csrf_by_value=True)
        answered = await answer(site, identity, request)
        return answered if isinstance(answered, Response) else JSONResponse(answered)

    return Route(f"/api{path}", endpoint, methods=[method])


async def json_body(request: Request) -> dict[str, Any]:
    """The JSON object in a request.

    Raises:
        Refused: 400, there is none.
    """
    try:
        told = read_json(await request.body())
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise Refused(400, "send a JSON object")
    return told


def text_of(told: dict[str, Any], key: str) -> str:
    """A text in a JSON object.

    Raises:
        Refused: 400, there is none.
    """
    value = told.get(key)
    if not isinstance(value, str):
        raise Refused(400, f"{key} must be a text")
    return value


def span_of(request: Request) -> str:
    """The span of time that a request names, the last hour if it names none.

    Raises:
        Refused: 400, there is no such span.
    """
    span = request.query_params.get("span", "hour")
    if span not in SPANS:
        raise Refused(400, f"span is one of {', '.join(SPANS)}")
    return span
