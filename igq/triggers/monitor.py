"""The trigger monitor: gets trigger messages from an initiation queue, and starts the programs that they name.

Source: IBM MQ, "runmqtrm"; "Trigger monitors on AIX, Linux, and Windows systems"; "MQTMC2".
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from sharedq.api import QueueManagerConnection
from sharedq.messages.dead_letter import dead_lettered
from sharedq.messages.message import Message
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, ApplType, Feedback, Format, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.headers import MQTM
from sharedq.objects.repository import Repository

#: The APPLTYPE of programs that this monitor starts; DEFINE PROCESS has MVS by default.
_STARTED: Final = (ApplType.MVS, ApplType.UNIX)
_GET: Final = int(GetOption.SYNCPOINT | GetOption.WAIT | GetOption.FAIL_IF_QUIESCING)
#: How long a get waits: the monitor then looks whether it is to end, ms.
_WAIT_MS: Final = 2000
#: At the end of ENVRDATA: do not wait for the end of the program.
_IN_BACKGROUND: Final = "&"


def character_form(trigger: MQTM, qmgr: str) -> bytes:
    """Return the MQTMC2 for a trigger message: 732 bytes, blanks after each field."""
    fields = (
        *((b"TMC ", 4), (b"   2", 4), (trigger.q_name, 48), (trigger.process_name, 48), (trigger.trigger_data, 64)),
        *((b"", 4), (trigger.appl_id, 256), (trigger.env_data, 128), (trigger.user_data, 128), (qmgr.encode(), 48)),
    )
    return b"".join(_text(value).ljust(length)[:length] for value, length in fields)


class TriggerMonitor:
    """Serves an initiation queue over one connection.

    A program is started before its trigger message is gone for good: a monitor that dies in between starts it again.

    Args:
        queue: name of the initiation queue.
        say: called with a line for each program that is started, and for each trigger message that starts none.
        is_ended: whether to end after the present trigger message.
    """

    def __init__(
        self,
        connection: QueueManagerConnection,
        queue: str,
        say: Callable[[str], None],
        is_ended: Callable[[], bool] = lambda: False,
    ) -> None:
        self._connection, self._queue, self._say, self._is_ended = connection, queue, say, is_ended
        self._qmgr = connection.qmgr_name
        self._in_background: list[subprocess.Popen[bytes]] = []

    def run(self) -> None:
        """Start programs until the manager quiesces or *is_ended* says so.

        Raises:
            MQIError: the initiation queue cannot be opened or read.
        """
        with self._connection.open(self._queue, OpenOption.INPUT_AS_Q_DEF | OpenOption.FAIL_IF_QUIESCING) as queue:
            self._say(f"{self._queue} at {self._qmgr}: waiting for trigger messages")
            while not self._is_ended():
                try:
                    message = queue.get(_GET, wait_ms=_WAIT_MS)
                except MQIError as error:
                    if error.reason in (MQRC.Q_MGR_QUIESCING, MQRC.CONNECTION_QUIESCING):
                        return
                    if error.reason != MQRC.NO_MSG_AVAILABLE:
                        raise
                else:
                    self._serve(message)
                self._in_background = [program for program in self._in_background if program.poll() is None]

    def _serve(self, message: Message) -> None:
        trigger = _read(message)
        if trigger is None:
            self._refuse(message, Feedback.TM_ERROR, "it is no trigger message")
            return
        name = trigger.q_name.decode("utf-8", "replace")
        if trigger.appl_type not in _STARTED:
            why = f"{name}: programs of APPLTYPE({trigger.appl_type}) are not started here"
            self._refuse(message, Feedback.APPL_TYPE_ERROR, why)
            return
        try:
            program, is_awaited = self._start(trigger)
        except (OSError, ValueError) as error:
            self._refuse(message, Feedback.APPL_CANNOT_BE_STARTED, f"{name}: not started: {error}")
            return
        self._connection.commit()
        self._say(f"{name}: started {program.args[0]!r}, pid {program.pid}")  # type: ignore[index]
        if not is_awaited:
            self._in_background.append(program)
        elif status := program.wait():
            why = f"{name}: pid {program.pid} ended with status {status}"
            self._refuse(message, Feedback.APPL_CANNOT_BE_STARTED, why)

    def _start(self, trigger: MQTM) -> tuple[subprocess.Popen[bytes], bool]:
        """Start a program. Returns it, and whether the monitor waits for its end.

        Raises:
            OSError, ValueError: why it cannot be started.
        """
        command = shlex.split(trigger.appl_id.decode())
        if not command:
            raise ValueError("APPLICID is blank")
        options = shlex.split(trigger.env_data.decode())
        is_awaited = options[-1:] != [_IN_BACKGROUND]
        if not is_awaited:
            del options[-1]
        arguments = [*command, character_form(trigger, self._qmgr).decode(), *options]
        environment = os.environ | {
            "TRIGGER_QMGR": self._qmgr,
            "TRIGGER_QUEUE": trigger.q_name.decode(),
            "TRIGGER_DATA": trigger.trigger_data.decode(),
            "TRIGGER_USER_DATA": trigger.user_data.decode(),
        }
        # A session of its own: a signal that ends the monitor does not end it.
        program = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, env=environment, start_new_session=True)
        return program, is_awaited

    def _refuse(self, message: Message, reason: Feedback, why: str) -> None:
        """Put a message on the dead-letter queue, or say that there is none."""
        self._say(f"{why}; reason {int(reason)} ({reason.name})")
        now = datetime.now(UTC)
        date, time = now.strftime("%Y%m%d").encode(), now.strftime("%H%M%S%f")[:8].encode()
        where, appl = (self._queue.encode(), self._qmgr.encode()), self._connection.connection.appl_name_bytes
        md, body = dead_lettered(message.md, message.body, *where, int(reason), appl, date, time)
        dead_letters = self._dead_letter_queue()
        try:
            if dead_letters:
                with self._connection.open(dead_letters, OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT) as target:
                    target.put(body, md, options=int(PutOption.SYNCPOINT | PutOption.SET_ALL_CONTEXT))
        except MQIError as error:
            if self._connection.connection.is_ended:
                raise
            self._say(f"{self._queue}: the message is discarded: {error}")
        self._connection.commit()

    def _dead_letter_queue(self) -> str:
        connection = self._connection.connection
        return Repository(connection.group, self._qmgr).qmgr_attributes(self._qmgr).dead_letter_queue


def _read(message: Message) -> MQTM | None:
    if message.md.format.rstrip(b" \0") != Format.TRIGGER.rstrip():
        return None
    try:
        return wire.TM.unpack(message.body, may_be_foreign=True)
    except MQIError:
        return None


def _text(value: bytes) -> bytes:
    return value.rstrip(b" \0")
