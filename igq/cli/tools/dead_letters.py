"""``igq dlq``: the dead-letter queues."""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from igq.cli.definitions import read_file
from igq.cli.help import show_help_alone
from igq.cli.messages import printable, read_identifier
from igq.errors import CommandError
from igq.output.plural import counted
from igq.pipeline.cli.option_groups import with_options
from sharedq.display.lines import say, say_json, tell

if TYPE_CHECKING:
    from igq.tools.dead_letters.handler import Handled
    from igq.tools.dead_letters.letters import Choice, Letter
    from igq.tools.dead_letters.removal import Deed

#: Exit statuses: everything that was meant was done; something was not.
DONE, SOME_LEFT = 0, 1
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)?")
_SECONDS = {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}

_Qmgr = Annotated[str, typer.Argument(metavar="QMGR", help="A running queue manager, or the group's name for any.")]
_Queue = Annotated[str, typer.Option("--queue", metavar="QUEUE", help="Another queue than the dead-letter queue.")]
_Reason = Annotated[
    list[str] | None,
    typer.Option("--reason", metavar="REASON", help="Only with this reason: 2053, Q_FULL ...; repeatable."),
]
_Destination = Annotated[str, typer.Option("--destination", metavar="QUEUE", help="Only for this queue; * and ? fit.")]
_DestinationQmgr = Annotated[str, typer.Option("--destination-qmgr", metavar="QMGR", help="Only for this manager.")]
_Source = Annotated[str, typer.Option("--source", metavar="PROGRAM", help="Only put by this program; * and ? fit.")]
_Format = Annotated[str, typer.Option("--format", metavar="FORMAT", help="Only with data of this format.")]
_MsgId = Annotated[str, typer.Option("--msg-id", metavar="ID", help="MsgId: 48 hexadecimal digits, or text.")]
_CorrelId = Annotated[str, typer.Option("--correl-id", metavar="ID", help="CorrelId, in the form of --msg-id.")]
_Older = Annotated[str, typer.Option("--older-than", metavar="AGE", help="Only dead for longer: 90s, 10m, 2h, 3d.")]
_Younger = Annotated[str, typer.Option("--younger-than", metavar="AGE", help="Only dead for less than this.")]
_First = Annotated[int | None, typer.Option("--max", min=1, metavar="N", help="At most N messages.")]
_Every = Annotated[bool, typer.Option("--all", help="All messages of the queue, as nothing else chooses any.")]


@dataclass(frozen=True)
class _Chosen:
    """The options that choose dead letters."""

    queue: _Queue = ""
    reason: _Reason = None
    destination: _Destination = ""
    destination_qmgr: _DestinationQmgr = ""
    source: _Source = ""
    format_: _Format = ""
    msg_id: _MsgId = ""
    correl_id: _CorrelId = ""
    older: _Older = ""
    younger: _Younger = ""
    first: _First = None

    def choice(self, *, every: bool = True) -> Choice:
        """Read the options.

        Args:
            every: all messages are meant if nothing chooses any.

        Raises:
            CommandError: an option cannot be read, or nothing chooses messages.
        """
        from igq.tools.dead_letters.letters import Choice
        from sharedq.messages.dead_letter import reason_code

        codes = {text: reason_code(text) for text in self.reason or ()}
        for text, code in codes.items():
            if code is None:
                raise CommandError(f"--reason {text}: allowed: a number, or a name such as Q_FULL", 2)
        choice = Choice(
            frozenset(code for code in codes.values() if code is not None),
            self.destination,
            self.destination_qmgr,
            self.source,
            self.format_,
            read_identifier(self.msg_id) if self.msg_id else b"",
            read_identifier(self.correl_id) if self.correl_id else b"",
            read_age("--older-than", self.older),
            read_age("--younger-than", self.younger),
            self.first,
        )
        if choice.is_empty and not every:
            raise CommandError("nothing chooses messages: say --all for all of them, or --reason, --destination ...", 2)
        return choice


def add_to(app: typer.Typer) -> None:
    letters = typer.Typer(
        help="List dead letters, put them back, discard or move them, by hand or by rules.",
        callback=show_help_alone,
        invoke_without_command=True,
    )
    letters.command("list", short_help="List dead letters with reasons and destinations.")(show)
    letters.command("requeue", short_help="Put dead letters on the queues they were meant for.")(requeue)
    letters.command("discard")(discard)
    letters.command("move")(move)
    letters.command("handle", short_help="Treat dead letters by a table of rules.")(handle)
    app.add_typer(letters, name="dlq", short_help="List, put back, discard or move dead letters.")


@with_options()
def show(
    qmgr: Annotated[str, typer.Argument(metavar="[QMGR]", help="A queue manager; none: those of all members.")] = "",
    *,
    chosen: _Chosen,
    summary: Annotated[bool, typer.Option("--summary", help="Count by reason and destination.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each message.")] = False,
) -> int:
    """List dead letters with their reasons and destinations, and remove nothing. No queue manager needs to run."""
    from igq.tools.dead_letters.letters import dead_letter_queue, dead_letter_queues, describe, read_letters, summarize
    from sharedq.members.group import Group
    from sharedq.settings.loader import load_settings

    choice = chosen.choice()
    if chosen.queue and not qmgr:
        raise CommandError("--queue needs QMGR, a queue manager that knows the queue", 2)
    group = Group(load_settings())
    try:
        if not qmgr:
            places = dead_letter_queues(group)
            if not places:
                tell(f"no member of group {group.name} has a dead-letter queue")
        else:
            places = [(qmgr, chosen.queue or dead_letter_queue(group, qmgr))]
        for at, name in places:
            found = read_letters(group, at, name, choice)
            if as_json:
                for letter in found:
                    say_json({"qmgr": at, "queue": name} | describe(letter))
            elif summary:
                _print_summary(f"{name} at {at}", summarize(list(found)))
            else:
                count = _print_letters(found)
                tell(f"{counted(count, 'message')} on {name} at {at}")
    finally:
        group.leave()
    return DONE


@with_options()
def requeue(
    qmgr: _Qmgr,
    chosen: _Chosen,
    every: _Every = False,
) -> int:
    """Put dead letters on the queues that they were meant for, without their dead-letter headers.

    Identifiers and context stay. Each message is put and removed in one unit of work, fifty together; a message that is
    refused stays where it is, with the reason on standard output.

    Exit status: 0, every message that was meant was put; 1, some stayed.
    """
    choice = chosen.choice(every=every)
    from igq.tools.dead_letters.removal import to_destination

    return _remove("requeue", qmgr, chosen.queue, choice, to_destination, "put back")


@with_options()
def discard(
    qmgr: _Qmgr,
    chosen: _Chosen,
    every: _Every = False,
) -> int:
    """Remove dead letters for good.

    Exit status: 0, every message that was meant is gone; 1, some are not.
    """
    choice = chosen.choice(every=every)
    return _remove("discard", qmgr, chosen.queue, choice, lambda _: None, "discarded")


@with_options()
def move(
    qmgr: _Qmgr,
    to: Annotated[str, typer.Option("--to", metavar="QUEUE", help="The queue that they are put on.")],
    to_qmgr: Annotated[str, typer.Option("--to-qmgr", metavar="QMGR", help="The queue manager that has it.")] = "",
    strip: Annotated[bool, typer.Option("--strip-header", help="Put them without their dead-letter headers.")] = False,
    *,
    chosen: _Chosen,
    every: _Every = False,
) -> int:
    """Put dead letters on another queue. They keep their identifiers, their context and their dead-letter headers.

    Exit status: 0, every message that was meant was put; 1, some stayed.
    """
    choice = chosen.choice(every=every)
    from igq.tools.dead_letters.removal import Put

    target = Put(to, to_qmgr, has_header=not strip)
    return _remove(f"move --to {to}", qmgr, chosen.queue, choice, lambda _: target, f"moved to {to}")


def handle(
    rules: Annotated[Path, typer.Argument(metavar="RULES", help="File with a rules table, as for IBM's runmqdlq.")],
    qmgr: Annotated[
        str, typer.Option("-m", "--manager", metavar="QMGR", help="A queue manager; default: INPUTQM of the table.")
    ] = "",
    queue: Annotated[
        str, typer.Option("--queue", metavar="QUEUE", help="Default: INPUTQ, or else the dead-letter queue of QMGR.")
    ] = "",
    wait: Annotated[
        bool | None, typer.Option("--wait/--no-wait", help="Wait for further messages; default: WAIT of the table.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check the table.")] = False,
) -> int:
    """Do with dead letters what a rules table says, once, or with --wait for as long as the command runs.

    The table is in the language of IBM's dead-letter queue handler: patterns such as REASON(MQRC_Q_FULL) and
    DESTQ(ORDERS*), and ACTION(DISCARD|IGNORE|RETRY|FWD). The command ends, as WAIT(NO) says, when there is nothing
    that it may do or try again.

    Exit status: 0, no action has failed for good; 1, at least one has.
    """
    from igq.operations.command_log import note_command
    from igq.output.silence import log_nothing
    from igq.tools.dead_letters.handler import Handler
    from igq.tools.dead_letters.removal import DONE as HANDLED
    from igq.tools.dead_letters.rules import FOR_EVER, NOT_AT_ALL, parse_rules
    from sharedq.api import group_for
    from sharedq.mqi.errors import MQIError
    from sharedq.settings.loader import load_settings

    table = parse_rules(read_file(rules))
    if check:
        say(f"{rules}: {counted(len(table.rules), 'rule')}")
        return DONE
    at = qmgr or table.qmgr
    if not at:
        raise CommandError("no queue manager: say --manager, or INPUTQM in the table", 2)
    log_nothing()
    done, failed = Counter[str](), 0

    def note(handled: Handled) -> None:
        nonlocal failed
        if handled.rule is not None and handled.outcome == HANDLED:
            done[handled.rule.action] += 1
        else:
            failed += handled.is_last and handled.rule is not None
            where = f"line {handled.rule.line}, {handled.rule.action}" if handled.rule else "no rule"
            tell(f"MsgId {handled.letter.md.msg_id.hex()}: {where}: {handled.outcome}")

    settings, place = load_settings(), list[str]()

    def log(result: str) -> None:
        # Of what did not come as far as its manager there is no line.
        if place:
            note_command(group_for(settings), place[0], f"dlq handle {rules} -m {place[0]} --queue {place[1]}", result)

    def begin(*found: str) -> None:
        # A handler may run for months, and be killed: its end is then not logged.
        place[:] = found
        log("begun")

    with ended_by_signals() as is_ended:
        wait_s = None if wait is None else FOR_EVER if wait else NOT_AT_ALL
        try:
            Handler(settings, table, note, is_ended=is_ended).run(at, queue, wait_s=wait_s, begin=begin)
        except MQIError as error:
            log(f"failed: {error}")
            raise
    told = [f"{action}: {counted(count, 'message')}" for action, count in sorted(done.items())]
    told = told or ["no message was handled"]
    log(", ".join(told))
    for line in told:
        say(line)
    return SOME_LEFT if failed else DONE


def _remove(verb: str, qmgr: str, queue: str, choice: Choice, decide: Callable[[Letter], Deed], what: str) -> int:
    import sharedq
    from igq.cli.tools.progress import progress
    from igq.operations.command_log import note_command
    from igq.output.silence import log_nothing
    from igq.tools.dead_letters.letters import dead_letter_queue, read_letters
    from igq.tools.dead_letters.removal import DONE as REMOVED
    from igq.tools.dead_letters.removal import remove_letters
    from sharedq.mqi.errors import MQIError

    log_nothing()
    with sharedq.connect(qmgr, appl_name="igq dlq") as connection:
        group, at = connection.connection.group, connection.qmgr_name
        name = queue or dead_letter_queue(group, at)
        letters = list(read_letters(group, at, name, choice))
        command = f"dlq {verb} {at} --queue {name} {choice}".rstrip()
        try:
            with progress(f"{name} at {at}", len(letters)) as step:
                outcomes = remove_letters(connection, name, letters, decide, step)
        except MQIError as error:
            note_command(group, at, command, f"failed: {error}")
            raise
        done = sum(count for (outcome, _, _), count in outcomes.items() if outcome == REMOVED)
        note_command(group, at, command, f"{done} of {counted(len(letters), 'message')} done")
    for (outcome, destination, destination_qmgr), count in sorted(outcomes.items()):
        if outcome != REMOVED:
            where = f" for {destination} at {destination_qmgr}" if destination else ""
            say(f"{counted(count, 'message')}{where}: {outcome}")
    say(f"{counted(done, 'message')} of {name} at {at} {what}")
    return DONE if done == len(letters) else SOME_LEFT


def read_age(option: str, text: str) -> float | None:
    """Read ``90s``, ``10m``, ``2h``, ``3d`` or seconds; None for an empty text."""
    if not text:
        return None
    found = _AGE.fullmatch(text)
    if found is None:
        raise CommandError(f"{option} {text}: allowed: 90s, 10m, 2h or 3d", 2)
    return float(found[1]) * _SECONDS[found[2]]


def _print_letters(found: Iterator[Letter]) -> int:
    from itertools import islice

    from igq.cli.shown.message_table import PAGE
    from igq.output.tables import new_table, widen
    from igq.tools.dead_letters.letters import shown_time
    from sharedq.display.terminal import Terminal

    console, count = Terminal(), 0
    widen(console, 240)
    while page := list(islice(found, PAGE)):
        table = new_table("", "Dead since", "Reason", "Destination", "Source", "Format", "Length", "MsgId")
        table.show_header = not count
        for letter in page:
            reason = f"{letter.reason} {letter.why}" if letter.header else "no header"
            where = f"{letter.queue} @ {letter.qmgr}" if letter.header else ""
            msg_id = printable(letter.md.msg_id.rstrip(b"\0")) if _is_text(letter.md.msg_id) else letter.md.msg_id.hex()
            cells = (
                shown_time(letter.died_ms),
                reason,
                where,
                letter.source,
                letter.format.strip(),
                str(letter.length),
            )
            table.add_row(*cells, msg_id)
        console.print(table)
        count += len(page)
    return count


def _is_text(identifier: bytes) -> bool:
    text = identifier.rstrip(b"\0").decode("ascii", "replace")
    return text.isascii() and text.isprintable() and " " not in text


def _print_summary(place: str, rows: list[tuple[int, str, str, str, int]]) -> None:
    from igq.output.tables import new_table
    from sharedq.display.terminal import Terminal

    table = new_table(place, "Messages", "Reason", "Destination", "Manager")
    for reason, why, queue, qmgr, count in rows:
        table.add_row(str(count), f"{reason} {why}" if reason else "no header", queue, qmgr)
    Terminal().print(table)


@contextmanager
def ended_by_signals() -> Iterator[Callable[[], bool]]:
    """Notice SIGTERM and Ctrl-C, so that what is begun is done; a second one ends the command at once."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}
    is_ended = False

    def end(_number: int, _frame: object) -> None:
        nonlocal is_ended
        is_ended = True
        for number in numbers:
            signal.signal(number, before[number])

    for number in numbers:
        signal.signal(number, end)
    try:
        yield lambda: is_ended
    finally:
        for number in numbers:
            signal.signal(number, before[number])
