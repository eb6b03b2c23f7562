"""``igq put`` and ``igq get``: the sample programs amqsput and amqsget."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from enum import StrEnum
from functools import reduce
from io import BufferedReader
from operator import or_
from pathlib import Path
from typing import Annotated

import typer

from igq.cli.standard_input import read_bytes, standard_input
from igq.errors import CommandError
from igq.output.plural import counted
from sharedq.display.lines import tell

QMGR = typer.Argument(metavar="QMGR", help="Queue manager; the group's name or an empty one: any member.")
QUEUE = typer.Argument(metavar="QUEUE", help="Name of the queue.")

_CORREL_ID = typer.Option("--correl-id", metavar="ID", help="CorrelId: 48 hexadecimal digits, or text.")

_HEXADECIMAL = re.compile("[0-9a-fA-F]{48}")
_IDENTIFIER_BYTES = 24
#: Expiry counts tenths of a second, in nine digits.
_MOST_EXPIRY_S = 99_999_999

#: WaitInterval has 31 bits of milliseconds.
_MOST_WAIT_S = 2_147_483

#: Bytes that are read from standard input at a time.
_CHUNK_BYTES = 65536


class ReportKind(StrEnum):
    """Reports that a queue manager makes."""

    COA = "coa"
    COD = "cod"
    EXPIRATION = "expiration"
    EXCEPTION = "exception"


def add_to(app: typer.Typer) -> None:
    app.command("put", short_help="Put messages on a queue.")(put)
    app.command("get", short_help="Get messages from a queue and print their bodies.")(get)


def put(
    qmgr: Annotated[str, QMGR],
    queue: Annotated[str, QUEUE],
    messages: Annotated[
        list[str] | None, typer.Argument(metavar="MESSAGE", help="Messages; without any: lines of standard input.")
    ] = None,
    target: Annotated[str, typer.Option("--qmgr", metavar="TARGET", help="Queue manager that has the queue.")] = "",
    persistent: Annotated[
        bool | None, typer.Option("--persistent/--nonpersistent", help="Default: as the queue says.")
    ] = None,
    priority: Annotated[int, typer.Option(min=-1, max=9, metavar="P", help="0 to 9; -1: as the queue says.")] = -1,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Put the bytes of FILE as one message; -: as --raw.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Put all bytes of standard input as one message.")] = False,
    correl_id: Annotated[str, _CORREL_ID] = "",
    expiry: Annotated[
        float | None, typer.Option(min=0.1, max=_MOST_EXPIRY_S, metavar="S", help="Seconds until each message expires.")
    ] = None,
    reply_to: Annotated[
        str, typer.Option("--reply-to", metavar="QUEUE", help="ReplyToQ; without --report each message is a request.")
    ] = "",
    reply_to_qmgr: Annotated[
        str,
        typer.Option("--reply-to-qmgr", metavar="QMGR", help="ReplyToQMgr; default: taken from QMGR's definition."),
    ] = "",
    report: Annotated[
        list[ReportKind] | None,
        typer.Option("--report", help="A report to send to --reply-to, on arrival, delivery, expiry or an exception."),
    ] = None,
) -> int:
    """Put messages on a queue, one for each argument, or for each line of standard input.

    Messages are put in batches of a hundred. Each batch is put completely or not at all. An error tells how many
    messages had been put before it. Text has the Format MQSTR; with --file and --raw the Format is blank, because
    nothing is known of the bytes.

    Exit status: 0, every message was put; 1, one was not.
    """
    import sharedq
    from igq.output.silence import log_nothing
    from sharedq.mqi.constants import Format, MsgType, OpenOption, Persistence, PutOption
    from sharedq.mqi.errors import error_for
    from sharedq.mqi.limits import UNLIMITED_EXPIRY
    from sharedq.mqi.structures import MQMD, copied

    if bool(messages) + (file is not None) + raw > 1:
        raise CommandError("MESSAGE, --file and --raw exclude each other", 2)
    if report and not reply_to:
        raise CommandError("--report needs --reply-to, the queue for the reports", 2)
    is_text = file is None and not raw
    source: Iterator[list[bytes]]
    if messages:
        source = iter([[message.encode("utf-8", "surrogateescape") for message in messages]])
    elif file is not None:
        source = iter([[read_bytes(file)]])
    else:
        given = standard_input("give MESSAGE or --file")
        source = iter([[read_bytes(Path("-"))]]) if raw else _batches(given)
    log_nothing()
    asked = MQMD(
        msg_type=int(MsgType.REQUEST if reply_to and not report else MsgType.DATAGRAM),
        format=Format.STRING if is_text else Format.NONE,
        persistence=int(Persistence.AS_Q_DEF) if persistent is None else int(persistent),
        priority=priority,
        correl_id=read_identifier(correl_id),
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
            batch = [(copied(asked), each) for each in bodies]
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
    return f"{counted(count, 'message')} put on {queue}"


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
    raw: Annotated[bool, typer.Option("--raw", help="Write only the bytes of the bodies, without line ends.")] = False,
    correl_id: Annotated[str, _CORREL_ID] = "",
    msg_id: Annotated[str, typer.Option("--msg-id", metavar="ID", help="MsgId, in the form of --correl-id.")] = "",
) -> int:
    """Get messages and print their bodies, one a line, until no message comes within the wait.

    The messages leave the queue; --max limits how many. Bytes that cannot be printed in a line appear as \\xNN, and a
    backslash as two; --raw writes bodies as they are.

    Exit status: 0, also if there was no message; 1, a get failed.
    """
    import sharedq
    from igq.output.silence import log_nothing
    from sharedq.mqi.constants import MQRC, GetOption, OpenOption
    from sharedq.mqi.structures import MQMD, copied

    wanted = MQMD(correl_id=read_identifier(correl_id), msg_id=read_identifier(msg_id))
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
                message = source.get(options, wait_ms=wait_ms, match=copied(wanted))
            except sharedq.MQIError as error:
                if error.reason == MQRC.NO_MSG_AVAILABLE:
                    _tell_nothing_came(wait, count)
                    break
                raise
            # Print before the commit: if the reader closes the pipe, the message is not lost.
            if raw:
                _write_whole(message.body)
            else:
                print(printable(message.body), flush=True)
            connection.commit()
            count += 1
    return 0


def _tell_nothing_came(wait_s: float, count: int) -> None:
    """Tell a person why a get has ended. A program sees the status and the empty output."""
    if sys.stderr is not None and sys.stderr.isatty():
        what = "no further message" if count else "no message"
        tell(f"{what} came within {wait_s:g} s" if wait_s else f"{what} on the queue")


def _write_whole(body: bytes) -> None:
    """Write everything to standard output or raise. Unbuffered output may silently take only a part."""
    left = memoryview(body)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


def read_identifier(text: str) -> bytes:
    """Read a MsgId or CorrelId: 48 hexadecimal digits, or up to 24 bytes of text; nulls for an empty text."""
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
    """Write a body as one line of text: bytes that are not text as ``\\xNN``, and a backslash as two."""
    text = body.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode())


def _batches(source: BufferedReader) -> Iterator[list[bytes]]:
    """Yield messages as they come: a typed line at once, lines of a file or pipe many at a time."""
    pieces = list[bytes]()
    # read1 returns what is there, and waits only if nothing is. A long line comes in many pieces.
    while chunk := source.read1(_CHUNK_BYTES):
        first, *lines = chunk.split(b"\n")
        pieces.append(first)
        if lines:
            complete, pieces = [b"".join(pieces), *lines[:-1]], [lines[-1]]
            yield [line.removesuffix(b"\r") for line in complete]
    if rest := b"".join(pieces):
        yield [rest.removesuffix(b"\r")]
