"""`igq pipeline archive`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from config.settings import Settings
from pipeline.archives import Archive
from pipeline.cli import options
from pipeline.cli.running import errors_named, running
from pipeline.errors import PipelineError
from pipeline.session import LOCAL_MASTER
from sharedq.api import group_for
from sharedq.objects.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.repository import Repository
from sharedq.read_plan import find_places

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def archive(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The archive. It is made, or added to.")],
    queue: Annotated[list[str] | None, typer.Option(help="A queue; may be given several times.")] = None,
    structure: Annotated[str | None, typer.Option(help="All shared queues of a coupling-facility structure.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take what is archived off its queue.")] = False,
    start: options.PutStart = None,
    end: options.PutEnd = None,
    qmgr: options.Qmgr = "",
    group: options.Group = None,
    url: options.Url = None,
    master: options.Master = LOCAL_MASTER,
    rows: options.Rows = 50,
    spark_log: options.SparkLog = "off",
) -> None:
    """Copy queues into Parquet files, each message once, with its whole descriptor, its data and its place.

    Run again, also after it was killed, it adds what is not in the archive yet. With --remove, messages are taken off
    their queue once they are in the archive. Exit status: 0 done; 2 it could not be.
    """
    with errors_named("archive"):
        if bool(queue) == bool(structure):
            raise PipelineError("say --queue or --structure")
        put = options.moments(start, end)

        def check(settings: Settings) -> None:
            for name in queue or _queues_of(settings, structure or ""):
                find_places(group_for(settings), name, qmgr)
            Archive.open_or_make(directory.absolute(), settings.group)

        with running("archive", group=group, url=url, master=master, spark_log=spark_log, check=check) as at:
            from pipeline.jobs.archive import archive_queue, archived, new_run, remove_archived

            stored, run = Archive.open(directory.absolute()), new_run()
            queues = queue or _queues_of(at.settings, structure or "")
            for name in queues:
                at.step(f"archiving {name}")
                archive_queue(at.session, at.settings, name, qmgr, stored, run, put)
            done = [archived(stored.read(at.session).where(f"run = '{run}'"))]
            for name in queues if remove else ():
                at.step(f"taking what is archived off {name}")
                done.append(remove_archived(at.session, at.settings, name, qmgr, stored, put))
            _show(done, rows)


def _queues_of(settings: Settings, structure: str) -> list[str]:
    group = group_for(settings)
    group.structure_number(structure)
    shown = Repository(group, None).display_queues("*", ("QLOCAL",), "SHARED")
    names = [each.name for each in shown if each.structure == structure and each.name != SYSTEM_QSG_TRANSMIT_QUEUE]
    if not names:
        raise PipelineError(f"structure {structure} has no shared queues")
    return sorted(names)


def _show(done: list[DataFrame], rows: int) -> None:
    from pipeline.tables import print_table

    table, *more = done
    for each in more:
        table = table.unionByName(each)
    print_table("done", table, rows, Console())
