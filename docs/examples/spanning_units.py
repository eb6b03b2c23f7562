"""A message group over several units of work, put and got so that a kill at any moment loses and doubles nothing.

    python docs/examples/spanning_units.py put QM1 LINES ORDERS STATUS.PUT
    python docs/examples/spanning_units.py get QM1 ORDERS DONE STATUS.GET

`put` takes what is on LINES and makes one group of it on ORDERS; `get` takes groups from ORDERS, processes each message
(here: puts it on DONE) and need not wait until the group is whole. Both commit every few messages. How far they are
stands on a queue of each program's own and changes in the same units of work; when it is empty, no group is half done.
A program that was killed is simply started again. `--status segments` saves one get a unit of work: the status is then
one logical message that grows by a segment each time.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Protocol

import sharedq
from sharedq.api import Queue, QueueManagerConnection
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, MsgFlag, OpenOption, PutOption
from sharedq.mqi.structures import MQMD

IN_UNIT = GetOption.SYNCPOINT
IN_ORDER = PutOption.SYNCPOINT | PutOption.LOGICAL_ORDER
PERSISTENT = 1


@dataclass(frozen=True)
class Place:
    """The last message of a group that is done: the group goes on after it."""

    group_id: bytes
    seq: int

    def to_body(self) -> bytes:
        """As it stands on the status queue."""
        return b"%b %d;" % (self.group_id.hex().encode(), self.seq)

    @classmethod
    def from_body(cls, body: bytes) -> Place:
        """Reads the place that `to_body` wrote."""
        group_id, seq = body.rstrip(b";").split()
        return cls(bytes.fromhex(group_id.decode()), int(seq))


class Status(Protocol):
    """How far a program is, on a queue of its own."""

    def read(self) -> Place | None:
        """Once, at the start: where a run that was killed stood; None: no group was half done."""

    def change(self, place: Place | None) -> None:
        """In the current unit of work; None: the group ends with it."""

    def finish(self) -> None:
        """After the commit that ended a group."""


class PlainStatus:
    """One message, replaced in each unit of work."""

    def __init__(self, connection: QueueManagerConnection, name: str) -> None:
        self._queue = connection.open(name, OpenOption.INPUT_EXCLUSIVE | OpenOption.OUTPUT)
        self._is_there = False

    def read(self) -> Place | None:
        message = next_message(self._queue, IN_UNIT)
        return Place.from_body(message.body) if message is not None else None

    def change(self, place: Place | None) -> None:
        if self._is_there:
            self._queue.get(IN_UNIT)
        if place is not None:
            self._queue.put(place.to_body(), MQMD(persistence=PERSISTENT), options=PutOption.SYNCPOINT)
        self._is_there = place is not None

    def finish(self) -> None:
        """Nothing: the last change took it away."""


class SegmentedStatus:
    """One logical message that grows by a segment in each unit of work, and is taken away whole at the end."""

    def __init__(self, connection: QueueManagerConnection, name: str) -> None:
        options = OpenOption.INPUT_EXCLUSIVE | OpenOption.BROWSE | OpenOption.OUTPUT
        self._connection, self._queue = connection, connection.open(name, options)
        self._is_there = False
        self._last: Message | None = None

    def read(self) -> Place | None:
        where = GetOption.BROWSE_FIRST
        while (message := next_message(self._queue, where | GetOption.LOGICAL_ORDER)) is not None:
            self._last, where = message, GetOption.BROWSE_NEXT
        if self._last is None:
            return None
        self._is_there = True
        if self._last.md.msg_flags & MsgFlag.LAST_SEGMENT:
            # The group was ended, and only this not tidied up any more.
            self.finish()
            return None
        return Place.from_body(self._last.body)

    def change(self, place: Place | None) -> None:
        if place is None and not self._is_there:
            return
        md = MQMD(version=2, persistence=PERSISTENT)
        md.msg_flags = int(MsgFlag.LAST_SEGMENT if place is None else MsgFlag.SEGMENT)
        options = IN_ORDER
        if self._last is not None:
            # The first one after a restart says where it belongs; the queue manager goes on from there.
            md.group_id, md.offset = self._last.md.group_id, self._last.md.offset + len(self._last.body)
            options, self._last = PutOption.SYNCPOINT, None
        self._queue.put(place.to_body() if place is not None else b"end;", md, options=options)
        self._is_there = True

    def finish(self) -> None:
        # Not in the unit of work that put the last segment: nobody sees what is not committed.
        if self._is_there:
            self._queue.get(IN_UNIT | GetOption.COMPLETE_MSG)
            self._connection.commit()
            self._is_there, self._last = False, None


def put_group(connection: QueueManagerConnection, lines: Queue, target: Queue, status: Status, each: int) -> None:
    """Make a group of all that is on *lines*, *each* messages a unit of work."""
    done = status.read()
    while taken := take(lines, each):
        is_end = next_message(lines, GetOption.BROWSE_FIRST) is None
        for number, line in enumerate(taken, 1):
            is_last = is_end and number == len(taken)
            md = MQMD(version=2, persistence=PERSISTENT)
            md.msg_flags = int(MsgFlag.LAST_MSG_IN_GROUP if is_last else MsgFlag.MSG_IN_GROUP)
            options = IN_ORDER
            if done is not None:
                # A group cannot be entered in logical order; from the second message on that goes again.
                md.group_id, md.msg_seq_number = done.group_id, done.seq + 1
                options, done = PutOption.SYNCPOINT, None
            md = target.put(line.body, md, options=options)
        status.change(None if is_end else Place(md.group_id, md.msg_seq_number))
        connection.commit()
        if is_end:
            status.finish()
    # The status that was read stays, should there be nothing to go on with.
    connection.backout()


def get_groups(
    connection: QueueManagerConnection, source: Queue, target: Queue, status: Status, each: int, wait_ms: int
) -> None:
    """Process groups, at most *each* messages a unit of work, until nothing has come for *wait_ms*."""
    done = status.read()
    options = IN_UNIT | GetOption.WAIT | GetOption.COMPLETE_MSG
    while True:
        number, message = 0, None
        while number < each and (message is None or is_unfinished(message)):
            # After a restart back into the middle of a group; from there on logical order finds what follows.
            message = next_message(source, options if done else options | GetOption.LOGICAL_ORDER, wait_ms, done)
            if message is None:
                connection.backout()
                return
            done = None
            target.put(message.body, MQMD(persistence=PERSISTENT), options=PutOption.SYNCPOINT)
            number += 1
        assert message is not None
        goes_on = is_unfinished(message)
        status.change(Place(message.md.group_id, message.md.msg_seq_number) if goes_on else None)
        connection.commit()
        if not goes_on:
            status.finish()


def is_unfinished(message: Message) -> bool:
    """Whether more of its group follows."""
    return message.group_status == b"G"


def next_message(queue: Queue, options: int, wait_ms: int = 0, after: Place | None = None) -> Message | None:
    """MQGET of whatever comes next, or of what follows in the group of *after*; None when nothing is there."""
    match, match_options = None, None
    if after is not None:
        match = MQMD(version=2, group_id=after.group_id, msg_seq_number=after.seq + 1)
        match_options = MatchOption.MATCH_GROUP_ID | MatchOption.MATCH_MSG_SEQ_NUMBER
    try:
        return queue.get(options, wait_ms=wait_ms, match=match, match_options=match_options)
    except sharedq.MQIError as error:
        if error.reason != MQRC.NO_MSG_AVAILABLE:
            raise
        return None


def take(queue: Queue, count: int) -> list[Message]:
    """Up to *count* messages, in the unit of work."""
    taken: list[Message] = []
    while len(taken) < count and (message := next_message(queue, IN_UNIT)) is not None:
        taken.append(message)
    return taken


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("put", "get"))
    parser.add_argument("qmgr")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("status_queue")
    parser.add_argument("--status", choices=("plain", "segments"), default="plain")
    parser.add_argument("--each", type=int, default=3, help="messages in a unit of work")
    parser.add_argument("--wait-ms", type=int, default=5000, help="how long `get` waits for what comes next")
    given = parser.parse_args()
    with sharedq.connect(given.qmgr) as connection:
        source = connection.open(given.source, OpenOption.INPUT_SHARED | OpenOption.BROWSE)
        target = connection.open(given.target, OpenOption.OUTPUT)
        kind = PlainStatus if given.status == "plain" else SegmentedStatus
        status: Status = kind(connection, given.status_queue)
        if given.what == "put":
            put_group(connection, source, target, status, given.each)
        else:
            get_groups(connection, source, target, status, given.each, given.wait_ms)


if __name__ == "__main__":
    try:
        main()
    except sharedq.MQIError as error:
        sys.exit(f"spanning_units.py: {error}")
