"""Streaming queries from queues to queues, or to files, lose and double nothing after any kill of their processes.

Most of the time of a kill is the next start of Spark. So a driver runs several queries, each with its own queues and
its own checkpoint. Each stays at a step of its own until the others are at theirs, and then everything is killed. The
next driver goes on with all of them, and is killed at their next steps.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from igq.pipeline.audit.verdict import FAULTS
from sharedq import MessageHandle
from sharedq.api import Queue
from sharedq.mqi.constants import GetOption
from sharedq.mqi.structures import MQMD
from tests.pipeline.claims.test_driver_kills import check_groups
from tests.pipeline.dying_source import EXECUTOR_STEPS, PARQUET_STEPS
from tests.pipeline.stream_program import FILES
from tests.pipeline.streams import Watch, in_doubt, others, wait_for_survivor
from tests.support.groups import BOTH, LMIG, MIG, browse_all, put_member
from tests.support.members import TestGroup
from tests.support.scenes import until

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3_600)]

#: How long a program may take on a busy machine.
END_S = 800
#: Messages of one batch. A partition has 40.
BATCH = 75
#: Messages of each query at the beginning.
MESSAGES = 900
#: Messages that come for the query that is killed at any moment, when all others are at their steps.
MORE = 600
COLUMNS = ("data", "priority", "correl_id")
#: At any moment: while messages are moved.
ANYWHERE = ""
#: Steps at which Spark itself takes part: of its workers, and around its own commit. `test_driver_kills` has the other
#: steps of the driver, for messages and for whole groups, where a kill costs a tenth.
STEPS = ("claimed", "planned", "committing", "committed", "finishing", "ending late", *EXECUTOR_STEPS)
#: At which the process that is there lives on when the driver and Java are killed, and may still do its part. Where it
#: has the query's name its successor waits for it, else it goes on when that is at work. A driver comes to "finished"
#: where it goes on after another's batch, and at the end of the query.
SURVIVED_STEPS = ("claimed", "ending late", "finished", "committing", "committed", "writing", "prepared")
#: How long it lives on, seconds.
NAMED_S, AT_WORK_S = 3.0, 60.0


@dataclass(frozen=True, eq=False)
class Query:
    """One query of the driver.

    Attributes:
        steps: where it is when the driver is killed, one for each of the last kills.
        outlive: for how long the process at each step outlives the driver, seconds; empty: it dies, too.
        queues: if there are several, each row goes to the copy of its queue, with its properties.
        options: of the source.
    """

    name: str
    steps: tuple[str, ...]
    outlive: tuple[float, ...] = ()
    queues: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    has_files: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        return self.queues or (self.name,)

    def at(self, life: int) -> int | None:
        """Which of its steps the query comes to in this life of the driver; None: it does not run."""
        found = life - KILLS + len(self.steps)
        return found if found >= 0 else None

    def told(self, step: int | None = None, die: str = "") -> dict[str, Any]:
        """The request to the program: to stay at a step; None for the last life, in which a process dies alone."""
        told: dict[str, Any] = {"name": self.name, "columns": COLUMNS, "target": {"queue": f"COPY.{self.name}"}}
        told |= {"options": {"queues": ",".join(self.sources)} | self.options}
        told |= {"die": die, "is_held": False, "is_endless": False, "outlive": ""}
        if self.queues:
            columns = ("concat('COPY.', queue) AS queue", "data", "format", "properties", "properties_json")
            told |= {"columns": columns, "target": {}}
        if self.has_files:
            told |= {"columns": (), "target": {}}
        if step is not None:
            told |= {"die": self.steps[step], "is_held": True, "is_endless": self.steps[step] == ANYWHERE}
            told |= {"outlive": str(self.outlive[step]) if self.outlive else ""}
        return told


KILLS = 5
QUERIES = (
    Query("BILLS", ("planned", "committed", "finishing", "reading", "writing")),
    Query("ORDERS", ("claimed", "committing", "ending late", "read", "prepared")),
    # A kill may divide a group there: a part of it is written, or prepared, or is being committed.
    Query("GROUPS", ("committing", "writing", "prepared"), options={"wholeGroups": "true"}),
    # A kill may divide a batch among queues there.
    Query(
        "SEVERAL",
        ("claimed", "committing", "committed", "writing", "prepared"),
        queues=("GOODS", "STOCK"),
        options={"properties": "true"},
    ),
    Query("FILES", ("planned", "reading", "committing", "committed"), has_files=True),
    Query("PAPERS", ("claimed", "read", "half moved", "finishing"), has_files=True),
    Query("LIVES", ("ending late", "finished", "prepared", "committed"), (NAMED_S, NAMED_S, AT_WORK_S, AT_WORK_S)),
    Query("SOULS", ("claimed", "committing", "writing"), (NAMED_S, AT_WORK_S, AT_WORK_S)),
    Query("NEWS", (ANYWHERE,) * KILLS),
)


def test_queries_are_killed_at_every_step() -> None:
    steps = {query.name: set(query.steps) for query in QUERIES}
    assert steps["BILLS"] | steps["ORDERS"] == set(STEPS)
    assert steps["FILES"] | steps["PAPERS"] == set(PARQUET_STEPS)
    assert steps["LIVES"] | steps["SOULS"] == set(SURVIVED_STEPS)
    assert max(len(query.steps) for query in QUERIES) == KILLS


class Messages:
    """All that the queries have to move, and where it is."""

    def __init__(self, group: TestGroup) -> None:
        group.define_structure()
        group.define_structure("APPL2")
        connection, chance = group.connect(), random.Random(3)
        self.queues: dict[str, Queue] = {}
        self.everything: dict[str, list[bytes]] = {}
        for name in chain.from_iterable(query.sources for query in QUERIES):
            # The queues of one query are in two structures, and so are their copies.
            places = ("APPL2", "APPL1") if name == "STOCK" else ("APPL1", "APPL2")
            for queue, structure in zip((name, f"COPY.{name}"), places, strict=True):
                group.define_shared(queue, structure)
                self.queues[queue] = connection.open(queue, BOTH)
            self.everything[name] = []
        for query in QUERIES:
            if query.name == "GROUPS":
                self._put_groups(chance)
            elif query.queues:
                self._put_with_properties(query)
            elif ANYWHERE not in query.steps:
                self.put(query.name, MESSAGES)

    def put(self, name: str, count: int) -> None:
        known = self.everything[name]
        bodies = [b"%s %d" % (name.encode(), number) for number in range(len(known), len(known) + count)]
        for first in range(0, count, 100):
            some = bodies[first : first + 100]
            self.queues[name].put_many([(MQMD(correl_id=body[-9:].ljust(24, b"\0")), body) for body in some])
        known += bodies

    def _put_groups(self, chance: random.Random) -> None:
        known = self.everything["GROUPS"]
        for name in range(MESSAGES // 5):
            size = chance.randint(1, 9)
            for number in range(1, size + 1):
                known.append(b"%d %d of %d" % (name, number, size))
                put_member(self.queues["GROUPS"], b"%d" % name, number, known[-1], LMIG if number == size else MIG)

    def _put_with_properties(self, query: Query) -> None:
        for number in range(MESSAGES):
            name, handle = query.queues[number % 2], MessageHandle()
            handle.set("number", number)
            self.everything[name].append(b"%s %d" % (name.encode(), number))
            self.queues[name].put(self.everything[name][-1], properties=handle)

    def numbers(self, name: str) -> list[object]:
        """The property of each message that has arrived."""
        found, handle, how = list[object](), MessageHandle(), GetOption.BROWSE_FIRST
        for _ in self.everything[name]:
            self.queues[f"COPY.{name}"].get(how | GetOption.PROPERTIES_IN_HANDLE, properties=handle)
            found.append(handle.get("number"))
            how = GetOption.BROWSE_NEXT
        return found

    def waiting(self, name: str) -> list[bytes]:
        return browse_all(self.queues[name], GetOption.NO_PROPERTIES)

    def moved(self, query: Query, name: str, directory: Path) -> list[bytes]:
        if query.has_files:
            return bodies_in(directory / query.name / FILES)
        return browse_all(self.queues[f"COPY.{name}"], GetOption.NO_PROPERTIES)


@pytest.mark.invariant(8)
def test_killed_at_every_step_queries_lose_and_double_nothing(group: TestGroup, tmp_path: Path) -> None:
    messages = Messages(group)
    with Watch(group):
        for life in range(KILLS):
            kill(group, tmp_path, life, messages)
            check_between(tmp_path, life, messages)
        assert all(messages.waiting(query.sources[0]) for query in QUERIES)
        # Spark tries the task of a killed worker again, without any restart.
        last = [query.told(die=",".join(EXECUTOR_STEPS) if query.name == "BILLS" else "") for query in QUERIES]
        for step in EXECUTOR_STEPS:
            (tmp_path / "BILLS" / step).unlink(missing_ok=True)
        assert end_of(start_program(group, tmp_path, last, master="local[32,9]")) == 0
        assert [step for step in EXECUTOR_STEPS if not (tmp_path / "BILLS" / step).exists()] == []
        for query in QUERIES:
            for step in query.steps if query.outlive else ():
                wait_for_survivor(tmp_path / query.name, step)
        until(lambda: not others(group), "what they left is resolved", END_S)

    check_end(group, tmp_path, messages)
    check_judgement(group, tmp_path, messages)


def kill(group: TestGroup, directory: Path, life: int, messages: Messages) -> None:
    """Start a driver, and kill it with Java and its workers when each query is at its step."""
    steps = {query: step for query in QUERIES if (step := query.at(life)) is not None}
    driver = start_program(group, directory, [query.told(step) for query, step in steps.items()])
    files = {query: directory / query.name / query.steps[step] for query, step in steps.items() if query.steps[step]}

    def missing() -> list[str]:
        return [f"{file.parent.name}: {file.name}" for file in files.values() if not is_written(file)]

    until(
        lambda: not missing() or driver.poll() is not None, f"all are at their steps in life {life}", END_S, pause_s=0.1
    )
    assert driver.poll() is None, missing()
    client, arrived = group.group.client(), group.group.structure("APPL2").queue("COPY.NEWS").available
    before = client.zcard(arrived)
    messages.put("NEWS", MORE)
    until(lambda: client.zcard(arrived) > before + BATCH or driver.poll() is not None, "messages are moved", END_S)
    assert driver.poll() is None, "it has ended already"
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    surviving = {int(file.read_text()) for query, file in files.items() if query.outlive}
    until(lambda: set(others(group)) <= surviving, "what they left is resolved", END_S)


def is_written(file: Path) -> bool:
    return file.exists() and file.read_text() != ""


def check_between(directory: Path, life: int, messages: Messages) -> None:
    """No message is seen twice, on a queue and at its target, and groups are whole."""
    for query in QUERIES:
        for name in query.sources:
            moved = messages.moved(query, name, directory)
            seen = [*moved, *messages.waiting(name)]
            assert len(seen) == len(set(seen)), (life, query)
            if query.name == "GROUPS":
                check_groups([body.decode() for body in moved])


def check_end(group: TestGroup, directory: Path, messages: Messages) -> None:
    """Each message has arrived, once, with its properties."""
    assert in_doubt(group) == 0
    for query in QUERIES:
        for name in query.sources:
            assert messages.waiting(name) == [], query
            moved = messages.moved(query, name, directory)
            assert sorted(moved) == sorted(messages.everything[name]), query
            if query.name == "GROUPS":
                check_groups([body.decode() for body in moved])
            if query.has_files:
                left = (directory / query.name / FILES).glob("_igq_unfinished/*/*")
                assert [path.name for path in left] == ["batch.json"]
        for name in query.queues:
            assert messages.numbers(name) == [int(body.split()[1]) for body in messages.moved(query, name, directory)]


def check_judgement(group: TestGroup, directory: Path, messages: Messages) -> None:
    """The audit has found no fault."""
    at = ("--group", group.group.name, "--url", str(group.settings.redis_url), "--output", str(directory / "audit"))
    audit = subprocess.run(
        [sys.executable, "-m", "igq.pipeline", "audit", *at],
        env=os.environ | {"PYTHONPATH": str(ROOT), "IGQ_DATA_DIR": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert audit.returncode == 0, audit.stderr + audit.stdout
    verdict = json.loads((directory / "audit" / "verdict.json").read_text("utf-8"))
    assert verdict["verdict"] == "passed"
    counts = verdict["counts"]
    # Put and got, and put on a copy.
    everything = sum(map(len, messages.everything.values()))
    copied = sum(len(messages.everything[name]) for query in QUERIES if not query.has_files for name in query.sources)
    told = {name: counts[name] for name in ("sent", "delivered", "on_queue", "uncommitted", *FAULTS)}
    ended = {"sent": everything + copied, "delivered": everything, "on_queue": copied, "uncommitted": 0}
    assert told == ended | dict.fromkeys(FAULTS, 0)
    assert counts["backed_out"]


def bodies_in(table: Path) -> list[bytes]:
    return [body for file in table.glob("*.parquet") for body in parquet.read_table(file)["data"].to_pylist()]


def test_no_process_is_started_for_each_file_of_a_checkpoint(
    group: TestGroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java makes links and sets permissions by running programs, and Spark's default does so for every file."""
    programs, started = tmp_path / "bin", tmp_path / "started"
    programs.mkdir()
    for name in ("chmod", "readlink"):
        program = programs / name
        program.write_text(f'#!/bin/sh\necho {name} >> {started}\nexec {shutil.which(name)} "$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    messages = Messages(group)
    with Watch(group):
        assert end_of(start_program(group, tmp_path, [QUERIES[0].told()])) == 0

    # Four a batch are left: each of its two files gets permissions, and so does the checksum beside it.
    assert messages.waiting(QUERIES[0].name) == []
    batches = len(list((tmp_path / QUERIES[0].name / "checkpoint" / "commits").glob("[0-9]*")))
    assert batches >= MESSAGES / BATCH
    assert len(started.read_text().splitlines()) < 6 * batches


def start_program(
    group: TestGroup, directory: Path, queries: Sequence[dict[str, Any]], *, master: str = "local[32]"
) -> subprocess.Popen[bytes]:
    """The driver. A query that stays at a step of a worker keeps one of Spark's threads."""
    told = {"url": str(group.settings.redis_url), "group": group.group.name, "data_dir": str(directory)}
    return subprocess.Popen(
        [
            *(sys.executable, str(Path(__file__).parents[1] / "stream_program.py")),
            json.dumps({**told, "batch": BATCH, "master": master, "queries": queries}),
        ],
        env=os.environ | {"PYTHONPATH": str(ROOT), "IGQ_LEASE_MS": "600000"},
        start_new_session=True,
        stderr=(directory / "stderr").open("ab"),
    )


def end_of(program: subprocess.Popen[bytes]) -> int:
    """Its exit status."""
    try:
        return program.wait(timeout=END_S)
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
