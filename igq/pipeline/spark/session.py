"""The one place that makes a Spark session, and ends it with its Java process."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from igq.pipeline.errors import PipelineError, why_a_job_ends
from igq.pipeline.spark.class_archive import ClassArchive
from igq.pipeline.spark.java import find_java, make_java_home
from sharedq.settings.directories import make_private

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_MASTER = "local[*]"
#: What Spark takes: of anything else its Java says so with a stack trace.
_MASTERS = re.compile(r"local(\[.+\]|-cluster\[.+\])?|yarn|(spark|k8s)://.+")
#: How long a standalone master may take to be connected to.
MASTER_TIMEOUT_S = 5.0
#: Java is given this long to end, which includes writing a class-data archive.
JAVA_END_TIMEOUT_S = 180.0

#: Tells the Java launcher that every Python process finds PySpark installed.
_AS_INSTALLED = "_PYSPARK_AS_INSTALLED"
_JAVA_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Xlog:disable",
    "-Xshare:auto",
)
#: Spark's default reads links and sets permissions by starting processes, twenty a micro-batch. Both rename.
CHECKPOINT_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
#: Java's second compiler makes a million rows twice as fast, and a small job a quarter dearer.
_SMALL_JOB_OPTION = "-XX:TieredStopAtLevel=1"


@contextmanager
def spark_session(
    data_dir: Path,
    *,
    master: str = LOCAL_MASTER,
    app_name: str = "igq",
    spark_log: str = "off",
    make_archive: bool = False,
    is_small: bool = False,
    conf: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A Spark session for the time of a ``with``. One at a time in a process.

    Sets JAVA_HOME, PYTHONPATH and what else Spark reads from the environment, for this process.

    Args:
        data_dir: where the Java launcher and the class-data archive are kept.
        master: ``local[*]``, or any master of a Spark cluster that has this project installed.
        spark_log: level of Spark's own log on standard error.
        make_archive: write a class-data archive when there is none yet; ending takes some seconds more then.
        is_small: it is for some hundred thousand rows at most: Java compiles soon rather than well.
        conf: more Spark settings; they win.

    Raises:
        PipelineError: Spark or Java is missing, or Spark does not start.
    """
    check_installed()
    import pyspark
    from pyspark.sql import SparkSession

    check_master(master)
    own_dir = data_dir / "spark"
    java = find_java(os.environ)
    spark_home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    try:
        make_private(own_dir)
        classes = ClassArchive(own_dir, java, spark_home, make=make_archive)
    except OSError as error:
        raise PipelineError(f"cannot use {own_dir}: {error.strerror or error}") from None
    java_home = make_java_home(java, own_dir)
    is_local = master.startswith("local")
    _set_environment(java_home, is_local)
    # Of one process, whose Python processes are like this one; a Spark of the user's own may be another one.
    if master.startswith("local[") and "SPARK_HOME" not in os.environ:
        os.environ[_AS_INSTALLED] = "1"
    else:
        os.environ.pop(_AS_INSTALLED, None)

    java_options = [*classes.java_options, *([_SMALL_JOB_OPTION] if is_small else [])]
    settings = _settings(java_options, spark_log, is_local) | dict(conf or {})
    builder = SparkSession.builder.master(master).appName(app_name)
    for name, value in settings.items():
        builder = builder.config(name, value)
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise PipelineError(f"Spark does not start with master {master}: {why_in_a_line(error)}") from error

    try:
        if threading.current_thread() is threading.main_thread():
            # PySpark's handler speaks to Java over the connection whose call it has interrupted, and shows what
            # becomes of that. Java ends with the session.
            signal.signal(signal.SIGINT, on_interrupt)
        yield session
    except Exception as error:
        _keep_text(error)
        raise
    finally:
        with warnings.catch_warnings():
            # That Java says nothing any more, where the job was interrupted in the middle of a call to it.
            warnings.simplefilter("ignore", RuntimeWarning)
            session.stop()
        # An error of the job is no error of Java: its classes are as good.
        if _end_java():
            classes.keep()
        else:
            classes.discard()


def check_installed() -> None:
    """Raises PipelineError: something of the extra that the jobs need is not installed."""
    missing = next((name for name in ("pyspark", "pandas", "pyarrow", "matplotlib") if find_spec(name) is None), None)
    if missing:
        what = "Spark" if missing == "pyspark" else missing
        raise PipelineError(f"{what} is not installed: pip install 'igq[spark]'")


def check_master(master: str) -> None:
    """Refuse what Spark would: of a master that is not there it would say so after a minute and a half.

    Raises:
        PipelineError: it is none, or a standalone one that does not answer.
    """
    if not _MASTERS.fullmatch(master):
        raise PipelineError(f"--master {master}: allowed: local[N], local[*], spark://HOST:PORT, k8s://URL or yarn")
    if not master.startswith("spark://"):
        return
    why = ""
    # Several, with commas: one of them leads, the others stand by.
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not (port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16):
            raise PipelineError(f"--master {master}: allowed: spark://HOST:PORT, or several with commas")
        try:
            socket.create_connection((host.strip("[]"), int(port)), MASTER_TIMEOUT_S).close()
        except OSError as error:
            why = f"{address}: {error.strerror or error}"
        else:
            return
    raise PipelineError(f"--master {master}: no master answers there: {why}")


def _settings(more_java_options: list[str], spark_log: str, is_local: bool) -> dict[str, str]:
    log_settings = Path(__file__).parent.parent / "templates" / "log4j2.properties"
    java_options = [
        *_JAVA_OPTIONS,
        *more_java_options,
        f'-Dlog4j2.configurationFile="{log_settings}"',
        f"-Digq.spark.log={spark_log}",
    ]
    settings = {
        "spark.driver.extraJavaOptions": " ".join(java_options),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.python.filterPushdown.enabled": "true",
    }
    if is_local:
        cores = os.cpu_count() or 2
        settings |= {
            # 200, the default, is made for clusters: empty tasks would be most of the work here.
            "spark.sql.shuffle.partitions": str(2 * cores),
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_FILES,
        }
    return settings


def _set_environment(java_home: Path, is_local: bool) -> None:
    os.environ["JAVA_HOME"] = str(java_home)
    # A data source is imported by name in the workers; ours may run from a source tree.
    root = str(Path(__file__).parents[3])
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([root, *(path for path in known if path and path != root)])
    if sys.flags.safe_path:
        # Java starts the workers in the current folder: they import nothing from there either.
        os.environ["PYTHONSAFEPATH"] = "1"
    if is_local:
        # Without these, workers run whatever python3 is first on PATH, and Java looks for a network.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    else:
        os.environ.setdefault("PYSPARK_PYTHON", "python3")


def _end_java() -> bool:
    """End the Java process; PySpark leaves it until Python ends. True when it ended by itself."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return False
    gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    # The gateway ends when its standard input does.
    if process.stdin is not None:
        process.stdin.close()
    try:
        return process.wait(JAVA_END_TIMEOUT_S) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


def _keep_text(error: BaseException | None) -> None:
    """Errors of Java ask it for their text whenever that is wanted: have it from now on where Java has ended."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.captured import CapturedException

    while error:
        if isinstance(error, CapturedException | Py4JJavaError):
            # Where Java has died meanwhile, nobody knows it.
            with suppress(Exception):
                kind, text = type(error), str(error)
                # Of a kind that is caught and shown as before; Python looks for __str__ there only.
                said = {"__module__": kind.__module__, "__str__": lambda _, text=text: text}
                error.__class__ = type(kind.__name__, (kind,), said)
        error = error.__cause__ or error.__context__


def why_in_a_line(error: Exception) -> str:
    """Why Spark does not start."""
    if any(line.startswith(": ") and "stopped SparkContext" in line for line in str(error).splitlines()):
        return "its application was ended while it started; the log of the master, or of its workers, says why"
    return why_a_job_ends(error)
