"""`igq pipeline archive`."""

from __future__ import annotations

from contextlib import ExitStack
from functools import reduce
from pathlib import Path
from typing import Annotated

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


def archive(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The archive. It is made, or added to.")],
    queue: Annotated[list[str] | None, typer.Option(help="A queue; may be given several times.")] = None,
    structure: Annotated[str | None, typer.Option(help="All shared queues of a coupling-facility structure.")] = None,
    source: Annotated[
        Path | None,
        typer.Option("--input", metavar="ARCHIVE", help="Copy from another archive of the group, instead of Redis."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take what is archived off its queue.")] = False,
    start: options.PutStart = None,
    end: options.PutEnd = None,
    qmgr: options.Qmgr = "",
    group: options.Group = None,
    url: options.Url = None,
    master: options.Master = LOCAL_MASTER,
    output: options.Output = None,
    rows: options.Rows = 50,
    spark_log: options.SparkLog = "off",
) -> None:
    """Copy queues into Parquet files, each message once, with its whole descriptor, its data and its place.

    Run again, also after it was killed, it adds what is not in the archive yet. With --remove, messages are taken off
    their queue once they are in the archive. With --input they come from another archive: all of its queues, where
    none is named; so archives are put together, or cut by time. Table: done, how many messages were archived and
    removed. Exit status: 0 done; 2 it could not be.
    """
    with errors_named("archive"), ExitStack() as stack:
        put, directory = options.moments(start, end), directory.absolute()
        queues = list(dict.fromkeys(queue or ()))
        if source and (structure or remove or qmgr):
            raise PipelineError("--input goes without --structure, --remove and --qmgr")
        if (queues and structure) or not (queues or structure or source):
            raise PipelineError("say --queue or --structure; with --input, all queues are meant where none is named")
        copied = _source(source, directory, group) if source else None
        if copied:
            queues = copied.chosen(queues)

        def check(settings: Settings) -> None:
            if not copied:
                for name in queues or _queues_of(settings, structure or ""):
                    find_places(group_for(settings), name, qmgr)
            Archive.open_or_make(directory, copied.group if copied else settings.group).check_apart(output)

        new = stack.enter_context(options.new_directory(output))
        at = stack.enter_context(
            running(
                "archive",
                group=group,
                url=url,
                master=master,
                spark_log=spark_log,
                is_long=copied is not None,
                needs_redis=copied is None,
                check=check,
            )
        )
        from pyspark.sql import DataFrame

        from pipeline.jobs.archive import archive_queue, archived, copy_archive, new_run, remove_archived
        from pipeline.tables import print_table, write_tables

        stored, run = Archive.open(directory), new_run()
        stack.enter_context(stored.writing(run))
        if copied:
            at.step(f"copying from {source}")
            copy_archive(at.session, copied, queues, stored, run, put)
        else:
            queues = queues or _queues_of(at.settings, structure or "")
            for name in queues:
                at.step(f"archiving {name}")
                archive_queue(at.session, at.settings, name, qmgr, stored, run, put)
        counts = [archived(stored.read(at.session), run)]
        if remove:
            at.step("taking what is archived off its queues")
            counts += [remove_archived(at.session, at.settings, name, qmgr, stored, put) for name in queues]
        # Kept, and all of it: each evaluation would take off, and who shows some rows evaluates no more than those.
        done = reduce(DataFrame.unionByName, counts).orderBy("queue", "done").persist()
        done.count()
        if new:
            write_tables({"done": done}, new.unfinished)
            new.finish()
        print_table("done", done, rows, Console())
        done.unpersist()


def _source(path: Path, directory: Path, group: str | None) -> Archive:
    """The archive to copy from. Raises PipelineError: there is none, it is another group's, or the one to copy to."""
    found = Archive.open(path.absolute())
    if found.directory.resolve() == directory.resolve():
        raise PipelineError(f"--input {path}: is the archive that is added to")
    if group:
        found.check_group(group)
    return found


def _queues_of(settings: Settings, structure: str) -> list[str]:
    group = group_for(settings)
    group.structure_number(structure)
    shown = Repository(group, None).display_queues("*", ("QLOCAL",), "SHARED")
    # Not the transmit queue, which has a part in each structure: what is on it is on its way to another queue, where it
    # can be archived, and the agents have it in units of work of their own.
    names = [each.name for each in shown if each.structure == structure and each.name != SYSTEM_QSG_TRANSMIT_QUEUE]
    if not names:
        raise PipelineError(f"structure {structure} has no shared queues")
    return sorted(names)
