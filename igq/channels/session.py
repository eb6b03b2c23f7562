"""One client's session: it connects, makes calls one after the other, and ends; in order, or because it is gone."""

from __future__ import annotations

from collections.abc import Sequence
from queue import SimpleQueue
from typing import Final

from igq.channels.admission import Admission, Admitted, ClientIdentity
from igq.channels.callbacks import STOPPING, Events
from igq.channels.calls import CALLS, Arguments, Reply
from igq.channels.figures import ClientFigures
from igq.channels.frames import Frame, Verb, packed
from igq.channels.handles import Handles
from igq.channels.structures import Given, padded_name
from sharedq import verbs
from sharedq.callbacks.calls import mqctl
from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.mqi.constants import MQCC, MQRC
from sharedq.mqi.constants.callbacks import CallbackOperation
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import Q_MGR_NAME_LENGTH
from sharedq.mqi.wire import CNO
from sharedq.redis.deployment import DeploymentError
from sharedq.session.connection import Connection
from sharedq.session.refusals import note_refused_connection

_log = LibraryLogger(__name__)

_OK: Final = (int(MQCC.OK), int(MQRC.NONE))
_PUTTING: Final = frozenset({int(Verb.PUT), int(Verb.PUT1), int(Verb.PUT_ASYNC)})
#: Verbs after which there is one handle more, perhaps.
_OPENING: Final = frozenset({int(Verb.OPEN), int(Verb.SUB)})


class Session:
    """The calls of one client. One greenlet or thread makes them.

    Args:
        qmgr: the manager whose channel this is.
        client: who it is, and ``admission`` says whether it may connect.

    Attributes:
        is_over: the client has disconnected.
        admitted: the client's limits, after it has connected.
        figures: what it does.
    """

    def __init__(self, group: Group, qmgr: str, client: ClientIdentity, admission: Admission) -> None:
        self._group, self._qmgr, self._client, self._admission = group, qmgr, client, admission
        self.admitted: Admitted | None = None
        self.figures = ClientFigures()
        self._handles = Handles()
        self.events = Events(self._handles, self.answer)
        self.connection: Connection | None = None
        self.is_over = False
        self._is_gone = False
        self._token = ""
        #: The id of the request that is under way; 0: none is.
        self.current = 0
        self._canceled: set[int] = set()

    @property
    def is_connected(self) -> bool:
        return self.connection is not None

    # -- from any thread -----------------------------------------------------------------------------------------------

    def cancel(self, id_: int) -> None:
        """Let a request that is under way, or will be, wait no longer."""
        self._canceled.add(id_)

    def client_is_gone(self) -> bool:
        """Note that nobody reads the replies any more. Returns whether a call is under way."""
        self._is_gone = True
        self.events.client_is_gone()
        return self.current != 0

    def look_again(self) -> None:
        """Have a wait see that it is canceled. The call may take as long as Redis does."""
        connection = self.connection
        if connection is None or connection.is_ended:
            return
        try:
            connection.look_again()
        except MQIError:
            # Redis cannot be reached, so the call itself ends with 2009 soon.
            connection.interrupt()

    def _is_canceled(self) -> bool:
        return self._is_gone or self.current in self._canceled

    # -- calls ---------------------------------------------------------------------------------------------------------

    @property
    def has_callbacks(self) -> bool:
        """Whether callbacks are registered, so that the end of the connection may have to wait for one."""
        return self.connection is not None and self.connection.consumers is not None

    def may_call_back(self, frame: Frame) -> bool:
        """Whether a call may have to wait for an event that the client has not answered."""
        return frame.verb in (Verb.CB, Verb.CTL) or (frame.verb == Verb.DISC and self.has_callbacks)

    @staticmethod
    def is_stop(frame: Frame) -> bool:
        """Whether a call stops callbacks. The client itself waits for the end of a callback that runs."""
        return frame.verb == Verb.CTL and bool(frame.numbers) and frame.numbers[0] in STOPPING

    def await_stop(self, returned: SimpleQueue[int]) -> bytes:
        """Wait until a callback has returned, and if it has stopped all, until that has ended."""
        operation = returned.get()
        if operation and self.connection is not None:
            mqctl(self.connection, operation)
        return b""

    def answer(self, frame: Frame) -> bytes:
        """Make the call of a request. Returns its reply, or nothing for a verb without one."""
        self.current = frame.id
        self.figures.is_getting = frame.verb == Verb.GET
        try:
            numbers, blobs = self._called(frame)
        except MQIError as error:
            numbers, blobs = (int(error.comp_code), int(error.reason)), ()
        except DeploymentError:
            numbers, blobs = (int(MQCC.FAILED), int(MQRC.Q_MGR_NOT_AVAILABLE)), ()
        finally:
            self._canceled.discard(frame.id)
            self.current = 0
            self.figures.called()
        if frame.verb == Verb.PUT_ASYNC:
            return b""
        return packed(frame.id, frame.verb, [int(number) for number in numbers], blobs)

    def _called(self, frame: Frame) -> Reply:
        arguments = Arguments(frame.numbers, frame.blobs)
        if frame.verb == Verb.CONNX:
            return self._connect(arguments)
        if frame.verb == Verb.DISC:
            return self._disconnect(), ()
        call, connection = CALLS.get(frame.verb), self.connection
        if connection is None:
            raise error_for(MQRC.HCONN_ERROR, "", "", "not connected")
        if frame.verb == Verb.CB:
            operation, number = arguments.number(), arguments.number()
            blobs = (arguments.blob(), arguments.blob(), arguments.blob())
            return self.events.register(connection, operation, number, blobs), ()
        if frame.verb == Verb.CTL:
            return self.events.control(connection, arguments.number(), arguments.blob()), ()
        if call is None:
            raise error_for(MQRC.FUNCTION_NOT_SUPPORTED, "", "", f"verb {frame.verb}")
        if frame.verb in _PUTTING and self.admitted is not None:
            length = len(frame.blobs[-1]) if frame.blobs else 0
            if length > self.admitted.max_message:
                detail = f"{length} bytes, and the channel takes {self.admitted.max_message}"
                raise error_for(MQRC.DATA_LENGTH_ERROR, "MQPUT", "", detail)
        if frame.verb in _OPENING:
            self._handles.check_room()
        return call(connection, self._handles, arguments)

    def _connect(self, arguments: Arguments) -> Reply:
        if self.connection is not None:
            raise error_for(MQRC.ALREADY_CONNECTED, "MQCONNX", self._qmgr)
        pid, name, options = arguments.number(), padded_name(arguments.blob()), Given(CNO, arguments.blob())
        program, channel = padded_name(arguments.blob()), padded_name(arguments.blob())
        cno = options.value
        # With an asterisk any manager will do.
        if name not in ("", self._qmgr, self._group.name) and not name.startswith("*"):
            raise error_for(MQRC.Q_MGR_NAME_ERROR, "MQCONNX", name, f"this is a channel of {self._qmgr}")
        appl_name = padded_name(cno.appl_name) or program
        client = self._client.named(pid, channel)
        try:
            admitted = self._admission.admit(client)
        except MQIError as error:
            if error.reason == MQRC.NOT_AUTHORIZED:
                note_refused_connection(self._group, self._qmgr, appl_name, client.program())
            raise
        self.admitted = admitted
        made, comp_code, reason = verbs.mqconnx(self._group, self._qmgr, cno, appl_name, admitted.client.program())
        if made is None:
            self.leave()
            return (comp_code, reason), ()
        made.is_wait_canceled = self._is_canceled
        self.connection = made
        self.figures.channel = admitted.client.channel
        self._token = made.token
        self._admission.served.begin(made.token, self.figures)
        numbers = (comp_code, reason, admitted.heartbeat_s, admitted.max_message)
        return numbers, (options.returned(), made.qmgr_name.encode().ljust(Q_MGR_NAME_LENGTH))

    def _disconnect(self) -> Sequence[int]:
        connection = self.connection
        if connection is None:
            raise error_for(MQRC.HCONN_ERROR, "MQDISC", "", "not connected")
        codes = verbs.mqdisc(connection)
        self.is_over = connection.is_disconnected or connection.is_ended
        return codes

    def leave(self) -> None:
        """Count the client no longer. The hub's thread calls this, as it lets clients in."""
        admitted, self.admitted = self.admitted, None
        if admitted is not None:
            self._admission.leave(admitted)
            self._admission.served.end(self._token)

    def end(self) -> None:
        """End the connection of a client that is gone: what it has not committed is backed out."""
        connection, self.connection = self.connection, None
        if connection is None or connection.is_disconnected:
            return
        self.current = 0
        if connection.consumers is not None:
            mqctl(connection, int(CallbackOperation.STOP))
        if not connection.is_ended:
            verbs.mqback(connection)
        _, reason = verbs.mqdisc(connection)
        if not connection.is_ended:
            # Its disconnect is refused now. The group ends what it has begun.
            _log.warning("channel_client_not_disconnected", qmgr=self._qmgr, reason=int(reason))
            connection.break_off()
