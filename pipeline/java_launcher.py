"""Becomes Java, as Spark's `bin/java`: `python -I -S java_launcher.py JAVA ARGUMENT...`.

Two things that Spark's own start leaves open: it asks for a module that a runtime packaged for Python does not carry
and that nothing here needs; and a Java whose Python was interrupted while it started waits for ever, since the
place where it would say its port is gone.
"""

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Have the kernel end this process with its parent, where there is such a service; then be Java."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        # It ended before it could be watched.
        sys.exit(1)
    java, *arguments = sys.argv[1:]
    os.execv(java, [java, *(each for each in arguments if each != "--add-modules=jdk.incubator.vector")])


if __name__ == "__main__":
    main()
