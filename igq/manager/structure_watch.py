"""The manager's reports on structures: one when a structure has failed, one when it can be used again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.objects.store.failures import failures, may_have_changed, structure_state
from sharedq.objects.store.structures import Structures
from sharedq.redis.keys import private_structure

#: Seconds between looks when no change is reported: nobody notices the failure of a structure that is not used.
LOOK_S = 30.0


class StructureWatch:
    """Looks at the application structures and at the manager's own, and remembers what it has reported.

    Args:
        say: called with a message id of `igq.output.messages` and its fields.
    """

    def __init__(self, group: Group, qmgr: str, say: Callable[..., None]) -> None:
        self._group, self._own, self._say = group, private_structure(qmgr), say
        #: For each structure that has failed: how many failures and how many ends of failures it had. None before the
        #: first
        #: look.
        self._said: dict[str, tuple[int, int]] | None = None

    def look(self) -> bool:
        """Look, and report what is new. True if a structure can be used again.

        Raises:
            MQIError: 2009, the administration structure cannot be reached.
        """
        defined = {structure.name: structure for structure in Structures(self._group, lambda: datetime.now(UTC)).list()}
        found, is_back = failures(self._group), False
        for name in (*defined, self._own):
            try:
                if may_have_changed(self._group, name, found.get(name)):
                    structure_state(self._group, name)
                    found = failures(self._group)
            except MQIError:
                # The server cannot be reached now. The structure has not failed: the server may have kept everything.
                continue
        first, self._said = self._said is None, self._said or {}
        for name in sorted(found.keys() & {*defined, self._own}):
            failed, ended = found[name].count, found[name].count - found[name].is_failed
            # A failure that was over before this manager's first look is not news.
            failed_said, ended_said = self._said.get(name, (ended if first else 0, ended if first else 0))
            if failed > failed_said:
                is_recoverable = name in defined and defined[name].is_recoverable
                self._say("CSQE035E" if is_recoverable else "CSQE036I", structure=name)
            if ended > ended_said:
                self._say("CSQE131I", structure=name)
                is_back = True
            self._said[name] = failed, ended
        return is_back
