"""The resources of the REST interface: paths, methods, roles, and what their descriptions are made from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from igq.web.access.gate import Identity
from igq.web.access.users import Role
from igq.web.rest.login import log_in, log_out, logged_in
from igq.web.rest.messaging import Messaging
from igq.web.rest.mqsc import Mqsc
from igq.web.rest.openapi import description
from igq.web.site import Site, site_of

#: The beginning of every path; and the versions. Version 2 has only the resource for commands, which many programs use.
REST = "/ibmmq/rest"
_QUEUE = "/v3/messaging/qmgr/{qmgr}/queue/{queue:path}"
_COMMANDS = "/{version}/admin/action/qmgr/{qmgr}/mqsc"

Handler = Callable[[Request, Identity], Awaitable[Response]]


def rest_routes(site: Site) -> Sequence[BaseRoute]:
    """The routes below /ibmmq/rest."""
    messaging, mqsc = Messaging(site), Mqsc(site)
    return [
        _route(f"{_QUEUE}/message", "POST", messaging.put, Role.OPERATOR),
        _route(f"{_QUEUE}/message", "GET", messaging.browse, Role.VIEWER),
        _route(f"{_QUEUE}/message", "DELETE", messaging.get, Role.OPERATOR),
        _route(f"{_QUEUE}/messagelist", "GET", messaging.listed, Role.VIEWER),
        # Each command asks for a role of its own.
        *(_route(_COMMANDS.replace("{version}", each), "POST", mqsc.run, Role.VIEWER) for each in ("v2", "v3")),
        Route("/v3/login", log_in, methods=["POST"]),
        _route("/v3/login", "GET", logged_in, Role.VIEWER),
        _route("/v3/login", "DELETE", log_out, Role.VIEWER),
        Route("/v3/openapi.json", _openapi),
    ]


def _route(path: str, method: str, handler: Handler, role: Role) -> Route:
    async def endpoint(request: Request) -> Response:
        identity = await site_of(request).gate.admit(request, role)
        return await handler(request, identity)

    return Route(path, endpoint, methods=[method])


async def _openapi(_: Request) -> Response:
    return JSONResponse(description())
