"""``igq mqm``: the C library of channels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from igq.cli.help import show_help_alone


def add_to(app: typer.Typer) -> None:
    commands = typer.Typer(help="The C library for programs in other languages.", rich_markup_mode=None)
    commands.callback(invoke_without_command=True)(show_help_alone)
    commands.command("build", short_help="Compile the C library and write its headers.")(build)
    commands.command("wheel", short_help="Compile the C library and pack it into a wheel.")(wheel)
    commands.command("path", short_help="Print the folder of the C library.")(path)
    app.add_typer(commands, name="mqm")


def build(
    to: Annotated[Path | None, typer.Option("--to", help="The folder; unset: mqm in the data directory.")] = None,
) -> None:
    """Compile libmqm_r.so, libmqic_r.so and libmqm.so into lib64 of a folder, and write their headers into inc.

    It needs gcc.
    """
    from igq.mqm import library
    from sharedq.display.lines import say

    folder = (to or library.installed()).absolute()
    library.build(folder)
    say(str(folder / "lib64"))


def wheel(
    to: Annotated[Path, typer.Option("--to", help="The folder of the wheel.")] = Path("dist"),
    compiler: Annotated[str, typer.Option("--compiler", help="gcc, or one for another processor.")] = "gcc",
) -> None:
    """Compile the C library and write the wheel igq-mqm, which a client installs instead of igq and a compiler.

    There `python -m igq_mqm` prints the folder for LD_LIBRARY_PATH.
    """
    from igq.mqm.wheel import build_wheel
    from sharedq.display.lines import say

    say(str(build_wheel(to, compiler=compiler)))


def path() -> None:
    """Print the folder that has libmqm_r.so, libmqic_r.so and libmqm.so: for LD_LIBRARY_PATH.

    The library is compiled first if it is missing.
    """
    from igq.mqm import library
    from sharedq.display.lines import say

    folder = library.installed()
    if not library.is_built(folder):
        library.build(folder)
    say(str(folder / "lib64"))
