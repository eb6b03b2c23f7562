"""``igq trace``: the way of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from igq.cli.messages import read_identifier
from igq.errors import CommandError
from igq.output.plural import counted
from sharedq.display.lines import say_json, tell

if TYPE_CHECKING:
    from igq.tools.trace import MessageWay

#: Exit status if nothing was found.
NOTHING = 1


def add_to(app: typer.Typer) -> None:
    app.command("trace", short_help="Follow messages by MsgId, CorrelId or GroupId.")(trace)


def trace(
    msg_id: Annotated[str, typer.Option("--msg-id", metavar="ID", help="MsgId: 48 hexadecimal digits, or text.")] = "",
    correl_id: Annotated[
        str, typer.Option("--correl-id", metavar="ID", help="CorrelId, in the form of --msg-id.")
    ] = "",
    group_id: Annotated[str, typer.Option("--group-id", metavar="ID", help="GroupId, in the form of --msg-id.")] = "",
    queue: Annotated[str, typer.Option("--queue", metavar="QUEUE", help="Only what happened at this queue.")] = "",
    start: Annotated[
        str, typer.Option("--from", metavar="TIME", help="Begin there: 2026-01-31T12:00:00 (UTC), or milliseconds.")
    ] = "-",
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="End there.")] = "+",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")] = False,
) -> int:
    """Follow the messages of a MsgId, CorrelId or GroupId through queues and queue managers.

    A row is a put, a hop (transfer), a get or an expiry, with the program that did it and whether it was committed. The
    command reads the journals of the group, a million entries in some seconds, and needs no running queue manager.

    Exit status: 0, something was found; 1, nothing was.
    """
    from igq.cli.tools.progress import progress
    from igq.tools.trace import Identifiers, describe
    from igq.tools.trace import trace as follow
    from sharedq.members.group import Group
    from sharedq.reading.journal import check_order, parse_position
    from sharedq.settings.loader import load_settings

    given = [text for text in (msg_id, correl_id, group_id) if text]
    if not given:
        raise CommandError("say --msg-id, --correl-id or --group-id", 2)
    wanted = Identifiers(*(read_identifier(text) if text else b"" for text in (msg_id, correl_id, group_id)))
    try:
        first, last = parse_position(start), parse_position(end)
    except ValueError as error:
        raise CommandError(str(error), 2) from None
    check_order(first, last)
    group = Group(load_settings())
    try:
        with progress("entries of the journal", None) as step:
            way = follow(group, wanted, queue=queue, start=first, end=last, tell=step)
    finally:
        group.leave()
    if as_json:
        stored = [{"structure": key[0], "message": key[1], "queue": place} for key, place in way.stored.items()]
        told = {"steps": [describe(each) for each in way.steps], "stored": stored}
        say_json(told | {"entries": way.entries, "trimmed": way.trimmed, "away": way.away})
    else:
        _print(way)
    return 0 if way.steps else NOTHING


def _print(way: MessageWay) -> None:
    from igq.output.tables import new_table, widen
    from igq.tools.trace import shown_time
    from sharedq.display.terminal import Terminal

    console = Terminal()
    widen(console, 220)
    if way.steps:
        table = new_table("", "Time", "Event", "At", "Queue", "Outcome", "Program", "Message", "MsgId")
        for step in way.steps:
            row = step.row
            queue = f"{row.queue or ''} -> {row.target_queue}" if row.target_queue else row.queue or ""
            outcome = f"{step.outcome}, by a peer" if step.is_recovered else step.outcome
            if row.dead_letter:
                outcome = f"{outcome}, dead letter"
            message = f"{row.structure}/{row.message_id}"
            cells = (shown_time(row.time_us), row.event, row.qmgr, queue, outcome, row.owner, message)
            table.add_row(*cells, step.msg_id or "")
        console.print(table)
    for (structure, message_id), place in way.stored.items():
        tell(f"{structure}/{message_id} is still there; it came to {place}")
    if not way.steps:
        tell(f"no put of such a message in {counted(way.entries, 'entry', 'entries')} of the journals")
    for structure, why in way.away.items():
        tell(f"structure {structure} cannot be read now ({why}): something may be missing")
    if way.trimmed:
        tell(f"the journal has lost its beginning in {', '.join(way.trimmed)}: something may be missing")
