"""The structures that a connection has entered: it may change them, and it learns of their failures."""

from __future__ import annotations

import time
from abc import abstractmethod
from contextlib import suppress

from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.store.failures import State, parse_failure, structure_state
from sharedq.redis.keys import StructureKeys, structure_keys
from sharedq.scripts.connections import attach_call, check_owner_call, detach_call
from sharedq.scripts.reads import server_ms
from sharedq.session.calling import Calling
from sharedq.session.handle import Handle, StructureAccess

#: Seconds for which the local clock continues a reading of Redis' clock.
CLOCK_S = 10.0


class EnteredStructures(Calling):
    """The structures of one owner."""

    def __init__(self, group: Group, process: Process, *, is_internal: bool) -> None:
        self._accesses: dict[str, StructureAccess] = {}
        #: Structures that failed, and were not entered since.
        self._failed: dict[str, StructureAccess] = {}
        super().__init__(group, process, is_internal=is_internal)

    @abstractmethod
    def _lose(self, access: StructureAccess) -> None:
        """Note that everything of this owner in a structure is lost."""

    def access(self, structure: str) -> StructureAccess:
        """Enter a structure: from then on this connection may change state there until it is fenced."""
        access = self._accesses.get(structure)
        # Without a number: the structure was deleted when it was entered, and may be defined again.
        if access is None or not access.number:
            self._failed.pop(structure, None)
            access = self._enter(structure, self.group.structure_number(structure))
        return access

    def access_deleted(self, structure: str) -> StructureAccess:
        """Enter a structure that was deleted, to end what dead connections have left there. Then `leave_deleted`."""
        return self._accesses.get(structure) or self._enter(structure, 0)

    def leave_deleted(self, access: StructureAccess) -> None:
        """Leave a structure that was deleted. Raises MQIError: 2009."""
        self._accesses.pop(access.keys.name, None)
        self._detach(access.keys)

    def _enter(self, structure: str, number: int) -> StructureAccess:
        keys, owner = structure_keys(self.group.name, structure), self.owner_arguments()
        self.checked_call(*attach_call(keys, owner))
        # A recoverer fences the administration structure first and lists the structures afterwards. So it finds each
        # structure of a connection that passes this check after it has entered the structure.
        try:
            reply = self.checked_call(*check_owner_call(self.group.keys, owner, structure))
        except MQIError:
            self._take_back_attach(keys)
            raise
        failure = parse_failure(reply[1].decode())
        access = StructureAccess(keys, number)
        if failure is not None:
            access.failures, access.was_entered_failed = failure.count, failure.is_failed
        self._accesses[structure] = access
        return access

    def _take_back_attach(self, keys: StructureKeys) -> None:
        """Undo a registration that could not be checked: nothing would end it later."""
        if self._is_ended:
            # The connection may be recovered and forgotten by now: then no recovery would look for it there again.
            with suppress(MQIError):
                self.group.call(*detach_call(keys, self.token))
            return
        try:
            self._detach(keys)
        except MQIError:
            self.break_off()

    def _detach(self, keys: StructureKeys) -> None:
        self.call(*detach_call(keys, self.token))

    def has_entered(self, access: StructureAccess) -> bool:
        """Whether the connection still uses a structure by this *access*: it knows of no failure since."""
        return self._accesses.get(access.keys.name) is access

    def redis_ms(self, access: StructureAccess) -> int:
        """Redis' clock at the server of a structure, ms since 1970. It alone decides about expiry.

        The server is asked again if it was asked some seconds ago. Raises MQIError: 2009.
        """
        at_s = time.monotonic()
        if at_s - access.clock_read_s > CLOCK_S:
            access.clock_ms = server_ms(self, access.keys.sequence)
            access.clock_read_s = time.monotonic()
            at_s = access.clock_read_s
        return access.clock_ms + int((at_s - access.clock_read_s) * 1000)

    def check_there(self, handle: Handle) -> None:
        """For a queue that was not found: raise 2373 or 2346 if the reason is a failure of its structure."""
        self.has_lost(handle.structure)
        self.check_usable(handle)

    def has_lost(self, access: StructureAccess) -> bool:
        """Whether a structure that did not find this connection, or its queue, has failed since it was entered."""
        if not (self._is_ended or access.has_failed) and self._is_forgotten(access):
            self._structure_failed(access)
        return access.has_failed

    def check_usable(self, handle: Handle) -> None:
        """Raise when the structure of an open handle has failed since it was opened.

        Raises:
            MQIError: 2373; 2346 while it is being recovered. The handle stays useless after the recovery.
        """
        if handle.structure.has_failed:
            raise self._failure(handle.structure, handle.object_name)

    def _not_registered(self, key: str) -> MQIError:
        """A script did not find this connection in the structure of *key*: shut out, or the structure has failed."""
        structure = key[1 : key.index("}")].partition(":")[2]
        if structure in self._failed:
            # An earlier part of this call has noticed the failure.
            return self._failure(self._failed[structure], self.qmgr_name)
        access = self._accesses.get(structure)
        if access is None or not self._is_forgotten(access):
            self.break_off()
            return error_for(MQRC.CONNECTION_BROKEN, "", self.qmgr_name, "this connection was fenced by a recoverer")
        self._structure_failed(access)
        return self._failure(access, self.qmgr_name)

    def _is_forgotten(self, access: StructureAccess) -> bool:
        """Whether a structure does not know this connection because it has failed, not because of a recoverer.

        A recoverer marks an owner in the administration structure before it shuts the owner out of any other structure.
        It takes the mark away only together with the entry of the connection. So a look in this order misses nothing.
        """
        keys, admin, name = access.keys, self.group.keys, access.keys.name
        if self.command(keys.owners, "HEXISTS", keys.owners, self.token):
            return False
        try:
            state = structure_state(self.group, name)
        except MQIError:
            return False
        is_dead, *told = self._use(self._link.call, *check_owner_call(admin, self.owner_arguments(), name))
        if is_dead:
            return False
        failure = parse_failure(told[0].decode())
        count = failure.count if failure else 0
        if state == "ACTIVE" and count == access.failures and not access.was_entered_failed:
            return False
        return bool(self.command(admin.owners, "HEXISTS", admin.owners, self.token))

    def _structure_failed(self, access: StructureAccess) -> None:
        """Everything of this connection there is lost. The work of its unit elsewhere is backed out."""
        access.has_failed = True
        self._failed[access.keys.name] = access
        self._accesses.pop(access.keys.name, None)
        self._lose(access)

    def _failure(self, access: StructureAccess, name: str) -> MQIError:
        """The answer to a call on a handle of a structure that has failed."""
        structure = access.keys.name
        state: State = "FAILED"
        with suppress(MQIError):
            state = structure_state(self.group, structure)
        reason = MQRC.CF_STRUC_IN_USE if state == "INRECOVER" else MQRC.CF_STRUC_FAILED
        details = {
            "ACTIVE": f"{structure} has failed since this was opened, and can be used again: open it anew",
            "FAILED": f"{structure} has failed",
            "INRECOVER": f"{structure} has failed, and is being recovered",
        }
        return error_for(reason, "", name, details[state])

    def _leave_structures(self) -> None:
        """Leave every structure. Raises MQIError: a structure, or Redis, refuses it."""
        for access in list(self._accesses.values()):
            try:
                self._detach(access.keys)
            except MQIError:
                # A structure that has failed has nothing to leave.
                if self.has_entered(access):
                    raise
