"""Reconnection: a connection that is made again when it breaks, with what was open on it (MQCNO_RECONNECT).

The call that finds the connection broken makes the new one, reopens the handles under their numbers, and is then made
again, unless its outcome is unknown. The lost connection itself says what was open on it, and how that was opened. It
does not carry over: the unit of work, which the group backs out; browse cursors and locks, which begin anew.

A connection name, ``host1(1414),host2(1414)``, has the places where a client looks for a queue manager, in this order.
Here every manager of the group is reached by the settings, so a host decides only where any manager would do: a host
that is called like a manager of the group (its first label, in any case) means that one, every other host what the name
means: for ``*QM1`` the manager QM1, else any.

Source: IBM MQ, "Automatic client reconnection" and the descriptions of the reason codes 2546 to 2556.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, cast

from sharedq import verbs
from sharedq.calls.handles.open import close_handle
from sharedq.calls.topics.subscribe import subscribe_again
from sharedq.members.forks import after_fork
from sharedq.members.group import Group
from sharedq.mqi.constants import MQCC, MQRC, GetOption, MatchOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQCNO
from sharedq.pymqi import CMQC, CMQXC
from sharedq.pymqi.connection.hconn import Hconn, Opened
from sharedq.pymqi.errors import MQMIError
from sharedq.session.connection import Connection
from sharedq.session.topics import SubscriptionHandle

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
#: A node of a Cluster is away, or a structure is moving to another node.
_AWAY = (MQRC.CF_NOT_AVAILABLE, MQRC.CF_STRUC_IN_USE)
#: Why a manager may take a connection later, or another one may take it.
LATER = (
    MQRC.Q_MGR_NOT_AVAILABLE,
    MQRC.Q_MGR_QUIESCING,
    MQRC.Q_MGR_NAME_ERROR,
    MQRC.CONN_TAG_IN_USE,
    MQRC.CONN_TAG_NOT_USABLE,
    *_AWAY,
    *_LOST,
)
#: Why a queue or a subscription may be opened later: the broken connection is not recovered yet.
_NOT_YET = (MQRC.OBJECT_IN_USE, MQRC.OBJECT_ALREADY_EXISTS, MQRC.Q_DELETED, MQRC.SUBSCRIPTION_IN_USE)
_MODES = CMQC.MQCNO_RECONNECT | CMQC.MQCNO_RECONNECT_Q_MGR | CMQC.MQCNO_RECONNECT_DISABLED
_OF_CHANNEL = {CMQXC.MQRCN_YES: CMQC.MQCNO_RECONNECT, CMQXC.MQRCN_Q_MGR: CMQC.MQCNO_RECONNECT_Q_MGR}
_IN_UNIT_GET = int(GetOption.SYNCPOINT | GetOption.SYNCPOINT_IF_PERSISTENT)
#: A host and its port, which needs not be given.
_ADDRESS = re.compile(r"([^\s,()]+)\s*(?:\([^)]*\))?")
_ANY = ""


def mode_of(options: int, of_channel: int) -> int:
    """MQCNO_RECONNECT, MQCNO_RECONNECT_Q_MGR, or 0 for a connection that ends when it breaks.

    Args:
        options: MQCNO_*.
        of_channel: ``DefReconnect`` of the MQCD (MQRCN_*), which counts unless *options* decide.

    Raises:
        MQMIError: 2046, options that exclude each other, or are no number.
    """
    if not isinstance(options, int):
        _fail(MQRC.OPTIONS_ERROR)
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
        self._was_backed_out = self._is_given_up = False
        after_fork(self._give_up)

    def _give_up(self) -> None:
        """A child of this process makes its own connections."""
        self._is_given_up = True

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
                had_unit = self.connection.has_unit
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
            if not dropped.is_closed:
                verbs.mqclose(self.connection, dropped)
        return verb(self.connection, *[self._current(each) for each in args], **kwargs)

    def _current(self, argument: Any) -> Any:
        """Return the handle of this connection for one of the program, which a lost connection may have opened."""
        if not isinstance(argument, Opened | SubscriptionHandle) or argument.is_closed:
            return argument
        is_queue_or_object = isinstance(argument, Opened)
        found: Any = (
            self.handle(argument.number) if is_queue_or_object else self.connection.subscriptions.get(argument.number)
        )
        return replace(argument, is_closed=True) if found is None else found

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
        if verb is verbs.mqbegin:
            _fail(MQRC.UOW_IN_PROGRESS)
        if verb is verbs.mqcmit or _is_in_unit(verb, args):
            _fail(MQRC.BACKED_OUT)

    # -- the new connection ----------------------------------------------------------------------------------------

    def _ensure(self) -> None:
        """Have a connection that stands."""
        if self._is_given_up or super().is_usable():
            return
        self._reconnect(self.connection.has_unit)

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
        begun_s = time.monotonic()
        # Until when each reason may pass.
        until_s = dict.fromkeys(_NOT_YET, begun_s + _LEASES_UNTIL_RECOVERED * self._group.settings.lease_ms / 1000)
        until_s |= dict.fromkeys(_AWAY, begun_s + TIMEOUT_S)
        lost = self.connection
        connection.number_handles_after(lost.last_handle_number)
        for opened in self._open_on(lost):
            while time.monotonic() < until_s.get(reason := _opened_again(connection, opened, lost), 0.0):
                time.sleep(_PAUSE_FOR_RECOVERY_S)
            if reason in _LOST:
                # This manager has gone, too.
                self._reopen(self._connected())
                return
            if reason != MQRC.NONE:
                # Every call from now on learns that the connection is lost.
                verbs.mqdisc(connection)
                _fail(MQRC.RECONNECT_TIMED_OUT if reason in _AWAY else MQRC.RECONNECT_FAILED)
        # Message handles are this process's own.
        connection.message_handles = lost.message_handles
        connection.free_handle_numbers.clear()
        self.connection = connection

    def _open_on(self, lost: Connection) -> list[Opened | SubscriptionHandle]:
        """Return what the program has open there, in the order of opening.

        A subscription brings the queue that it opened. The call that needs a handle of the connection's own opens it
        again. A queue that the program has dropped is left out.
        """
        others = {id(each) for each in (*lost.destinations.values(), *self._dropped)}
        others |= {id(each.queue) for each in lost.subscriptions.values()}
        everything = (*lost.handles.values(), *lost.objects.values(), *lost.subscriptions.values())
        return sorted((each for each in everything if id(each) not in others), key=lambda each: each.number)


def _opened_again(connection: Connection, opened: Opened | SubscriptionHandle, lost: Connection) -> MQRC:
    """Open by *connection* what the *lost* one has open. Returns the reason for a failure, or ``NONE``."""
    connection.free_handle_numbers[:] = [opened.number]
    if not isinstance(opened, SubscriptionHandle):
        assert opened.asked is not None
        return _reason(*verbs.mqopen(connection, replace(opened.asked), opened.options)[1:])
    if opened.queue is not None:
        connection.free_handle_numbers.insert(0, opened.queue.number)
    return _reason(*verbs.outcome_of(connection, lambda: _subscribed_again(connection, opened, lost))[1:])


def _subscribed_again(connection: Connection, opened: SubscriptionHandle, lost: Connection) -> None:
    given = None if opened.given is None else connection.handles.get(opened.given.number)
    made = subscribe_again(connection, opened, lost.token, given)
    if opened.queue is not None and made.queue is not None and opened.queue.is_closed:
        close_handle(connection, made.queue)


def _reason(comp: MQCC, reason: MQRC) -> MQRC:
    return reason if comp == MQCC.FAILED else MQRC.NONE


def _is_in_unit(verb: Callable[..., Any], args: Sequence[Any]) -> bool:
    """Whether the call takes part in the unit of work."""
    if verb in (verbs.mqput, verbs.mqput1):
        return bool(args[2].options & PutOption.SYNCPOINT)
    return verb is verbs.mqget and bool(args[2].options & _IN_UNIT_GET)


def _fail(reason: MQRC) -> NoReturn:
    raise MQMIError(MQCC.FAILED, reason, message=b"", original_length=0)


def names_at(group: Group, name: str, addresses: bytes) -> list[str]:
    """The names to connect to, one after the other, until one is there.

    Args:
        name: as the program gave it: a manager's, the group's, ``*`` and any name, or none.
        addresses: the ConnectionName.
    """
    if name not in (_ANY, group.name) and not name.startswith("*"):
        return [name]
    hosts = _ADDRESS.findall(addresses.partition(b"\0")[0].decode("utf-8", "replace"))
    if not hosts:
        return [name]
    try:
        managers = {member.name.upper(): member.name for member in group.members()}
    except MQIError:
        # The connection will tell what is wrong.
        return [name]
    other = managers.get(name.removeprefix("*"), _ANY)
    found = [managers.get(host.partition(".")[0].upper(), other) for host in hosts]
    return list(dict.fromkeys(found))
