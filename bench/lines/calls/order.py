"""Browsing and groups at a depth of a million cost what they cost at a thousand."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from bench.harness import BODY, Contender, compare
from bench.lines.calls.depth import SHALLOW, depth_row
from bench.rows import Row
from bench.site import Site, fill
from sharedq.api import Queue
from sharedq.mqi.constants import GetOption, MsgFlag, OpenOption
from sharedq.mqi.structures import MQMD

_MIG, _LMIG = int(MsgFlag.MSG_IN_GROUP), int(MsgFlag.LAST_MSG_IN_GROUP)
_BROWSE_FIRST, _BROWSE_NEXT = int(GetOption.BROWSE_FIRST), int(GetOption.BROWSE_NEXT)
_LOGICAL = int(GetOption.LOGICAL_ORDER)
_ALL_MSGS = int(GetOption.ALL_MSGS_AVAILABLE)
_WHOLE_GROUPS = _ALL_MSGS | _LOGICAL
_OPEN = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
#: GroupIds, none twice.
_groups = itertools.count(1)


def measure(site: Site) -> list[Row]:
    """Browse-next, gets in logical order, and gets of complete groups, after incomplete ones and in physical order."""
    connection = site.connect()
    depths = {"shallow": SHALLOW, "deep": site.effort.deep}
    rows = []
    kinds: tuple[tuple[str, Callable[[Queue, int], None], Callable[[Queue], Contender]], ...] = (
        ("browse", fill, _browse),
        ("get in logical order", _fill_with_groups, lambda queue: _get_groups(queue, _LOGICAL)),
        (
            "get of complete groups after incomplete ones",
            _fill_with_incomplete,
            lambda queue: _get_groups(queue, _WHOLE_GROUPS),
        ),
        (
            "get of complete groups without logical order",
            _fill_with_groups,
            lambda queue: _get_groups(queue, _ALL_MSGS, _LOGICAL),
        ),
    )
    for what, fill_queue, contender in kinds:
        contenders = {}
        for name, depth in depths.items():
            queue = site.open_new(connection, options=_OPEN)
            fill_queue(queue, depth)
            contenders[name] = contender(queue)
        rows.append(depth_row(what, depths["deep"], compare(contenders, site.client, site.effort)))
    return rows


def _pair() -> list[tuple[MQMD, bytes]]:
    """A group of two messages."""
    group_id = next(_groups).to_bytes(24, "big")
    return [
        (MQMD(version=2, persistence=1, group_id=group_id, msg_seq_number=number, msg_flags=flags), BODY)
        for number, flags in ((1, _MIG), (2, _LMIG))
    ]


def _fill_with_groups(queue: Queue, depth: int) -> None:
    for _ in range(0, depth, 100):
        queue.put_many([message for _ in range(50) for message in _pair()])


def _fill_with_incomplete(queue: Queue, depth: int) -> None:
    for _ in range(0, depth, 100):
        queue.put_many([_pair()[0] for _ in range(100)])


def _browse(queue: Queue) -> Contender:
    def prepare(_: int) -> None:
        queue.get(_BROWSE_FIRST)

    def run(count: int) -> None:
        for _ in range(count):
            queue.get(_BROWSE_NEXT)

    return Contender(prepare, run)


def _get_groups(queue: Queue, first: int, rest: int | None = None) -> Contender:
    """Get pairs: *first* are the options for the one message, *rest* for the other (default: the same).

    Outside logical order ALL_MSGS_AVAILABLE must be turned off after the first message: the group is incomplete then.
    """
    options = (first, first if rest is None else rest)

    def prepare(count: int) -> None:
        for _ in range(count // 2):
            queue.put_many(_pair())

    def run(count: int) -> None:
        for _ in range(count // 2):
            for option in options:
                queue.get(option)

    return Contender(prepare, run)
