"""``igq unload`` and ``igq load``: a queue as a file of records, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from igq.cli.messages import read_identifier
from igq.cli.standard_input import standard_input
from igq.cli.tools.dead_letters import read_age
from igq.errors import CommandError
from igq.output.plural import counted
from sharedq.display.lines import say

_MANAGER = typer.Option("-m", "--manager", metavar="QMGR", help="A queue manager that knows the queue; default: any.")


def add_to(app: typer.Typer) -> None:
    app.command("unload", short_help="Write the messages of a queue to a file.")(unload)
    app.command("load", short_help="Put the messages of a file on a queue.")(load)


def unload(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="Name of the queue.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    manager: Annotated[str, _MANAGER] = "",
    remove: Annotated[
        bool, typer.Option("--remove", help="Take the messages off the queue, each once it is on the disk.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --remove: go on with FILE, whose unload was interrupted.")
    ] = False,
    msg_id: Annotated[
        str, typer.Option("--msg-id", metavar="ID", help="Only this MsgId: 48 hexadecimal digits, or text.")
    ] = "",
    correl_id: Annotated[str, typer.Option("--correl-id", metavar="ID", help="Only this CorrelId.")] = "",
    group_id: Annotated[str, typer.Option("--group-id", metavar="ID", help="Only this GroupId.")] = "",
    older: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Only messages put more than AGE ago: 90s, 10m, 2h, 3d.")
    ] = "",
    younger: Annotated[
        str, typer.Option("--younger-than", metavar="AGE", help="Only messages put less than AGE ago.")
    ] = "",
) -> int:
    """Write the messages of a queue to a file, with descriptors, context and data, in their order.

    The file has a line of JSON for each message, and a header with count and checksum. igq load puts them back as they
    were. Without --remove nothing changes on the queue, and no queue manager needs to run. With --remove, a message is
    on the queue or in the file, at whatever moment the command is killed; start it again with --resume to finish the
    file.

    Exit status: 0, the file is complete.
    """
    from igq.cli.tools.progress import progress
    from igq.output.silence import log_nothing
    from igq.tools.unloading.unload import MessageFilter, copy_queue, remove_to_file, resume_removal
    from sharedq.api import group_for
    from sharedq.settings.loader import load_settings

    if resume and not remove:
        raise CommandError("--resume goes with --remove", 2)
    chosen = MessageFilter(
        read_identifier(msg_id) if msg_id else b"",
        read_identifier(correl_id) if correl_id else b"",
        read_identifier(group_id) if group_id else b"",
        read_age("--older-than", older),
        read_age("--younger-than", younger),
    )
    settings = load_settings()
    log_nothing()
    group = group_for(settings)
    with progress(f"{queue} to {file}", None) as step:
        if not remove:
            header = copy_queue(group, manager, queue, file, chosen, step)
        elif not resume:
            header = remove_to_file(settings, group, manager, queue, file, chosen, step)
        else:
            header = resume_removal(settings, group, file, queue, chosen, step)
    say(f"{counted(header.count or 0, 'message')} of {queue} {'moved' if remove else 'copied'} to {file}")
    return 0


def load(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that igq unload wrote; -: standard input.")],
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue that the messages are put on.")],
    manager: Annotated[
        str, typer.Option("-m", "--manager", metavar="QMGR", help="A running queue manager; default: any.")
    ] = "",
    target: Annotated[str, typer.Option("--qmgr", metavar="TARGET", help="Queue manager that has the queue.")] = "",
    again: Annotated[
        str, typer.Option("--again", metavar="NAME", help="Put them although this file was loaded to this queue.")
    ] = "",
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Take a file whose unload was interrupted, as far as it goes.")
    ] = False,
) -> int:
    """Put the messages of a file on a queue, with the identifiers, the context and the order that they had.

    Each message is put once: if the command was interrupted, start it again, and it goes on where it was; a file that
    was loaded to the queue before puts nothing. Give --again any name to load it once more.

    Exit status: 0, all messages of the file are on the queue, or were put there before.
    """
    from igq.cli.tools.progress import progress
    from igq.output.silence import log_nothing
    from igq.tools.unloading.load import load_file
    from igq.tools.unloading.record_file import read_header
    from sharedq.api import group_for
    from sharedq.settings.loader import load_settings

    settings = load_settings()
    log_nothing()
    group = group_for(settings)
    with _readable(file) as path, progress(f"{file} to {queue}", read_header(path).count) as step:
        loaded = load_file(
            settings,
            group,
            path,
            manager or group.name,
            queue,
            target=target,
            again=again,
            is_incomplete_allowed=incomplete,
            tell=step,
        )
    before = f"; {counted(loaded.before, 'message')} had been put before" if loaded.before else ""
    say(f"{counted(loaded.put, 'message')} of {file} put on {queue}{before}")
    return 0


@contextmanager
def _readable(file: Path) -> Iterator[Path]:
    """Give a file that can be read twice: *file*, or a copy of standard input, which goes away afterwards."""
    if str(file) != "-":
        yield file
        return
    import shutil
    from tempfile import NamedTemporaryFile

    source = standard_input("give FILE")
    # Only its owner can read such a file.
    with NamedTemporaryFile(prefix="igq") as copy:
        shutil.copyfileobj(source, copy)
        copy.flush()
        try:
            yield Path(copy.name)
        except CommandError as error:
            raise CommandError(str(error).replace(copy.name, "standard input"), error.status) from None
