"""The resources of the REST interface: paths, methods, roles, and what their descriptions are made from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from igq.web.access.gate import Identity, Refused
from igq.web.access.users import Role
from igq.web.rest.errors import from_refusal
from igq.web.rest.login import log_in, log_out, logged_in
from igq.web.rest.messaging import Messaging
from igq.web.rest.mqsc import MqscRunner, refused_commands
from igq.web.rest.openapi import description
from igq.web.site import Site, site_of
from sharedq.objects.store.authorities import BROWSE, GET, PUT

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
    messaging, mqsc = Messaging(site), MqscRunner(site)
    return [
        _route(
            f"{_QUEUE}/message",
            POST=_with(PUT, messaging, messaging.put),
            GET=_with(BROWSE, messaging, messaging.browse),
            DELETE=_with(GET, messaging, messaging.get),
        ),
        _route(f"{_QUEUE}/messagelist", GET=_with(BROWSE, messaging, messaging.listed)),
        *(route for version in _VERSIONS for route in _of_every_version(f"/{version}", mqsc)),
        Route("/v3/openapi.json", _openapi),
    ]


def _of_every_version(base: str, mqsc: MqscRunner) -> Iterator[BaseRoute]:
    # Each command asks for a role of its own.
    yield _route(f"{base}/{_COMMANDS}", POST=_commands(mqsc))
    yield _route(f"{base}/login", POST=log_in, GET=_for_all(logged_in), DELETE=_for_all(log_out))


def _commands(mqsc: MqscRunner) -> Endpoint:
    """Run commands for users that may give any. A refusal is the result of the command, too."""

    async def endpoint(request: Request) -> Response:
        try:
            identity = await site_of(request).gate.admit(request, Role.VIEWER)
        except Refused as refused:
            if refused.status != 403:
                raise
            error = from_refusal(refused)
            error.also = refused_commands()
            raise error from None
        return await mqsc.run(request, identity)

    return endpoint


def _for_all(handler: Handler) -> Endpoint:
    """Call *handler* for users of any role: it tells and ends only what is the user's own."""

    async def endpoint(request: Request) -> Response:
        return await handler(request, await site_of(request).gate.known(request))

    return endpoint


def _with(authority: str, messaging: Messaging, handler: Handler) -> Endpoint:
    """Call *handler* for users that have the *authority* for the queue, by their role or by a record."""

    async def endpoint(request: Request) -> Response:
        identity = await site_of(request).gate.known(request)
        await messaging.check(request, identity, authority)
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
