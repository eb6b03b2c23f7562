"""Dead letters: why they are dead, and where they were meant to go."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from igq.tools.dead_letters.letters import Choice, dead_letter_queues, describe, letters_of
from igq.web.access.gate import Identity, Refused
from igq.web.console.actions.letters import MOST_CHOSEN
from igq.web.console.views.queue import positions_of
from igq.web.console.views.view import data_route
from igq.web.site import Site
from sharedq.members.group import Group
from sharedq.messages.dead_letter import HEADER_LENGTH, reason_code
from sharedq.mqi.errors import MQIError
from sharedq.objects.repository import Repository
from sharedq.reading.plan import find_parts, plan_ranges
from sharedq.reading.queue import ALL, Reader
from sharedq.settings.values import Settings

#: Letters to show, which are as many as can be chosen.
SHOWN = MOST_CHOSEN
#: More than there are messages: one range for each place of the queue.
_ALL = 1 << 60


def routes() -> Sequence[BaseRoute]:
    """The queues, and their letters."""
    return [
        data_route("/dead-letters/queues", _queues),
        data_route("/dead-letters", _letters),
    ]


async def _queues(site: Site, _: Identity, _request: Request) -> Any:
    return await site.work(_read_queues, site.settings)


def _read_queues(settings: Settings) -> list[dict[str, Any]]:
    group = Group(settings)
    try:
        return [
            {"qmgr": qmgr, "queue": queue, "depth": _depth(group, qmgr, queue)}
            for qmgr, queue in dead_letter_queues(group)
        ]
    finally:
        group.leave()


def _depth(group: Group, qmgr: str, queue: str) -> int | None:
    """The messages on a queue. None if nobody can tell now: its structure has failed, or it has gone."""
    try:
        return Repository(group, qmgr).queue_status(queue).depth
    except MQIError:
        return None


async def _letters(site: Site, _: Identity, request: Request) -> Any:
    """The first letters that are meant: ``{"letters": [...], "is_cut": ...}``."""
    asked = request.query_params
    reason = asked.get("reason", "").strip()
    code = reason_code(reason) if reason else None
    if reason and code is None:
        raise Refused(400, "the reason is a number, or a name such as Q_FULL")
    choice = Choice(
        frozenset() if code is None else frozenset([code]),
        asked.get("destination", ""),
        asked.get("destination_qmgr", ""),
    )
    # No queue means all that there are.
    found = await site.work(read_list, site.settings, asked.get("qmgr", ""), asked.get("queue", ""), choice)
    return {"letters": found[:SHOWN], "is_cut": len(found) > SHOWN}


def read_list(settings: Settings, qmgr: str, queue: str, choice: Choice) -> list[dict[str, Any]]:
    """Read the first letters that are meant, and one more if there is one. Raises as `read_letters`."""
    group = Group(settings)
    try:
        places = [(qmgr, queue)] if queue else dead_letter_queues(group)
        return list(islice(chain.from_iterable(_listed(group, *place, choice) for place in places), SHOWN + 1))
    finally:
        group.leave()


def _listed(group: Group, qmgr: str, queue: str, choice: Choice) -> Iterator[dict[str, Any]]:
    reader = Reader(group.deployment(), group.name, has_data=False, beginning=HEADER_LENGTH)
    try:
        for number, what in enumerate(plan_ranges(group, find_parts(group, queue, qmgr), ALL, _ALL)):
            for part in reader.read(what):
                for position, letter in zip(positions_of(part), letters_of(part), strict=True):
                    if choice.means(letter, part.now_ms):
                        at = json.dumps([number, position])
                        place = {"qmgr": qmgr, "queue": queue}
                        yield {"token": letter.token.hex(), "at": at, "place": place, **describe(letter)}
    finally:
        reader.close()
