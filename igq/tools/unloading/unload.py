"""Unloads a queue to a file: as a copy, or taking each message off the queue once it is in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from igq.errors import CommandError
from igq.tools.units import in_units
from igq.tools.unloading.record_file import Header, Record, RecordWriter, beginning, read_header, read_records
from igq.tools.unloading.series import UnitSeries
from sharedq.api import Queue, connect
from sharedq.members.group import Group
from sharedq.messages.message import message_number
from sharedq.messages.record import decode_descriptor, message_token, record_body
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.reading.plan import find_parts, plan_ranges, redis_ms
from sharedq.reading.queue import QueuePart, Reader, ReadFilter, Slice
from sharedq.settings.values import Settings

#: Messages, and bytes of their data, of one unit of work.
UNIT_MESSAGES, UNIT_BYTES = 100, 4 << 20
#: More messages than any queue has: one range holds all of them, in the order of the queue.
_IN_ONE_RANGE = 1 << 60
_GET = int(GetOption.SYNCPOINT | GetOption.FAIL_IF_QUIESCING)

Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """Messages that are meant. All conditions must hold; empty ones always do. Ages: since the put, seconds."""

    msg_id: bytes = b""
    correl_id: bytes = b""
    group_id: bytes = b""
    older_s: float | None = None
    younger_s: float | None = None

    def wanted(self, now_ms: int) -> ReadFilter:
        """Return the same as readers take it."""
        return ReadFilter(
            msg_id=self.msg_id,
            correl_id=self.correl_id,
            group_id=self.group_id,
            put_from_ms=None if self.younger_s is None else now_ms - int(self.younger_s * 1000),
            put_until_ms=None if self.older_s is None else now_ms - int(self.older_s * 1000),
        )


def copy_queue(
    group: Group, qmgr: str, queue: str, path: Path, chosen: MessageFilter, tell: Tell = lambda _: None
) -> Header:
    """Write the messages of *queue* to a new file, in the order of the queue. Nothing is removed, opened or locked.

    Messages that come meanwhile, and those of units of work, are not among them.

    Args:
        qmgr: a manager that knows the queue; empty for a shared queue.
        tell: told how many messages were written since it was told last.

    Raises:
        CommandError: the file exists or cannot be written, or the queue is that of IGQ.
        MQIError: 2085, no such queue, and others of a reader; 2009.
    """
    places = _places(group, qmgr, queue)
    header = Header.new(group.name, qmgr, queue, _now(), is_removed=False)
    with RecordWriter.create(path, header) as writer:
        for part in _slices(group, places, chosen, has_data=True):
            records = [record for record in _records(part) if _is_meant(record.md, chosen)]
            writer.write(records)
            tell(len(records))
        return writer.complete()


def remove_to_file(
    settings: Settings,
    group: Group,
    qmgr: str,
    queue: str,
    path: Path,
    chosen: MessageFilter,
    tell: Tell = lambda _: None,
) -> Header:
    """Take messages off *queue* and write them to a new file. Each is on the disk before its get is committed.

    Raises:
        CommandError, MQIError: as of `copy_queue`. The file tells how far it came, and `resume_removal` goes on.
    """
    places = _places(group, qmgr, queue)
    header = Header.new(group.name, qmgr, queue, _now(), is_removed=True)
    with RecordWriter.create(path, header) as writer:
        return _remove(settings, group, places, writer, chosen, 1, tell)


def resume_removal(
    settings: Settings, group: Group, path: Path, queue: str, chosen: MessageFilter, tell: Tell = lambda _: None
) -> Header:
    """Go on where a `remove_to_file` was interrupted. Messages whose get was not committed leave the file first.

    Raises:
        CommandError: the file is complete, or none of a removal from this group.
        MQIError: as of `copy_queue`.
    """
    header = read_header(path)
    if header.count is not None:
        raise CommandError(f"{path} is complete: there is nothing to go on with")
    if not header.is_removed:
        raise CommandError(f"{path} is of an unload without --remove: unload the queue again")
    if (header.group, header.queue) != (group.name, queue):
        raise CommandError(f"{path} is of {header.queue} of group {header.group}, not of {queue} of {group.name}")
    with connect(header.qmgr or group.name, settings=settings, appl_name="igq unload") as connection:
        UnitSeries(connection, _series(header)).settle()
    committed, size = UnitSeries.committed(group, _series(header)), beginning()
    for end, record in read_records(path):
        if record.unit > committed:
            break
        size = end
    places = _places(group, header.qmgr, header.queue)
    with RecordWriter.reopen(path, header, size) as writer:
        tell(writer.count)
        return _remove(settings, group, places, writer, chosen, committed + 1, tell)


def _remove(
    settings: Settings,
    group: Group,
    places: list[QueuePart],
    writer: RecordWriter,
    chosen: MessageFilter,
    first_unit: int,
    tell: Tell,
) -> Header:
    header = writer.header
    with ExitStack() as stack:
        connection = stack.enter_context(connect(header.qmgr or group.name, settings=settings, appl_name="igq unload"))
        options = OpenOption.INPUT_AS_Q_DEF | OpenOption.FAIL_IF_QUIESCING
        source = stack.enter_context(connection.open(header.queue, options))
        # A message in a file is not delivered.
        source.open_queue().gets.confirms_delivery = False
        series = UnitSeries(connection, _series(header))
        keys = _keys(group, places, chosen)
        units = in_units(keys, lambda key: key.length, UNIT_MESSAGES, UNIT_BYTES)
        for unit, meant in enumerate(units, start=first_unit):
            taken = [record for key in meant if (record := _take(source, key, unit)) is not None]
            try:
                writer.write(taken)
                writer.sync()
            except CommandError:
                connection.backout()
                raise
            series.commit(unit)
            tell(len(taken))
    return writer.complete()


@dataclass(frozen=True, slots=True)
class _Key:
    place: QueuePart
    message_id: bytes
    length: int


def _keys(group: Group, places: list[QueuePart], chosen: MessageFilter) -> Iterator[_Key]:
    """Yield the keys of the messages that are meant, in the order of the queue."""
    for part in _slices(group, places, chosen, has_data=False):
        lengths = part.lengths.split()
        for message_id, record, length in zip(part.ids.split(), part.records, lengths, strict=True):
            md = decode_descriptor(record, message_number(message_id), part.place.number, part.now_ms)
            if _is_meant(md, chosen):
                yield _Key(part.place, message_id, int(length))


def _take(source: Queue, key: _Key, unit: int) -> Record | None:
    """Get a message under syncpoint. None: somebody else has it."""
    token = message_token(key.message_id, key.place.number)
    try:
        message = source.get(_GET, match_options=MatchOption.MATCH_MSG_TOKEN, match=MQMD(version=2), msg_token=token)
    except MQIError as error:
        if error.reason == MQRC.NO_MSG_AVAILABLE:
            return None
        raise
    return Record(message.md, message.body, key.place.structure, key.message_id.decode(), unit)


def _slices(group: Group, places: list[QueuePart], chosen: MessageFilter, *, has_data: bool) -> Iterator[Slice]:
    now_ms = redis_ms(group)
    wanted = chosen.wanted(now_ms)
    reader = Reader(group.deployment(), group.name, has_data=has_data, wanted=wanted)
    try:
        for each in plan_ranges(group, places, wanted, _IN_ONE_RANGE):
            yield from reader.read(each)
    finally:
        reader.close()


def _records(part: Slice) -> Iterator[Record]:
    for message_id, record in zip(part.ids.split(), part.records, strict=True):
        md = decode_descriptor(record, message_number(message_id), part.place.number, part.now_ms)
        yield Record(md, record_body(record), part.place.structure, message_id.decode())


def _is_meant(md: MQMD, chosen: MessageFilter) -> bool:
    # A reader may also find a MsgId that igq generated for another manager.
    return chosen.msg_id in (b"", md.msg_id)


def _places(group: Group, qmgr: str, queue: str) -> list[QueuePart]:
    places = find_parts(group, queue, qmgr)
    if places[0].queue.startswith(SYSTEM_QSG_TRANSMIT_QUEUE):
        raise CommandError(f"{SYSTEM_QSG_TRANSMIT_QUEUE} cannot be unloaded: its messages are on their way to a member")
    return places


def _series(header: Header) -> str:
    return f"igq.unload/{header.id}"


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
