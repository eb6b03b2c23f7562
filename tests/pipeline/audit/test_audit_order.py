"""Messages that the audit finds out of sequence, and those that it does not: it knows which were on the queue."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from igq.pipeline.datasource.journal.source import JournalPart
from tests.pipeline.audit import engines
from tests.pipeline.support import GROUP, HandWrittenJournal, detail

pytestmark = pytest.mark.spark

STRUCTURES = ("APPL1", "@JFK")

#: The events, and the messages that are late. ``put NAMES [in UNIT]``; ``get WHO NAMES [in UNIT]``, also with
#: ``choosing`` or ``going on`` (in logical order); ``return WHO NAMES``; ``prepare UNIT``; ``commit`` or ``backout`` of
#: a unit of work, of so many messages. A name is a number; after a slash its group and MsgSeqNumber, after a colon
#: its priority.
CASES = {
    "as they were put": (["put 1 2 3", "get X 1", "get Y 2", "get X 3"], []),
    "one jumps ahead": (["put 1 2 3", "get X 3", "get Y 1", "get X 2"], [1, 2]),
    "one is late": (["put 1 2 3", "get X 2", "get X 1", "get X 3"], [1]),
    "priorities": (["put 1 2:9 3", "get X 2:9", "get X 1", "get X 3"], []),
    "by an identifier": (["put 1 2 3", "get X 3 choosing", "get Y 1", "get X 2"], []),
    "late by an identifier": (["put 1 2 3", "get X 2", "get Y 3", "get X 1 choosing"], []),
    "another consumer had it": (["put 1 2", "get X 1 in u", "get Y 2", "backout u 1", "get Y 1"], []),
    "the same consumer had it": (["put 1 2", "get X 1 in u", "get X 2", "backout u 1", "get X 1"], []),
    "handed over in vain": (["put 1 2", "get X 1", "get Y 2", "return X 1", "get Y 1"], []),
    "it was back": (["put 1 2 3", "get X 1 in u", "get Y 2", "backout u 1", "get Y 3", "get Y 1"], [1]),
    "not there yet": (["put 1 in u", "put 2", "get X 2", "commit u 1", "get X 1"], []),
    "the second unit of work first": (
        ["put 1 in u", "prepare u", "put 2 in v", "commit v 1", "get X 2", "commit u 1", "get X 1"],
        [],
    ),
    "within a unit of work": (["put 1 2 in u", "commit u 2", "get X 2", "get X 1"], [1]),
    "a commit in steps": (["put 1 2 in u", "commit u 1", "put 3", "get X 1", "get X 3", "commit u 1", "get X 2"], []),
    "members as they were put": (["put 1/g2 2/g1", "get X 1/g2", "get X 2/g1"], []),
    "members of several priorities": (["put 1/g1:3 2/g2:7", "get X 2/g2:7", "get X 1/g1:3"], []),
    "a member by an identifier": (["put 1/g1 2/g2", "get X 2/g2 choosing", "get X 1/g1 choosing"], []),
    "in logical order": (["put 1/g2 2/g1", "get X 2/g1 choosing", "get X 1/g2 going on"], []),
    "not in logical order": (["put 1/g1 2/g2", "get X 2/g2 going on", "get X 1/g1 choosing"], [1]),
    "a member was away": (
        ["put 1/g1 2/g2", "get X 1/g1 choosing in u", "get X 2/g2 going on", "backout u 1", "get Y 1/g1 choosing"],
        [],
    ),
    "a GroupId twice on the queue": (
        [
            "put 1/g1 2/g2 3/g1 4/g2",
            *("get X 1/g1 choosing", "get X 2/g2 going on", "get X 3/g1 choosing", "get X 4/g2 going on"),
        ],
        [],
    ),
    "passed, and away after that": (
        ["put 1 2 3", "get X 2", "get Y 1 in u", "backout u 1", "get Y 1", "get Y 3"],
        [1],
    ),
    "passed by two, and away": (
        ["put 1 2 3", "get X 2", "get Y 1 in u", "get X 3", "backout u 1", "get Y 1"],
        [1],
    ),
    "a member passed, and away after that": (
        ["put 1/g1 2/g2", "get X 2/g2 going on", "get Y 1/g1 choosing in u", "backout u 1", "get Y 1/g1 choosing"],
        [1],
    ),
    "a GroupId again": (
        ["put 1/g1 2/g2", "get X 1/g1", "get X 2/g2 going on", "put 3/g1 4/g2", "get X 3/g1", "get X 4/g2 going on"],
        [],
    ),
}


def play(journal: HandWrittenJournal, structure: str, case: int, steps: list[str]) -> None:
    """Let it happen, on a queue and with programs of this case."""
    queue = f"Q{case}"
    units: dict[str, str] = {}
    for step in steps:
        verb, _, rest = step.partition(" ")
        rest, is_chosen, is_logical = rest.replace(" choosing", ""), "choosing" in rest, "going on" in rest
        what, _, name = rest.replace(" going on", "").partition(" in ")
        words = what.split()
        if verb == "put":
            putter = f"EWR.1.{case}.1"
            unit = units.setdefault(name, f"{putter}/{name}") if name else ""
            ids, details = [number(case, each) for each in words], [told(case, each) for each in words]
            journal.put(structure, queue, putter, ids, unit=unit, details=details)
        elif verb in ("get", "return"):
            consumer, ids = f"JFK.1.{words[0]}{case}.1", [number(case, each) for each in words[1:]]
            if verb == "return":
                journal.give_back(structure, queue, consumer, ids)
            else:
                unit = units.setdefault(name, f"{consumer}/{name}") if name else ""
                journal.get(structure, queue, consumer, ids, unit=unit, is_chosen=is_chosen, is_logical=is_logical)
        elif verb == "prepare":
            journal.prepare(structure, units[words[0]])
        else:
            journal.end(structure, verb, units[words[0]], int(words[1]))


def number(case: int, name: str) -> str:
    """The number of a message in its structure: at most ten messages a case."""
    return str(10 * case + int(name.partition(":")[0].partition("/")[0]))


def told(case: int, name: str) -> str:
    rest, _, priority = name.partition(":")
    group = rest.partition("/")[2]
    return detail(
        group=f"{case:048x}" if group else "", seq=int(group[1:] or 1) if group else 1, priority=int(priority or 5)
    )


def test_late_is_what_was_there_when_a_later_one_was_got(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    """One judgement of all cases: Spark takes ten seconds for each."""
    journal.define(*STRUCTURES)
    expected = set()
    for structure in STRUCTURES:
        for case, (steps, late) in enumerate(CASES.values(), 1):
            play(journal, structure, case, steps)
            expected |= {f"{structure}/{number(case, str(each))}" for each in late}

    verdict = engines.judge_by_both(spark, JournalPart(GROUP, redis_url))

    assert {each.copy for each in verdict.findings["out_of_sequence"]} == expected
    assert [verdict.counts[name] for name in ("lost", "duplicated", "unexpected")] == [0, 0, 0]
