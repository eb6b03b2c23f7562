"""`python -m igq.pipeline JOB`: Spark jobs over the queues and the journal of a group. People say `igq pipeline
JOB`."""

from __future__ import annotations

import signal
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run one job, by default that of the process; its exit status."""
    try:
        # Imported here because that takes half a second, in which a Ctrl-C may come, too.
        from igq.pipeline.cli.command import run

        return run(arguments)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    # Who ends it so, as a container does, finds its Java ended, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
