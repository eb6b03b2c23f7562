"""The audit trail: who signed in, gave a command, added a user or a token. The latest come first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.web.access.gate import Identity, Refused
from igq.web.access.users import Role
from igq.web.console.actions.places import opened
from igq.web.console.views.view import data_route
from igq.web.site import Site
from sharedq.members.audit_trail import read_deeds
from sharedq.settings.values import Settings

#: Deeds of a page.
PAGE = 100
_ID = re.compile(r"([0-9]{1,20}-[0-9]{1,20})?")


def routes() -> Sequence[BaseRoute]:
    """A page of the trail. It names addresses and commands of others, so an administrator may look."""
    return [data_route("/audit", _audit, Role.ADMINISTRATOR)]


async def _audit(site: Site, _: Identity, request: Request) -> Any:
    before = request.query_params.get("before", "")
    if not _ID.fullmatch(before):
        raise Refused(400, "before is the id of a deed")
    return await site.work(read_page, site.settings, before)


def read_page(settings: Settings, before: str) -> dict[str, Any]:
    """Read deeds, and the id from which the next page goes on, or None. Raises MQIError: 2009."""
    with opened(settings) as group:
        found = read_deeds(group, before, PAGE)
    deeds = [{"at_ms": each.at_ms, **each.fields} for each in found]
    return {"deeds": deeds, "next": found[-1].id if len(found) == PAGE else None}
