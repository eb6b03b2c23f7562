"""The command line: ``igq``."""

from __future__ import annotations


def main(arguments: list[str] | None = None) -> int:
    """Run one command, by default that of the process; returns its exit status."""
    try:
        # Imported here because that takes a tenth of a second and more, in which a Ctrl-C may come, too.
        from igq.cli.runner import run

        return run(arguments)
    except KeyboardInterrupt:
        return 130
