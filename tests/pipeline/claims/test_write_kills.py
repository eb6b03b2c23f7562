"""A job that writes to a queue is killed: all of its rows are there or none, and its remains can be found and ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from igq.pipeline.claims.write_jobs import jobs_in
from igq.pipeline.cli.app import build_app
from sharedq.api import Queue
from tests.pipeline.claims.test_stream_kills import end_of
from tests.pipeline.dying_source import JOB_STEPS, Death
from tests.pipeline.streams import Watch, in_doubt, others, wait_for_survivor
from tests.support.groups import BOTH, browse_all, drain
from tests.support.members import TestGroup
from tests.support.scenes import stored, until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(2_400)]

ROWS = 1_000
EVERYTHING = sorted(b"%d" % number for number in range(ROWS))
#: It goes on before that if another driver is at work.
OUTLIVE_S = 120.0


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """An empty queue."""
    group.define_structure()
    group.define_shared("ORDERS")
    return group.connect().open("ORDERS", BOTH)


@pytest.fixture
def run(group: TestGroup, tmp_path: Path) -> Callable[..., Result]:
    def invoke(*arguments: str) -> Result:
        at = ("--group", group.group.name, "--url", str(group.settings.redis_url))
        return CliRunner().invoke(build_app(), [*arguments, *at], env={"IGQ_DATA_DIR": str(tmp_path), "COLUMNS": None})

    return invoke


def test_a_killed_jobs_work_is_listed_backed_out_and_put_once_by_the_next(
    group: TestGroup, orders: Queue, run: Callable[..., Result], tmp_path: Path
) -> None:
    kill(group, tmp_path, "committing job", jobs=[("", "committing job")])
    assert (browse_all(orders), in_doubt(group)) == ([], ROWS)

    head, line = (text.split() for text in run("claims").output.splitlines())
    assert head == ["job", "manager", "queue", "messages", "units", "prepared"]
    name, *more = line
    assert more[:4] == ["QM1", "ORDERS", f"{ROWS:,}", "4"]
    assert run("release", "--job", name).output == f"job {name}: {ROWS:,} messages are backed out\n"
    assert run("claims").output == "(none)\n"
    assert (in_doubt(group), stored(group)) == (0, 0)

    again = run("release", "--job", name)
    assert (again.exit_code, again.output.count("\n")) == (2, 1)
    assert f"job {name}: it has no messages in doubt" in again.output
    with Watch(group):
        assert end_of(start(group, tmp_path, jobs=[("", "")])) == 0
    assert sorted(browse_all(orders)) == EVERYTHING


def test_a_driver_that_outlives_its_release_fails_with_one_error(
    group: TestGroup, orders: Queue, run: Callable[..., Result], tmp_path: Path
) -> None:
    """No process dies: a driver about to commit only waits until it is released."""
    driver = start(group, tmp_path, jobs=[("", "committing job")], outlive=OUTLIVE_S, victim=0)
    until(lambda: (tmp_path / "committing job").exists() or driver.poll() is not None, "it has put all", 300)
    (job,) = jobs_in(group.settings)
    assert run("release", "--job", job.name).exit_code == 0
    Death(scratch=str(tmp_path)).meet()
    assert end_of(driver) == 1

    said = (tmp_path / "stderr").read_text()
    assert f"{job.name}: the job was ended while it ran" in said
    assert (tmp_path / "committing job, outlived").exists()
    assert (browse_all(orders), in_doubt(group), stored(group)) == ([], 0, 0)


def test_a_named_job_killed_at_every_step_is_done_once(group: TestGroup, orders: Queue, tmp_path: Path) -> None:
    """Also if the process at that step outlives the driver, and goes on beside the next one.

    Each run repeats the job of the one before, and then dies in a job of its own.
    """
    done = None
    deaths = [(step, None) for step in JOB_STEPS[1:]] + [(step, OUTLIVE_S) for step in JOB_STEPS]
    names = [f"{step} {outlive or ''}".strip().replace(" ", ".").upper() for step, outlive in deaths]
    for name, (step, outlive) in zip(names, deaths, strict=True):
        group.define_shared(name)
        (tmp_path / step).unlink(missing_ok=True)
        jobs = [(done, ""), (name, step)] if done else [(name, step)]
        kill(group, tmp_path, step, jobs=jobs, outlive=outlive)
        done = name
    with Watch(group):
        assert end_of(start(group, tmp_path, jobs=[(names[-1], "")])) == 0
        for step, outlive in deaths:
            if outlive is not None:
                wait_for_survivor(tmp_path, step)
        until(lambda: not others(group), "what they left is resolved", 60)
    assert (in_doubt(group), stored(group)) == (0, ROWS * len(names))
    for name in names:
        assert sorted(drain(group.connect().open(name, BOTH))) == EVERYTHING, name
    assert drain(orders) == []


def kill(
    group: TestGroup, directory: Path, step: str, *, jobs: Sequence[tuple[str, str]], outlive: float | None = None
) -> None:
    with Watch(group):
        assert end_of(start(group, directory, jobs=jobs, outlive=outlive)) == -signal.SIGKILL, jobs
    assert (directory / step).exists()


def start(
    group: TestGroup,
    directory: Path,
    *,
    jobs: Sequence[tuple[str, str]],
    outlive: float | None = None,
    victim: int | None = None,
) -> subprocess.Popen[bytes]:
    told = {"url": str(group.settings.redis_url), "group": group.group.name, "data_dir": str(directory)}
    more = {"rows": ROWS, "jobs": jobs, "outlive": "" if outlive is None else str(outlive), "victim": victim}
    root = Path(__file__).parents[3]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.write_program", json.dumps(told | more)],
        env=os.environ | {"PYTHONPATH": str(root), "IGQ_LEASE_MS": "600000"},
        cwd=root,
        start_new_session=True,
        stderr=(directory / "stderr").open("ab"),
    )
