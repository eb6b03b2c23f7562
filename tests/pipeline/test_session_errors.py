"""What a session that cannot be had says, in one line."""

from __future__ import annotations

import pytest

from pipeline.errors import why_a_job_ends
from pipeline.session import why_in_a_line

JAVA = "An error occurred while calling None.org.apache.spark.X.\n: {}\nIt was created at:\n\n\tat x"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Java gateway process exited\nmore", "Java gateway process exited"),
        ("", "Exception"),
        (JAVA.format("java.net.BindException: no such address"), "java.net.BindException: no such address"),
        (
            JAVA.format("java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext."),
            "its application was ended while it started; the log of the master, or of its workers, says why",
        ),
    ],
)
def test_the_line_is_the_one_that_says_why(said: str, told: str) -> None:
    assert why_in_a_line(Exception(said)) == told


FILE = """An error occurred while calling o78.collectToPython.
: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file {0}.  SQLSTATE: KD001
	at org.apache.spark.X.y(X.scala:875)
"""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (JAVA.format("java.lang.IllegalStateException: no"), "java.lang.IllegalStateException: no"),
        ("[DATATYPE_MISMATCH] Cannot resolve\nmore", "[DATATYPE_MISMATCH] Cannot resolve"),
        (
            FILE.format("file:///a%20b/1.parquet")
            + "Caused by: java.lang.X: file:/a%20b/1.parquet is none\nCaused by: z",
            "/a b/1.parquet cannot be read: is none",
        ),
        (
            FILE.format("hdfs://host:1/1.parquet") + "Caused by: java.io.IOException: can not: type: 15",
            "hdfs://host:1/1.parquet cannot be read: can not: type: 15",
        ),
        (FILE.format("file:/1.parquet"), "/1.parquet cannot be read"),
        ("", "Exception"),
    ],
)
def test_of_a_file_that_cannot_be_read_its_name_and_the_cause_are_told(said: str, told: str) -> None:
    assert why_a_job_ends(Exception(said)) == told
