"""A connection to a queue manager (Hconn): its owner token, its link, its unit of work, its handles."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from sharedq.context import default_appl_name
from sharedq.forks import after_fork
from sharedq.group import Group
from sharedq.handle import Handle, StructureAccess
from sharedq.keys import structure_keys
from sharedq.link import Argument, Link, Reply
from sharedq.mqi.constants import MQCC, MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.owner import Process, release_process
from sharedq.put_status import PutStatus
from sharedq.turns import Turns
from sharedq.unit_of_work import CHUNK_MESSAGES, UnitOfWork

if TYPE_CHECKING:
    from sharedq.put_later import PendingPuts, Sending

ScriptCall = tuple[str, Sequence[str], Sequence[Argument]]

#: A backout that undoes everything.
NOTHING_SKIPPED = ("", 0)
#: MAXUMSGS and MAXHANDS of a manager whose attributes nobody has written yet.
DEFAULT_MAX_UNCOMMITTED, DEFAULT_MAX_HANDLES = 10_000, 256

# Looked up as a member, it costs each call a tenth of a microsecond a reply.
_CONNECTION_BROKEN = int(MQRC.CONNECTION_BROKEN)


class Connection:
    """One connection; calls from several threads take turns.

    Every call first makes sure that the process still holds its lease; a call whose outcome is unknown breaks the
    connection for good (2009), and its unit of work is then resolved by a manager of the group.
    """

    def __init__(
        self, group: Group, process: Process, *, tag: str = "", appl_name: str = "", is_internal: bool = False
    ) -> None:
        self.group, self.process, self.tag = group, process, tag
        self.qmgr_name = process.qmgr
        self.origin = process.qmgr.encode()
        self.appl_name = appl_name or default_appl_name().decode()
        self.appl_name_bytes = self.appl_name.encode()[:28]
        self.lock = Turns(self.break_off)
        after_fork(self._end_in_child)
        self.token = f"{process.token}.{process.add(self)}"
        self.unit = UnitOfWork(self.token)
        self.handles: dict[int, Handle] = {}
        self.pending: list[PendingPuts] = []
        self.put_failure: MQIError | None = None
        self.put_status = PutStatus()
        #: Temporary dynamic queues of closed handles that could not be deleted yet.
        self.temporary_queues: list[str] = []
        self.is_quiescing = process.is_quiescing
        self.max_uncommitted, self.max_handles = DEFAULT_MAX_UNCOMMITTED, DEFAULT_MAX_HANDLES
        self.ccsid = DEFAULT_CCSID
        #: As scripts take them: what the journal keeps, "0" where it is off.
        self.journal_max = group.journal_max
        self._is_internal = is_internal
        self._link: Link = group.new_link()
        self._accesses: dict[str, StructureAccess] = {}
        self._to_forget: list[str] = []
        self._next_handle = 0
        self._is_ended = False
        self._is_left_to_group = False
        self._waiting_on: str | None = None
        try:
            self._register()
        except MQIError:
            self._drop_or_break_off()
            raise
        except BaseException:
            self.break_off()
            raise

    def _register(self) -> None:
        keys = self.group.keys
        info = json.dumps({"appl": self.appl_name, "pid": os.getpid(), "tag": self.tag[1:]})
        reply = self._link.call(
            "admin/connect",
            [keys.owners, keys.fence, keys.tags, keys.members, keys.leases, keys.qmgr, keys.recoveries],
            (*self.owner_arguments(), info, self.tag, int(self._is_internal)),
        )
        if reply[0]:
            detail = f"used by {reply[1].decode()}" if reply[1] else ""
            raise error_for(MQRC(reply[0]), "MQCONNX", self.qmgr_name, detail)
        if reply[2:]:
            self.max_uncommitted, self.max_handles, self.ccsid = map(int, reply[2:])

    # -- calls ---------------------------------------------------------------------------------------------------

    def access(self, structure: str) -> StructureAccess:
        """Enter a structure: from then on this connection may change state there until it is fenced."""
        access = self._accesses.get(structure)
        if access is None:
            keys = structure_keys(self.group.name, structure)
            number = self.group.structure_number(structure)
            owner = self.owner_arguments()
            self.checked_call("structure/attach", [keys.owners, keys.fence], owner)
            # A recoverer fences the administration structure first and lists the structures afterwards: whoever
            # passes this check after entering a structure will be found there.
            self.checked_call("admin/check_owner", [self.group.keys.fence], owner)
            access = self._accesses[structure] = StructureAccess(keys, number)
        return access

    def owner_arguments(self) -> tuple[str, str, int, str]:
        """How scripts of the administration structure learn who calls: token, manager, incarnation, process."""
        return self.token, self.qmgr_name, self.process.incarnation, self.process.token

    def checked_call(self, name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        """Call a script whose reply begins with a reason code; raise unless that is 0.

        Raises:
            MQIError: what the script answered.
        """
        reply = self.call(name, keys, args)
        if reply[0]:
            raise self.error(reply[0])
        return reply

    def call(self, name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        """Call a script under this connection's lease; 2009 breaks the connection."""
        return self.call_many(((name, keys, args),))[0]

    def call_many(self, calls: Sequence[ScriptCall]) -> list[Reply]:
        """Call scripts of one structure in one write, in order."""
        self.check()
        try:
            replies = self._link.call_many(calls)
        except BaseException:
            self._break_off_with_link()
            raise
        for reply in replies:
            if isinstance(reply, list) and reply and reply[0] == _CONNECTION_BROKEN:
                self.break_off()
                raise error_for(MQRC.CONNECTION_BROKEN, "", self.qmgr_name, "this connection was fenced by a recoverer")
        return replies

    def block_then_call(
        self, wake_key: str, timeout_s: float, name: str, keys: Sequence[str], args: Sequence[Argument]
    ) -> tuple[bool, Reply]:
        """Wait for a wake-up, then call a script, in one write (see ``Link.block_then_call``)."""
        self.check()
        try:
            woken, reply = self._link.block_then_call(wake_key, timeout_s, name, keys, args)
        except BaseException:
            self._break_off_with_link()
            raise
        if reply[0] == MQRC.CONNECTION_BROKEN:
            self.break_off()
            raise error_for(MQRC.CONNECTION_BROKEN, "", self.qmgr_name, "this connection was fenced by a recoverer")
        return woken, reply

    def command(self, key: str, *args: Argument) -> Reply:
        """A plain read command."""
        self.check()
        try:
            return self._link.command(key, *args)
        except BaseException:
            self._break_off_with_link()
            raise

    def _break_off_with_link(self) -> None:
        """Whatever broke the link (a lost reply, an interrupt) breaks the connection: its work is then recovered."""
        if self._link.is_broken:
            self.break_off()

    def check(self) -> None:
        """Raise 2009 when this connection has ended, or its process no longer surely holds its lease."""
        if self._is_ended or self._link.is_broken:
            self.break_off()
            raise error_for(MQRC.CONNECTION_BROKEN, "", self.qmgr_name)
        try:
            self.process.check()
        except MQIError:
            # A late renewal may still save the process. This call has failed for good, so its connection goes:
            # otherwise it would keep its tag and its unit of work for as long as the process lives.
            self.break_off()
            raise

    def error(self, reason: int, verb: str = "", name: str = "", detail: str = "") -> MQIError:
        """The exception for a reason code that a script answered."""
        return error_for(MQRC(reason), verb, name or self.qmgr_name, detail)

    @property
    def next_unit_id(self) -> str:
        """Id of the unit of work that will be current behind a commit sent now."""
        return self.unit.next_id if self.unit.is_active or self.pending else self.unit.id

    # -- unit of work --------------------------------------------------------------------------------------------

    def commit(self, *, and_then: ScriptCall | None = None, of: Handle | None = None) -> Reply:
        """MQCMIT: make the unit of work's puts available and its gets final.

        Args:
            and_then: a get under syncpoint through the handle *of*, for the unit of work that follows. It leaves in
                the same write where one call commits everything, in the structure of *of*; else after the commit.

        Returns:
            The reply to *and_then*.

        Raises:
            MQIError: 2003 an asynchronous put of it had failed, everything is backed out; 2009 unknown.
        """
        from sharedq.put_later import commit_at_once_call, pending_calls, send_pending

        self._back_out_failed_puts()
        at_once = commit_at_once_call(self, is_followed=and_then is not None) if self.pending else None
        if at_once is not None:
            structure = self.pending[0].handle.structure.keys.name
            return self._commit_one(structure, [at_once], None, and_then, of)
        if and_then is not None and of is not None and self._may_commit_within(and_then, of):
            return self._commit_within(and_then, of)
        by_structure = pending_calls(self)
        parts = self.unit.parts
        if len(parts) == 1:
            (structure,) = parts
            end = self._end_call("commit", structure, expected=parts[structure].operations)
            return self._commit_one(structure, by_structure.get(structure, []), end, and_then, of)
        send_pending(self, by_structure)
        self._back_out_failed_puts()
        if parts:
            self._commit_everywhere()
        return None if and_then is None else self.call(*and_then)

    def _may_commit_within(self, get: ScriptCall, handle: Handle) -> bool:
        """Whether the unit of work is nothing but gets of plain messages in the structure of *handle*, few enough."""
        if self.pending or len(self.unit.parts) != 1 or get[0] != "structure/get":
            return False
        part = self.unit.parts.get(handle.structure.keys.name)
        return part is not None and part.is_only_gets and self.unit.messages <= part.chunk

    def _commit_within(self, get: ScriptCall, handle: Handle) -> Reply:
        """Commit in the script that makes the next get; its reply."""
        from sharedq.get_calls import with_commit

        reply = self.call(*with_commit(get, handle.structure.keys, self.unit))
        if reply[0] == MQRC.BACKED_OUT:
            self._lose_unit("an operation is missing")
        self.unit.begin_next()
        return reply

    def _lose_unit(self, why: str) -> NoReturn:
        self.backout()
        raise error_for(MQRC.BACKED_OUT, "MQCMIT", self.qmgr_name, why)

    def _commit_one(
        self,
        structure: str,
        sendings: list[Sending],
        end: ScriptCall | None,
        and_then: ScriptCall | None,
        of: Handle | None,
    ) -> Reply:
        """Commit in the one structure that the unit of work touches: by *end*, or else by what sends its puts."""
        from sharedq.put_later import note_replies

        calls = [sending.call for sending in sendings] + ([end] if end else [])
        part = self.unit.parts.get(structure)
        chunk = CHUNK_MESSAGES if part is None else part.chunk
        # Behind the first chunk of a large unit of work, a get would be taken for a part of it.
        rides = (
            and_then is not None
            and of is not None
            and of.structure.keys.name == structure
            and self.unit.messages <= chunk
        )
        replies = self.call_many([*calls, and_then] if rides and and_then is not None else calls)
        # Not before: a commit that Redis refused as a whole (2192) can be tried again.
        self.pending.clear()
        note_replies(self, sendings, replies[: len(sendings)])
        decided = replies[len(calls) - 1]
        if decided[0]:
            self._lose_unit(f"an asynchronous put failed: {decided[0]}")
        if structure in self.unit.parts:
            self._finish_decided(structure, decided)
        self.unit.begin_next()
        if rides:
            return replies[-1]
        return None if and_then is None else self.call(*and_then)

    def _back_out_failed_puts(self) -> None:
        if self.put_failure is not None:
            failure, self.put_failure = self.put_failure, None
            self.backout()
            raise error_for(MQRC.BACKED_OUT, "MQCMIT", self.qmgr_name, str(failure)) from failure

    def _commit_everywhere(self) -> None:
        """Several structures: one decision in the administration structure, then each applies it."""
        keys, unit = self.group.keys, self.unit
        decide: ScriptCall = (
            "admin/decide",
            [keys.fence, keys.decisions],
            (*self.owner_arguments(), unit.id, " ".join(unit.parts)),
        )
        decided = self.settle(decide, lambda structure: self._finish_decided(structure, None))
        if decided[0]:
            raise self.error(decided[0], "MQCMIT")

    def settle(self, decide: ScriptCall, apply: Callable[[str], None]) -> Reply:
        """Write a decision about the unit of work, have each of its structures apply that, and begin the next one.

        Returns:
            The reply to *decide*. Where it begins with a number other than 0 nothing is decided, and nothing done.
        """
        unit = self.unit
        forget: list[ScriptCall] = []
        if self._to_forget:
            forget = [("admin/forget", [self.group.keys.decisions], self._to_forget)]
        decided, *forgotten = self.call_many([decide, *forget])
        if all(not reply[0] for reply in forgotten):
            self._to_forget = []
        if decided[0]:
            return decided
        for structure in unit.parts:
            apply(structure)
        # Only now: as long as a structure has not applied it, whoever recovers us must find the decision.
        self._to_forget.append(unit.id)
        unit.begin_next()
        return decided

    def send_outstanding(self) -> None:
        """Send the buffered puts, so that everything the unit of work did is recorded where it was done.

        Raises:
            MQIError: 2003 one of its asynchronous puts had failed, everything is backed out; 2009 unknown.
        """
        from sharedq.put_later import flush_pending

        flush_pending(self)
        self._back_out_failed_puts()

    def _finish_decided(self, structure: str, reply: Reply) -> None:
        """Apply what is decided. Where that cannot be done now the group does it, and this connection is over."""
        try:
            self._end_part("commit", structure, reply)
        except MQIError as error:
            self.leave_to_group("committed", structure, error)

    def leave_to_group(self, what: str, structure: str, error: MQIError) -> NoReturn:
        """What is decided (*what*) cannot be applied in *structure* now: the recovery of this connection does it."""
        self._is_left_to_group = True
        self.break_off()
        detail = f"{what}, but {structure} could not be told ({error}): the group completes it"
        raise error_for(MQRC.CONNECTION_BROKEN, "MQCMIT", self.qmgr_name, detail) from error

    def backout(self, *, by_program: bool = False) -> None:
        """MQBACK: undo the unit of work. Puts vanish, gets return to their places.

        Args:
            by_program: the program itself calls MQBACK: a message that it got with MQGMO_MARK_SKIP_BACKOUT stays got,
                in the unit of work that follows. Else everything is undone.

        Raises:
            MQIError: 2009 unknown; the group backs it out.
        """
        self.pending.clear()
        self.put_failure = None
        marked = self.unit.marked if by_program else None
        self.unit.marked = marked
        for structure in self.unit.parts:
            self._end_part("backout", structure, None)
        self.unit.restore_order()
        self.unit.begin_next()
        if marked:
            structure, queue, messages, operations, has_members = marked
            self.unit.add(structure, queue, messages, operations=operations, has_members=has_members)

    def _end_part(self, how: str, structure: str, reply: Reply) -> None:
        """Call until a structure has applied its part of the unit of work, chunk by chunk."""
        while reply is None or reply[1]:  # operations left
            name, keys, args = self._end_call(how, structure, expected=-1)
            reply = self.checked_call(name, keys, args)

    def _end_call(self, how: str, structure: str, *, expected: int) -> ScriptCall:
        access, part, marked = self._accesses[structure], self.unit.parts[structure], self.unit.marked
        skip = NOTHING_SKIPPED
        if marked and marked.structure == structure:
            skip = (self.unit.next_id, marked.operations)
        return end_unit_call(
            access,
            how,
            self.token,
            self.token,
            self.unit.id,
            list(part.queues),
            expected,
            self.group.journal_max,
            has_members=part.has_members,
            chunk=part.chunk,
            skip=skip,
        )

    # -- life ----------------------------------------------------------------------------------------------------

    def take_put_status(self) -> PutStatus:
        """MQSTAT: what became of asynchronous puts since the last look."""
        status, self.put_status = self.put_status, PutStatus()
        return status

    def next_handle_number(self) -> int:
        """A number for a new handle."""
        self._next_handle += 1
        return self._next_handle

    def waits_on(self, wake_key: str | None) -> None:
        """Remember what this connection blocks on, for those who must end its wait."""
        self._waiting_on = wake_key

    def notice_quiescing(self) -> None:
        """The manager quiesces: wake a waiting get, so that it can fail if it asked to.

        Raises:
            MQIError: Redis cannot be reached.
        """
        self.is_quiescing = True
        wake_key = self._waiting_on
        if wake_key is not None:
            self.group.call("structure/wake", [wake_key], ["quiesce", 0])

    def interrupt(self) -> None:
        """End a running call with 2009: the process lost its lease."""
        self._link.interrupt()

    def break_off(self) -> None:
        """This connection is lost. A manager of the group backs out what it left."""
        if not self._is_ended:
            self._is_ended = True
            self.process.abandon(self.token)
            self._drop()

    def disconnect(self) -> MQRC:
        """MQDISC: commit what is outstanding, close what is open, give back the tag.

        Returns:
            ``NONE``, or the reason of a warning (2344), and the tag is not free: everything is committed, but a
            structure could not be told, and the group has to complete that; or what was prepared here is in doubt.

        Raises:
            MQIError: 2003 the unit of work was backed out instead, and the connection has ended nevertheless; 2009
                when the outcome of the implied commit is unknown.
        """
        from sharedq.opening import close_handle, delete_temporary_queues

        if self._is_ended:
            self._drop()
            return MQRC.NONE
        failure: MQIError | None = None
        try:
            self.commit()
        except MQIError as error:
            if self.tag and self._is_left_to_group:
                return MQRC.CONN_TAG_NOT_RELEASED
            if error.reason != MQRC.BACKED_OUT:
                raise
            failure = error
        for handle in list(self.handles.values()):
            try:
                close_handle(self, handle)
            except MQIError as error:
                if error.comp_code == MQCC.FAILED and error.reason == MQRC.CONNECTION_BROKEN:
                    raise
        delete_temporary_queues(self)
        for access in self._accesses.values():
            keys = access.keys
            self.call(
                "structure/detach",
                [keys.owners, keys.unit_of_work + self.token, keys.wake + self.token],
                [self.token],
            )
        admin = self.group.keys
        if self._to_forget:
            self.call("admin/forget", [admin.decisions], self._to_forget)
        reply = self.call("admin/disconnect", [admin.owners, admin.tags], [self.token, self.tag])
        self._is_ended = True
        self._drop()
        if failure is not None:
            raise failure
        return MQRC(reply[0])

    @property
    def is_ended(self) -> bool:
        """Whether this connection was disconnected or lost."""
        return self._is_ended

    def _end_in_child(self) -> None:
        # Forked while another thread had its turn: that thread is not in the child to end it.
        self.lock = Turns(self.break_off)

    def _drop_or_break_off(self) -> None:
        # A reply that was lost may have been that of a registration: a tag would then be held by nobody.
        if self._link.is_broken:
            self.break_off()
        else:
            self._drop()

    def _drop(self) -> None:
        self._is_ended = True
        self._link.close()
        self.process.discard(self)
        if not self._is_internal:
            release_process(self.process)


def end_unit_call(
    access: StructureAccess,
    how: str,
    caller: str,
    owner: str,
    unit_id: str,
    queues: Sequence[str],
    expected: int,
    journal_max: str,
    *,
    has_members: bool = True,
    chunk: int = CHUNK_MESSAGES,
    skip: tuple[str, int] = NOTHING_SKIPPED,
    is_prepared: bool = False,
) -> ScriptCall:
    """The script call that commits or backs out (*how*) the next chunk of *owner*'s unit of work.

    Args:
        has_members: members of groups, or segments, may be among its messages.
        chunk: messages, at most.
        skip: what a backout by the program leaves got: the unit of work where that goes on, and how many operations.
        is_prepared: the unit of work stands under its own id; *owner* is the caller, since nobody else owns it.
    """
    keys = access.keys
    script_keys = [
        keys.owners,
        keys.dead,
        keys.unit_of_work + (unit_id if is_prepared else owner),
        keys.messages,
        keys.expiry,
        keys.wake,
        keys.journal,
    ]
    for name in queues:
        queue = keys.queue(name)
        script_keys += [queue.queue, queue.available, queue.index, queue.waiters]
        if has_members:
            script_keys += [queue.groups, queue.members]
    condition = [expected] if how == "commit" else skip
    return (
        f"structure/{how}",
        script_keys,
        [caller, owner, unit_id, *condition, chunk, journal_max, *queues],
    )
