"""A streaming query from queue to queue loses and doubles nothing after any kill of its processes."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

from igq.pipeline.audit.verdict import FAULTS
from sharedq import MessageHandle
from sharedq.api import Queue
from sharedq.mqi.constants import GetOption
from sharedq.mqi.structures import MQMD
from tests.pipeline.claims.test_driver_kills import check_groups
from tests.pipeline.dying_source import EXECUTOR_STEPS, PARQUET_STEPS
from tests.pipeline.streams import EVERYTHING, Watch, in_doubt, open_orders, others, wait_for_survivor
from tests.support.groups import BOTH, LMIG, MIG, browse_all, put_member
from tests.support.members import TestGroup
from tests.support.scenes import until

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3_600)]

#: How long a program may take on a busy machine.
END_S = 800
#: Messages of one batch. A partition has 40.
BATCH = 75
#: Steps at which Spark itself takes part: of its workers, and around its own commit. `test_driver_kills` has the other
#: steps of the driver, for messages and for whole groups, where a kill costs a tenth.
STEPS = ("claimed", "planned", "committing", "committed", "finishing", "ending late", *EXECUTOR_STEPS)
MORE = [b"order %d" % number for number in range(1_500)]
#: At which the process that is there lives on when the driver and Java are killed, and may still do its part; for so
#: long, seconds. Where it has the query's name its successor waits for it, else it goes on when that is at work.
#: A driver comes to "finished" where it goes on after another's batch, and at the end of the query.
SURVIVED_STEPS = (
    *((step, 3.0) for step in ("claimed", "ending late", "finished")),
    *((step, 60.0) for step in ("committing", "committed", "writing", "prepared")),
)
WHOLE = {"queue": "ORDERS", "wholeGroups": "true"}
#: Two queues are read; each row goes to the copy of its queue, with its properties.
SEVERAL = {"queues": "ORDERS,STOCK", "properties": "true"}
NAMED = ["concat('COPY.', queue) AS queue", "data", "format", "properties", "properties_json"]
#: At which a kill may divide a batch among queues.
SEVERAL_STEPS = ("claimed", "committing", "committed", "writing", "prepared")
#: At which a kill may divide a group: a part of it is written, or prepared, or is being committed.
WHOLE_STEPS = ("committing", "writing", "prepared")
GROUPS = 200


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """The messages that every test here moves to COPY."""
    orders = open_orders(group)
    orders.put_many([(MQMD(), body) for body in MORE])
    return orders


@pytest.mark.invariant(8)
def test_a_query_killed_inside_batches_loses_and_doubles_nothing(
    group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    """Driver, Java and workers are killed at the same time, twice, at any point."""
    copy = group.group.structure("APPL1").queue("COPY").available
    client = group.group.client()

    for moved in (150, 600):
        query = start_program(group, tmp_path)
        with Watch(group):
            kill_when_moved(query, lambda: client.zcard(copy), moved)
    assert 0 < client.zcard(copy) < len(MORE)
    run_to_its_end(group, tmp_path)

    check_moved(group, orders)


@pytest.mark.invariant(8)
def test_killed_at_every_step_a_query_loses_and_doubles_nothing(
    group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    """The process that reaches a step first kills everything. The next run continues and dies at the next step."""
    for step in STEPS:
        with Watch(group):
            query = start_program(group, tmp_path, die=step, victim="all")
            assert end_of(query) == -signal.SIGKILL, step
        assert (tmp_path / step).exists()
    assert browse_all(orders)
    run_to_its_end(group, tmp_path)

    check_moved(group, orders)
    counts = judged(group, tmp_path)
    # Put on ORDERS and got, put on COPY.
    everything = len(EVERYTHING) + len(MORE)
    told = {name: counts[name] for name in ("sent", "delivered", "on_queue", "uncommitted", *FAULTS)}
    ended = {"sent": 2 * everything, "delivered": everything, "on_queue": everything, "uncommitted": 0}
    assert told == ended | dict.fromkeys(FAULTS, 0)
    assert counts["backed_out"]


def test_processes_that_outlive_a_killed_driver_lose_and_double_nothing(
    group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    """Driver and Java are killed. The process at the step goes on after the next run has begun, which dies likewise."""
    for step, outlive in SURVIVED_STEPS:
        with Watch(group):
            query = start_program(group, tmp_path, die=step, victim="all", outlive=outlive)
            assert end_of(query) == -signal.SIGKILL, step
        assert (tmp_path / step).exists()
    assert browse_all(orders)
    with Watch(group):
        assert end_of(start_program(group, tmp_path)) == 0
        for step, _ in SURVIVED_STEPS:
            wait_for_survivor(tmp_path, step)
        until(lambda: not others(group), "what they left is resolved", END_S)

    check_moved(group, orders)


def test_whole_groups_stay_whole_after_any_kill_of_a_query(group: TestGroup, tmp_path: Path) -> None:
    """All messages of each group were moved, or none, and in their order."""
    orders, chance = open_orders(group), random.Random(3)
    everything = browse_all(orders)
    for name in range(GROUPS):
        size = chance.randint(1, 9)
        for number in range(1, size + 1):
            everything.append(b"%d %d of %d" % (name, number, size))
            put_member(orders, b"%d" % name, number, everything[-1], LMIG if number == size else MIG)
    copy = group.connect().open("COPY", BOTH)

    for step in WHOLE_STEPS:
        with Watch(group):
            query = start_program(group, tmp_path, die=step, victim="all", options=WHOLE)
            assert end_of(query) == -signal.SIGKILL, step
            until(lambda: not others(group), "what it left is resolved", END_S)
        assert (tmp_path / step).exists()
        check_groups([body.decode() for body in browse_all(copy)])
    assert browse_all(orders)
    with Watch(group):
        assert end_of(start_program(group, tmp_path, options=WHOLE)) == 0

    check_groups([body.decode() for body in browse_all(copy)])
    assert (browse_all(orders), in_doubt(group), sorted(browse_all(copy))) == ([], 0, sorted(everything))


def test_several_queues_and_their_copies_lose_and_double_nothing(group: TestGroup, tmp_path: Path) -> None:
    """Each message is on the copy of its own queue, once, with its properties."""
    open_orders(group).get_many(100)
    names = ("ORDERS", "STOCK")
    group.define_structure("APPL2")
    for name in ("STOCK", "COPY.ORDERS"):
        group.define_shared(name, "APPL2")
    group.define_shared("COPY.STOCK")
    connection = group.connect()
    queues = {name: connection.open(name, BOTH) for name in (*names, "COPY.ORDERS", "COPY.STOCK")}
    for number in range(600):
        handle = MessageHandle()
        handle.set("number", number)
        queues[names[number % 2]].put(b"%s %d" % (names[number % 2].encode(), number), properties=handle)

    for step in SEVERAL_STEPS:
        with Watch(group):
            query = start_program(group, tmp_path, die=step, victim="all", options=SEVERAL, columns=NAMED)
            assert end_of(query) == -signal.SIGKILL, step
        assert (tmp_path / step).exists()
    with Watch(group):
        assert end_of(start_program(group, tmp_path, options=SEVERAL, columns=NAMED)) == 0
        until(lambda: not others(group), "what they left is resolved", END_S)

    for at, name in enumerate(names):
        assert browse_all(queues[name]) == []
        handle, found = MessageHandle(), list[tuple[bytes, object]]()
        for _ in range(300):
            message = queues[f"COPY.{name}"].get(GetOption.PROPERTIES_IN_HANDLE, properties=handle)
            found.append((message.body, handle.get("number")))
        assert sorted(found) == sorted((b"%s %d" % (name.encode(), n), n) for n in range(at, 600, 2))
        assert browse_all(queues[f"COPY.{name}"]) == []
    assert in_doubt(group) == 0


def test_executors_killed_at_every_step_are_no_matter(group: TestGroup, orders: Queue, tmp_path: Path) -> None:
    """Spark tries the task again, without any restart."""
    with Watch(group):
        query = start_program(group, tmp_path, die=",".join(EXECUTOR_STEPS), victim="self", master="local[2,9]")
        assert end_of(query) == 0
    assert [step for step in EXECUTOR_STEPS if not (tmp_path / step).exists()] == []

    check_moved(group, orders)


@pytest.mark.invariant(8)
def test_files_of_a_query_killed_at_every_step_have_each_message_once(
    group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    """The workers write the files. Readers never see a message twice, nor one that is on the queue, too."""
    table = tmp_path / "lake"
    for step in PARQUET_STEPS:
        with Watch(group):
            query = start_program(group, tmp_path, die=step, victim="all", files=table)
            assert end_of(query) == -signal.SIGKILL, step
            until(lambda: not others(group), "what it left is resolved", END_S)
        assert (tmp_path / step).exists()
        seen = [*bodies_in(table), *browse_all(orders)]
        assert len(seen) == len(set(seen)), step
    assert browse_all(orders)
    with Watch(group):
        assert end_of(start_program(group, tmp_path, files=table)) == 0

    assert (browse_all(orders), in_doubt(group)) == ([], 0)
    assert sorted(bodies_in(table)) == sorted([*EVERYTHING, *MORE])
    assert [path.name for path in table.glob("_igq_unfinished/*/*")] == ["batch.json"]


def bodies_in(table: Path) -> list[bytes]:
    return [body for file in table.glob("*.parquet") for body in parquet.read_table(file)["data"].to_pylist()]


def run_to_its_end(group: TestGroup, directory: Path) -> None:
    with Watch(group):
        assert end_of(start_program(group, directory)) == 0


def judged(group: TestGroup, directory: Path) -> dict[str, int]:
    """The counts of the audit, which has found no fault."""
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
    counts: dict[str, int] = verdict["counts"]
    return counts


def check_moved(group: TestGroup, orders: Queue) -> None:
    assert (browse_all(orders), in_doubt(group)) == ([], 0)
    arrived = browse_all(group.connect().open("COPY", BOTH))
    assert sorted(arrived) == sorted([*EVERYTHING, *MORE])


def test_no_process_is_started_for_each_file_of_a_checkpoint(
    group: TestGroup, orders: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java makes links and sets permissions by running programs, and Spark's default does so for every file."""
    programs, started = tmp_path / "bin", tmp_path / "started"
    programs.mkdir()
    for name in ("chmod", "readlink"):
        program = programs / name
        program.write_text(f'#!/bin/sh\necho {name} >> {started}\nexec {shutil.which(name)} "$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    run_to_its_end(group, tmp_path)

    check_moved(group, orders)
    # Four a batch are left: each of its two files gets permissions, and so does the checksum beside it.
    batches = len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*")))
    assert batches > len(MORE) / BATCH
    assert len(started.read_text().splitlines()) < 6 * batches


def start_program(
    group: TestGroup,
    directory: Path,
    *,
    die: str = "",
    victim: str = "self",
    outlive: float | None = None,
    master: str = "local[2]",
    options: dict[str, str] | None = None,
    files: Path | None = None,
    columns: list[str] | None = None,
) -> subprocess.Popen[bytes]:
    program = Path(__file__).parents[1] / "stream_program.py"
    told: dict[str, object] = {
        "url": str(group.settings.redis_url),
        "group": group.group.name,
        "data_dir": str(directory),
    }
    told |= {"checkpoint": str(directory / "checkpoint"), "batch": str(BATCH)}
    told |= {"die": die, "victim": victim, "master": master, "options": options, "columns": columns}
    told |= {"files": str(files or "")}
    told |= {"outlive": "" if outlive is None else str(outlive)}
    environment = os.environ | {"PYTHONPATH": str(ROOT), "IGQ_LEASE_MS": "600000"}
    return subprocess.Popen(
        [sys.executable, str(program), json.dumps(told)],
        env=environment,
        start_new_session=True,
        stderr=(directory / "stderr").open("ab"),
    )


def end_of(query: subprocess.Popen[bytes]) -> int:
    """Its exit status."""
    try:
        return query.wait(timeout=END_S)
    finally:
        if query.poll() is None:
            os.killpg(query.pid, signal.SIGKILL)


def kill_when_moved(query: subprocess.Popen[bytes], arrived: Callable[[], int], least: int) -> None:
    until(lambda: arrived() >= least or query.poll() is not None, "messages arrive", END_S)
    assert query.poll() is None, "it has ended already"
    os.killpg(query.pid, signal.SIGKILL)
    query.wait()
