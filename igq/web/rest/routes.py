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

Endpoint = Callable[[Request], Awaitable[Response]]
Handler = Callable[[Request, Identity], Awaitable[Response]]


def rest_routes(site: Site) -> Sequence[BaseRoute]:
    """The routes below /ibmmq/rest."""
    messaging, mqsc = Messaging(site), Mqsc(site)
    return [
        _route(
            f"{_QUEUE}/message",
            POST=_for(Role.OPERATOR, messaging.put),
            GET=_for(Role.VIEWER, messaging.browse),
            DELETE=_for(Role.OPERATOR, messaging.get),
        ),
        _route(f"{_QUEUE}/messagelist", GET=_for(Role.VIEWER, messaging.listed)),
        *(route for version in _VERSIONS for route in _of_every_version(f"/{version}", mqsc)),
        Route("/v3/openapi.json", _openapi),
    ]


def _of_every_version(base: str, mqsc: Mqsc) -> Iterator[BaseRoute]:
    # Each command asks for a role of its own.
    yield _route(f"{base}/{_COMMANDS}", POST=_for(Role.VIEWER, mqsc.run))
    yield _route(f"{base}/login", POST=log_in, GET=_for(Role.VIEWER, logged_in), DELETE=_for(Role.VIEWER, log_out))


def _for(role: Role, handler: Handler) -> Endpoint:
    """Call *handler* for users of a role, and of the roles above."""

    async def endpoint(request: Request) -> Response:
        identity = await site_of(request).gate.admit(request, role)
        return await handler(request, identity)

    return endpoint


def _route(path: str, **endpoints: Endpoint) -> Route:
    """One route for all methods of a resource: an answer to any other method names them all."""

    async def endpoint(request: Request) -> Response:
        # Starlette adds HEAD to GET.
        return await endpoints["GET" if request.method == "HEAD" else request.method](request)

    return Route(path, endpoint, methods=list(endpoints))


async def _openapi(_: Request) -> Response:
    return JSONResponse(description())
