"""An impossible session is one line; and an error that leaves a session that ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from igq.pipeline.errors import PipelineError, in_a_line, why_a_job_ends
from igq.pipeline.spark.session import why_in_a_line
from sharedq import MQIError
from sharedq.settings.values import ConfigError

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
@pytest.mark.share
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
@pytest.mark.share
def test_the_error_for_an_unreadable_file_has_its_name_and_the_cause(said: str, told: str) -> None:
    assert why_a_job_ends(Exception(said)) == told


PROGRAM = """
import sys
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from igq.pipeline.spark.session import spark_session

try:
    with spark_session(Path(sys.argv[1]), master="local[1]", is_small=True) as spark:
        failing = spark.readStream.format("rate").load().select(F.raise_error(F.lit("boom")))
        failing.writeStream.format("noop").option("checkpointLocation", sys.argv[1] + "/at").start().awaitTermination()
except StreamingQueryException:
    raise
except Exception as error:
    print(type(error))
"""


@pytest.mark.spark
def test_an_error_keeps_its_text_and_type_when_it_leaves_a_session(tmp_path: Path) -> None:
    """Java is asked for its text, but has ended."""
    program = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stdout) == (1, "")
    assert "pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query" in done.stderr
    assert "boom" in done.stderr


TWO = """
import os
import shutil
import sys
from pathlib import Path

from igq.pipeline.spark.session import spark_session

#: PySpark sets them itself.
PYSPARKS = {"SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"}
for number in range(2):
    directory, before = Path(sys.argv[1], str(number)), dict(os.environ)
    with spark_session(directory, master="local[1]", is_small=True) as spark:
        print(spark.range(3).count())
        # A program that this one starts now, such as a Spark of its own, inherits no variable of this session.
        print(sorted(name for name in {*os.environ, *before} - PYSPARKS if os.environ.get(name) != before.get(name)))
    shutil.rmtree(directory)
"""


@pytest.mark.spark
def test_a_session_may_follow_one_whose_directory_is_gone(tmp_path: Path) -> None:
    program = [sys.executable, "-c", TWO, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stdout.split()) == (0, ["3", "[]"] * 2), done.stderr


@pytest.mark.parametrize("kind", [PipelineError, ConfigError, MQIError])
@pytest.mark.share
def test_an_error_of_ours_in_a_worker_is_the_line(kind: type[Exception]) -> None:
    """Spark reports it with the module of its class, in the middle of the worker's traceback."""
    said = f"[PYTHON] failed:\nTraceback:\n{kind.__module__}.{kind.__name__}: no queue\n\n\tat java"
    assert in_a_line(Exception(said)) == "no queue"
