"""A process of the queue manager itself: the manager renews its lease with its own, in one call."""

from __future__ import annotations

from sharedq.members.group import Group
from sharedq.members.process import Process


class KeptProcess(Process):
    """The manager's own process or its agent. Only `renewed` renews its lease, and `lose` reports the loss.

    Args:
        number: the number from ``admin/register_process``.
        sent_at_s: monotonic time before its registration, or its last renewal, was sent. All processes of the
            machine share this clock, so a parent may pass the time to its child.
    """

    def __init__(self, group: Group, qmgr: str, incarnation: int, number: int, sent_at_s: float) -> None:
        super().__init__(group, qmgr, incarnation, number, sent_at_s)

    def renewed(self, sent_at_s: float) -> None:
        """Note that a call sent at *sent_at_s* (monotonic) renewed the lease."""
        self._hold(sent_at_s)

    def quiesce(self) -> None:
        """End the calls that asked to fail when the manager quiesces."""
        self.is_quiescing = True
        self._for_each(lambda connection: connection.notice_quiescing())

    def lose(self) -> None:
        """End every connection now, because the lease is lost. The manager reports why."""
        self._give_up()

    def tell_abandoned(self) -> None:
        """Ask for the recovery of this process's lost connections. Raises MQIError: Redis cannot be told now."""
        self._tell_abandoned()

    def end(self) -> None:
        """Do nothing: no connection is left, and the manager gives the registration back."""
        self._end_now()
        self.lease.close()
