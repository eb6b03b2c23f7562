"""The command line: ``igq``."""

from __future__ import annotations

import sys

from igq.start import collect_rarely, no_interrupt_lost


def main(arguments: list[str] | None = None) -> int:
    """Run one command, by default that of the process. Returns its exit status."""
    collect_rarely()
    try:
        with no_interrupt_lost():
            given = sys.argv[1:] if arguments is None else arguments
            if given[:1] == ["health"]:
                # A probe runs every few seconds; the imports of other commands take several times as long as that.
                from igq.operations.health import quick

                answer = quick(given)
                if answer is not None:
                    return answer
            # Imported in the try block because a Ctrl-C may come in the tenth of a second that it takes.
            from igq.cli.runner import run

            return run(arguments)
    except KeyboardInterrupt:
        return 130
