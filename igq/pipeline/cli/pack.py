"""`igq pipeline pack`: igq as an archive for a cluster. It needs no Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from igq.pipeline.cli import options
from igq.pipeline.cli.runner import errors_named
from sharedq.display.lines import say


def pack(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", parser=options.local_path, help="The folder of the archive.")
    ] = Path("dist"),
) -> None:
    """Write igq.zip, which `spark-submit --py-files` sends to workers that igq is not installed on.

    The workers need the packages that igq[spark] needs. The command prints the path of the archive.
    """
    with errors_named("pack"):
        from igq.pipeline.spark.archive_of_code import build_archive

        say(str(build_archive(directory)))
