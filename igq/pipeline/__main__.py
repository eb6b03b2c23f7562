"""`python -m igq.pipeline JOB`, for users `igq pipeline JOB`: Spark jobs over the queues and the journal of a group."""

from __future__ import annotations

import signal
import sys

from igq.start import collect_rarely, no_interrupt_lost


def main(arguments: list[str] | None = None) -> int:
    """Run one job, by default with the process's arguments, and return its exit status."""
    collect_rarely()
    try:
        with no_interrupt_lost():
            # The import takes half a second, in which the user may press Ctrl-C.
            from igq.pipeline.cli.command import run

            return run(arguments)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    # A container ends its process with SIGTERM: Java must end with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
