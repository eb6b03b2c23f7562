"""Jobs that write rows to ORDERS, as a program of its own that a test kills, or that kills itself.

Arguments: a JSON object with ``url``, ``group``, ``data_dir``, ``rows``; ``jobs``, a list of pairs, done one after the
other: the jobId (or empty), and what ``tests.pipeline.dying_source`` calls ``die``; ``outlive`` and ``victim`` (null:
the driver), likewise. A job that has a jobId writes to the queue of that name.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from igq.pipeline.spark.session import spark_session
from tests.pipeline.dying_source import DyingSource


def main() -> None:
    """Write them all."""
    told = json.loads(sys.argv[1])
    with spark_session(Path(told["data_dir"]), master="local[2]", spark_log="error", is_small=True) as spark:
        spark.dataSource.register(DyingSource)
        rows = spark.range(0, told["rows"], 1, 4).select(F.col("id").cast("string").alias("data"))
        for job, die in told["jobs"]:
            writing = rows.write.format("igq.dying").options(
                url=told["url"], group=told["group"], queue=job or "ORDERS"
            )
            writing = writing.options(
                die=die,
                scratch=told["data_dir"],
                victim=str(os.getpgid(0) if told["victim"] is None else told["victim"]),
            )
            writing.options(outlive=told["outlive"], jobId=job).mode("append").save()


if __name__ == "__main__":
    main()
