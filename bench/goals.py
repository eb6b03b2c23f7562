"""The goals of the lines, and what stands in their way: the first table of docs/explanation/performance.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from bench.rows import Row, bound, number
from docs.generator.markdown import table

_PART = re.compile(r"(<!-- measured: goals -->\n).*?(<!-- end of goals -->)", re.DOTALL)
_HEAD = ("Line", "Goal, always", "Measured", "Goal, everysec", "Measured", "In the way")


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure to reach, compared with redis-py's client where a row compares with that.

    Attributes:
        always: with ``appendfsync always``; None where there is no goal, or no measurement.
        everysec: with ``appendfsync everysec``.
        in_the_way: why it is missed; shown only then.
    """

    always: float | None
    everysec: float | None
    in_the_way: str = "not known"


_SPREAD = "not known, but not Redis' timer; Streams over a bare socket had 1.6 to 1.9 beside ours of 1.4 to 2.4"
_REQUEST = "Python's part is half to two thirds of the processor time; then two cold scripts of 25 commands"
_PROGRAMS = "Python's part of the six programs, which fill their one core; Streams over a bare socket have 3.2 to 3.6"
_CHANNEL = "a process more on the way: two writes, two reads and two wake-ups of a process more a call"
#: By the name of the row.
GOALS = {
    "instructions of a put": Goal(None, 90.0, "the interpreter's loop, and 34 functions of Python"),
    "instructions of a get": Goal(None, 95.0, "the same"),
    "instructions of a request": Goal(None, 240.0, "84 functions, and the wait for the reply"),
    "put": Goal(1.05, 1.05, "a script of five commands, and Python's part: checks, a descriptor, the call"),
    "50 puts in one unit of work": Goal(
        1.5, 1.6, "Python's part: checks and a descriptor for each message, the socket"
    ),
    "get without waiting": Goal(2.1, 2.1, "the same as for put"),
    "50 gets in one unit of work": Goal(2.3, 2.2, "the script is half, decoding a third"),
    "get and put in one unit of work": Goal(2.0, 2.0, "a script of 13 commands"),
    "hop to a private queue": Goal(10.0, 9.0, "1.5 us of the server a message, which is busy most of the time"),
    "hop to a shared queue, in another structure": Goal(10.0, 9.0, "the same"),
    "hop to 4 queues in turns : to one": Goal(None, 1.3, "a run ends with each change of queue"),
    "hop to another structure": Goal(None, 8.0, "the server's scripts, at 31 us a message, three for a batch of 50"),
    "3 putters and 3 getters at once": Goal(None, 3.5, _PROGRAMS),
    "request and reply in units of work, p50": Goal(1.9, 1.7, _REQUEST),
    "request and reply in units of work, p99 : p50": Goal(2.0, 2.0, _SPREAD),
    "request and reply outside, p50": Goal(1.9, 1.7, "the same, with four scripts"),
    "request and reply outside, p99 : p50": Goal(2.0, 2.0, _SPREAD),
    "wake-up, XREADGROUP BLOCK : ours": Goal(None, 2.0, "one cold script"),
    "get by CorrelId on the deep queue": Goal(None, 120.0, "the same as for a get, and two commands more"),
    "a put and a get, 2,000 queues : 1": Goal(None, 1.3, "not known; the commands are the same, 12"),
    "a put and a get, 64 managers in the group : 1": Goal(None, 1.3),
    "a put and a get, 64 connections : 1": Goal(None, 1.3),
    "a put and a get, 1,000 gets that wait there for something else : 1": Goal(
        None, 1.3, "no growth: 10 gets cost as much"
    ),
    "two puts in a unit of work over two structures : one": Goal(None, 2.2),
    "memory of a message": Goal(None, 390.0, "a record in a hash and a place in a sorted set take 428 B without igq"),
    "memory of a message, and its CorrelId": Goal(None, 480.0, "an index entry takes 112 to 127 B"),
    "kill -9 of a program until its message is back": Goal(30.0, 30.0),
    "kill -9 until the last of 1,000 messages of a killed manager, 50 a unit of work": Goal(0.3, 0.3),
    "kill -9 until the last of 1,000 messages of a manager on another host": Goal(0.8, 0.8),
    "kill -9 of 32 of 64 managers until all is back": Goal(2.0, 2.0),
    "igq put of a message": Goal(None, 250.0, "imports: redis-py is a fifth of them"),
    "igq --help": Goal(None, 100.0, "imports"),
    "a manager's start, until its agent runs": Goal(None, 1000.0, "imports"),
    "DEFINE of 2,000 queues": Goal(None, 5_000.0, "six round trips each"),
    "igq diff of 2,000 queues": Goal(None, 5_000.0, "five round trips a DEFINE on the copy"),
    "igq status of 2,000 queues": Goal(None, 1_000.0, "the imports of a command, which are more than half of it"),
    "a scrape of 2,000 queues, the first": Goal(None, 500.0),
    "a scrape of 2,000 queues, 20 changed": Goal(None, 200.0),
    "igq pipeline audit of 200,000 events": Goal(
        None, 5.0, "two thirds are what a drill's verdict takes; then the queries"
    ),
    "igq pipeline flow of 200,000 events": Goal(None, 4.0, "imports, then the queries"),
    "igq pipeline trace of 200,000 events": Goal(None, 4.0, "imports, then the queries"),
    "a drill's verdict": Goal(None, 3.0, "imports are half of it: pyspark, matplotlib, pandas, redis-py"),
    "a stream to Parquet : a bare consumer": Goal(None, 1.5, "Spark's start of a batch, and a row crosses to Java"),
    "igq pipeline archive : a bare consumer": Goal(
        None, 1.7, "all columns: 23 us of the processor a row, and 17 us of the bare consumer, which writes eight"
    ),
    "10,000,000 messages to Parquet": Goal(None, 70.0, "two cores for the workers, Java and the server"),
    "memory of a stream to Parquet, ten times the messages": Goal(
        None, 1.1, "not known; Java and the driver stay as they are, workers grow from 1,044 to 1,526 MiB"
    ),
    "rows into a queue : two bare writers, 50 a unit": Goal(
        None, 0.8, "the scripts are half, and a row comes from Java"
    ),
    "put and get through a channel, C : in the program": Goal(1.6, 1.6, _CHANNEL),
    "put and get through a channel, Python : in the program": Goal(1.8, 1.8, _CHANNEL),
    "50 asynchronous puts through a channel : in the program": Goal(
        2.2, 2.2, "the program itself keeps a put for its commit, at 26 us; a channel takes each apart"
    ),
    "50 asynchronous puts through a channel : 50 others": Goal(0.5, 0.5),
    "wake-up through a channel, Python : in the program": Goal(None, 1.2, _CHANNEL),
    "calls of 8 clients of one channel server": Goal(
        None, 15_000.0, "Redis, the server and eight clients on two cores"
    ),
    "memory of a channel server, 1,900 clients wait": Goal(None, 250.0),
    "threads of a channel server, 1,900 clients wait": Goal(None, 4.0),
    "publish to 100 subscriptions": Goal(None, 5000.0, "a script of 11 commands for each copy takes half of the time"),
}


def goal_table(by_fsync: Mapping[str, Sequence[Row]], before: str = "") -> str:
    """The table in Markdown. A line that was not measured is as in *before*, or says so."""
    known = {line.split(" | ")[0].removeprefix("| "): line for line in before.splitlines()}
    measured = {row.name for rows in by_fsync.values() for row in rows}
    lines = table(_HEAD, _lines(by_fsync)).splitlines()
    names = [None, None, *GOALS]
    return "\n".join(
        line if name is None or name in measured else known.get(name, line)
        for name, line in zip(names, lines, strict=True)
    )


def goals_table(by_fsync: Mapping[str, Sequence[Row]]) -> Table:
    """The goals that were measured, as a terminal shows them: each is held or missed."""
    table = Table("goal", "server", "wanted", "measured", "", "in the way", title="Goals", title_justify="left")
    for name, goal in GOALS.items():
        for fsync, wanted in (("always", goal.always), ("everysec", goal.everysec)):
            row = next((row for row in by_fsync.get(fsync, ()) if row.name == name), None)
            if row is not None and wanted is not None:
                is_held = _is_held(row, wanted)
                cells = bound(wanted, row), number(_figure(row), row.unit), "held" if is_held else "[bold red]MISSED[/]"
                table.add_row(name, fsync, *cells, "" if is_held else goal.in_the_way)
    return table


def _figure(row: Row) -> float:
    return row.value if row.plain is None else row.plain


def _is_held(row: Row, wanted: float) -> bool:
    return _figure(row) <= wanted if row.is_limit else _figure(row) >= wanted


def has_place(page: Path) -> bool:
    """Whether *page* is one with markers, between which the table can stand."""
    return page.is_file() and _PART.search(page.read_text(encoding="utf-8", errors="replace")) is not None


def refresh(page: Path, by_fsync: Mapping[str, Sequence[Row]]) -> list[str]:
    """Write the table between its markers on *page*. Returns the names of goals that no row has."""
    text = page.read_text(encoding="utf-8")
    new = _PART.sub(lambda part: f"{part[1]}\n{goal_table(by_fsync, part[0])}\n\n{part[2]}", text)
    page.write_text(new, encoding="utf-8")
    measured = {row.name for rows in by_fsync.values() for row in rows}
    return [name for name in GOALS if name not in measured]


def _lines(by_fsync: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, ...]]:
    for name, goal in GOALS.items():
        cells, is_missed = list[str](), False
        for fsync, wanted in (("always", goal.always), ("everysec", goal.everysec)):
            row = next((row for row in by_fsync.get(fsync, ()) if row.name == name), None)
            if wanted is None:
                cells += ["", ""]
            elif row is None:
                cells += [str(wanted), "not measured"]
            else:
                is_missed |= not _is_held(row, wanted)
                cells += [bound(wanted, row), number(_figure(row), row.unit)]
        yield name, *cells, goal.in_the_way if is_missed else ""
