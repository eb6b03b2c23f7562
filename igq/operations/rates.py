"""The rates between two looks at a group, from counters that the group keeps anyway. Pure."""

from __future__ import annotations

from igq.operations.status import GroupStatus


class Rates:
    """Adds rates to one status after the other: what each counter gained a second since the status before."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str | None, ...], int] = {}
        self._at_s = 0.0

    def added(self, status: GroupStatus, now_s: float) -> GroupStatus:
        """Return the status with the rates of agents and queues. *now_s*: when it was read (monotonic, seconds).

        A queue has rates while something counts its puts and gets (``PERFMEV``).
        """
        passed_s, before, counts = now_s - self._at_s, self._counts, dict[tuple[str | None, ...], int]()

        def rate(count: int | None, *key: str | None) -> float | None:
            if count is None:
                return None
            counts[key] = count
            if key not in before or passed_s <= 0:
                return None
            # An agent that was started again counts from 0, and so does a queue after a reset.
            gained = count - before[key] if count >= before[key] else count
            return round(gained / passed_s, 1)

        managers, queues = [], []
        for manager in status.managers:
            delivered_rate = rate(manager.agent.delivered, manager.name)
            agent = manager.agent.model_copy(update={"delivered_rate": delivered_rate})
            managers.append(manager.model_copy(update={"agent": agent}))
        for queue in status.queues:
            place = queue.name, queue.owner, queue.structure
            rates = {"put_rate": rate(queue.puts, "puts", *place), "get_rate": rate(queue.gets, "gets", *place)}
            queues.append(queue.model_copy(update=rates))
        self._counts, self._at_s = counts, now_s
        return status.model_copy(update={"managers": managers, "queues": queues})
