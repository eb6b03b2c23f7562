"""Runs as Spark's `bin/java` and becomes Java: `python -I -S java_launcher.py JAVA ARGUMENT...`.

It corrects Spark's own start in three ways. Spark asks for a module that a Java runtime from a Python package lacks and
that nothing here needs. If Python was interrupted while Java started, Java would wait for ever for a reader of its
port. If Java knows SPARK_HOME, each Python process that it starts imports PySpark from an archive there and compiles
it, which takes a second, although PySpark is installed.
"""

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
#: `igq.pipeline.spark.session` sets this variable if the processes that Java starts have PySpark installed.
_AS_INSTALLED = "_PYSPARK_AS_INSTALLED"
#: Spark's driver, and the program that finds the driver's command. The latter needs SPARK_HOME, as a cluster does.
_DRIVER, _FINDS_COMMAND = "org.apache.spark.deploy.SparkSubmit", "org.apache.spark.launcher.Main"


def main() -> None:
    """Ask the kernel (on Linux) to end this process with its parent, then become Java."""
    # A parent that ignores SIGTERM passes that on. Java must not ignore it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        # The parent ended before the kernel watched it.
        sys.exit(1)
    java, *arguments = sys.argv[1:]
    if _AS_INSTALLED in os.environ and _DRIVER in arguments and _FINDS_COMMAND not in arguments:
        os.environ.pop("SPARK_HOME", None)
    os.execv(java, [java, *(each for each in arguments if each != "--add-modules=jdk.incubator.vector")])


if __name__ == "__main__":
    main()
