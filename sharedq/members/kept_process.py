"""A process of the queue manager itself: its manager renews its lease together with its own, in one call."""

from __future__ import annotations

from sharedq.members.group import Group
from sharedq.members.process import Process


class KeptProcess(Process):
    """The manager's own process or its agent. Nothing renews it but `renewed`; losing it is told by `lose`.

    Args:
        number: that ``admin/register_process`` gave it.
        sent_at_s: monotonic time before its registration, or its last renewal, was sent. The clock is the
            machine's, so a parent may tell its child.
    """

    def __init__(self, group: Group, qmgr: str, incarnation: int, number: int, sent_at_s: float) -> None:
        super().__init__(group, qmgr, incarnation, number, sent_at_s)

    def renewed(self, sent_at_s: float) -> None:
        """Its lease was renewed by a call sent at *sent_at_s* (monotonic)."""
        self._hold(sent_at_s)

    def quiesce(self) -> None:
        """Have calls fail that asked to when the manager quiesces."""
        self.is_quiescing = True
        self._for_each(lambda connection: connection.notice_quiescing())

    def lose(self) -> None:
        """The lease is lost: end every connection now. Its manager says why."""
        self._give_up()

    def tell_abandoned(self) -> None:
        """Have lost connections of this process recovered. Raises MQIError: Redis cannot be told now."""
        self._tell_abandoned()

    def end(self) -> None:
        """No connection is left; the manager gives the registration back."""
        self._end_now()
        self._links.close()
