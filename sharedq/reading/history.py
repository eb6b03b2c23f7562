"""The figures of a group over the last hour, six hours and day: one look a minute, which a console notes for the group.

Each look has the place of its minute of the day, and is kept for an hour; every fifth for six hours, every fifteenth
for a day. So a look is one write, and a span is a bounded number of looks. A look is two parts: the queues, and the
rest of the group. Two thousand busy queues take some 8 MB; a queue that was empty and not counted takes nothing. Of the
queues of the system only the dead-letter queues are noted.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sharedq.members.group import Group
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from sharedq.reading.figures import GroupFigures, QueueFigures
from sharedq.redis.keys import private_structure
from sharedq.scripts.reads import server_ms
from sharedq.scripts.trails import figures_at, note_figures_call

#: Seconds between two looks.
PERIOD_S: Final = 60
_DAY: Final = 24 * 60
#: Span -> minutes between two of its looks, and its minutes.
SPANS: Final = {"hour": (1, 60), "six-hours": (5, 360), "day": (15, _DAY)}
#: The most looks that are kept at a time.
MOST_LOOKS: Final = 48 + 48 + 96
#: The most queues of one look, those with the fewest messages are left out; the most troubles, and their characters.
MOST_QUEUES: Final = 10_000
_MOST_TROUBLES, _LONGEST_TROUBLE = 50, 200
#: Bytes of a look that are read: more than any can have.
_LONGEST: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Look:
    """The figures of a queue at one time, ms since 1970.

    Attributes:
        oldest_s: age of its oldest message; None: it has none, or that does not say.
        puts, gets: None: they were not counted (PERFMEV).
    """

    at_ms: int
    depth: int
    oldest_s: int | None
    puts: int | None
    gets: int | None


@dataclass(frozen=True, slots=True)
class ManagerLook:
    """A manager at one time. *retries*: of its agent, since that last delivered; 0: it does not retry."""

    incarnation: int
    state: str
    retries: int


@dataclass(frozen=True, slots=True)
class GroupLook:
    """The rest of the group at one time, ms since 1970. *troubles*: what an operator had to look at, in lines."""

    at_ms: int
    managers: dict[str, ManagerLook]
    troubles: tuple[str, ...]


def is_noted(queue: str) -> bool:
    """Whether the figures of a queue are noted."""
    return queue == SYSTEM_DEAD_LETTER_QUEUE or not queue.startswith("SYSTEM.")


def note_figures(group: Group, figures: GroupFigures, troubles: Sequence[str] = ()) -> None:
    """Note a look. Raises MQIError: 2009, 2071."""
    minute = figures.now_ms // 1000 // PERIOD_S
    kept = max(minutes for step, minutes in SPANS.values() if minute % step == 0)
    queues = sorted(filter(_is_worth_it, figures.queues), key=lambda each: -each.state.depth)[:MOST_QUEUES]
    noted = {_name(each.name, each.structure): _counts(each, figures.now_ms) for each in queues}
    managers = {
        each.name: [each.incarnation, figures.state_of(each), _retries(figures.agents.get(each.name, {}))]
        for each in figures.members
    }
    rest = {"managers": managers, "troubles": [each[:_LONGEST_TROUBLE] for each in troubles[:_MOST_TROUBLES]]}
    parts = (_packed(figures.now_ms, {"queues": noted}), _packed(figures.now_ms, rest))
    group.call(*note_figures_call(group.keys, minute % _DAY, *parts, kept * PERIOD_S))


def read_history(group: Group, queue: str, qmgr: str, span: str) -> list[Look]:
    """Return the looks at a queue, by time.

    Args:
        qmgr: of a private queue; empty for a shared one.
        span: of `SPANS`.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    return [_of_queue(look, queue, qmgr) for look in _looks(group, (span,), "queues")]


def read_group_history(group: Group, *spans: str) -> list[GroupLook]:
    """Return the looks at the group in any of these spans, by time. Raises MQIError: 2009."""
    return [
        GroupLook(
            look["at_ms"],
            {name: ManagerLook(*told) for name, told in look["managers"].items()},
            tuple(look["troubles"]),
        )
        for look in _looks(group, spans, "group")
    ]


def _looks(group: Group, spans: Sequence[str], what: Literal["queues", "group"]) -> Iterator[dict[str, Any]]:
    now = server_ms(group, group.keys.history) // 1000 // PERIOD_S
    wanted = [SPANS[span] for span in spans]
    minutes = sorted({at for step, most in wanted for at in range(now - most + 1, now + 1) if at % step == 0})
    noted = figures_at(group, group.keys, [minute % _DAY for minute in minutes], what)
    for minute, packed in zip(minutes, noted, strict=True):
        if packed is None:
            continue
        look = json.loads(zlib.decompressobj().decompress(packed, _LONGEST))
        # Minutes of the day before may still be in these places.
        if look["at_ms"] // 1000 // PERIOD_S == minute:
            yield look


def _packed(now_ms: int, told: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps({"at_ms": now_ms, **told}, separators=(",", ":")).encode(), 9)


def _of_queue(look: Mapping[str, Any], queue: str, qmgr: str) -> Look:
    queues = look["queues"]
    if qmgr:
        found = queues.get(_name(queue, private_structure(qmgr)))
    else:
        shared = (name for name in queues if name.startswith(f"{queue}\n") and "\n@" not in name)
        found = queues.get(next(shared, ""))
    return Look(look["at_ms"], *(found or (0, None, None, None)))


def _name(queue: str, structure: str) -> str:
    return f"{queue}\n{structure}"


def _is_worth_it(each: QueueFigures) -> bool:
    return is_noted(each.name) and bool(each.state.depth or each.counts)


def _counts(each: QueueFigures, now_ms: int) -> list[int | None]:
    _, puts, gets = each.counts or (None, None, None)
    oldest_s = None if each.oldest_ms is None else max(0, now_ms - each.oldest_ms) // 1000
    return [each.state.depth, oldest_s, puts, gets]


def _retries(agent: Mapping[str, Any]) -> int:
    return int(agent.get("short_retries", 0) + agent.get("long_retries", 0)) if agent.get("state") == "RETRY" else 0
