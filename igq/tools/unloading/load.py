"""Loads a file of records onto a queue, each message once, however often the command is interrupted and repeated."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from igq.errors import CommandError
from igq.tools.units import in_units
from igq.tools.unloading.record_file import Header, Record, check_file, read_header, read_records
from igq.tools.unloading.series import UnitSeries
from sharedq.api import Queue, QueueManagerConnection, connect
from sharedq.members.group import Group
from sharedq.mqi.constants import OpenOption, PutOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.redis.keys import private_structure
from sharedq.settings.values import Settings

#: Messages, and bytes of their data, of one unit of work. Never change these numbers: an interrupted load that a newer
#: version goes on with would put messages twice or never.
UNIT_MESSAGES: Final = 100
UNIT_BYTES: Final = 4 << 20
_OUTPUT = int(OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT | OpenOption.FAIL_IF_QUIESCING)
_PUT = int(PutOption.SYNCPOINT | PutOption.SET_ALL_CONTEXT | PutOption.FAIL_IF_QUIESCING)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The outcome of a load: messages that were put now, and those that an earlier run had put."""

    put: int
    before: int


def load_file(
    settings: Settings,
    group: Group,
    path: Path,
    qmgr: str,
    queue: str,
    *,
    target: str = "",
    again: str = "",
    is_incomplete_allowed: bool = False,
    tell: Callable[[int], None] = lambda _: None,
) -> Loaded:
    """Put the messages of a file on *queue*, in their order, with their identifiers and all their context.

    The group remembers, for each file and queue, how far it came. So a load that is repeated puts the rest, or nothing.

    Args:
        qmgr: a running manager, or the group's name for any.
        target: the manager that has the queue; empty: as *qmgr* knows the name.
        again: another name for another load of the same file to the same queue.
        tell: told how many messages are done since it was told last.

    Raises:
        CommandError: the file is not whole, or a message is refused. Messages committed before that stay.
        MQIError: the queue cannot be opened, or the connection is lost.
    """
    header = read_header(path)
    if header.count is not None or not is_incomplete_allowed:
        check_file(path, header)
    put = before = 0
    with connect(qmgr, settings=settings, appl_name="igq load") as connection:
        where = _place(group, connection.qmgr_name, qmgr, queue, target)
        name = _series(header, where, again)
        series = UnitSeries(connection, name)
        series.settle()
        committed = UnitSeries.committed(group, name)
        with connection.open(queue, _OUTPUT, qmgr_name=target) as to:
            records = (record for _, record in read_records(path))
            units = in_units(records, lambda record: len(record.body), UNIT_MESSAGES, UNIT_BYTES)
            for number, unit in enumerate(units, start=1):
                if number <= committed:
                    before += len(unit)
                else:
                    _put(connection, to, unit, before + put)
                    series.commit(number)
                    put += len(unit)
                tell(len(unit))
    return Loaded(put, before)


def _put(connection: QueueManagerConnection, to: Queue, unit: list[Record], done: int) -> None:
    try:
        to.put_many([(record.md, record.body) for record in unit], options=_PUT)
    except MQIError as error:
        if not connection.connection.is_ended:
            connection.backout()
        detail = f"{error.detail}; " if error.detail else ""
        said = f"{detail}{done} messages of the file are on the queue; run the command again to go on after them"
        raise error_for(error.reason, "MQPUT", to.name, said) from error


def _place(group: Group, at: str, asked: str, queue: str, target: str) -> str:
    """Name the queue. A shared queue is the same one at every manager, a private one is not.

    Raises:
        CommandError: it is a private queue, and any manager was asked for: a repeated load might find another one.
    """
    located = None if target else Repository(group, at).lookup(queue)
    if located is None or not isinstance(located.definition, QueueLocal):
        return f"{target or at}/{queue}"
    if located.structure == private_structure(at) and asked != at:
        raise CommandError(f"{queue} is a private queue of {at}: say -m {at}, if that one is meant")
    return f"{located.structure}/{located.name}"


def _series(header: Header, where: str, again: str) -> str:
    digest = hashlib.sha256(f"{where}\n{again}".encode()).hexdigest()[:24]
    return f"igq.load/{header.id}/{digest}"
