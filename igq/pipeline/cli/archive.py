"""`igq pipeline archive`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from igq.pipeline.cli import options
from igq.pipeline.cli.option_groups import with_options
from igq.pipeline.cli.runner import Running, errors_named, running
from igq.pipeline.errors import PipelineError
from igq.pipeline.jobs.archives import Archive
from sharedq.api import group_for
from sharedq.display.terminal import Terminal
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.repository import Repository
from sharedq.reading.plan import find_parts
from sharedq.settings.values import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from igq.pipeline.history.time_range import Moments


@with_options()
def archive(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            parser=options.local_path,
            help="The archive. It is made if it does not exist, else added to.",
        ),
    ],
    queue: Annotated[
        list[str] | None, typer.Option(metavar="QUEUE", help="Copy this queue. The option may be given several times.")
    ] = None,
    structure: Annotated[
        str | None, typer.Option(metavar="NAME", help="Copy all shared queues of this coupling-facility structure.")
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
    remove: Annotated[bool, typer.Option("--remove", help="Take archived messages off their queue.")] = False,
    start: options.PutStart = None,
    end: options.PutEnd = None,
    qmgr: options.Qmgr = "",
    *,
    common: options.JobOptions,
) -> None:
    """Copy queues into Parquet files, each message once, with its whole descriptor, its data and its place.

    Name the queues with --queue or --structure. A second run, also after a killed one, adds the messages that are not
    in the archive yet. With --remove, the job takes messages off their queue after it has archived them; otherwise they
    stay. With --input, it copies from another archive (all queues, unless --queue names some): use this to join
    archives, or to cut one by time. `igq pipeline replay` puts the messages back. Table: done, the numbers of messages
    that this run archived and removed. Exit status: 0 done; 2 not done.
    """
    with errors_named("archive"):
        put, directory = options.moments(start, end), directory.absolute()
        if source and (structure or remove or qmgr):
            raise PipelineError("--input goes without --structure, --remove and --qmgr")
        if (queue and structure) or not (queue or structure or source):
            raise PipelineError(
                "give --queue or --structure; with --input, all queues are copied unless --queue names some"
            )
        copied = _other_archive(source, directory, common.group) if source else None
        origin = _Origin(list(dict.fromkeys(queue or ())), structure or "", qmgr, copied)

        def check(settings: Settings) -> None:
            origin.check(settings)
            Archive.open_or_make(directory, origin.group(settings)).check_apart(common.output)

        with (
            options.new_directory(common.output) as new,
            running(
                "archive",
                **options.session_of(common),
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
                _show(done, common.rows, new)


@dataclass(frozen=True)
class _Origin:
    """The queues, or the other archive, that messages are copied from.

    Attributes:
        queues: names of queues; empty for all queues of the structure or of the archive.
    """

    queues: list[str]
    structure: str
    qmgr: str
    archive: Archive | None

    def names(self, settings: Settings) -> list[str]:
        """The names of all queues to copy. Raises PipelineError, MQIError: there are none, or one does not exist."""
        if self.archive:
            return self.archive.chosen(self.queues)
        return self.queues or _queues_of(settings, self.structure)

    def group(self, settings: Settings) -> str:
        """The group that the queues belong to."""
        return self.archive.group if self.archive else settings.group

    def check(self, settings: Settings) -> None:
        """Check that every queue exists. Raises PipelineError, MQIError: one does not."""
        for name in self.names(settings):
            if not self.archive:
                find_parts(group_for(settings), name, self.qmgr)


def _other_archive(path: Path, directory: Path, group: str | None) -> Archive:
    """The archive to copy from.

    Raises:
        PipelineError: it does not exist, belongs to another group, or is the archive to copy to.
    """
    found = Archive.open(path.absolute())
    if found.directory.resolve() == directory.resolve():
        raise PipelineError(f"--input {path}: is also the archive to add to")
    if group:
        found.check_group(group)
    return found


def _add(at: Running, origin: _Origin, queues: Sequence[str], stored: Archive, run: str, put: Moments) -> None:
    """Add the messages that the archive does not have."""
    from igq.pipeline.jobs.archive import archive_queue, copy_archive

    if origin.archive:
        at.step(f"copying from {origin.archive.directory}")
        copy_archive(at.session, origin.archive, queues, stored, run, put)
        return
    for name in queues:
        at.step(f"archiving {name}")
        archive_queue(at.session, at.settings, name, origin.qmgr, stored, run, put)


def _done(at: Running, removed: Sequence[str], qmgr: str, stored: Archive, run: str, put: Moments) -> DataFrame:
    """Take archived messages off the queues *removed*; return the numbers of archived and removed messages."""
    from pyspark.sql import DataFrame

    from igq.pipeline.jobs.archive import archived, remove_archived

    counts = [archived(stored.read(at.session), run)]
    if removed:
        at.step("taking archived messages off their queues")
        counts += [remove_archived(at.session, at.settings, name, qmgr, stored, put) for name in removed]
    # Evaluate all rows, once: each evaluation removes messages, and a caller that shows some rows evaluates only those.
    done = reduce(DataFrame.unionByName, counts).orderBy("queue", "done").persist()
    done.count()
    return done


def _show(done: DataFrame, rows: int, directory: options.NewDirectory | None) -> None:
    """Write the table if there is a directory, and show it."""
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
    # Leave out the transmit queue, which has a part in each structure. Its messages are on their way to another queue,
    # where they can be archived, and agents hold them in units of work.
    names = [each.name for each in shown if each.structure == structure and each.name != SYSTEM_QSG_TRANSMIT_QUEUE]
    if not names:
        raise PipelineError(f"structure {structure} has no shared queues")
    return sorted(names)
