"""A streaming query from ORDERS to COPY, as a program of its own that a test kills.

Arguments: Redis' URL, the group, the data directory, the checkpoint, messages in a batch.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pipeline.queue_source import QueueSource
from pipeline.session import spark_session


def main() -> None:
    """Run until everything that is there has been moved."""
    url, group, data_dir, checkpoint, count = sys.argv[1:]
    with spark_session(Path(data_dir), master="local[2]") as spark:
        spark.dataSource.register(QueueSource)
        at = {"url": url, "group": group, "qmgr": "QM1"}
        orders = spark.readStream.format("igq").options(
            **at, queue="ORDERS", stream="move", maxMessagesPerTrigger=count, rowsPerPartition="40"
        )
        moving = orders.load().select("data", "priority", "correl_id").writeStream.format("igq")
        moving = moving.options(**at, queue="COPY").option("checkpointLocation", checkpoint)
        moving.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
