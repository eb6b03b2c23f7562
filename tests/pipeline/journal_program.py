"""A streaming query that copies the journal into Parquet, as a program of its own that a test kills.

Arguments: Redis' URL, the group, the data directory, where the copy goes, the checkpoint.
"""

from __future__ import annotations

import sys
from pathlib import Path

from igq.pipeline.datasource.journal.source import JournalSource
from igq.pipeline.spark.session import spark_session


def main() -> None:
    """Run until the whole journal has been copied."""
    url, group, data_dir, target, checkpoint = sys.argv[1:]
    with spark_session(Path(data_dir), master="local[2]", is_small=True) as spark:
        spark.dataSource.register(JournalSource)
        journal = spark.readStream.format("igq.journal").options(
            url=url, group=group, maxEntriesPerTrigger=400, entriesPerPartition=100
        )
        copy = journal.load().writeStream.format("parquet").option("path", target)
        copy = copy.option("checkpointLocation", checkpoint)
        copy.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
