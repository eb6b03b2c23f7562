"""The resources of the REST interface: paths, methods, roles, and what their descriptions are made from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

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

#: The beginning of every path.
REST = "/ibmmq/rest"
#: Commands and sessions are the same in all of IBM's versions. Messaging has other headers in version 3, so it is only
#: there: an older program gets 404 and not an answer that it would misread.
_VERSIONS = ("v1", "v2", "v3")
_QUEUE = "/v3/messaging/qmgr/{qmgr}/queue/{queue:path}"
_COMMANDS = "admin/action/qmgr/{qmgr}/mqsc"

Handler = Callable[[Request, Identity], Awaitable[Response]]


def rest_routes(site: Site) -> Sequence[BaseRoute]:
    """The routes below /ibmmq/rest."""
    messaging, mqsc = Messaging(site), Mqsc(site)
    return [
        _route(f"{_QUEUE}/message", "POST", messaging.put, Role.OPERATOR),
        _route(f"{_QUEUE}/message", "GET", messaging.browse, Role.VIEWER),
        _route(f"{_QUEUE}/message", "DELETE", messaging.get, Role.OPERATOR),
        _route(f"{_QUEUE}/messagelist", "GET", messaging.listed, Role.VIEWER),
        *(route for version in _VERSIONS for route in _of_every_version(f"/{version}", mqsc)),
        Route("/v3/openapi.json", _openapi),
    ]


def _of_every_version(base: str, mqsc: Mqsc) -> Iterator[BaseRoute]:
    # Each command asks for a role of its own.
    yield _route(f"{base}/{_COMMANDS}", "POST", mqsc.run, Role.VIEWER)
    yield Route(f"{base}/login", log_in, methods=["POST"])
    yield _route(f"{base}/login", "GET", logged_in, Role.VIEWER)
    yield _route(f"{base}/login", "DELETE", log_out, Role.VIEWER)


def _route(path: str, method: str, handler: Handler, role: Role) -> Route:
    async def endpoint(request: Request) -> Response:
        identity = await site_of(request).gate.admit(request, role)
        return await handler(request, identity)

    return Route(path, endpoint, methods=[method])


async def _openapi(_: Request) -> Response:
    return JSONResponse(description())
