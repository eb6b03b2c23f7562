"""``igq put`` and ``igq get``: the sample programs amqsput and amqsget."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from functools import reduce
from io import BufferedReader
from operator import or_
from pathlib import Path
from typing import Annotated, cast

import typer

from igq.errors import CommandError
from sharedq.display.lines import tell

QMGR = typer.Argument(metavar="QMGR", help="Queue manager, or the group's name for any member.")
QUEUE = typer.Argument(metavar="QUEUE", help="Name of the queue.")

_CORREL_ID = typer.Option("--correl-id", metavar="ID", help="CorrelId: 48 hexadecimal digits, or text.")

_HEXADECIMAL = re.compile("[0-9a-fA-F]{48}")
_IDENTIFIER_BYTES = 24
#: Expiry counts tenths of a second, in nine digits.
_MOST_EXPIRY_S = 99_999_999

#: WaitInterval has 31 bits of milliseconds.
_MOST_WAIT_S = 2_147_483

#: Bytes of standard input that are taken at a time.
_CHUNK_BYTES = 65536


class ReportKind(StrEnum):
    """Reports that a queue manager makes."""

    COA = "coa"
    COD = "cod"
    EXPIRATION = "expiration"
    EXCEPTION = "exception"


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("put")(put)
    app.command("get")(get)


def put(
    qmgr: Annotated[str, QMGR],
    queue: Annotated[str, QUEUE],
    messages: Annotated[
        list[str] | None, typer.Argument(metavar="MESSAGE", help="Messages; none: lines of standard input.")
    ] = None,
    target: Annotated[str, typer.Option("--qmgr", metavar="TARGET", help="Queue manager that has the queue.")] = "",
    persistent: Annotated[
        bool | None, typer.Option("--persistent/--nonpersistent", help="Default: as the queue says.")
    ] = None,
    priority: Annotated[int, typer.Option(min=-1, max=9, metavar="P", help="0 to 9; -1: as the queue says.")] = -1,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Put the bytes of FILE as one message.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Put all bytes of standard input as one message, lines or not.")
    ] = False,
    correl_id: Annotated[str, _CORREL_ID] = "",
    expiry: Annotated[
        float | None, typer.Option(min=0.1, max=_MOST_EXPIRY_S, metavar="S", help="Seconds that each message lives.")
    ] = None,
    reply_to: Annotated[
        str, typer.Option("--reply-to", metavar="QUEUE", help="ReplyToQ; without --report each message is a request.")
    ] = "",
    reply_to_qmgr: Annotated[
        str,
        typer.Option("--reply-to-qmgr", metavar="QMGR", help="ReplyToQMgr; default: what QMGR knows of that queue."),
    ] = "",
    report: Annotated[
        list[ReportKind] | None,
        typer.Option("--report", help="A report to send to --reply-to: of arrival, delivery, expiry, no delivery."),
    ] = None,
) -> int:
    """Put messages on a queue, one for each argument, or for each line of standard input.

    A hundred are put at once, all of them or none; the error tells how many had been put before. Text has the Format
    MQSTR; with --file and --raw nothing is known of the bytes, and the Format is blank.
    """
    import sharedq
    from igq.console.log import log_nothing
    from sharedq.mqi.constants import Format, MsgType, OpenOption, Persistence, PutOption
    from sharedq.mqi.errors import error_for
    from sharedq.mqi.limits import UNLIMITED_EXPIRY
    from sharedq.mqi.structures import MQMD

    if bool(messages) + (file is not None) + raw > 1:
        raise CommandError("MESSAGE, --file and --raw exclude each other", 2)
    if report and not reply_to:
        raise CommandError("--report needs --reply-to, the queue that reports go to", 2)
    is_text = file is None and not raw
    source = _batches(messages) if is_text else iter([[_whole(file)]])
    log_nothing()
    asked = MQMD(
        msg_type=int(MsgType.REQUEST if reply_to and not report else MsgType.DATAGRAM),
        format=Format.STRING if is_text else Format.NONE,
        persistence=int(Persistence.AS_Q_DEF) if persistent is None else int(persistent),
        priority=priority,
        correl_id=_identifier(correl_id),
        expiry=UNLIMITED_EXPIRY if expiry is None else round(expiry * 10),
        reply_to_q=reply_to.encode(),
        reply_to_q_mgr=reply_to_qmgr.encode(),
        report=_report_options(report or []),
    )
    options = OpenOption.OUTPUT | OpenOption.FAIL_IF_QUIESCING
    count = 0
    with (
        sharedq.connect(qmgr, appl_name="igq put") as connection,
        connection.open(queue, options, qmgr_name=target) as to,
    ):
        for bodies in source:
            batch = [(replace(asked), each) for each in bodies]
            try:
                to.put_many(batch, options=PutOption.FAIL_IF_QUIESCING)
            except sharedq.MQIError as error:
                so_far = f"{_put_so_far(count, queue)} before that"
                detail = f"{error.detail}; {so_far}" if error.detail else so_far
                raise error_for(error.reason, "MQPUT", queue, detail) from error
            count += len(batch)
    tell(_put_so_far(count, queue))
    return 0


def _put_so_far(count: int, queue: str) -> str:
    return f"{count} message{'' if count == 1 else 's'} put on {queue}"


def get(
    qmgr: Annotated[str, QMGR],
    queue: Annotated[str, QUEUE],
    wait: Annotated[
        float,
        typer.Option(min=-1, max=_MOST_WAIT_S, metavar="S", help="Seconds to wait for each message; -1: for ever."),
    ] = 1.0,
    max_messages: Annotated[
        int | None, typer.Option("--max", min=1, metavar="N", help="Get at most N messages.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Write the bytes of the bodies and nothing else, not even line ends.")
    ] = False,
    correl_id: Annotated[str, _CORREL_ID] = "",
    msg_id: Annotated[str, typer.Option("--msg-id", metavar="ID", help="MsgId, as --correl-id.")] = "",
) -> int:
    """Get messages and print their bodies, one a line, until none comes within the wait.

    What cannot be printed in a line is shown as \\xNN, and a backslash as two; --raw writes bodies as they are.
    """
    import sharedq
    from igq.console.log import log_nothing
    from sharedq.mqi.constants import MQRC, GetOption, OpenOption
    from sharedq.mqi.structures import MQMD

    wanted = MQMD(correl_id=_identifier(correl_id), msg_id=_identifier(msg_id))
    log_nothing()
    options = GetOption.FAIL_IF_QUIESCING | GetOption.SYNCPOINT | (GetOption.WAIT if wait else 0)
    wait_ms = -1 if wait < 0 else int(wait * 1000)
    count = 0
    with (
        sharedq.connect(qmgr, appl_name="igq get") as connection,
        connection.open(queue, OpenOption.INPUT_AS_Q_DEF | OpenOption.FAIL_IF_QUIESCING) as source,
    ):
        while max_messages is None or count < max_messages:
            try:
                message = source.get(options, wait_ms=wait_ms, match=replace(wanted))
            except sharedq.MQIError as error:
                if error.reason == MQRC.NO_MSG_AVAILABLE:
                    _tell_nothing_came(wait, count)
                    break
                raise
            # Printed before it is gone: a reader that closes the pipe loses nothing.
            if raw:
                _write_whole(message.body)
            else:
                print(printable(message.body), flush=True)
            connection.commit()
            count += 1
    return 0


def _tell_nothing_came(wait_s: float, count: int) -> None:
    """Say to a person, who would else wonder, why a get has ended. A program sees the status, and nothing printed."""
    if sys.stderr is not None and sys.stderr.isatty():
        what = "no further message" if count else "no message"
        tell(f"{what} came within {wait_s:g} s" if wait_s else f"{what} is there")


def _write_whole(body: bytes) -> None:
    """Write to standard output all of it, or raise: unbuffered, it may take a part and say nothing."""
    left = memoryview(body)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


def _identifier(text: str) -> bytes:
    """A MsgId or CorrelId: 48 hexadecimal digits, or up to 24 bytes of text; nulls where nothing is given."""
    if _HEXADECIMAL.fullmatch(text):
        return bytes.fromhex(text)
    identifier = text.encode("utf-8", "surrogateescape")
    if len(identifier) > _IDENTIFIER_BYTES:
        raise CommandError(f"{text!r} has {len(identifier)} bytes: an identifier has 24, or 48 hexadecimal digits", 2)
    return identifier.ljust(_IDENTIFIER_BYTES, b"\0")


def _report_options(kinds: list[ReportKind]) -> int:
    from sharedq.mqi.constants import Report

    return reduce(or_, (int(Report[kind.name]) for kind in kinds), 0)


def printable(body: bytes) -> str:
    """A body as one line of text: what is not text is shown as ``\\xNN``, and a backslash as two."""
    text = body.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode())


def _whole(file: Path | None) -> bytes:
    """All of a file, or of standard input."""
    try:
        return cast(BufferedReader, sys.stdin.buffer).read() if file is None else file.read_bytes()
    except OSError as error:
        raise CommandError(f"{file or 'standard input'}: {error.strerror}") from None


def _batches(messages: list[str] | None) -> Iterator[list[bytes]]:
    """The messages as they come: a line that is typed at once, those of a file or pipe many at a time."""
    if messages:
        yield [message.encode("utf-8", "surrogateescape") for message in messages]
        return
    source, pieces = cast(BufferedReader, sys.stdin.buffer), list[bytes]()
    # read1 returns what is there, and waits only when nothing is. A long line comes in many pieces.
    while chunk := source.read1(_CHUNK_BYTES):
        first, *lines = chunk.split(b"\n")
        pieces.append(first)
        if lines:
            complete, pieces = [b"".join(pieces), *lines[:-1]], [lines[-1]]
            yield [line.removesuffix(b"\r") for line in complete]
    if rest := b"".join(pieces):
        yield [rest.removesuffix(b"\r")]
