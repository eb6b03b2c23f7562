"""The command server of a manager: a thread that answers the requests on SYSTEM.ADMIN.COMMAND.QUEUE.

A request, its command and its replies end together: the get and the puts are one unit of work. If the manager dies
after the command was done and before that is committed, the request is back on its queue, and the command is done
again; its replies are put once.

Source: IBM MQ, "Message descriptor for a response"; "The command server".
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from igq.errors import CommandError
from igq.operations.shutdown import STOP_TIMEOUT_S, ask_to_stop
from igq.pcf.processor import Done, Processor
from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.handles.connect import disconnect
from sharedq.members.group import Group
from sharedq.members.process import KeptProcess
from sharedq.messages.dead_letter import dead_lettered
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, Format, GetOption, MsgType, OpenOption, PutOption, Report
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import UNLIMITED_EXPIRY
from sharedq.mqi.pcf.structures import NATIVE
from sharedq.mqi.structures import MQMD
from sharedq.objects.repository import Repository
from sharedq.objects.system import SYSTEM_ADMIN_COMMAND_QUEUE
from sharedq.session.connection import Connection

#: Seconds that a wait for a request lasts. Then a new one begins, so that the connection is not closed as idle.
WAIT_S: Final = 180
#: Seconds until the next attempt after a trouble: more after each, up to the most.
_DELAY_S, _DELAY_MOST_S = 0.1, 60.0
#: Seconds that the current command has to end when the manager stops.
_STOP_S: Final = 5.0
#: The greatest allowed MAXUMSGS: a generic name may have more responses than a program may put in a unit of work.
_NO_LIMIT: Final = 999_999_999
_GET: Final = int(GetOption.SYNCPOINT | GetOption.WAIT | GetOption.FAIL_IF_QUIESCING)
_INPUT: Final = int(OpenOption.INPUT_SHARED | OpenOption.SAVE_ALL_CONTEXT)


class CommandServer:
    """Answers requests until `stop`. Trouble with the queue, or with Redis, is tried again.

    Args:
        group: the manager's.
        process: the manager's own.
        say: called with a message id of `igq.output.messages` and its fields, from a separate thread.
    """

    def __init__(self, group: Group, process: KeptProcess, say: Callable[..., None]) -> None:
        self._group, self._process, self._say = group, process, say
        #: Commands connect as programs do, over links of their own.
        self._commands = Group(group.settings)
        self._connection: Connection | None = None
        self._is_over = threading.Event()
        self._trouble = ""
        self._thread = threading.Thread(target=self._keep, name="command server", daemon=True)
        self._thread.start()

    def stop(self) -> bool:
        """End after the current command. False if that lasts too long: its connection is left to recovery."""
        self._is_over.set()
        connection = self._connection
        if connection is not None:
            try:
                connection.notice_quiescing()
            except MQIError as error:
                structlog.get_logger().debug("command_server_not_told", error=str(error))
        self._thread.join(_STOP_S)
        return not self._thread.is_alive()

    def _keep(self) -> None:
        delay_s = 0.0
        while not self._is_over.is_set() and self._process.is_alive:
            try:
                self._serve()
                delay_s = 0.0
            except MQIError as error:
                delay_s = min(_DELAY_MOST_S, 2 * delay_s or _DELAY_S)
                self._tell_trouble(str(error), delay_s)
            except Exception as error:  # noqa: BLE001 - logged; the server starts again
                structlog.get_logger().exception("command_server_failed")
                delay_s = min(_DELAY_MOST_S, 2 * delay_s or _DELAY_S)
                self._tell_trouble(repr(error), delay_s)
            self._drop()
            self._is_over.wait(delay_s)
        self._commands.leave()

    def _tell_trouble(self, error: str, wait_s: float) -> None:
        if error != self._trouble and not self._is_over.is_set() and self._process.is_alive:
            # A trouble may last for days: one line is enough.
            self._say("CSQN208E", queue=SYSTEM_ADMIN_COMMAND_QUEUE, error=error, wait_s=wait_s)
        self._trouble = error

    def _serve(self) -> None:
        """Connect, open, and answer requests. Raises MQIError: why that cannot go on."""
        self._process.tell_abandoned()
        self._commands.adopt(self._group.read_record(), is_running=True)
        connection = Connection(self._group, self._process, appl_name="command server", is_internal=True)
        connection.max_uncommitted = _NO_LIMIT
        self._connection = connection
        session = QueueManagerConnection(connection)
        processor = Processor(self._commands, connection.qmgr_name, _Control(self._group))
        with session.open(SYSTEM_ADMIN_COMMAND_QUEUE, _INPUT) as requests:
            self._trouble = ""
            self._say("CSQN200I", queue=SYSTEM_ADMIN_COMMAND_QUEUE)
            while not self._is_over.is_set():
                try:
                    message = requests.get(_GET, wait_ms=WAIT_S * 1000)
                except MQIError as error:
                    if error.reason == MQRC.NO_MSG_AVAILABLE:
                        continue
                    if error.reason in (MQRC.Q_MGR_QUIESCING, MQRC.CONNECTION_QUIESCING):
                        break
                    raise
                self._answer(session, requests, message, processor)
        self._say("CSQN201I")

    def _answer(self, session: QueueManagerConnection, requests: Queue, message: Message, processor: Processor) -> None:
        try:
            done = processor.process(message.md, message.body)
            self._reply(session, requests, message, done)
            session.commit()
        except MQIError:
            if not session.connection.is_ended:
                session.backout()
            raise

    def _reply(self, session: QueueManagerConnection, requests: Queue, message: Message, done: Done) -> None:
        request = message.md
        if not request.reply_to_q.strip(b" \0"):
            if done.malformed:
                # Nobody can be told, so that it is kept for people to look at.
                self._bury(session, [(request, message.body)], _own_queue(session), done.malformed)
            return
        replies = [(_descriptor(request), body) for body in done.replies]
        name, qmgr = (_text(each) for each in (request.reply_to_q, request.reply_to_q_mgr))
        try:
            with session.open(name, OpenOption.OUTPUT | OpenOption.PASS_IDENTITY_CONTEXT, qmgr_name=qmgr) as queue:
                options = int(PutOption.SYNCPOINT | PutOption.PASS_IDENTITY_CONTEXT | PutOption.NEW_MSG_ID)
                if request.report & Report.PASS_MSG_ID:
                    options &= ~int(PutOption.NEW_MSG_ID)
                queue.put_many(replies, options=options, context=requests)
        except MQIError as error:
            if session.connection.is_ended:
                raise
            is_buried = self._bury(session, replies, (request.reply_to_q, request.reply_to_q_mgr), int(error.reason))
            instead = "it is on the dead-letter queue" if is_buried else "it is discarded"
            self._say("CSQN211E", queue=name, error=str(error), instead=instead)

    def _bury(
        self,
        session: QueueManagerConnection,
        messages: list[tuple[MQMD, bytes]],
        destination: tuple[bytes, bytes],
        reason: int,
    ) -> bool:
        """Put messages on the dead-letter queue, in the unit of work. False if that is not possible."""
        qmgr = session.qmgr_name
        name = Repository(self._group, qmgr).qmgr_attributes(qmgr).dead_letter_queue
        if not name or any(md.report & Report.DISCARD_MSG for md, _ in messages):
            return False
        now = datetime.now(UTC)
        date, time = now.strftime("%Y%m%d").encode(), now.strftime("%H%M%S%f")[:8].encode()
        appl = session.connection.appl_name_bytes
        letters = [dead_lettered(md, body, *destination, reason, appl, date, time) for md, body in messages]
        try:
            with session.open(name, OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT) as queue:
                queue.put_many(letters, options=int(PutOption.SYNCPOINT | PutOption.SET_ALL_CONTEXT))
        except MQIError:
            if session.connection.is_ended:
                raise
            return False
        return True

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None or connection.is_ended:
            return
        try:
            disconnect(connection)
        except MQIError as error:
            structlog.get_logger().debug("command_server_not_disconnected", error=str(error))


class _Control:
    """START QMGR and STOP QMGR for the manager that runs the command server."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def is_running(self, qmgr: str) -> bool:
        return self._group.member(qmgr) is not None

    def start(self, qmgr: str) -> None:
        raise error_for(MQRC.FUNCTION_NOT_SUPPORTED, "", qmgr, "it is already running")

    def stop(self, qmgr: str, mode: str) -> None:
        """Ask the manager to stop. The request is answered before it does."""
        member = self._group.member(qmgr)
        if member is None:
            raise error_for(MQRC.Q_MGR_NAME_ERROR, "", qmgr)
        try:
            ask_to_stop(self._group, member, is_immediate=mode != "QUIESCE", timeout_s=STOP_TIMEOUT_S)
        except CommandError as error:
            raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "", qmgr, str(error)) from error


def _descriptor(request: MQMD) -> MQMD:
    """Return the descriptor of a reply, which the put completes."""
    passes = bool(request.report & Report.PASS_DISCARD_AND_EXPIRY)
    fields: dict[str, Any] = {
        "format": Format.ADMIN,
        "msg_type": int(MsgType.REPLY),
        "encoding": NATIVE.encoding,
        "coded_char_set_id": NATIVE.ccsid,
        "persistence": request.persistence,
        "priority": request.priority,
        "expiry": request.expiry if passes else UNLIMITED_EXPIRY,
        "report": int(request.report & Report.DISCARD_MSG) if passes else 0,
        "correl_id": request.correl_id if request.report & Report.PASS_CORREL_ID else request.msg_id,
    }
    if request.report & Report.PASS_MSG_ID:
        fields["msg_id"] = request.msg_id
    return MQMD(**fields)


def _own_queue(session: QueueManagerConnection) -> tuple[bytes, bytes]:
    return SYSTEM_ADMIN_COMMAND_QUEUE.encode(), session.qmgr_name.encode()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").rstrip(" \0")
