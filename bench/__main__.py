"""``python -m bench``: measure, print one table, and say which floors are met."""

from __future__ import annotations

import argparse
import compileall
import os
import sys
from pathlib import Path

from rich.console import Console

from bench.goals import goals_table, has_place, refresh
from bench.harness import QUICK, Effort, pin_client
from bench.lines import LINES
from bench.picture import draw
from bench.rows import Row
from bench.site import Site
from bench.table import make_table

#: Folders with what is measured.
PACKAGES = ("igq", "recovery", "sharedq")
#: Of ``--goals`` without a page.
PRINTED = Path("-")
_NAMES = ", ".join(f"{name} (only so)" if line.is_apart else name for name, line in LINES.items())


def main() -> int:
    """Run the requested lines. The exit status is 0 if all were measured, whatever the figures."""
    arguments = _arguments()
    effort = QUICK if arguments.quick else Effort()
    _compile()
    console = Console(stderr=True)
    by_fsync: dict[str, list[Row]] = {}
    for fsync in ("everysec", "always"):
        rows = by_fsync[fsync] = []
        for name, line in LINES.items():
            if not _is_asked_for(name, arguments) or fsync not in line.fsyncs:
                continue
            console.print(f"appendfsync {fsync}: {name} ...")
            pin_client()
            # Each line has its own server, so no line runs on the leftovers of another one.
            with Site(fsync, effort) as site:
                rows += line.measure(site)
    _print(by_fsync, arguments.output)
    if arguments.goals is not None:
        Console(width=None if sys.stdout.isatty() else 160).print(goals_table(by_fsync))
        missing = refresh(arguments.goals, by_fsync) if arguments.goals != PRINTED else []
        if missing and not arguments.only:
            console.print(f"not measured: {', '.join(missing)}")
    if arguments.picture:
        draw(by_fsync["everysec"], arguments.picture)
    return 0


def _compile() -> None:
    """Have compiled modules for the processes that are started, as users have them."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for package in PACKAGES:
        compileall.compile_dir(package, quiet=2)


def _is_asked_for(name: str, arguments: argparse.Namespace) -> bool:
    if arguments.only:
        return name in arguments.only
    return not LINES[name].is_apart or (LINES[name].has_goal and arguments.goals is not None)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures igq beside raw Redis Streams on embedded servers of its own. The journal is off,"
        " except in the line that says so; bodies have 256 bytes, messages are persistent.",
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds and messages")
    parser.add_argument(
        "--only", action="append", choices=[*LINES], metavar="NAME", help=f"may be given several times: {_NAMES}"
    )
    parser.add_argument(
        "--goals",
        type=Path,
        nargs="?",
        const=PRINTED,
        metavar="PAGE",
        help="print which goals are held and which are missed; write their table into this page, too",
    )
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw how costs grow into this file (SVG), too")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table there too, as text")
    arguments = parser.parse_args()
    if arguments.goals not in (None, PRINTED) and not has_place(arguments.goals):
        parser.error(f"{arguments.goals} is no page with a place for the table of goals")
    for path in filter(None, (arguments.picture, arguments.output)):
        if path.is_dir() or not path.parent.is_dir():
            parser.error(f"{path} cannot be written")
    return arguments


def _print(by_fsync: dict[str, list[Row]], output: Path | None) -> None:
    measured = {fsync: rows for fsync, rows in by_fsync.items() if rows}
    table = make_table(measured)
    width = None if sys.stdout.isatty() else 160
    Console(width=width).print(table)
    if output is not None:
        with output.open("w", encoding="utf-8") as file:
            Console(file=file, width=160).print(table)


if __name__ == "__main__":
    sys.exit(main())
