"""The command line: ``igq``."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run one command, by default that of the process. Returns its exit status."""
    try:
        # A probe runs every few seconds; the imports of other commands take several times as long as its answer.
        from igq.operations.health import quick

        answer = quick(sys.argv[1:] if arguments is None else arguments)
        if answer is not None:
            return answer
        # Imported in the try block because a Ctrl-C may come in the tenth of a second that it takes.
        from igq.cli.runner import run

        return run(arguments)
    except KeyboardInterrupt:
        return 130
