"""Reads the message journal: one Redis stream for each structure, one entry for each script call, many messages in it.

Needs redis-py and no running group, so that a distant reader (a Spark worker) can use it. The scripts write the
journal; `docs/reference/key-space.md` has the format. An entry's id is the event's time by Redis' clock.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import redis

from sharedq.messages.record import DEAD_LETTER, PERSISTENT
from sharedq.objects.definitions.names import queue_of
from sharedq.redis.answers import reason_of
from sharedq.redis.deployment import Deployment, DeploymentError
from sharedq.redis.keys import StructureKeys, admin_keys, qmgr_of
from sharedq.redis.outage import PASSING, ride_out

#: Entries requested in one call: enough to hide the round trip, few enough not to hold Redis up.
READ_ENTRIES = 2_000
#: Message ids requested in one pipeline.
HELD_IDS = 1_000

#: The last number that an entry can have in its millisecond.
SEQUENCE_MAX = 2**64 - 1

_EPOCH = datetime.fromtimestamp(0, UTC)
_POSITION = re.compile(r"\d{1,18}(-\d{1,20})?")
#: The mark of a get that continued its group in logical order.
LOGICAL = b"2"
#: The events in entries.
EVENTS = frozenset({"put", "get", "prepare", "commit", "backout", "transfer", "expire", "clear", "return", "undo"})


class JournalError(Exception):
    """The journal cannot be read. The message is one line and contains no password."""


class JournalTrimmedError(JournalError):
    """The requested part of the journal was trimmed."""


class JournalEntry(NamedTuple):
    """One stream entry: its id (``ms-seq``), and its fields as the scripts wrote them."""

    stream_id: str
    fields: Mapping[bytes, bytes]


class Extent(NamedTuple):
    """The extent of a structure's journal now. ``is_whole``: nothing was trimmed from its beginning."""

    first: str
    last: str
    entries: int
    is_whole: bool


class JournalRow(NamedTuple):
    """One event of one message or, for a prepare, commit or back-out, of one unit of work (without a message)."""

    event: str
    #: Microseconds since 1970, UTC.
    time_us: int
    stream_id: str
    #: Place in the entry, from 0. Entries with several messages hold them in order.
    position: int
    structure: str
    qmgr: str
    owner: str
    queue: str | None = None
    target_queue: str | None = None
    unit_of_work: str | None = None
    message_number: int | None = None
    message_id: str | None = None
    #: Hexadecimal, lower case. None for 24 zero bytes.
    msg_id: str | None = None
    correl_id: str | None = None
    group_id: str | None = None
    msg_seq_number: int | None = None
    length: int | None = None
    persistent: bool | None = None
    priority: int | None = None
    recovered: bool = False
    #: The number of messages in the whole entry.
    messages: int = 0
    #: Put: the message has a dead-letter header.
    dead_letter: bool = False
    #: Get: it selected messages, so the message that it got need not have been the first.
    chosen: bool = False
    logical: bool = False


def structure_numbers(deployment: Deployment, group: str) -> dict[str, int]:
    """Return every structure of *group* that may have a journal, with its number.

    Raises:
        JournalError: Redis cannot be reached, or does not know the group.
    """
    with errors_named(), deployment.client(admin_keys(group).structures) as client:
        return structure_numbers_at(client, group)


def structure_numbers_at(client: redis.Redis, group: str) -> dict[str, int]:
    """As `structure_numbers`, over a client of the server that holds ``admin_keys(group).structures``."""
    with errors_named():
        found: dict[bytes, bytes] = client.hgetall(admin_keys(group).structures)  # type: ignore[assignment]
    if not found:
        raise JournalError(f"Redis knows no group {group}: no queue manager of it ever started there")
    return {name.decode(): int(json.loads(text)["number"]) for name, text in sorted(found.items())}


def read_extent(client: redis.Redis, structure: StructureKeys) -> Extent | None:
    """Return the first and last entry of a structure's journal. None if there is none."""
    with errors_named():
        if not client.exists(structure.journal):
            return None
        info: dict[str, Any] = client.xinfo_stream(structure.journal)
    if not info["length"]:
        return None
    added = info.get("entries-added", info["length"])
    return Extent(
        info["first-entry"][0].decode(),
        info["last-entry"][0].decode(),
        info["length"],
        added == info["length"],
    )


def read_entries(
    client: redis.Redis,
    structure: StructureKeys,
    start: str = "-",
    end: str = "+",
    count: int = READ_ENTRIES,
    *,
    is_first_there: bool = False,
    may_miss: bool = False,
    outage_s: float = 0,
    reconnect: Callable[[], redis.Redis] | None = None,
) -> Iterator[JournalEntry]:
    """Yield the entries from *start* to *end*, both included, oldest first. At most *count* + 1 are in memory.

    Args:
        is_first_there: *start* is an entry that existed a moment ago.
        may_miss: continue after entries that are trimmed while the caller reads.
        outage_s, reconnect: Redis may be away for so many seconds; this makes another client then.

    Raises:
        JournalError: Redis cannot be reached or refuses.
        JournalTrimmedError: entries were trimmed before they could be read.
    """
    # Each page but the first begins with the last entry of the page before: while that exists, nothing after it was
    # trimmed.
    known = start if is_first_there else None
    clients = [client]

    def page(first: str) -> list[tuple[bytes, dict[bytes, bytes]]]:
        with errors_named():
            return clients[-1].xrange(structure.journal, first, end, count + 1)  # type: ignore[return-value]

    def connect_anew() -> None:
        if reconnect is not None:
            clients.append(reconnect())

    while True:
        found = ride_out(outage_s, partial(page, start), connect_anew)
        is_known_there = bool(found) and found[0][0].decode() == known
        if known is not None and not is_known_there and not may_miss:
            raise JournalTrimmedError(
                f"the journal of {structure.name} was trimmed while it was read, entry {known} is gone; "
                f"begin later, or make journal_max_entries or journal_max_bytes larger"
            )
        # The caller has not had the very first entry.
        for stream_id, fields in found[1:] if is_known_there and not is_first_there else found:
            yield JournalEntry(stream_id.decode(), fields)
        if len(found) <= count:
            return
        start = known = found[-1][0].decode()
        is_first_there = False


def expand(entry: JournalEntry, structure: str, structure_number: int) -> list[JournalRow]:
    """Return the rows of one entry: one for each message, or a single one for the end of a unit of work.

    Args:
        structure_number: part of the MsgIds that igq generates, which the journal abbreviates.

    Raises:
        JournalError: the entry is not in the journal's format.
    """
    try:
        return _expand(entry, structure, structure_number)
    except (KeyError, ValueError, IndexError) as error:
        where = f"journal of {structure}, entry {entry.stream_id}"
        raise JournalError(f"{where}: not in the format ({error})") from error


def held(client: redis.Redis, structure: StructureKeys, message_ids: Sequence[str]) -> list[bool]:
    """Return which of the messages the structure stores at this moment, in the order given.

    Raises:
        JournalError: Redis cannot be reached or refuses.
    """
    answers: list[bool] = []
    for first in range(0, len(message_ids), HELD_IDS):
        with errors_named():
            pipeline = client.pipeline(transaction=False)
            for message_id in message_ids[first : first + HELD_IDS]:
                pipeline.hexists(structure.messages, message_id)
            answers.extend(bool(answer) for answer in pipeline.execute())
    return answers


def parse_position(text: str) -> str:
    """Parse a position in the journal: a stream id, milliseconds since 1970, or an ISO 8601 time (by default UTC).

    ``-`` is the beginning and ``+`` the end. A time means its whole millisecond, at either end of a range. A time
    before 1970 means the beginning.

    Raises:
        ValueError: the text is none of these.
    """
    text = text.strip()
    if text in ("-", "+") or _POSITION.fullmatch(text):
        return text
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is no place in the journal; allowed: 2013-01-31T12:00:00, milliseconds, or MS-SEQ"
        ) from None
    # In integers: a float could turn a millisecond into the one before.
    return str(max(0, ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // timedelta(milliseconds=1)))


def check_order(start: str, end: str) -> None:
    """Raise JournalError if *end* is before *start*, so that nothing can ever lie between them."""
    if position_order(start, is_end=False) > position_order(end, is_end=True):
        raise JournalError(f"the end ({end}) is before the start ({start})")


def clip(extent: Extent, start: str, end: str) -> tuple[str, str] | None:
    """Return the part of *extent* between *start* and *end*. None if there is none.

    The end is always a real position, never "now": entries added while the caller reads are not included.
    """
    first = max(position_order(extent.first, is_end=False), position_order(start, is_end=False))
    last = min(position_order(extent.last, is_end=True), position_order(end, is_end=True))
    return None if first > last else (position_text(first), position_text(last))


def split(start: str, end: str, parts: int) -> list[tuple[str, str]]:
    """Cut a range into at most *parts* ranges of equal time that together contain each entry exactly once."""
    first, last = position_order(start, is_end=False), position_order(end, is_end=True)
    width = (last[0] - first[0] + parts) // parts
    cuts = [first, *((ms, 0) for ms in range(first[0] + width, last[0] + 1, width))]
    return [
        (position_text(cut), position_text((cuts[at + 1][0] - 1, SEQUENCE_MAX) if at + 1 < len(cuts) else last))
        for at, cut in enumerate(cuts)
    ]


def position_order(position: str, *, is_end: bool) -> tuple[int, int]:
    """Return a position as milliseconds and number. A missing number means the first, or, as an end, the last."""
    if position == "-":
        return (0, 0)
    if position == "+":
        return (2**62, SEQUENCE_MAX)
    ms, _, sequence = position.partition("-")
    return (int(ms), int(sequence) if sequence else (SEQUENCE_MAX if is_end else 0))


def position_text(order: tuple[int, int]) -> str:
    """Return the stream id of milliseconds and number."""
    return f"{order[0]}-{order[1]}"


def _expand(entry: JournalEntry, structure: str, structure_number: int) -> list[JournalRow]:
    fields = {name.decode(): value.decode() for name, value in entry.fields.items()}
    event, owner = fields["e"], fields["o"]
    if event not in EVENTS:
        raise ValueError(f"unknown event {event!r}")
    qmgr = qmgr_of(owner)
    ids = fields.get("i", "").split()
    head = JournalRow(
        event=event,
        time_us=int(entry.stream_id.partition("-")[0]) * 1000,
        stream_id=entry.stream_id,
        position=0,
        structure=structure,
        qmgr=qmgr,
        owner=owner,
        queue=queue_of(fields.get("q", "")) or None,
        target_queue=fields.get("t") or None,
        unit_of_work=fields.get("u") or None,
        recovered=fields.get("r") == "1",
        messages=int(fields.get("n") or len(ids)),
        chosen="c" in fields,
        logical=fields.get("c") == LOGICAL.decode(),
    )
    if not ids:
        return [head]
    details: Sequence[str] = fields["d"].split("\n") if event == "put" else ()
    if event == "put" and len(details) != len(ids):
        raise ValueError(f"{len(ids)} messages, {len(details)} descriptions")
    prefix = generated_msg_id_prefix(qmgr, structure_number)
    return [
        _message_row(head, position, message_id, details[position] if details else None, prefix)
        for position, message_id in enumerate(ids)
    ]


def _message_row(head: JournalRow, position: int, message_id: str, detail: str | None, prefix: str) -> JournalRow:
    number = int(message_id.rstrip("x").partition(".")[0])
    row = (*head[:3], position, *head[4:10], number, message_id)
    if detail is None:
        event = JournalRow(*row, recovered=head.recovered, messages=head.messages)
        return event._replace(chosen=head.chosen, logical=head.logical)
    msg_id, correl_id, group_id, sequence, length, marks, priority = detail.split(",")
    return JournalRow(
        *row,
        msg_id.lower() or f"{prefix}{number:012x}",
        correl_id.lower() or None,
        group_id.lower() or None,
        int(sequence),
        int(length),
        int(marks) & PERSISTENT != 0,
        int(priority),
        head.recovered,
        head.messages,
        int(marks) & DEAD_LETTER != 0,
    )


def generated_msg_id_prefix(qmgr: str, structure_number: int) -> str:
    """Return how MsgIds begin that igq generates for *qmgr* in a structure, hexadecimal. Six bytes follow."""
    return (b"CSQ " + qmgr.encode().ljust(12)[:12] + struct.pack(">H", structure_number)).hex()


class errors_named:  # noqa: N801 - reads as a statement: with errors_named(): ...
    """Turns exceptions of redis-py into one line."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, redis.RedisError | OSError):
            line = " ".join(str(error).split()) or type(error).__name__
            is_away = reason_of(error) in PASSING and not isinstance(error, redis.AuthenticationError)
            why = "Redis cannot be reached" if is_away else "Redis refuses that"
            raise JournalError(f"the journal cannot be read, {why}: {line}") from error
        if isinstance(error, DeploymentError):
            raise JournalError(str(error)) from error
