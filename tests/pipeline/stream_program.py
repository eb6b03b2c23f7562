"""A streaming query from ORDERS to COPY, or into files, as a program that a test kills, or that kills itself.

Arguments: a JSON object with ``url``, ``group``, ``data_dir``, ``checkpoint``, ``batch`` (messages), ``master``; what
``tests.pipeline.dying_source`` calls ``die`` (empty: nobody dies), ``outlive`` and ``victim`` (``all`` or ``self``);
``options`` of the source besides; ``columns`` that are written, as SQL says them; ``files``: the directory of the
files, instead of COPY.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from igq.pipeline.spark.session import spark_session
from tests.pipeline.dying_source import DyingParquetSource, DyingSource


def main() -> None:
    """Run until all messages have been moved."""
    told = json.loads(sys.argv[1])
    with spark_session(Path(told["data_dir"]), master=told["master"], spark_log="error", is_small=True) as spark:
        spark.dataSource.register(DyingSource)
        spark.dataSource.register(DyingParquetSource)
        files = told.get("files", "")
        form = "igq.dying.parquet" if files else "igq.dying"
        victim = os.getpgid(0) if told["victim"] == "all" else 0
        at = {"url": told["url"], "group": told["group"], "qmgr": "QM1"}
        at |= {"die": told["die"], "scratch": told["data_dir"], "victim": str(victim)}
        at |= {"outlive": told["outlive"]}
        more = told.get("options") or {"queue": "ORDERS"}
        orders = spark.readStream.format(form).options(
            **at, stream="move", maxMessagesPerTrigger=told["batch"], rowsPerPartition="40"
        )
        orders = orders.options(**more)
        if files:
            moving = orders.option("path", files).load().writeStream.format(form).options(**at)
        else:
            columns = told.get("columns") or ["data", "priority", "correl_id"]
            moving = orders.load().selectExpr(*columns).writeStream.format(form).options(**at, queue="COPY")
        moving = moving.option("checkpointLocation", told["checkpoint"])
        query = moving.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except Exception as error:
            # It can print the cause only while there is a session.
            print(error, file=sys.stderr)
            raise


if __name__ == "__main__":
    main()
