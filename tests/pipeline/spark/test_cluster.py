"""On a standalone cluster with three workers, with igq sent along, everything works as on one machine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import dataset

from igq.pipeline.spark.archive_of_code import build_archive
from sharedq.api import Queue
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias
from tests.pipeline.cluster_jobs import SETTLED
from tests.pipeline.cluster_program import ROWS
from tests.pipeline.clusters import Cluster, executors
from tests.pipeline.jobs.test_deadletter import letter
from tests.pipeline.streams import EVERYTHING, Watch, in_doubt, open_orders
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup
from tests.support.scenes import until
from tests.support.topologies import Cluster as RedisCluster

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(2_400)]

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "spark.md").read_text("utf-8")
#: How long it may take on a busy machine.
END_S = 800
MORE = [b"order %d" % number for number in range(1_500)]
#: Workers of the cluster, and messages on each queue of an alias.
WORKERS, OF_A_PART = 3, 400


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), WORKERS) as found:
        yield found


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[TestGroup, list[str]]]:
    """A group on a Redis Cluster of four primaries, and a structure on each."""
    servers = RedisCluster(4)
    group = TestGroup(servers.url, tmp_path / "nodes")
    try:
        group.add_member("QM1")
        yield group, servers.one_on_each(group.group.name)
    finally:
        group.close()
        servers.close()


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """The messages that are read and moved to COPY."""
    orders = open_orders(group)
    group.define_shared("INBOX")
    orders.put_many([(MQMD(), body) for body in MORE])
    return orders


@pytest.fixture
def shipped(tmp_path: Path) -> dict[str, str]:
    """The environment of a driver that sends the code along, as in docs/how-to/spark.md."""
    archive = build_archive(tmp_path)
    return os.environ | {
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--py-files {archive} pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "IGQ_LEASE_MS": "600000",
        "IGQ_DATA_DIR": str(tmp_path),
    }


def test_a_cluster_reads_writes_and_takes_and_an_executor_may_die(
    cluster: Cluster, group: TestGroup, orders: Queue, shipped: dict[str, str], tmp_path: Path
) -> None:
    told = {"url": str(group.settings.redis_url), "group": group.group.name}
    told |= {"data_dir": str(tmp_path), "master": cluster.url}
    program = ROOT / "tests" / "pipeline" / "cluster_program.py"
    copy, client = group.group.structure("APPL1").queue("COPY").available, group.group.client()

    driver = subprocess.Popen([sys.executable, str(program), json.dumps(told)], env=shipped, stdout=subprocess.PIPE)
    with Watch(group):
        until(lambda: client.zcard(copy) >= 300 or driver.poll() is not None, "messages arrive", END_S)
        killed = executors(cluster.workers)[0]
        os.kill(killed, signal.SIGKILL)
        said = driver.communicate(timeout=END_S)[0]

    assert driver.returncode == 0
    saw = json.loads(said.splitlines()[-1])
    assert all("igq.zip" in path for path in saw["code"]), saw["code"]
    everything = [*EVERYTHING, *MORE]
    assert (saw["rows"], saw["bytes"]) == (len(everything), sum(map(len, everything)))
    assert saw["partitions"] > 4
    inbox = group.connect().open("INBOX", BOTH)
    assert sorted(browse_all(inbox), key=int) == [b"%d" % number for number in range(ROWS)]
    assert sorted(browse_all(group.connect().open("COPY", BOTH))) == sorted(everything)
    assert (browse_all(orders), in_doubt(group)) == ([], 0)


@pytest.mark.invariant(8)
def test_every_worker_reads_parts_of_an_alias_that_is_spread_over_nodes(
    cluster: Cluster, nodes: tuple[TestGroup, list[str]], shipped: dict[str, str], tmp_path: Path
) -> None:
    group, structures = nodes
    parts = [f"ON.{structure}" for structure in structures]
    everything: list[bytes] = []
    queues: list[Queue] = []
    for structure, name in zip(structures, parts, strict=True):
        group.define_structure(structure)
        group.define_shared(name, structure)
        queues.append(group.connect().open(name, BOTH))
        bodies = [b"%s %d" % (name.encode(), number) for number in range(OF_A_PART)]
        queues[-1].put_many([(MQMD(), body) for body in bodies])
        everything += bodies
    group.define("QM1", QueueAlias(name="SPREAD", target=parts[0], spread=",".join(parts[1:])))
    told = {"url": str(group.settings.redis_url), "group": group.group.name, "data_dir": str(tmp_path)}
    told |= {"master": cluster.url, "alias": "SPREAD", "out": str(tmp_path / "out")}
    program = [sys.executable, str(ROOT / "tests" / "pipeline" / "spread_program.py")]
    # Each batch has eight partitions, two of each queue.
    more = {"workers": WORKERS, "batch": str(4 * 100), "rows": "50"}

    with Watch(group):
        done = subprocess.run(
            [*program, json.dumps(told | more)], env=shipped, input="go\n", text=True, timeout=END_S, check=False
        )

    assert done.returncode == 0
    found = dataset.dataset(tmp_path / "out", format="parquet", exclude_invalid_files=True).to_table().to_pylist()
    assert sorted(row["data"] for row in found) == sorted(everything)
    assert all(row["data"].startswith(row["queue"].encode()) for row in found)
    assert ([browse_all(queue) for queue in queues], in_doubt(group)) == ([[]] * len(parts), 0)
    read_by = Counter((row["executor"], row["queue"]) for row in found)
    assert {queue for _, queue in read_by} == set(parts), read_by
    assert len({executor for executor, _ in read_by}) == WORKERS, read_by


@pytest.mark.usefixtures("orders")
def test_the_job_of_the_page_runs_there(
    cluster: Cluster, group: TestGroup, shipped: dict[str, str], tmp_path: Path
) -> None:
    found = re.search(r"^igq pipeline (.*) --master spark://HOST:7077$", PAGE, flags=re.MULTILINE)
    assert found
    at = ("--group", group.group.name, "--url", str(group.settings.redis_url), "--master", cluster.url)
    done = subprocess.run(
        [sys.executable, "-m", "igq.pipeline", *found[1].split(), *at],
        env=shipped,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "stored").glob("*.parquet"))


def test_the_jobs_and_the_stream_of_the_journal_run_there(
    cluster: Cluster, group: TestGroup, orders: Queue, shipped: dict[str, str], tmp_path: Path
) -> None:
    group.define_private("QM1", "DEAD.QUEUE")
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": "DEAD.QUEUE"})
    dead = group.connect().open("DEAD.QUEUE", BOTH | OpenOption.SET_ALL_CONTEXT)
    for number in range(30):
        letter(dead, "INBOX", MQRC.Q_FULL, b"letter %d" % number)
    everything = browse_all(orders)
    told = {"url": str(group.settings.redis_url), "group": group.group.name}
    told |= {"data_dir": str(tmp_path), "master": cluster.url, "workers": cluster.workers}
    program = ROOT / "tests" / "pipeline" / "cluster_jobs.py"

    with Watch(group):
        done = subprocess.run(
            [sys.executable, str(program), json.dumps(told)], env=shipped, capture_output=True, text=True, check=False
        )

    assert done.returncode == 0, done.stderr
    saw = json.loads(done.stdout.splitlines()[-1])
    assert [saw[job] for job in ("deadletter", "archive", "replay", "audit", "flow")] == [0] * 5, done.stderr
    # The job counts the letters, and leaves them where they are.
    letters = browse_all(dead)
    assert [body[body.index(b"letter") :] for body in letters] == [b"letter %d" % number for number in range(30)]
    assert browse_all(group.connect().open("COPY", BOTH)) == everything
    assert (browse_all(orders), in_doubt(group)) == ([], 0)
    verdict = json.loads((tmp_path / "audit" / "verdict.json").read_text("utf-8"))
    # Letters count as sent. Orders count twice: before the archive, and after the replay.
    assert (verdict["verdict"], verdict["counts"]["on_queue"]) == ("passed", len(everything))
    assert verdict["counts"]["sent"] == 30 + 2 * len(everything)
    assert list((tmp_path / "flow" / "queues").glob("*.parquet"))
    assert saw["batches"] > 2
    # Put, got, and put again; and the ends of units of work.
    assert saw["copied"] == saw["events"] >= 30 + 3 * len(everything)
    # Each worker has one; on a busy machine Spark may have given one up that has not ended yet.
    assert saw["killed"] >= 2
    assert saw["settled"] == SETTLED
