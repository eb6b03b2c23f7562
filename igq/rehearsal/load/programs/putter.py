"""The putter: puts one manager's departures, unit of work by unit of work, exactly once whatever is killed.

In each unit of work it also replaces its status message on DEMO.STATUS, which says how many of its units of work are
done. When it starts or connects again, it reads the status and continues after it: messages and status are committed
together or not at all. IBM MQ's documentation restarts programs with several units of work in this way: "Putting and
getting a group that spans units of work".
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from igq.rehearsal.load.programs.attachment import (
    STRUCTURE_FAILED,
    AnyConnection,
    AnyQueue,
    attached,
    is_passing,
    owner_of,
    pause,
    unit_of,
)
from igq.rehearsal.load.programs.control import Control
from igq.rehearsal.load.programs.program import Options
from igq.rehearsal.load.records import LineFile, last_row, now_ms
from igq.rehearsal.load.rows.plan import IGQ, PRIVATE_QUEUE, SHARED, SHARED_QUEUE, Copy, units_of_work
from igq.rehearsal.load.rows.sources import NEXT_QMGR
from sharedq import MQIError
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption, Persistence, PutOption
from sharedq.mqi.structures import MQMD

STATUS_QUEUE = "DEMO.STATUS"
#: Reasons that back out its unit of work and that pass, or that a reopened queue cures.
_TRY_AGAIN = STRUCTURE_FAILED | {MQRC.OBJECT_CHANGED, MQRC.UNKNOWN_REMOTE_Q_MGR, MQRC.STORAGE_MEDIUM_FULL}


class Putter:
    """One run of the program."""

    def __init__(self, options: Options, control: Control) -> None:
        self._options, self._control = options, control
        self._history = options.history()
        path = options.directory / f"sent-{options.name}.jsonl"
        #: Units of work whose messages are recorded as sent. A kill may fall between a commit and its record.
        self._recorded = _recorded_units(path)
        self._records = LineFile(path)
        self._put = 0

    def run(self) -> None:
        """Put everything that is not put yet, over as many connections as necessary.

        Raises:
            MQIError: an error that a new connection does not help.
        """
        while True:
            try:
                with attached(self._options, is_serialized=True) as connection:
                    self._put_rest(connection)
                self._control.progress(is_last=True, put=self._put)
                self._control.tell("finished")
                return
            except MQIError as error:
                if not is_passing(error) and error.reason not in _TRY_AGAIN:
                    raise
                self._control.tell_interruption(error)
                if error.reason in _TRY_AGAIN:
                    pause()

    def _put_rest(self, connection: AnyConnection) -> None:
        qmgr = self._options.qmgr
        target = NEXT_QMGR[qmgr]
        self._control.tell("attached", owner=owner_of(connection))
        status = connection.open(STATUS_QUEUE, OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE)
        departures = connection.open(PRIVATE_QUEUE, OpenOption.OUTPUT, qmgr_name=target)
        flights = connection.open(SHARED_QUEUE, OpenOption.OUTPUT)
        done = self._read_status(status)
        self._put = 0
        for number, unit in enumerate(units_of_work(self._options.source.days(), qmgr), 1):
            if number <= done and number <= self._recorded:
                self._put += 2 * len(unit)
                continue
            copies = [copy for planned in unit for copy in planned.copies()]
            if number > done:
                self._control.keep_pace()
                bodies = [planned.departure.body() for planned in unit]
                self._put_unit(connection, number, copies, bodies, (departures, flights, status))
            self._put += len(copies)
            self._record(copies, number, "ok")
            self._recorded = number
            self._control.progress(put=self._put)

    def _put_unit(
        self,
        connection: AnyConnection,
        number: int,
        copies: list[Copy],
        bodies: list[bytes],
        queues: tuple[AnyQueue, AnyQueue, AnyQueue],
    ) -> None:
        departures, flights, status = queues
        call = self._history.call
        for path, queue in ((IGQ, departures), (SHARED, flights)):
            wanted = [copy.descriptor() for copy in copies if copy.path == path]
            with call("MQPUT", queue=queue.name, unit=number, messages=len(wanted)):
                queue.put_many(list(zip(wanted, bodies, strict=True)), options=PutOption.SYNCPOINT)
        with call("MQGET", queue=STATUS_QUEUE, unit=number):
            self._take_status(status, is_expected=number > 1)
        with call("MQPUT", queue=STATUS_QUEUE, unit=number):
            self._put_status(status, number)
        self._control.checkpoint(puts=len(copies) + 1, gets=int(number > 1))
        try:
            with call("MQCMIT", unit=number, unit_of_work=unit_of(connection)):
                self._control.commit(connection)
        except MQIError as error:
            if error.reason in (MQRC.CONNECTION_BROKEN, MQRC.OUTCOME_MIXED):
                # The outcome is unknown until the status is read again.
                self._record(copies, number - 1, "unknown")
            raise

    def _status_selection(self) -> MQMD:
        return MQMD(correl_id=self._options.name.encode().ljust(24, b"\0"))

    def _read_status(self, status: AnyQueue) -> int:
        try:
            with self._history.call("MQGET browse", queue=STATUS_QUEUE):
                found = status.get(
                    GetOption.BROWSE_FIRST, match=self._status_selection(), match_options=MatchOption.MATCH_CORREL_ID
                )
        except MQIError as error:
            if error.reason != MQRC.NO_MSG_AVAILABLE:
                raise
            return 0
        return int(json.loads(found.body)["units_done"])

    def _take_status(self, status: AnyQueue, *, is_expected: bool) -> None:
        if is_expected:
            status.get(GetOption.SYNCPOINT, match=self._status_selection(), match_options=MatchOption.MATCH_CORREL_ID)

    def _put_status(self, status: AnyQueue, number: int) -> None:
        md = self._status_selection()
        md.persistence = int(Persistence.PERSISTENT)
        status.put(json.dumps({"units_done": number}).encode(), md, options=PutOption.SYNCPOINT)

    def _record(self, copies: Iterable[Copy], number: int, outcome: str) -> None:
        at_ms, qmgr = now_ms(), self._options.qmgr
        self._records.write(
            {
                "correl": copy.correl.hex(),
                "path": copy.path,
                "t_ms": at_ms,
                "outcome": outcome,
                "qmgr": qmgr,
                "units_done": number,
            }
            for copy in copies
        )


def _recorded_units(path: Path) -> int:
    row = last_row(path)
    return 0 if row is None else int(row["units_done"])


def main(options: Options) -> None:
    """Run the program."""
    control = Control()
    control.tell("ready")
    Putter(options, control).run()
