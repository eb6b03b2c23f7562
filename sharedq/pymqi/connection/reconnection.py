"""Reconnection: a connection that is made again when it breaks, with what was open on it (MQCNO_RECONNECT).

The call that finds the connection broken makes the new one, reopens the handles under their numbers, and is then made
again, unless its outcome is unknown. It does not carry over: the unit of work, which the group backs out; browse
cursors and locks, which begin anew.

Source: IBM MQ, "Automatic client reconnection" and the descriptions of the reason codes 2546 to 2556.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, cast

from sharedq import verbs
from sharedq.members.forks import after_fork
from sharedq.members.group import Group
from sharedq.mqi.constants import MQCC, MQRC, GetOption, MatchOption, PutOption
from sharedq.mqi.structures import MQCNO, MQOD
from sharedq.pymqi import CMQC, CMQXC
from sharedq.pymqi.connection.hconn import Hconn
from sharedq.pymqi.errors import MQMIError
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle, ObjectHandle

P = ParamSpec("P")
T = TypeVar("T")

#: For how long reconnection is tried, seconds: IBM's default of MQReconnectTimeout.
TIMEOUT_S = 1800.0
#: Pauses between attempts, seconds, and what is added at random: IBM's default of ReconDelay. The last one repeats.
PAUSES_S = (1.0, 2.0, 4.0, 8.0, 16.0, 25.0)
JITTER_S = 0.2
#: The handles and queues of the broken connection may be there until it is recovered, for some lengths of a lease.
_LEASES_UNTIL_RECOVERED = 3
_PAUSE_FOR_RECOVERY_S = 0.1

_LOST = (MQRC.CONNECTION_BROKEN, MQRC.Q_MGR_STOPPING, MQRC.CONNECTION_STOPPING)
#: Why a manager may take a connection later, or another one may take it.
LATER = (
    MQRC.Q_MGR_NOT_AVAILABLE,
    MQRC.Q_MGR_QUIESCING,
    MQRC.Q_MGR_NAME_ERROR,
    MQRC.CONN_TAG_IN_USE,
    MQRC.CONN_TAG_NOT_USABLE,
    *_LOST,
)
#: Why a queue may be opened later: the broken connection is not recovered yet.
_NOT_YET = (MQRC.OBJECT_IN_USE, MQRC.OBJECT_ALREADY_EXISTS, MQRC.Q_DELETED)
_MODES = CMQC.MQCNO_RECONNECT | CMQC.MQCNO_RECONNECT_Q_MGR | CMQC.MQCNO_RECONNECT_DISABLED
_OF_CHANNEL = {CMQXC.MQRCN_YES: CMQC.MQCNO_RECONNECT, CMQXC.MQRCN_Q_MGR: CMQC.MQCNO_RECONNECT_Q_MGR}
_IN_UNIT_GET = int(GetOption.SYNCPOINT | GetOption.SYNCPOINT_IF_PERSISTENT)


def mode_of(options: int, of_channel: int) -> int:
    """MQCNO_RECONNECT, MQCNO_RECONNECT_Q_MGR, or 0 for a connection that ends when it breaks.

    Args:
        options: MQCNO_*.
        of_channel: ``DefReconnect`` of the MQCD (MQRCN_*), which counts unless *options* decide.

    Raises:
        MQMIError: 2046, options that exclude each other.
    """
    asked = options & _MODES
    if asked & (asked - 1):
        _fail(MQRC.OPTIONS_ERROR)
    if of_channel == CMQXC.MQRCN_DISABLED or asked == CMQC.MQCNO_RECONNECT_DISABLED:
        return 0
    return asked or _OF_CHANNEL.get(of_channel, CMQC.MQCNO_RECONNECT_AS_DEF)


class ReconnectableHconn(Hconn):
    """A connection handle that outlives its connection.

    Args:
        connection: the first one.
        names: where to connect, in order of preference.
        mode: MQCNO_RECONNECT, or MQCNO_RECONNECT_Q_MGR for the same queue manager only.
    """

    def __init__(self, connection: Connection, group: Group, names: Sequence[str], cno: MQCNO, mode: int) -> None:
        super().__init__(connection)
        self._group, self._cno = group, cno
        self._is_same = mode == CMQC.MQCNO_RECONNECT_Q_MGR
        # By the empty name: any other member of the group.
        self._names = (connection.qmgr_name,) if self._is_same else tuple(dict.fromkeys((*names, "")))
        self._opened: dict[int, _Opened] = {}
        self._opened_objects: list[_OpenedObject] = []
        self._last_number = 0
        self._was_backed_out = self._is_given_up = False
        after_fork(self._give_up)

    def _give_up(self) -> None:
        """A child of this process makes its own connections."""
        self._is_given_up = True

    def handle(self, number: int) -> Handle | ObjectHandle | None:
        """The open object with this number, also while the connection is broken."""
        opened = self._opened.get(number)
        return self._objects.get(number) if opened is None else opened.handle

    def is_usable(self) -> bool:
        """Whether the connection stands, or could be made again."""
        if super().is_usable():
            return True
        with self._turn:
            try:
                self._ensure()
            except MQMIError:
                return False
        return super().is_usable()

    def call(self, verb: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make one call, on a new connection if need be.

        Raises:
            MQMIError: 2003 the unit of work was backed out with the connection that broke; 2547 and 2555 the options do
                not go with reconnection; 2548 a handle could not be opened again; 2549 nobody knows whether the call
                that was under way has done its work; 2556 there was no connection in time.
        """
        with self._turn:
            self._refuse_incompatible(verb, args)
            while True:
                self._ensure()
                self._tell_of_backout(verb, args)
                had_unit = _has_unit(self.connection)
                outcome = self._made(verb, args, kwargs)
                if cast(Sequence[Any], outcome)[-1] not in _LOST or self._is_given_up:
                    return outcome
                self.connection.break_off()
                self._reconnect(had_unit)
                if verb is verbs.mqcmit and had_unit:
                    self._was_backed_out = False
                    _fail(MQRC.CALL_INTERRUPTED)
                if verb in (verbs.mqput, verbs.mqput1) and not _is_in_unit(verb, args):
                    _fail(MQRC.CALL_INTERRUPTED)
                # A part of the unit of work of the broken connection, if it was the first one.
                self._was_backed_out |= _is_in_unit(verb, args)

    def _made(self, verb: Callable[..., T], args: Sequence[Any], kwargs: dict[str, Any]) -> T:
        while self._dropped:
            dropped = self._current(self._dropped.popleft())
            verbs.mqclose(self.connection, dropped)
            if isinstance(dropped, Handle):
                self._opened.pop(dropped.number, None)
        given = copy(args[0]) if verb is verbs.mqopen else None
        current = [self._current(each) for each in args]
        outcome = verb(self.connection, *current, **kwargs)
        self._note(verb, given, current, cast(Sequence[Any], outcome))
        return outcome

    def _current(self, argument: Any) -> Any:
        opened = self._opened.get(argument.number) if isinstance(argument, Handle) else None
        return argument if opened is None else opened.handle

    def _note(self, verb: Callable[..., Any], given: MQOD | None, args: Sequence[Any], outcome: Sequence[Any]) -> None:
        """Keep in mind what is open."""
        if verb is verbs.mqopen and isinstance(outcome[0], Handle):
            assert given is not None
            if not outcome[0].is_temporary:
                # Of a model queue's name a permanent queue may have come.
                given.object_name = args[0].object_name
            self._opened[outcome[0].number] = _Opened(given, args[1], outcome[0])
        elif verb is verbs.mqopen and isinstance(outcome[0], ObjectHandle):
            assert given is not None
            self._opened_objects = [each for each in self._opened_objects if not each.handle.is_closed]
            self._opened_objects.append(_OpenedObject(given, args[1], outcome[0]))
        elif verb is verbs.mqclose and outcome[-2] != MQCC.FAILED and isinstance(args[0], Handle):
            self._opened.pop(args[0].number, None)

    def _refuse_incompatible(self, verb: Callable[..., Any], args: Sequence[Any]) -> None:
        """Refuse what needs information that goes with the connection."""
        if verb in (verbs.mqput, verbs.mqput1) and args[2].options & PutOption.LOGICAL_ORDER:
            _fail(MQRC.RECONNECT_INCOMPATIBLE)
        by_token = verb is verbs.mqget and args[2].version > 2 and args[2].match_options & MatchOption.MATCH_MSG_TOKEN
        if by_token and not self._is_same:
            _fail(MQRC.RECONNECT_Q_MGR_REQD)

    def _tell_of_backout(self, verb: Callable[..., Any], args: Sequence[Any]) -> None:
        """Refuse every call in the unit of work that is lost, until the program ends it."""
        if not self._was_backed_out:
            return
        if verb in (verbs.mqcmit, verbs.mqback):
            self._was_backed_out = False
        if verb is verbs.mqcmit or _is_in_unit(verb, args):
            _fail(MQRC.BACKED_OUT)

    # -- the new connection ----------------------------------------------------------------------------------------

    def _ensure(self) -> None:
        """Have a connection that stands."""
        if self._is_given_up or super().is_usable():
            return
        self._reconnect(_has_unit(self.connection))

    def _reconnect(self, had_unit: bool) -> None:
        self._was_backed_out |= had_unit
        try:
            self._reopen(self._connected())
        except BaseException:
            self._is_given_up = True
            raise

    def _connected(self) -> Connection:
        deadline_s = time.monotonic() + TIMEOUT_S
        attempt = 0
        while True:
            for name in self._names:
                connection, _, reason = verbs.mqconnx(self._group, name, self._cno)
                if connection is not None:
                    return connection
                if reason not in LATER:
                    _fail(MQRC.RECONNECT_FAILED)
            pause_s = PAUSES_S[min(attempt, len(PAUSES_S) - 1)] + random.uniform(0, JITTER_S)
            if time.monotonic() + pause_s > deadline_s:
                _fail(MQRC.RECONNECT_TIMED_OUT)
            time.sleep(pause_s)
            attempt += 1

    def _reopen(self, connection: Connection) -> None:
        """Open again what was open, under the same numbers; later handles get numbers that were never used."""
        self._last_number = max(self._last_number, self.connection.last_handle_number)
        recovered_by_s = time.monotonic() + _LEASES_UNTIL_RECOVERED * self._group.settings.lease_ms / 1000
        lost, self.connection = self.connection, connection
        everything: list[tuple[int, _Opened | _OpenedObject]] = [*self._opened.items()]
        everything += [(self._last_number, each) for each in self._opened_objects if not each.handle.is_closed]
        for number, opened in everything:
            connection.number_handles_after(number - 1)
            while (reason := opened.reopen(connection)) in _NOT_YET and time.monotonic() < recovered_by_s:
                time.sleep(_PAUSE_FOR_RECOVERY_S)
                connection.number_handles_after(number - 1)
            if reason in _LOST:
                # This manager has gone, too.
                self._reopen(self._connected())
                return
            if reason != MQRC.NONE:
                verbs.mqdisc(connection)
                # Every call from now on learns that the connection is lost.
                self.connection = lost
                _fail(MQRC.RECONNECT_FAILED)
        connection.number_handles_after(self._last_number)


class _Opened:
    """A queue that is open, and how it is opened again."""

    def __init__(self, od: MQOD, options: int, handle: Handle) -> None:
        self._od, self._options, self.handle = od, options, handle
        if handle.is_temporary:
            # It goes with the connection, and is made again under its name.
            self._od.dynamic_q_name = handle.name.encode()

    def reopen(self, connection: Connection) -> MQRC:
        """Open it by *connection*. Returns the reason for a failure, or ``NONE``."""
        handle, comp, reason = verbs.mqopen(connection, copy(self._od), self._options)
        if comp == MQCC.FAILED:
            return reason
        assert isinstance(handle, Handle)
        self.handle = handle
        return MQRC.NONE


class _OpenedObject:
    """A queue manager or another object that is open for MQINQ, and how it is opened again."""

    def __init__(self, od: MQOD, options: int, handle: ObjectHandle) -> None:
        self._od, self._options, self.handle = od, options, handle

    def reopen(self, connection: Connection) -> MQRC:
        """Open it by *connection*: a blank name means another queue manager now. Returns as `_Opened.reopen` does."""
        handle, comp, reason = verbs.mqopen(connection, copy(self._od), self._options)
        if comp == MQCC.FAILED:
            return reason
        assert isinstance(handle, ObjectHandle)
        self.handle.object_name = handle.object_name
        return MQRC.NONE


def _has_unit(connection: Connection) -> bool:
    return connection.unit.is_active or bool(connection.pending)


def _is_in_unit(verb: Callable[..., Any], args: Sequence[Any]) -> bool:
    """Whether the call takes part in the unit of work."""
    if verb in (verbs.mqput, verbs.mqput1):
        return bool(args[2].options & PutOption.SYNCPOINT)
    return verb is verbs.mqget and bool(args[2].options & _IN_UNIT_GET)


def _fail(reason: MQRC) -> NoReturn:
    raise MQMIError(MQCC.FAILED, reason, message=b"", original_length=0)
