"""What a session that cannot be had says, in one line."""

from __future__ import annotations

import pytest

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
