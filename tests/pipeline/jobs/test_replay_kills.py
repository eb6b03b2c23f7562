"""A replay in parts puts every message once and in order after any kill of its processes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from igq.pipeline.jobs.archive import archive_queue, new_run
from igq.pipeline.jobs.archives import Archive
from sharedq.mqi.structures import MQMD
from tests.pipeline.claims.test_stream_kills import END_S, end_of
from tests.pipeline.streams import Watch, in_doubt, open_orders
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup
from tests.support.scenes import until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3_600)]

MESSAGES, PART = 3_000, 400


def test_a_replay_killed_anywhere_puts_each_message_once_and_in_order(
    spark: SparkSession, group: TestGroup, tmp_path: Path
) -> None:
    chance = random.Random(0)
    orders = open_orders(group)
    orders.put_many([(MQMD(priority=number % 3), b"order %d" % number) for number in range(MESSAGES)])
    archive = Archive.open_or_make(tmp_path / "archive", group.group.name)
    archive_queue(spark, group.settings, "ORDERS", "", archive, new_run())
    copy, client = group.group.structure("APPL1").queue("COPY").available, group.group.client()

    for least in (1, 2 * PART, 4 * PART):
        with Watch(group):
            replay = start_program(group, archive, tmp_path)
            kill_later(replay, lambda: client.zcard(copy), least, chance.random())
    assert client.zcard(copy) % PART == 0
    with Watch(group):
        assert end_of(start_program(group, archive, tmp_path)) == 0

    assert browse_all(group.connect().open("COPY", BOTH)) == browse_all(orders)
    assert in_doubt(group) == 0


def kill_later(replay: subprocess.Popen[bytes], arrived: Callable[[], int], least: int, delay_s: float) -> None:
    """Kill all its processes this long after a part has arrived: it is anywhere within the next ones."""
    until(lambda: arrived() >= least or replay.poll() is not None, "messages arrive", END_S)
    time.sleep(delay_s)
    assert replay.poll() is None, "it has ended already"
    os.killpg(replay.pid, signal.SIGKILL)
    replay.wait()


def start_program(group: TestGroup, archive: Archive, directory: Path) -> subprocess.Popen[bytes]:
    at = ("--group", group.group.name, "--url", str(group.settings.redis_url), "--master", "local[2]")
    program = [sys.executable, "-m", "tests.pipeline.replay_program", str(PART), str(archive.directory)]
    root = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": str(root), "IGQ_LEASE_MS": "600000", "IGQ_DATA_DIR": str(directory)}
    return subprocess.Popen(
        [*program, "--target", "COPY", *at],
        env=environment,
        cwd=root,
        start_new_session=True,
        stderr=(directory / "stderr").open("ab"),
    )
