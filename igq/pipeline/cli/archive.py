"""`igq pipeline archive`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from igq.pipeline.cli import options
from igq.pipeline.cli.runner import Running, errors_named, running
from igq.pipeline.errors import PipelineError
from igq.pipeline.jobs.archives import Archive
from igq.pipeline.spark.session import LOCAL_MASTER
from sharedq.api import group_for
from sharedq.display.terminal import Terminal
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.repository import Repository
from sharedq.reading.plan import find_places
from sharedq.settings.values import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from igq.pipeline.history.time_range import Moments


def archive(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            parser=options.local_path,
            help="The archive. It is made, or added to.",
        ),
    ],
    queue: Annotated[
        list[str] | None, typer.Option(metavar="QUEUE", help="A queue; may be given several times.")
    ] = None,
    structure: Annotated[
        str | None, typer.Option(metavar="NAME", help="All shared queues of this coupling-facility structure.")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--input",
            metavar="ARCHIVE",
            parser=options.local_path,
            help="Copy from another archive of the group, instead of Redis.",
        ),
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

    Say which: --queue or --structure. Run again, also after it was killed, it adds what is not in the archive yet. With
    --remove, messages are taken off their queue once they are in the archive; without it all stay there. With --input
    they come from another archive: all of its queues, where none is named; so archives are put together, or cut by
    time. `igq pipeline replay` puts them back. Table: done, how many messages were archived and removed by this run.
    Exit status: 0 done; 2 it could not be.
    """
    with errors_named("archive"):
        put, directory = options.moments(start, end), directory.absolute()
        if source and (structure or remove or qmgr):
            raise PipelineError("--input goes without --structure, --remove and --qmgr")
        if (queue and structure) or not (queue or structure or source):
            raise PipelineError("say --queue or --structure; with --input, all queues are meant where none is named")
        copied = _other_archive(source, directory, group) if source else None
        origin = _Origin(list(dict.fromkeys(queue or ())), structure or "", qmgr, copied)

        def check(settings: Settings) -> None:
            origin.check(settings)
            Archive.open_or_make(directory, origin.group(settings)).check_apart(output)

        with (
            options.new_directory(output) as new,
            running(
                "archive",
                group=group,
                url=url,
                master=master,
                spark_log=spark_log,
                is_long=copied is not None,
                needs_redis=copied is None,
                check=check,
            ) as at,
        ):
            from igq.pipeline.jobs.archive import new_run

            queues, stored, run = origin.names(at.settings), Archive.open(directory), new_run()
            with stored.writing(run):
                _add(at, origin, queues, stored, run, put)
                done = _done(at, queues if remove else [], qmgr, stored, run, put)
                _show(done, rows, new)


@dataclass(frozen=True)
class _Origin:
    """Where messages come from: queues, or another archive.

    Attributes:
        queues: named ones; none: all of the structure, or of the archive.
    """

    queues: list[str]
    structure: str
    qmgr: str
    archive: Archive | None

    def names(self, settings: Settings) -> list[str]:
        """All queues that are meant. Raises PipelineError, MQIError: there are none, or not one of them."""
        if self.archive:
            return self.archive.chosen(self.queues)
        return self.queues or _queues_of(settings, self.structure)

    def group(self, settings: Settings) -> str:
        """Whose they are."""
        return self.archive.group if self.archive else settings.group

    def check(self, settings: Settings) -> None:
        """Raises PipelineError, MQIError: one of the queues is not there."""
        for name in self.names(settings):
            if not self.archive:
                find_places(group_for(settings), name, self.qmgr)


def _other_archive(path: Path, directory: Path, group: str | None) -> Archive:
    """The archive to copy from. Raises PipelineError: there is none, it is another group's, or the one to copy to."""
    found = Archive.open(path.absolute())
    if found.directory.resolve() == directory.resolve():
        raise PipelineError(f"--input {path}: is the archive that is added to")
    if group:
        found.check_group(group)
    return found


def _add(at: Running, origin: _Origin, queues: Sequence[str], stored: Archive, run: str, put: Moments) -> None:
    """Add to the archive what it has not."""
    from igq.pipeline.jobs.archive import archive_queue, copy_archive

    if origin.archive:
        at.step(f"copying from {origin.archive.directory}")
        copy_archive(at.session, origin.archive, queues, stored, run, put)
        return
    for name in queues:
        at.step(f"archiving {name}")
        archive_queue(at.session, at.settings, name, origin.qmgr, stored, run, put)


def _done(at: Running, removed: Sequence[str], qmgr: str, stored: Archive, run: str, put: Moments) -> DataFrame:
    """How much was archived; and how much is taken off the queues *removed*, which this does."""
    from pyspark.sql import DataFrame

    from igq.pipeline.jobs.archive import archived, remove_archived

    counts = [archived(stored.read(at.session), run)]
    if removed:
        at.step("taking what is archived off its queues")
        counts += [remove_archived(at.session, at.settings, name, qmgr, stored, put) for name in removed]
    # Kept, and all of it: each evaluation would take off, and who shows some rows evaluates no more than those.
    done = reduce(DataFrame.unionByName, counts).orderBy("queue", "done").persist()
    done.count()
    return done


def _show(done: DataFrame, rows: int, directory: options.NewDirectory | None) -> None:
    """Write the table where asked, and show it."""
    from igq.pipeline.tables import print_table, write_tables

    if directory:
        write_tables({"done": done}, directory.unfinished)
        directory.finish()
    print_table("done", done, rows, Terminal())
    done.unpersist()


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
