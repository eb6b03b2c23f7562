"""The consumer: drains one queue in units of work of some fifty messages, and records what it got.

The private queue DEPARTURES has one consumer, which gets first in, first out. The shared queue FLIGHTS has one on every
manager at the same time; each gets whole groups (`igq.rehearsal.load.programs.whole_groups`).
"""

from __future__ import annotations

import random
import time

from igq.rehearsal.load.programs.attachment import (
    STRUCTURE_FAILED,
    AnyConnection,
    AnyMessage,
    AnyQueue,
    attached,
    is_passing,
    owner_of,
    pause,
    unit_of,
)
from igq.rehearsal.load.programs.channel import ClientQueue
from igq.rehearsal.load.programs.control import Control
from igq.rehearsal.load.programs.program import Options
from igq.rehearsal.load.programs.whole_groups import is_last, wholeness
from igq.rehearsal.load.records import LineFile, last_row, now_ms
from igq.rehearsal.load.rows.plan import IGQ, PRIVATE_QUEUE, SHARED, UNIT_DEPARTURES, correl_id
from sharedq import MQIError
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD

#: Messages of a unit of work: two units of a putter's.
BATCH = 2 * UNIT_DEPARTURES
#: Milliseconds that a get waits before the program checks whether to end.
_WAIT_MS = 500
#: Milliseconds to wait for the rest of a group that another consumer is about to give back.
_REST_MS = 300
#: Longest pause after a batch is given back, seconds: the consumer with the beginning of its group needs the time.
_PAUSE_MAX_S = 0.4


class LoadConsumer:
    """One run of the program."""

    def __init__(self, options: Options, control: Control) -> None:
        self._options, self._control = options, control
        self._history = options.history()
        self._is_private = options.queue == PRIVATE_QUEUE
        self._path = IGQ if self._is_private else SHARED
        path = options.directory / f"received-{options.name}.jsonl"
        row = last_row(path)
        self._order = 0 if row is None else int(row["order"])
        self._records = LineFile(path)
        #: Messages recorded by all runs of the program.
        self._got = self._order
        self._given_back = 0

    def run(self) -> None:
        """Drain the queue until told to finish, over as many connections as necessary.

        Raises:
            MQIError: an error that a new connection does not help.
        """
        while True:
            try:
                # With its tag, this consumer waits until its predecessor's gets are back in their places.
                with attached(self._options, is_serialized=self._is_private) as connection:
                    self._drain(connection)
                self._control.progress(is_last=True, got=self._got)
                self._control.tell("finished")
                return
            except MQIError as error:
                if not is_passing(error) and error.reason not in STRUCTURE_FAILED:
                    raise
                self._control.tell_interruption(error)
                if error.reason in STRUCTURE_FAILED:
                    pause()

    def _drain(self, connection: AnyConnection) -> None:
        self._control.tell("attached", owner=owner_of(connection))
        options = OpenOption.INPUT_EXCLUSIVE if self._is_private else OpenOption.INPUT_SHARED
        queue = connection.open(self._options.queue, options)
        while True:
            try:
                messages = self._get_batch(queue)
            except MQIError as error:
                if error.reason != MQRC.NO_MSG_AVAILABLE:
                    raise
                self._control.progress(got=self._got)
                if self._control.is_finishing:
                    return
                continue
            if not self._is_private and not self._make_whole(queue, messages):
                self._give_back(connection)
                continue
            self._given_back = 0
            self._control.checkpoint(puts=0, gets=len(messages))
            self._commit(connection, messages)

    def _get_batch(self, queue: AnyQueue) -> list[AnyMessage]:
        with self._history.call("MQGET", queue=queue.name) as result:
            options = GetOption.SYNCPOINT | GetOption.WAIT
            messages: list[AnyMessage] = []
            if isinstance(queue, ClientQueue) and not self._is_private:
                # A client gets one message after the other, and other consumers would get some between them.
                messages += queue.get_groups(BATCH, options, wait_ms=_WAIT_MS, rest_ms=_REST_MS)
            else:
                messages += queue.get_many(BATCH, options, wait_ms=_WAIT_MS)
            result["messages"] = len(messages)
        return messages

    def _make_whole(self, queue: AnyQueue, messages: list[AnyMessage]) -> bool:
        """Get the missing messages of the batch's groups. False if that is impossible now."""
        found = wholeness(message.md for message in messages)
        if found.is_headless or (found.missing and isinstance(queue, ClientQueue)):
            return False
        for group, first in found.missing:
            seq = first
            while True:
                try:
                    message = self._get_member(queue, group, seq)
                except MQIError as error:
                    if error.reason != MQRC.NO_MSG_AVAILABLE:
                        raise
                    return False
                messages.append(message)
                if is_last(message.md):
                    break
                seq += 1
        return True

    def _get_member(self, queue: AnyQueue, group: bytes, seq: int) -> AnyMessage:
        with self._history.call("MQGET by CorrelId", queue=queue.name, seq=seq):
            return queue.get(
                GetOption.SYNCPOINT | GetOption.WAIT,
                wait_ms=_REST_MS,
                match=MQMD(correl_id=correl_id(group, seq)),
                match_options=MatchOption.MATCH_CORREL_ID,
            )

    def _give_back(self, connection: AnyConnection) -> None:
        with self._history.call("MQBACK"):
            connection.backout()
        self._given_back += 1
        longest_s = min(_PAUSE_MAX_S, 0.02 * 2**self._given_back)
        time.sleep(longest_s * (0.5 + random.random() / 2))

    def _commit(self, connection: AnyConnection, messages: list[AnyMessage]) -> None:
        unit = unit_of(connection)
        try:
            with self._history.call(
                "MQCMIT",
                unit_of_work=unit,
                messages=_identifiers(messages) if self._options.is_history_kept else (),
            ):
                self._control.commit(connection)
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN:
                self._record(messages, "unknown")
            raise
        self._record(messages, "ok")
        self._got += len(messages)
        self._control.progress(got=self._got)

    def _record(self, messages: list[AnyMessage], outcome: str) -> None:
        at_ms, options, first = now_ms(), self._options, self._order + 1
        self._records.write(
            {
                "correl": message.md.correl_id.hex(),
                "path": self._path,
                "queue": options.queue,
                "qmgr": options.qmgr,
                "group": "" if message.md.group_id == NULL_ID else message.md.group_id.hex(),
                "seq": message.md.msg_seq_number,
                "t_ms": at_ms,
                "outcome": outcome,
                "order": order,
            }
            for order, message in enumerate(messages, first)
        )
        self._order += len(messages)


def _identifiers(messages: list[AnyMessage]) -> list[tuple[str, str]]:
    """Return CorrelId and MsgId of each message, for the history."""
    return [(message.md.correl_id.hex(), message.md.msg_id.hex()) for message in messages]


def main(options: Options) -> None:
    """Run the program."""
    control = Control()
    control.tell("ready")
    LoadConsumer(options, control).run()
