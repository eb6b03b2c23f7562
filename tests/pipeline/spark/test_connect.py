"""Spark Connect: a client without Java reads queues and takes messages off them; the extra has what it needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from igq.pipeline.spark.session import find_java, make_java_home
from tests.pipeline.streams import Watch, in_doubt, open_orders
from tests.support.groups import browse_all
from tests.support.members import TestGroup

ROOT = Path(__file__).parents[3]
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession

url, group, directory = sys.argv[1:]
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
at = {"url": url, "group": group, "queue": "ORDERS"}
counted = spark.read.format("igq").options(**at).load().count()
options = {**at, "qmgr": "QM1", "stream": "connected"}
table = spark.readStream.format("igq").options(**options).load().select("data")
query = table.writeStream.format("parquet").option("path", directory + "/out")
query = query.option("checkpointLocation", directory + "/at").trigger(availableNow=True).start()
query.awaitTermination()
print(json.dumps([type(spark).__module__, counted, spark.read.parquet(directory + "/out").count()]))
spark.stop()
"""


@pytest.mark.share
def test_the_extra_asks_for_what_spark_connect_needs() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    asked = {each.name: each for each in map(Requirement, extras["connect"])}
    (spark,) = (each for each in map(Requirement, extras["spark"]) if each.name == "pyspark")
    assert asked["igq"].extras == {"spark"}
    assert (asked["pyspark"].extras, asked["pyspark"].specifier) == ({"connect"}, spark.specifier)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_client_of_a_spark_server_reads_and_takes_messages(group: TestGroup, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="the extra connect is not installed")
    orders = open_orders(group)
    environment = os.environ | {
        "JAVA_HOME": str(make_java_home(find_java(os.environ), tmp_path)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "IGQ_LEASE_MS": "600000",
    }
    at = [str(group.settings.redis_url), group.group.name, str(tmp_path)]
    with Watch(group):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *at],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    module, *counts = json.loads(done.stdout.splitlines()[-1])
    assert module.startswith("pyspark.sql.connect")
    assert counts == [12, 12]
    assert (browse_all(orders), in_doubt(group)) == ([], 0)
