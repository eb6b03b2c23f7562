"""Which unit of work of the journal a commit in a client's history was. Pure.

A client of a channel does not know the ids of its units of work. The journal tells what each committed unit has got,
and the history what the client had got when it asked for the commit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from igq.rehearsal.load.history import FAILED, INVOKED, OK

_Line = Mapping[str, Any]


def with_units(history: Sequence[_Line], got: Mapping[str, Collection[str]]) -> list[_Line]:
    """Return a history in which every commit of messages that were got names its unit of work.

    Commits that were acknowledged come first: what another program got after a commit of unknown outcome was backed out
    is the work of that program. A commit that is not in the journal gets a name that is not there either.

    Args:
        got: committed unit of work -> CorrelIds of the messages that it got.
    """
    free: dict[frozenset[str], list[str]] = defaultdict(list)
    for unit, correls in got.items():
        free[frozenset(correls)].append(unit)
    taken = {line["unit_of_work"] for line in history if line.get("unit_of_work")}
    phases = {_call(line): line["phase"] for line in history if line["phase"] != INVOKED}
    nameless = [line for line in history if line["phase"] == INVOKED and line.get("messages") and _is_nameless(line)]
    names: dict[tuple[str, int, int], str] = {}
    for line in sorted(nameless, key=lambda each: phases.get(_call(each)) != OK):
        if phases.get(_call(line)) == FAILED:
            continue
        units = free[frozenset(correl for correl, _ in line["messages"])]
        left = [unit for unit in units if unit not in taken]
        names[_call(line)] = left[0] if left else "{} {} {}".format(*_call(line))
        taken.update(left[:1])
    return [{**line, "unit_of_work": names[_call(line)]} if _is_to_name(line, names) else line for line in history]


def _call(line: _Line) -> tuple[str, int, int]:
    return line["program"], line["pid"], line["call"]


def _is_nameless(line: _Line) -> bool:
    return "unit_of_work" in line and line["unit_of_work"] is None


def _is_to_name(line: _Line, names: Mapping[tuple[str, int, int], str]) -> bool:
    return line["phase"] == INVOKED and _call(line) in names
