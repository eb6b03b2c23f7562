"""`archive --remove` loses nothing and archives nothing twice after any kill of its processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from igq.pipeline.jobs.archives import MANIFEST, Archive
from sharedq.api import Queue
from sharedq.mqi.structures import MQMD
from tests.pipeline.claims.test_stream_kills import END_S, ROOT, end_of
from tests.pipeline.dying_jobs import ARCHIVE_STEPS, TAKING_STEPS
from tests.pipeline.streams import Watch, in_doubt, others, wait_for_survivor
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup
from tests.support.scenes import stored, until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3_600)]

QUEUES = ("BILLS", "ORDERS")
MESSAGES = 1_500
EVERYTHING = sorted(b"%s %d" % (name.encode(), number) for name in QUEUES for number in range(MESSAGES))
#: It goes on before that if the next run takes the same messages.
OUTLIVE_S = 120.0


@pytest.fixture
def queues(group: TestGroup) -> list[Queue]:
    """Two queues, with the same number of messages."""
    group.define_structure()
    found = []
    for name in QUEUES:
        group.define_shared(name)
        found.append(group.connect().open(name, BOTH))
        found[-1].put_many(
            [(MQMD(priority=number % 3), b"%s %d" % (name.encode(), number)) for number in range(MESSAGES)]
        )
    return found


def test_killed_at_every_step_it_has_every_message_once(
    spark: SparkSession, group: TestGroup, queues: list[Queue], tmp_path: Path
) -> None:
    """Each run continues after the one before and dies at the next step. Each message always has a place."""
    for step in (*ARCHIVE_STEPS[:-1], *TAKING_STEPS, ARCHIVE_STEPS[-1]):
        with Watch(group):
            assert end_of(start(group, tmp_path, step)) == -signal.SIGKILL, step
            until(lambda: not others(group), "what it left is resolved", END_S)
        assert (tmp_path / step).exists()
        check_places(spark, tmp_path, queues, step)
    check_end(spark, group, queues, tmp_path)


@pytest.mark.parametrize("step", TAKING_STEPS[1:])
def test_a_worker_that_outlives_its_driver_removes_only_archived_messages(
    spark: SparkSession, group: TestGroup, queues: list[Queue], tmp_path: Path, step: str
) -> None:
    """It goes on beside the next run, among the same messages."""
    with Watch(group):
        assert end_of(start(group, tmp_path, step, outlive=OUTLIVE_S)) == -signal.SIGKILL
        queues[0].put(b"late")
        assert end_of(start(group, tmp_path)) == 0
        wait_for_survivor(tmp_path, step)
        until(lambda: not others(group), "what they left is resolved", END_S)
    # Messages that a survivor had in its unit of work at that moment, and gave back.
    check_end(spark, group, queues, tmp_path, b"late")


def check_end(spark: SparkSession, group: TestGroup, queues: list[Queue], directory: Path, *more: bytes) -> None:
    """One more run does the rest."""
    with Watch(group):
        assert end_of(start(group, directory)) == 0
    assert sorted(archive_of(spark, directory)) == sorted([*EVERYTHING, *more])
    assert ([browse_all(queue) for queue in queues], in_doubt(group), stored(group)) == ([[], []], 0, 0)


def check_places(spark: SparkSession, directory: Path, queues: list[Queue], step: str) -> None:
    """Every message is in the archive or on its queue, and in the archive once."""
    archived = Counter(archive_of(spark, directory))
    assert not [body for body, count in archived.items() if count > 1], step
    there = [body for queue in queues for body in browse_all(queue)]
    assert sorted({*archived, *there}) == EVERYTHING, step
    assert len(there) == len(set(there)), step


def archive_of(spark: SparkSession, directory: Path) -> list[bytes]:
    if not (directory / "archive" / MANIFEST).exists():
        return []
    return [bytes(row.data) for row in Archive.open(directory / "archive").read(spark).collect()]


def start(group: TestGroup, directory: Path, die: str = "", *, outlive: float | None = None) -> subprocess.Popen[bytes]:
    at = ("--group", group.group.name, "--url", str(group.settings.redis_url), "--master", "local[2]")
    queues = [argument for name in QUEUES for argument in ("--queue", name)]
    return start_job(directory, die, outlive, "archive", str(directory / "archive"), *queues, "--remove", *at)


def start_job(directory: Path, die: str, outlive: float | None, *arguments: str) -> subprocess.Popen[bytes]:
    """A command of ``tests.pipeline.dying_jobs``."""
    told = {"die": die, "scratch": str(directory), "outlive": outlive}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.dying_jobs", json.dumps(told), *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT), "IGQ_LEASE_MS": "600000", "IGQ_DATA_DIR": str(directory)},
        cwd=ROOT,
        start_new_session=True,
        stderr=(directory / "stderr").open("ab"),
    )
