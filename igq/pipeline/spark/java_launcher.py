"""Becomes Java, as Spark's `bin/java`: `python -I -S java_launcher.py JAVA ARGUMENT...`.

Three things that Spark's own start leaves open. It asks for a module that a runtime packaged for Python does not carry
and that nothing here needs. A Java whose Python was interrupted while it started waits for ever, since the
place where it would say its port is gone. And where Java knows SPARK_HOME, each Python process that it starts imports
PySpark from an archive there and compiles it, which takes a second, although PySpark is installed as well.
"""

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
#: Set by `igq.pipeline.spark.session` where the processes that Java starts have PySpark installed.
_AS_INSTALLED = "_PYSPARK_AS_INSTALLED"
#: Spark's driver. What finds out how that is to be started needs to know SPARK_HOME, and so do a cluster's processes.
_DRIVER, _FINDS_COMMAND = "org.apache.spark.deploy.SparkSubmit", "org.apache.spark.launcher.Main"


def main() -> None:
    """Have the kernel end this process with its parent, where there is such a service; then be Java."""
    # Whoever ignores it hands that down, and Java would ignore it, too.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        # It ended before it could be watched.
        sys.exit(1)
    java, *arguments = sys.argv[1:]
    if _AS_INSTALLED in os.environ and _DRIVER in arguments and _FINDS_COMMAND not in arguments:
        os.environ.pop("SPARK_HOME", None)
    os.execv(java, [java, *(each for each in arguments if each != "--add-modules=jdk.incubator.vector")])


if __name__ == "__main__":
    main()
