"""The work that a cluster is asked to do, as a program of its own: the test's process has a session already.

Arguments: a JSON object with ``url``, ``group``, ``data_dir``, ``master``. It prints one, with what it saw.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.spark.session import spark_session

ROWS = 1_000


def main() -> None:
    """Read, write and take, in this order."""
    told = json.loads(sys.argv[1])
    at = {"url": told["url"], "group": told["group"], "qmgr": "QM1"}
    with spark_session(Path(told["data_dir"]), master=told["master"], is_small=True) as spark:
        spark.dataSource.register(QueueSource)
        saw = {"code": where_workers_have_the_code(spark)} | read(spark, at)
        write(spark, at)
        take(spark, at, told["data_dir"])
    print(json.dumps(saw))


def where_workers_have_the_code(spark: SparkSession) -> list[str]:
    """The files from which workers import the pipeline."""

    def look(_: int) -> str:
        import igq.pipeline

        return str(igq.pipeline.__file__)

    return sorted(set(spark.sparkContext.parallelize(range(8), 8).map(look).collect()))


def read(spark: SparkSession, at: dict[str, str]) -> dict[str, Any]:
    """ORDERS as a table, in many partitions."""
    orders = spark.read.format("igq").options(**at, queue="ORDERS", rowsPerPartition="100").load()
    found = orders.agg(F.count("*").alias("rows"), F.sum("length").alias("bytes")).collect()[0]
    return {"rows": found["rows"], "bytes": found["bytes"], "partitions": orders.rdd.getNumPartitions()}


def write(spark: SparkSession, at: dict[str, str]) -> None:
    """Write rows into INBOX."""
    rows = spark.range(0, ROWS, 1, 4).select(F.col("id").cast("string").alias("data"))
    rows.write.format("igq").options(**at, queue="INBOX").mode("append").save()


def take(spark: SparkSession, at: dict[str, str], directory: str) -> None:
    """Move all of ORDERS to COPY, as a stream."""
    orders = spark.readStream.format("igq").options(**at, queue="ORDERS", stream="move", maxMessagesPerTrigger="100")
    moving = orders.option("rowsPerPartition", "20").load().select("data", "priority").writeStream.format("igq")
    moving = moving.options(**at, queue="COPY").option("checkpointLocation", f"{directory}/checkpoint")
    moving.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
