"""A stream of a queue to files that the workers write, as a program of its own: its memory is measured.

Arguments: the URL, the group, the manager, the queue, and a directory. It prints the seconds that the query took.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from igq.pipeline.datasource.parquet.source import ParquetSource
from igq.pipeline.spark.session import spark_session


def main() -> None:
    url, group, qmgr, queue, directory = sys.argv[1:]
    with spark_session(Path(directory)) as spark:
        spark.dataSource.register(ParquetSource)
        begun_s = time.monotonic()
        source = spark.readStream.format("igq.parquet").options(url=url, group=group, qmgr=qmgr, queue=queue)
        table = source.options(stream=queue, path=f"{directory}/files").load()
        query = table.writeStream.format("igq.parquet").option("checkpointLocation", f"{directory}/checkpoint")
        query.trigger(availableNow=True).start().awaitTermination()
        print(time.monotonic() - begun_s)


if __name__ == "__main__":
    main()
