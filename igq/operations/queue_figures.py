"""The figures of a local queue, by their names in the status: the console and ``igq status`` show the same names."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from igq.agent.queues.tags import ServingHandle
from sharedq.objects.commands.display import DisplayedQueue
from sharedq.reading.figures import QueueFigures

#: Name -> keyword of DISPLAY (empty if there is none), metric of `igq.monitoring.metrics`. In the order of DISPLAY.
FIGURES = MappingProxyType(
    {
        "depth": ("CURDEPTH", "ibmmq_queue_depth"),
        "open_input": ("IPPROCS", "ibmmq_queue_input_handles"),
        "open_output": ("OPPROCS", "ibmmq_queue_output_handles"),
        "uncommitted": ("UNCOM", "ibmmq_queue_uncommitted_messages"),
        "waiters": ("", "igq_queue_waiters"),
    }
)


def figures_of(queue: DisplayedQueue | QueueFigures, serving: Iterable[ServingHandle]) -> dict[str, int]:
    """The figures of a queue whose counts are known; *serving* are the handles of agents, which register none."""
    figures: dict[str, int] = {name: getattr(queue.state, name) for name in FIGURES}
    figures["open_input"] += sum(each.is_of(queue) for each in serving)
    return figures
