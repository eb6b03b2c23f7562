"""``igq events``: event messages, decoded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from igq.cli.messages import QMGR
from igq.output.plural import counted
from sharedq.display.lines import say, say_json, tell

if TYPE_CHECKING:
    from sharedq.messages.message import Message


def add_to(app: typer.Typer) -> None:
    app.command("events", short_help="Show event messages, decoded.")(events)


def events(
    qmgr: Annotated[str, QMGR],
    queue: Annotated[
        list[str] | None,
        typer.Option("--queue", metavar="QUEUE", help="A queue of events; default: SYSTEM.ADMIN.*.EVENT, all five."),
    ] = None,
    is_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    is_removed: Annotated[bool, typer.Option("--remove", help="Get the messages instead of browsing them.")] = False,
) -> int:
    """Show event messages decoded, queue by queue, the oldest first. Without --remove they stay."""
    import sharedq
    from igq.events import formats, reading
    from igq.output.silence import log_nothing
    from sharedq.mqi.pcf.structures import PCFError

    log_nothing()
    count = 0
    with sharedq.connect(qmgr, appl_name="igq events") as connection:
        for name in queue or formats.QUEUES.values():
            for message in _found(connection, name, is_removed=is_removed):
                count += 1
                try:
                    fields = _decoded(message)
                except PCFError as error:
                    fields = {"error": f"this is no event message: {error}"}
                fields = {"queue": name, "time": _time(message), **fields}
                if is_json:
                    say_json(fields)
                else:
                    say(f"---- {fields['time']} {name}")
                    for line in reading.as_text({key: fields[key] for key in list(fields)[2:]}):
                        say(line)
    tell(counted(count, "event"))
    return 0


def _found(connection: Any, name: str, *, is_removed: bool) -> Iterator[Message]:
    from sharedq.mqi.constants import MQRC, GetOption, OpenOption
    from sharedq.mqi.errors import MQIError

    kind, step = OpenOption.BROWSE, GetOption.BROWSE_FIRST
    if is_removed:
        kind, step = OpenOption.INPUT_SHARED, GetOption.NO_SYNCPOINT
    with connection.open(name, kind | OpenOption.FAIL_IF_QUIESCING) as source:
        while True:
            try:
                yield source.get(step | GetOption.FAIL_IF_QUIESCING, match_options=0)
            except MQIError as error:
                if error.reason == MQRC.NO_MSG_AVAILABLE:
                    return
                raise
            step = step if is_removed else GetOption.BROWSE_NEXT


def _decoded(message: Message) -> dict[str, Any]:
    from igq.events.reading import as_fields
    from sharedq.mqi.character_sets import Representation
    from sharedq.mqi.pcf.reading import read

    representation = Representation(message.md.coded_char_set_id, message.md.encoding)
    return as_fields(read(message.body, representation), representation)


def _time(message: Message) -> str:
    """Return the time of the event, ISO 8601 with its zone."""
    date, time = message.md.put_date.decode("ascii", "replace"), message.md.put_time.decode("ascii", "replace")
    return f"{date[:4]}-{date[4:6]}-{date[6:]}T{time[:2]}:{time[2:4]}:{time[4:6]}.{time[6:]}Z"
