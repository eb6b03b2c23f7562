"""The group: members, leases, agents, recoveries; and the stream of events that every view listens to."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import BaseRoute

from igq.web.access.gate import Identity, Refused
from igq.web.access.users import Role
from igq.web.console.views.view import data_route
from igq.web.site import Site


def routes() -> Sequence[BaseRoute]:
    """The stream of events. The view needs nothing else."""
    return [data_route("/events", _events)]


async def _events(site: Site, _: Identity, request: Request) -> StreamingResponse:
    async def may_go_on() -> bool:
        try:
            # A stream does not keep the session from ending.
            identity = await site.gate.identify(request, is_use=False)
            return identity is not None and identity.role >= Role.VIEWER
        except Refused:
            return False

    return StreamingResponse(site.feed.events(may_go_on), media_type="text/event-stream")
