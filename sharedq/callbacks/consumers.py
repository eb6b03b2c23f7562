"""The consumers of a connection: who is called with which message, in which order, and what becomes of failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from sharedq import verbs
from sharedq.callbacks.structures import MQCBC, MQCBD
from sharedq.callbacks.watch import Waiter, Watch
from sharedq.calls.get.get import LENGTH_MAX
from sharedq.log import LibraryLogger
from sharedq.mqi.constants import MQCC, MQRC, GetOption
from sharedq.mqi.constants.callbacks import FULL_MSG_LENGTH, CallbackOption, CallType, ConsumerState
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQGMO, MQMD, copied
from sharedq.session.calling import Turns
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

_WAIT = int(GetOption.WAIT)
_BROWSE_FIRST, _BROWSE_NEXT = int(GetOption.BROWSE_FIRST), int(GetOption.BROWSE_NEXT)
_BROWSES = _BROWSE_FIRST | _BROWSE_NEXT
#: After these reasons a consumer is tried again, in this many seconds; after the second, a program has to act.
_PASSES = frozenset(
    {
        MQRC.GET_INHIBITED,
        MQRC.SYNCPOINT_LIMIT_REACHED,
        MQRC.CF_STRUC_IN_USE,
        MQRC.CF_NOT_AVAILABLE,
        MQRC.STORAGE_MEDIUM_FULL,
    }
)
RETRY_S = 5.0
#: A wait says that there is something, and the get finds nothing: then it is asked for again after so many seconds.
_VAIN_PAUSE_S, _VAIN_PAUSE_MAX_S = 0.05, 5.0
#: The reason of MQOP_START_WAIT, by how the consumers ended.
_AFTER_WAIT = {"none": MQRC.NO_CALLBACKS_ACTIVE, "suspend": MQRC.CONNECTION_SUSPENDED}
_log = LibraryLogger(__name__)


@dataclass(slots=True, eq=False)
class Consumer:
    """A message consumer.

    Attributes:
        is_ready: there may be a message for it. ``is_waiting``: its waiter is registered, or was woken.
        told: of which failure it was told, until it gets something again.
        due_s: when its wait interval ends. ``paused_until_s``: when it is tried again. Both monotonic.
    """

    cbd: MQCBD
    handle: Handle
    md: MQMD
    gmo: MQGMO
    is_suspended: bool = False
    is_ready: bool = True
    is_waiting: bool = False
    told: MQRC = MQRC.NONE
    due_s: float = float("inf")
    paused_until_s: float = 0.0
    vain_s: float = 0.0
    waiter: Waiter | None = None


class HeldTurns(Turns):
    """The turns of a connection whose consumers are started: only their callbacks may call (2500)."""

    __slots__ = ("_name", "_turns", "thread")

    def __init__(self, turns: Turns, name: str) -> None:
        self._turns, self._name = turns, name
        self.thread = 0

    def if_free(self, act: Any) -> None:
        """As `Turns.if_free`."""
        self._turns.if_free(act)

    def __enter__(self) -> None:
        if threading.get_ident() != self.thread:
            raise error_for(MQRC.HCONN_ASYNC_ACTIVE, "", self._name, "its consumers are started")
        self._turns.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._turns.__exit__(kind, error, traceback)


class Consumers:
    """The callbacks of one connection, and the thread that calls them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._watch = Watch(connection)
        self._consumers: dict[int, Consumer] = {}
        self._handler: MQCBD | None = None
        self.is_handler_suspended = False
        self._area: Any = None
        self._turns = connection.lock
        self._held = HeldTurns(connection.lock, connection.qmgr_name)
        self._has_told_quiescing = False
        self.is_started = self.is_suspended = False
        #: "stop" or "suspend": the thread ends after its callback. "none": no consumer is left to wait for.
        self._ending = ""
        #: Whether the thread only tells of its end now. Nothing that a callback does takes that back.
        self._is_stopping = False
        self._has_begun, self._has_ended = threading.Event(), threading.Event()

    # -- registration (MQCB) -------------------------------------------------------------------------------------------

    def register(self, cbd: MQCBD, handle: Handle | None, md: MQMD, gmo: MQGMO, *, suspended: bool | None) -> None:
        """Register a callback, or replace the one of the handle."""
        if handle is None:
            is_new, self._handler = self._handler is None, cbd
            self.is_handler_suspended = bool(suspended) if suspended is not None else self.is_handler_suspended
        else:
            before = self._consumers.get(handle.number)
            is_new = before is None
            consumer = self._consumers[handle.number] = Consumer(cbd, handle, copied(md), replace(gmo))
            if before is not None:
                consumer.waiter, consumer.is_suspended = before.waiter, before.is_suspended
            if suspended is not None:
                consumer.is_suspended = suspended
        if is_new:
            self._tell(cbd, handle, CallType.REGISTER_CALL, CallbackOption.REGISTER_CALL)
            if handle is not None and self.is_started:
                self._tell(cbd, handle, CallType.START_CALL, CallbackOption.START_CALL)

    def _consumer_of(self, handle: Handle) -> Consumer | None:
        consumer = self._consumers.get(handle.number)
        return consumer if consumer is not None and consumer.handle is handle else None

    def deregister(self, handle: Handle | None) -> None:
        """Take a callback away. Raises MQIError: 2448, 2009."""
        if handle is None:
            cbd, self._handler = self._handler, None
        else:
            consumer = self._consumer_of(handle)
            cbd = None if consumer is None else self._consumers.pop(handle.number).cbd
            if consumer is not None:
                self._watch.release(consumer)
        if cbd is None:
            raise error_for(MQRC.CALLBACK_NOT_REGISTERED, "MQCB", self._connection.qmgr_name)
        self._tell(cbd, handle, CallType.DEREGISTER_CALL, CallbackOption.DEREGISTER_CALL)

    def suspend_one(self, handle: Handle | None, *, suspended: bool) -> None:
        """Suspend or resume one callback. Raises MQIError: 2448."""
        consumer = None if handle is None else self._consumer_of(handle)
        if (self._handler if handle is None else consumer) is None:
            raise error_for(MQRC.CALLBACK_NOT_REGISTERED, "MQCB", self._connection.qmgr_name)
        if consumer is None:
            self.is_handler_suspended = suspended
            return
        consumer.is_suspended = suspended
        consumer.paused_until_s, consumer.told, consumer.is_ready = 0.0, MQRC.NONE, True
        self._begin_interval(consumer)

    # -- control (MQCTL) -----------------------------------------------------------------------------------------------

    @property
    def is_in_callback(self) -> bool:
        """Whether the caller is a callback, or what it calls."""
        return self.is_started and threading.get_ident() == self._held.thread

    def start(self, area: Any, *, waits: bool, resumes: bool = False) -> MQRC:
        """Call callbacks from now on: in a thread of its own, or (*waits*) in this one until they are stopped.

        Raises:
            MQIError: 2446, 2500, 2528, 2534, 2009; 2012, a callback asks to wait.
        """
        connection = self._connection
        if self.is_in_callback:
            connection.check()
            if waits:
                raise error_for(MQRC.ENVIRONMENT_ERROR, "MQCTL", connection.qmgr_name, "a callback calls")
            if self._is_stopping:
                raise error_for(MQRC.HCONN_ASYNC_ACTIVE, "MQCTL", connection.qmgr_name)
            # It takes back the stop of the same callback.
            self._ending = ""
            return MQRC.NONE
        if waits and self.is_started:
            raise self._not_allowed("its consumers are started")
        with connection.lock:
            connection.check()
            if self.is_suspended and not resumes:
                raise self._not_allowed("its consumers are suspended")
            if waits and not self._active():
                raise error_for(MQRC.NO_CALLBACKS_ACTIVE, "MQCTL", connection.qmgr_name)
            self._area = area if not resumes else self._area
            self._ending, self._is_stopping = "", False
            self._has_begun, self._has_ended = threading.Event(), threading.Event()
            self._turns = connection.lock
            self._held = HeldTurns(connection.lock, connection.qmgr_name)
            self.is_started, self.is_suspended = True, False
            connection.lock = self._held
        if waits:
            self._run(tells=not resumes, waits=True)
            return _AFTER_WAIT.get(self._ending, MQRC.NONE)
        run = threading.Thread(target=self._run, kwargs={"tells": not resumes}, name="consumers", daemon=True)
        run.start()
        self._has_begun.wait()
        if self._ending == "stop":
            self._has_ended.wait()
            raise error_for(MQRC.CONNECTION_STOPPED, "MQCTL", connection.qmgr_name)
        return MQRC.NONE

    def stop(self) -> None:
        """Call no callback any more, after the one that runs. Raises MQIError: 2009, the connection is lost."""
        if self.is_started:
            self._end("stop")
        elif self.is_suspended:
            self.is_suspended = False
            self._tell_all(CallType.STOP_CALL, CallbackOption.STOP_CALL)

    def suspend(self) -> None:
        """The same until they are resumed, and without a call that tells of it. Raises as `stop`; 2534."""
        if self.is_started:
            self._end("suspend")
        elif not self.is_suspended:
            raise self._not_allowed("its consumers are stopped")

    def resume(self) -> MQRC:
        """Go on after `suspend`. Raises as `start`."""
        if not self.is_in_callback:
            if self._ending:
                # A callback has suspended them, and has not returned yet.
                self._has_ended.wait()
            if self.is_started:
                return MQRC.NONE
            if not self.is_suspended:
                with self._connection.lock:
                    self._connection.check()
                raise self._not_allowed("its consumers are stopped")
        return self.start(None, waits=False, resumes=True)

    def _not_allowed(self, why: str) -> MQIError:
        return error_for(MQRC.OPERATION_NOT_ALLOWED, "MQCTL", self._connection.qmgr_name, why)

    def end(self) -> None:
        """Stop, and take the waiters out of the group, before a disconnect.

        Raises:
            MQIError: 2009; 2500, a callback calls this.
        """
        if self.is_in_callback:
            raise error_for(MQRC.HCONN_ASYNC_ACTIVE, "MQDISC", self._connection.qmgr_name, "a callback cannot end it")
        with suppress(MQIError):
            # A lost connection has nothing to stop. The rest of the disconnect tells.
            self.stop()
        with self._connection.lock:
            for consumer in list(self._consumers.values()):
                self.deregister(consumer.handle)
            if self._handler is not None:
                self.deregister(None)
            if self._connection.is_ended:
                self._watch.abandon()
            else:
                self._watch.leave()
        self._connection.consumers = None

    def wake(self) -> None:
        """Look at every queue; as the connection asks."""
        self._watch.wake()

    def _end(self, how: str) -> None:
        if self.is_in_callback and self._is_stopping:
            return
        self._ending = how
        if not self.is_in_callback:
            self._watch.wake()
            self._has_ended.wait()
            if self._ending == "lost":
                raise error_for(MQRC.CONNECTION_BROKEN, "MQCTL", self._connection.qmgr_name)

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _run(self, *, tells: bool, waits: bool = False) -> None:
        self._held.thread = threading.get_ident()
        reason = MQRC.NONE
        try:
            if tells:
                self._tell_all(CallType.START_CALL, CallbackOption.START_CALL)
            for consumer in self._consumers.values():
                consumer.is_ready, consumer.is_waiting, consumer.told = True, False, MQRC.NONE
                consumer.paused_until_s = 0.0
                self._begin_interval(consumer)
            self._has_begun.set()
            while not self._ending:
                # The connection may be lost while no consumer makes a call.
                self._connection.check()
                if waits and not self._active():
                    self._ending = "none"
                    break
                self._serve_all()
            with self._connection.lock:
                self._watch.rest()
        except MQIError as error:
            reason, self._ending, self._is_stopping = error.reason, "lost", True
            self._watch.abandon()
            self._tell_handler(error.reason, ConsumerState.STOPPED)
        finally:
            self._is_stopping = True
            try:
                if self._ending != "suspend":
                    self._tell_all(CallType.STOP_CALL, CallbackOption.STOP_CALL, reason)
            finally:
                self._connection.lock = self._turns
                self.is_suspended, self.is_started = self._ending == "suspend", False
                self._has_begun.set()
                self._has_ended.set()

    def _serve_all(self) -> None:
        """Give each consumer that is ready one message; wait when none is."""
        self._notice_quiescing()
        self._tell_of_intervals()
        served = False
        for consumer in self._active():
            if self._ending:
                return
            if consumer.is_ready and time.monotonic() >= consumer.paused_until_s and not consumer.is_suspended:
                served = True
                self._serve(consumer)
        if served or self._ending:
            return
        idle = [consumer for consumer in self._active() if not (consumer.is_waiting or consumer.is_ready)]
        if idle:
            for consumer in idle:
                consumer.is_waiting = True
            with self._connection.lock:
                found = self._watch.register(idle)
            for consumer in found:
                self._look_again(consumer)
            return
        woken = self._watch.wait(self._pause_s())
        for consumer in self._consumers.values():
            if woken is None or (consumer.waiter is not None and consumer.waiter.token in woken):
                consumer.is_ready, consumer.is_waiting, consumer.vain_s = True, False, 0.0

    def _serve(self, consumer: Consumer) -> None:
        if consumer.handle.is_closed:
            self.deregister(consumer.handle)
            return
        md, gmo = copied(consumer.md), replace(consumer.gmo, options=int(consumer.gmo.options) & ~_WAIT)
        longest = consumer.cbd.max_msg_length
        body, length, comp_code, reason = verbs.mqget(
            self._connection, consumer.handle, md, gmo, LENGTH_MAX if longest == FULL_MSG_LENGTH else longest
        )
        if comp_code == MQCC.FAILED and reason != MQRC.NO_MSG_AVAILABLE:
            self._fail(consumer, reason)
            return
        if consumer.told == MQRC.GET_INHIBITED:
            self._tell_event(consumer, MQCC.WARNING, MQRC.GET_ENABLED, ConsumerState.NONE)
        consumer.told = MQRC.NONE
        if comp_code == MQCC.FAILED:
            consumer.is_ready = False
            return
        consumer.vain_s = 0.0
        stays = bool(int(gmo.options) & _BROWSES) or reason == MQRC.TRUNCATED_MSG_FAILED
        state = ConsumerState.NONE
        if reason == MQRC.TRUNCATED_MSG_FAILED:
            # It would be called with the same message for ever.
            consumer.is_suspended, state = True, ConsumerState.SUSPENDED_USER_ACTION
        if int(gmo.options) & _BROWSE_FIRST:
            consumer.gmo.options = int(consumer.gmo.options) & ~_BROWSE_FIRST | _BROWSE_NEXT
        context = self._context(consumer.cbd, consumer.handle, comp_code, reason, state)
        context.call_type = int(CallType.MSG_NOT_REMOVED if stays else CallType.MSG_REMOVED)
        context.data_length, context.buffer_length = length, len(body)
        self._call(consumer.cbd, md, gmo, body, context)
        self._begin_interval(consumer)

    def _fail(self, consumer: Consumer, reason: MQRC) -> None:
        if reason == MQRC.CONNECTION_BROKEN:
            raise error_for(reason, "MQGET", self._connection.qmgr_name)
        if reason in _PASSES:
            state = ConsumerState.SUSPENDED_TEMPORARY
            consumer.paused_until_s = time.monotonic() + RETRY_S
        else:
            state = ConsumerState.SUSPENDED
            consumer.is_suspended = True
        if reason != consumer.told:
            consumer.told = reason
            self._tell_event(consumer, MQCC.FAILED, reason, state)

    def _look_again(self, consumer: Consumer) -> None:
        """There is something for a consumer whose get found nothing: most often it has come in between."""
        consumer.is_ready, consumer.is_waiting = True, False
        if consumer.vain_s:
            consumer.paused_until_s = time.monotonic() + consumer.vain_s
        consumer.vain_s = min(max(_VAIN_PAUSE_S, 2 * consumer.vain_s), _VAIN_PAUSE_MAX_S)

    def _active(self) -> list[Consumer]:
        return [consumer for consumer in self._consumers.values() if not consumer.is_suspended]

    def _pause_s(self) -> float | None:
        """How long to wait at most: until an interval ends, or a consumer is tried again."""
        ends = [consumer.due_s for consumer in self._active()]
        ends += [consumer.paused_until_s for consumer in self._active() if consumer.is_ready]
        first = min(ends, default=float("inf"))
        return None if first == float("inf") else max(0.0, first - time.monotonic())

    def _begin_interval(self, consumer: Consumer) -> None:
        interval = consumer.gmo.wait_interval
        has_end = int(consumer.gmo.options) & _WAIT and interval >= 0
        consumer.due_s = time.monotonic() + interval / 1000 if has_end else float("inf")

    def _tell_of_intervals(self) -> None:
        now_s = time.monotonic()
        for consumer in self._active():
            if consumer.due_s <= now_s and not consumer.is_ready and not self._ending:
                self._begin_interval(consumer)
                if not consumer.gmo.wait_interval:
                    # Once, until there is a message again.
                    consumer.due_s = float("inf")
                self._tell_event(consumer, MQCC.FAILED, MQRC.NO_MSG_AVAILABLE, ConsumerState.NONE)

    def _notice_quiescing(self) -> None:
        if self._connection.is_quiescing and not self._has_told_quiescing:
            self._has_told_quiescing = True
            self._tell_handler(MQRC.Q_MGR_QUIESCING, ConsumerState.NONE)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _tell_handler(self, reason: MQRC, state: ConsumerState) -> None:
        handler = self._handler
        if handler is not None and not self.is_handler_suspended:
            context = self._context(handler, None, MQCC.FAILED, reason, state)
            context.call_type = int(CallType.EVENT_CALL)
            self._call(handler, None, None, None, context)
        told = [each for each in self._consumers.values() if each.cbd.options & CallbackOption.MC_EVENT_CALL]
        for consumer in told:
            context = self._context(consumer.cbd, consumer.handle, MQCC.FAILED, reason, state)
            context.call_type = int(CallType.MC_EVENT_CALL)
            self._call(consumer.cbd, None, None, None, context)

    def _tell_event(self, consumer: Consumer, comp_code: MQCC, reason: MQRC, state: ConsumerState) -> None:
        context = self._context(consumer.cbd, consumer.handle, comp_code, reason, state)
        context.call_type = int(CallType.EVENT_CALL)
        self._call(consumer.cbd, None, None, None, context)

    def _tell_all(self, call_type: CallType, option: CallbackOption, reason: MQRC = MQRC.NONE) -> None:
        for consumer in list(self._consumers.values()):
            self._tell(consumer.cbd, consumer.handle, call_type, option, reason)

    def _tell(
        self,
        cbd: MQCBD,
        handle: Handle | None,
        call_type: CallType,
        option: CallbackOption,
        reason: MQRC = MQRC.NONE,
    ) -> None:
        if cbd.options & option:
            comp_code = MQCC.FAILED if reason else MQCC.OK
            context = self._context(cbd, handle, comp_code, reason, ConsumerState.NONE)
            context.call_type = int(call_type)
            self._call(cbd, None, None, None, context)

    def _context(self, cbd: MQCBD, handle: Handle | None, comp_code: MQCC, reason: MQRC, state: ConsumerState) -> MQCBC:
        return MQCBC(
            hobj=handle,
            callback_area=cbd.callback_area,
            connection_area=self._area,
            comp_code=int(comp_code),
            reason=int(reason),
            state=int(state),
        )

    def _call(self, cbd: MQCBD, md: MQMD | None, gmo: MQGMO | None, body: bytes | None, context: MQCBC) -> None:
        assert cbd.callback_function is not None
        try:
            cbd.callback_function(self._connection, md, gmo, body, context)
        except Exception as error:  # noqa: BLE001 - it is a function of the program
            # It did not end normally. Its unit of work stays as it is; no further message of its queue is given to it.
            _log.warning("callback_failed", error=repr(error), call_type=context.call_type)
            for consumer in self._of(cbd):
                consumer.is_suspended = True
            if self._handler is not None and cbd is not self._handler:
                self._tell_handler(MQRC.UNEXPECTED_ERROR, ConsumerState.SUSPENDED)

    def _of(self, cbd: MQCBD) -> Iterable[Consumer]:
        return [consumer for consumer in self._consumers.values() if consumer.cbd is cbd]
