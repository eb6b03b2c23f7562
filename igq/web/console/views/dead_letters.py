"""Dead letters: why they are dead, where they were meant to go, and what becomes of those that the user chooses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

import sharedq
from igq.operations.command_log import note_command
from igq.output.plural import counted
from igq.tools.dead_letters.letters import Choice, Letter, dead_letter_queues, describe, letters_of, read_letters
from igq.tools.dead_letters.removal import DONE, GONE, Deed, remove_letters, to_destination
from igq.web.access.gate import Identity, Refused
from igq.web.console.views.queue import positions_of
from igq.web.console.views.view import action_route, data_route, json_body, text_of
from igq.web.site import Site
from sharedq.members.event_notes import Giver
from sharedq.members.group import Group
from sharedq.messages.dead_letter import HEADER_LENGTH, reason_code
from sharedq.mqi.errors import MQIError
from sharedq.objects.repository import Repository
from sharedq.reading.plan import find_parts, plan_ranges
from sharedq.reading.queue import ALL, Reader
from sharedq.redis.deployment import DeploymentError
from sharedq.settings.values import Settings

#: Letters to show, and to choose.
SHOWN = 200
#: More than there are messages: one range for each place of the queue.
_ALL = 1 << 60
_TOKEN_DIGITS = 32
_APPL_NAME = "igq console"


def routes() -> Sequence[BaseRoute]:
    """The queues, their letters, and what is done with them."""
    return [
        data_route("/dead-letters/queues", _queues),
        data_route("/dead-letters", _letters),
        action_route("/dead-letters/requeue", _requeue),
        action_route("/dead-letters/discard", _discard),
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


async def _requeue(site: Site, identity: Identity, request: Request) -> Any:
    return await _remove(site, identity, request, "requeue", to_destination)


async def _discard(site: Site, identity: Identity, request: Request) -> Any:
    return await _remove(site, identity, request, "discard", lambda _: None)


async def _remove(
    site: Site, identity: Identity, request: Request, verb: str, decide: Callable[[Letter], Deed]
) -> dict[str, Any]:
    told = await json_body(request)
    qmgr, queue, tokens = text_of(told, "qmgr"), text_of(told, "queue"), _tokens(told.get("tokens"))
    command = f"{qmgr}: {verb} {len(tokens)} dead letters of {queue}"
    giver = Giver(identity.user, identity.host, _APPL_NAME)
    try:
        outcome = await site.work(remove, site.settings, qmgr, queue, tokens, verb, decide, giver)
    except (MQIError, DeploymentError) as error:
        site.record(identity, command, " ".join(str(error).split()))
        raise
    site.record(identity, command, f"{outcome['done']} done")
    return outcome


def remove(
    settings: Settings,
    qmgr: str,
    queue: str,
    tokens: set[bytes],
    verb: str,
    decide: Callable[[Letter], Deed],
    giver: Giver,
) -> dict[str, Any]:
    """Take letters off a queue, as ``igq dlq`` does. *verb* and *giver*: for the manager's log of commands.

    Returns:
        ``done``: their number; ``left``: for each other outcome ``count``, ``outcome``, ``destination`` and
        ``destination_qmgr``.

    Raises:
        MQIError: 2059, the manager does not run; as `remove_letters`.
    """
    with sharedq.connect(qmgr, appl_name=_APPL_NAME, settings=settings) as connection:
        letters = _chosen(read_letters(connection.connection.group, connection.qmgr_name, queue), tokens)
        outcomes = remove_letters(connection, queue, letters, decide)
        done = sum(count for (outcome, _, _), count in outcomes.items() if outcome == DONE)
        command = f"dlq {verb} {connection.qmgr_name} --queue {queue}"
        result = f"{done} of {counted(len(tokens), 'message')} done"
        note_command(connection.connection.group, connection.qmgr_name, command, result, giver)
    if gone := len(tokens) - outcomes.total():
        outcomes[GONE, "", ""] += gone
    left = sorted((key, count) for key, count in outcomes.items() if key[0] != DONE)
    return {
        "done": done,
        "left": [
            {"count": count, "outcome": outcome, "destination": destination, "destination_qmgr": destination_qmgr}
            for (outcome, destination, destination_qmgr), count in left
        ],
    }


def _chosen(letters: Iterator[Letter], tokens: set[bytes]) -> list[Letter]:
    """Find the chosen letters, and read no more messages than needed."""
    found: list[Letter] = []
    while len(found) < len(tokens):
        letter = next(letters, None)
        if letter is None:
            break
        if letter.token in tokens:
            found.append(letter)
    return found


def _tokens(told: Any) -> set[bytes]:
    try:
        if isinstance(told, list) and 0 < len(told) <= SHOWN and all(len(each) == _TOKEN_DIGITS for each in told):
            return {bytes.fromhex(each) for each in told}
    except (TypeError, ValueError):
        pass
    raise Refused(400, f"tokens must be the tokens of 1 to {SHOWN} messages")
