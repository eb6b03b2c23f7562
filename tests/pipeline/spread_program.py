"""A stream of an alias on a cluster of Spark, as a program of its own: a process has one session.

Arguments: a JSON object with ``url``, ``group``, ``data_dir``, ``master``, ``workers`` (how many take part, each with a
core), ``alias``, ``batch`` and ``rows`` (messages of a batch and of a partition); ``out``, the directory of Parquet
files that say which executor has read each message, or "": the messages are read and forgotten.

For each line on its input the program takes all that there is, and prints the seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.spark.session import spark_session

#: Columns of the files.
COLUMNS = "executor string, queue string, data binary"


def main() -> None:
    told = json.loads(sys.argv[1])
    # No task begins before all executors are there.
    conf = {
        "spark.cores.max": str(told["workers"]),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
    }
    with spark_session(Path(told["data_dir"]), master=told["master"], conf=conf) as spark:
        spark.dataSource.register(QueueSource)
        print("ready", flush=True)
        for _ in sys.stdin:
            begun_s = time.monotonic()
            take(spark, told)
            print(time.monotonic() - begun_s, flush=True)


def take(spark: SparkSession, told: dict[str, Any]) -> None:
    """All that is there, as the next part of one query."""
    source = spark.readStream.format("igq").options(url=told["url"], group=told["group"], qmgr="QM1")
    source = source.options(queue=told["alias"], stream="spread", columns="basic")
    table = source.options(maxMessagesPerTrigger=told["batch"], rowsPerPartition=told["rows"]).load()
    if told["out"]:
        told_by = table.select("queue", "data").mapInArrow(with_executor, COLUMNS)
        writing = told_by.writeStream.format("parquet").option("path", told["out"])
    else:
        writing = table.writeStream.format("noop")
    writing = writing.option("checkpointLocation", f"{told['data_dir']}/checkpoint")
    writing.trigger(availableNow=True).start().awaitTermination()


def with_executor(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    # Each executor of a cluster has a folder of its own, which has its number.
    name = Path.cwd().name
    for batch in batches:
        yield pa.RecordBatch.from_arrays(
            [pa.array([name] * batch.num_rows), *batch.columns], names=["executor", "queue", "data"]
        )


if __name__ == "__main__":
    main()
