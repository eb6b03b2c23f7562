"""Streaming queries from queues to their copies, or into files, as a program that a test kills, or that kills itself.

Arguments: a JSON object with ``url``, ``group``, ``data_dir``, ``batch`` (messages), ``master`` and ``queries``. Each
query has a ``name``, which its stream and its directory have, too; ``options`` of the source; ``columns`` that are
written, as SQL says them, or none: then it writes files; ``target``: options of the sink; ``is_endless``: it goes on
when all messages have been moved; what ``tests.pipeline.dying_source`` calls ``die`` (empty: nobody dies) and
``outlive``; ``is_held``: the process at that step waits until the test kills all, else it dies alone.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from igq.pipeline.spark.session import spark_session
from tests.pipeline.dying_source import BEGUN, DyingParquetSource, DyingSource

#: The folder of the files, in the directory of a query.
FILES = "files"
#: A part of the error.
TOO_LATE = "Python worker failed to connect back"


def main() -> None:
    """Run until all messages have been moved."""
    told = json.loads(sys.argv[1])
    with spark_session(Path(told["data_dir"]), master=told["master"], spark_log="error", is_small=True) as spark:
        spark.dataSource.register(DyingSource)
        spark.dataSource.register(DyingParquetSource)
        try:
            running = [start(spark, told, query) for query in told["queries"]]
            while any(query.isActive for query in running):
                spark.streams.awaitAnyTermination()
                spark.streams.resetTerminated()
            for query in running:
                query.awaitTermination()
        except Exception as error:
            # It can print the cause only while there is a session.
            print(error, file=sys.stderr)
            raise


def start(spark: SparkSession, told: dict[str, Any], query: dict[str, Any]) -> StreamingQuery:
    """Start a query. Returns when its process is there.

    Spark gives it ten seconds. On a busy machine even a single process may need more: then the query starts again.
    """
    scratch = Path(told["data_dir"]) / query["name"]
    scratch.mkdir(exist_ok=True)
    (scratch / BEGUN).unlink(missing_ok=True)
    at = {"url": told["url"], "group": told["group"], "qmgr": "QM1", "scratch": str(scratch)}
    at |= {"die": query["die"], "outlive": query["outlive"]}
    at |= {"victim": str(os.getpgid(0)), "held": "1"} if query["is_held"] else {}
    form = "igq.dying" if query["columns"] else "igq.dying.parquet"
    source = spark.readStream.format(form).options(**at, stream=query["name"], **query["options"])
    source = source.options(maxMessagesPerTrigger=str(told["batch"]), rowsPerPartition="40")
    if query["columns"]:
        table = source.load().selectExpr(*query["columns"])
    else:
        table = source.option("path", str(scratch / FILES)).load()
    moving = table.writeStream.format(form).options(**at, **query["target"])
    moving = moving.option("checkpointLocation", str(scratch / "checkpoint"))
    if query["is_endless"]:
        moving = moving.trigger(processingTime="200 milliseconds")
    else:
        moving = moving.trigger(availableNow=True)
    while True:
        found = moving.start()
        while found.isActive and not (scratch / BEGUN).exists():
            time.sleep(0.01)
        if TOO_LATE not in str(found.exception()):
            return found
        spark.streams.resetTerminated()


if __name__ == "__main__":
    main()
