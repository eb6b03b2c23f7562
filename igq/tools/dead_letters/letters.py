"""Reads the letters of a dead-letter queue: their descriptors and headers, without their data and without a handle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from igq.errors import CommandError
from sharedq.members.group import Group
from sharedq.messages.dead_letter import HEADER_LENGTH, died_at, header_of, reason_name
from sharedq.messages.message import message_number
from sharedq.messages.record import decode_descriptor, message_token, record_body, record_put_time_ms
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.mqi.headers import MQDLH
from sharedq.mqi.structures import MQMD
from sharedq.objects.repository import Repository
from sharedq.reading.plan import find_parts, plan_ranges
from sharedq.reading.queue import Reader, ReadFilter, Slice

#: More messages than any queue has: one range holds all of them, in the order of the queue.
_IN_ONE_RANGE = 1 << 60


@dataclass(frozen=True, slots=True)
class Letter:
    """One message of a dead-letter queue.

    Attributes:
        token: its MsgToken, by which it is got.
        header: None: it has no dead-letter header, so nothing says where it belongs.
        length: bytes of the data after the header.
        died_ms: when it became a dead letter, or was put if its header does not say; ms since 1970, 0 if neither does.
    """

    token: bytes
    md: MQMD
    header: MQDLH | None
    length: int
    died_ms: int

    @property
    def reason(self) -> int:
        """The reason or feedback code of its header; 0 without one."""
        return self.header.reason if self.header else 0

    @property
    def why(self) -> str:
        """The name of the reason; empty if it is unknown."""
        return reason_name(self.header.reason) if self.header else ""

    @property
    def queue(self) -> str:
        """The queue that it was for; empty without a header."""
        return _text(self.header.dest_q_name) if self.header else ""

    @property
    def qmgr(self) -> str:
        """The queue manager that it was for; empty without a header."""
        return _text(self.header.dest_q_mgr_name) if self.header else ""

    @property
    def by(self) -> str:
        """The program that made it a dead letter."""
        return _text(self.header.put_appl_name) if self.header else ""

    @property
    def source(self) -> str:
        """The program that put the message in the first place."""
        return _text(self.md.put_appl_name)

    @property
    def format(self) -> str:
        """The format of the data after the header."""
        return _text(self.header.format if self.header else self.md.format)


@dataclass(frozen=True, slots=True)
class Choice:
    """Letters that are meant. All conditions must hold; an empty one always does. Names may contain ``*`` and ``?``.

    Attributes:
        older_s, younger_s: how long it must, or may, have been a dead letter, seconds.
        first: the most letters; None for all.
    """

    reasons: frozenset[int] = frozenset()
    queue: str = ""
    qmgr: str = ""
    source: str = ""
    format: str = ""
    msg_id: bytes = b""
    correl_id: bytes = b""
    older_s: float | None = None
    younger_s: float | None = None
    first: int | None = field(default=None, compare=False)

    @property
    def is_empty(self) -> bool:
        """Whether every letter is meant."""
        return self == Choice()

    def __str__(self) -> str:
        """The conditions as options of ``igq dlq``, with blanks between them."""
        words = [f"--reason {reason}" for reason in sorted(self.reasons)]
        named = {
            "--destination": self.queue,
            "--destination-qmgr": self.qmgr,
            "--source": self.source,
            "--format": self.format,
            "--msg-id": self.msg_id.hex(),
            "--correl-id": self.correl_id.hex(),
            "--older-than": "" if self.older_s is None else f"{self.older_s:g}",
            "--younger-than": "" if self.younger_s is None else f"{self.younger_s:g}",
            "--max": "" if self.first is None else str(self.first),
        }
        return " ".join([*words, *(f"{option} {value}" for option, value in named.items() if value)])

    def means(self, letter: Letter, now_ms: int) -> bool:
        """Whether a letter is meant. *now_ms*: by the Redis clock, since 1970."""
        age_s = (now_ms - letter.died_ms) / 1000
        return (
            (not self.reasons or letter.reason in self.reasons)
            and _fits(self.queue, letter.queue)
            and _fits(self.qmgr, letter.qmgr)
            and _fits(self.source, letter.source)
            and _fits(self.format, letter.format)
            and self.msg_id in (b"", letter.md.msg_id)
            and self.correl_id in (b"", letter.md.correl_id)
            and (self.older_s is None or age_s >= self.older_s)
            and (self.younger_s is None or age_s <= self.younger_s)
        )


def dead_letter_queue(group: Group, qmgr: str) -> str:
    """Return the name of the dead-letter queue of a manager.

    Raises:
        CommandError: it has none.
        MQIError: 2058, there is no such manager; 2009.
    """
    if group.member(qmgr) is None:
        raise error_for(MQRC.Q_MGR_NAME_ERROR, "", qmgr)
    name = Repository(group, qmgr).qmgr_attributes(qmgr).dead_letter_queue
    if not name:
        raise CommandError(f"{qmgr} has no dead-letter queue: ALTER QMGR DEADQ, or name a queue with --queue")
    return name


def dead_letter_queues(group: Group) -> list[tuple[str, str]]:
    """Return the dead-letter queues of all members, a manager and a queue each; a shared one once.

    A shared one comes with a manager that runs, if one of those that have it does.
    """
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for member in sorted(group.members(), key=lambda each: each.state != "RUNNING"):
        name = Repository(group, member.name).qmgr_attributes(member.name).dead_letter_queue
        located = Repository(group, member.name).lookup(name) if name else None
        if located is not None:
            found.setdefault((located.structure, located.name), (member.name, name))
    return list(found.values())


def read_letters(group: Group, qmgr: str, queue: str, choice: Choice | None = None) -> Iterator[Letter]:
    """Yield the letters on *queue* that are meant, in the order of the queue. Nothing is removed, opened or locked.

    Letters that come while this reads are not among them. A message that somebody has in a unit of work is missing.

    Raises:
        MQIError: 2085, no such queue; 2058, no such manager; 2016, it is inhibited for gets; 2035; 2009.
    """
    choice = choice or Choice()
    return islice(_read(group, qmgr, queue, choice), choice.first)


def _read(group: Group, qmgr: str, queue: str, choice: Choice) -> Iterator[Letter]:
    wanted = ReadFilter(msg_id=choice.msg_id, correl_id=choice.correl_id)
    places = find_parts(group, queue, qmgr)
    reader = Reader(group.deployment(), group.name, has_data=False, beginning=HEADER_LENGTH, wanted=wanted)
    try:
        for each in plan_ranges(group, places, wanted, _IN_ONE_RANGE):
            for part in reader.read(each):
                for letter in letters_of(part):
                    if choice.means(letter, part.now_ms):
                        yield letter
    finally:
        reader.close()


def letters_of(part: Slice) -> Iterator[Letter]:
    """Yield the letters of a slice of a queue, which has at least the first `HEADER_LENGTH` bytes of the data."""
    number, lengths = part.place.number, part.lengths.split()
    for message_id, record, length in zip(part.ids.split(), part.records, lengths, strict=True):
        md = decode_descriptor(record, message_number(message_id), number, part.now_ms)
        yield new_letter(
            message_token(message_id, number), md, record_body(record), int(length), record_put_time_ms(record)
        )


def new_letter(token: bytes, md: MQMD, beginning: bytes, length: int, put_ms: int) -> Letter:
    """Make a letter of a message.

    Args:
        beginning: of its data, at least `HEADER_LENGTH` bytes, or all.
        length: of all its data.
        put_ms: when it was put, ms since 1970; 0 if it does not say.
    """
    header = header_of(md.format, beginning)
    died = died_at(header) if header else None
    return Letter(
        token,
        md,
        header,
        length - (HEADER_LENGTH if header else 0),
        put_ms if died is None else int(died.timestamp() * 1000),
    )


def shown_time(died_ms: int) -> str:
    """Return a time for people, ISO 8601 to the second in UTC; empty for 0."""
    return f"{datetime.fromtimestamp(died_ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}" if died_ms else ""


def describe(letter: Letter) -> dict[str, Any]:
    """Return a letter as JSON has it. Text is what others wrote."""
    md = letter.md
    return {
        "msg_id": md.msg_id.hex(),
        "correl_id": md.correl_id.hex(),
        "reason": letter.reason if letter.header else None,
        "reason_name": letter.why or None,
        "destination": letter.queue or None,
        "destination_qmgr": letter.qmgr or None,
        "dead_since": shown_time(letter.died_ms) or None,
        "made_by": letter.by or None,
        "source": letter.source,
        "user": _text(md.user_identifier),
        "format": letter.format.strip(),
        "persistent": bool(md.persistence),
        "priority": md.priority,
        "msg_type": md.msg_type,
        "put_date": _text(md.put_date),
        "put_time": _text(md.put_time),
        "reply_to_queue": _text(md.reply_to_q),
        "reply_to_qmgr": _text(md.reply_to_q_mgr),
        "backout_count": md.backout_count,
        "length": letter.length,
    }


def summarize(letters: Sequence[Letter]) -> list[tuple[int, str, str, str, int]]:
    """Count letters by reason, its name, queue and manager; the most frequent first."""
    counts: dict[tuple[int, str, str, str], int] = {}
    for letter in letters:
        key = (letter.reason, letter.why, letter.queue, letter.qmgr)
        counts[key] = counts.get(key, 0) + 1
    return sorted(((*key, count) for key, count in counts.items()), key=lambda row: (-row[-1], row))


def _fits(pattern: str, value: str) -> bool:
    # Brackets have no meaning in a pattern of MQ.
    return not pattern or fnmatchcase(value, pattern.replace("[", "[[]"))


def _text(value: bytes) -> str:
    return value.decode("latin-1").rstrip(" \0")
