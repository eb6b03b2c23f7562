"""The command line: ``igq``."""

from __future__ import annotations


def main(arguments: list[str] | None = None) -> int:
    """Run one command, by default that of the process. Returns its exit status."""
    try:
        # Imported in the try block because a Ctrl-C may come in the tenth of a second that it takes.
        from igq.cli.runner import run

        return run(arguments)
    except KeyboardInterrupt:
        return 130
