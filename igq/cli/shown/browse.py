"""``igq browse``: the sample program amqsbcg, or a table with one line for each message."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from igq.cli.messages import QMGR, QUEUE, printable
from igq.output.plural import counted
from sharedq.display.lines import tell

if TYPE_CHECKING:
    from sharedq.api import Queue
    from sharedq.messages.message import Message


def add_to(app: typer.Typer) -> None:
    app.command("browse", short_help="Show the messages on a queue, and leave them there.")(browse)


def browse(
    qmgr: Annotated[str, QMGR],
    queue: Annotated[str, QUEUE],
    max_messages: Annotated[
        int | None, typer.Option("--max", min=1, metavar="N", help="Show at most N messages.")
    ] = None,
    is_short: Annotated[
        bool,
        typer.Option("--short", help="Print a table with one line for each message: ids, length, put time, beginning."),
    ] = False,
) -> int:
    """Show descriptors and bodies of the messages on a queue, and remove nothing."""
    import sharedq
    from igq.output.silence import log_nothing
    from sharedq.mqi.constants import OpenOption

    log_nothing()
    with (
        sharedq.connect(qmgr, appl_name="igq browse") as connection,
        connection.open(queue, OpenOption.BROWSE | OpenOption.FAIL_IF_QUIESCING) as source,
    ):
        found = _browsed(source)
        shown = islice(found, max_messages)
        if is_short:
            from igq.cli.shown.message_table import print_messages

            count = print_messages(shown)
        else:
            count = _print_whole(shown)
        has_more = next(found, None) is not None
    messages = counted(count, "message")
    tell(f"{messages} shown, there are more on {queue}" if has_more else f"{messages} on {queue}")
    return 0


def _browsed(source: Queue) -> Iterator[Message]:
    """Yield the messages of a queue in order."""
    from sharedq.mqi.constants import MQRC, GetOption
    from sharedq.mqi.errors import MQIError

    step = GetOption.BROWSE_FIRST
    while True:
        try:
            yield source.get(step | GetOption.FAIL_IF_QUIESCING, match_options=0)
        except MQIError as error:
            if error.reason == MQRC.NO_MSG_AVAILABLE:
                return
            raise
        step = GetOption.BROWSE_NEXT


def _print_whole(found: Iterable[Message]) -> int:
    """Print every field of every message. Returns the number of messages."""
    count = 0
    for count, message in enumerate(found, start=1):
        print(f"---- message {count}, {message.data_length} bytes")
        for field in dataclasses.fields(message.md):
            # IBM's field names, as amqsbcg prints them.
            name = "".join(word.capitalize() for word in field.name.split("_"))
            print(f"  {name:<20} {_shown(getattr(message.md, field.name))}")
        print(f"  {'body':<20} {printable(message.body)}", flush=True)
    return count


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        text = value.decode("ascii", "replace")
        return repr(text) if text.isprintable() and value.strip(b"\0") else value.hex() or "''"
    return str(value)
