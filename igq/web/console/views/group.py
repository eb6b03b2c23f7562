"""The group: members, leases, agents, recoveries; and the stream of events that every view listens to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import BaseRoute

from igq.operations.status import RecoveryStatus
from igq.web.access.gate import Identity, Refused
from igq.web.access.users import Role
from igq.web.console.actions.places import opened
from igq.web.console.views.view import data_route, span_of
from igq.web.figure_history import time_line
from igq.web.site import Site
from recovery.claim import recoveries
from sharedq.reading.history import SPANS, read_group_history
from sharedq.settings.values import Settings

#: Lines of the time line that are told.
_MOST_LINES = 200


def routes() -> Sequence[BaseRoute]:
    """The stream of events, and what was before."""
    return [data_route("/events", _events), data_route("/group/history", _history)]


async def _history(site: Site, _: Identity, request: Request) -> Any:
    """The agents' retries and the recoveries of a span, and the time line of a day."""
    return await site.work(read_past, site.settings, span_of(request))


def read_past(settings: Settings, span: str) -> dict[str, Any]:
    """Read what is known of the group's last day: ``{"looks": [...], "time_line": [...]}``.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    with opened(settings) as group:
        found = [RecoveryStatus.model_validate(each.as_status()) for each in recoveries(group)]
        looks = read_group_history(group, span)
        lines = time_line(read_group_history(group, *SPANS), found)
    begun = [each.detected_at.timestamp() * 1000 for each in found]
    told = [
        {
            "at_ms": each.at_ms,
            "retries": {name: manager.retries for name, manager in each.managers.items()},
            "recoveries": sum(before.at_ms < at_ms <= each.at_ms for at_ms in begun),
        }
        for before, each in pairwise(looks)
    ]
    return {"looks": told, "time_line": lines[:_MOST_LINES]}


async def _events(site: Site, _: Identity, request: Request) -> StreamingResponse:
    async def may_go_on() -> bool:
        try:
            # A stream does not keep the session from ending.
            identity = await site.gate.identify(request, is_use=False)
            return identity is not None and identity.role >= Role.VIEWER
        except Refused:
            return False

    return StreamingResponse(site.feed.events(may_go_on), media_type="text/event-stream")
