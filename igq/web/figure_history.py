"""The figures of the last day: each minute one of the consoles looks at all queues of the group, and notes them.

It looks in a thread of its own. No manager does, for an idle one may cost Redis only few commands.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise

from igq.operations.status import RecoveryStatus, StatusReader
from igq.operations.troubles import troubles
from sharedq.mqi.errors import MQIError
from sharedq.reading.history import PERIOD_S, GroupLook, note_figures
from sharedq.redis.deployment import DeploymentError
from sharedq.scripts.members import claim_job_call
from sharedq.settings.values import Settings

_JOB = "figures"
#: The consoles' minutes begin at different times: so much after one has looked, the next one may.
_INTERVAL_MS = PERIOD_S * 750
_log = logging.getLogger(__name__)


def keep_history(settings: Settings, *, is_child: bool) -> None:
    """Look each minute from now on, for as long as this process runs.

    Args:
        is_child: whether a manager started the console. Another one must not keep the embedded server from its end.
    """
    if is_child or not settings.is_embedded:
        threading.Thread(target=_keep_looking, args=(settings,), name="figures", daemon=True).start()


def _keep_looking(settings: Settings) -> None:
    history = FigureHistory(settings)
    while True:
        history.look()
        # In the middle of a minute, so that each minute has one look, however long a look takes.
        time.sleep(PERIOD_S - (time.time() - PERIOD_S / 2) % PERIOD_S)


class FigureHistory:
    """The looks of one console."""

    def __init__(self, settings: Settings) -> None:
        self._reader = StatusReader(settings)

    def look(self) -> None:
        """Look, unless another console did so within the minute. A look that fails is missing in the graph."""
        group = self._reader.group
        try:
            if group.call(*claim_job_call(group.keys, _JOB, _INTERVAL_MS)):
                figures = self._reader.figures()
                note_figures(group, figures, troubles(self._reader.status_of(figures)))
        except (MQIError, DeploymentError) as error:
            _log.debug("figures were not noted: %s", error)


def time_line(looks: Sequence[GroupLook], recoveries: Sequence[RecoveryStatus]) -> list[tuple[int, str]]:
    """Return what has happened in the group: times in ms since 1970, and a line each, the latest first.

    Managers that started and ended, and troubles that began and ended, are known as of the look that saw them; a
    recovery says itself when it began.
    """
    found = [line for before, after in pairwise(looks) for line in _between(before, after)]
    for each in recoveries:
        told = f"recovery of {each.failed} by {each.by}: {each.state}, {each.units_of_work} units of work"
        found.append((int(each.detected_at.timestamp() * 1000), told))
    return sorted(found, reverse=True)


def _between(before: GroupLook, after: GroupLook) -> Iterator[tuple[int, str]]:
    for name, manager in after.managers.items():
        known = before.managers.get(name)
        if known is None or known.incarnation != manager.incarnation:
            yield after.at_ms, f"queue manager {name} has started (start {manager.incarnation})"
        if known is not None and known.state != manager.state and manager.state != "FAILED":
            yield after.at_ms, f"queue manager {name}: {manager.state}"
    # A number in a trouble may change at each look.
    ongoing, now = ({_subject(text): text for text in each.troubles if not _is_told(text)} for each in (before, after))
    yield from ((after.at_ms, text) for subject, text in now.items() if subject not in ongoing)
    yield from ((after.at_ms, f"no longer: {text}") for subject, text in ongoing.items() if subject not in now)


def _is_told(trouble: str) -> bool:
    """Whether it is about a recovery, which tells its own times."""
    return trouble.startswith("recovery of ")


def _subject(trouble: str) -> tuple[str, str]:
    head, _, what = trouble.partition(": ")
    first = what.partition(" ")[0]
    return head, first if first.strip(",").isalpha() else ""
