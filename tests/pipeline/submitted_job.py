"""A user's job for spark-submit: it reads a queue as a table, by SQL, and as a stream. It imports nothing of igq.

Arguments: the URL, the group, and a directory.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession


def main() -> None:
    url, group, directory = sys.argv[1:]
    spark = SparkSession.builder.appName("submitted").getOrCreate()
    at = {"url": url, "group": group, "queue": "ORDERS"}
    print("TABLE", spark.read.format("igq").options(**at).load().count())
    options = ", ".join(f"{name} '{value}'" for name, value in at.items())
    spark.sql(f"CREATE TEMPORARY VIEW orders USING igq OPTIONS ({options})")
    print("SQL", spark.sql("SELECT max(priority) IS NULL, count(*) FROM orders").collect()[0][1])
    print("JOURNAL", spark.read.format("igq.journal").options(url=url, group=group).load().count() > 0)
    taken = spark.readStream.format("igq").options(**at, qmgr="QM1", stream="submitted").load().select("data")
    written = taken.writeStream.format("parquet").option("path", f"{directory}/out")
    query = written.option("checkpointLocation", f"{directory}/at").trigger(availableNow=True).start()
    query.awaitTermination()
    print("STREAM", spark.read.parquet(f"{directory}/out").count())
    events = spark.readStream.format("igq.journal").options(url=url, group=group).load().select("event")
    written = events.writeStream.format("parquet").option("path", f"{directory}/events")
    query = written.option("checkpointLocation", f"{directory}/events-at").trigger(availableNow=True).start()
    query.awaitTermination()
    print("EVENTS", spark.read.parquet(f"{directory}/events").count() > 0)
    spark.stop()


if __name__ == "__main__":
    main()
