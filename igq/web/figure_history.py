"""The figures of the last hour: each minute one of the consoles looks at all queues of the group, and notes them.

It looks in a thread of its own. No manager does, for an idle one may cost Redis only few commands.
"""

from __future__ import annotations

import logging
import threading
import time

from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.reading.figures import FigureReader
from sharedq.reading.history import PERIOD_S, is_noted, note_figures
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
        threading.Thread(target=_keep_looking, args=(Group(settings),), name="figures", daemon=True).start()


def _keep_looking(group: Group) -> None:
    history = FigureHistory(group)
    while True:
        history.look()
        time.sleep(PERIOD_S)


class FigureHistory:
    """The looks of one console."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._reader = FigureReader(group, is_noted)

    def look(self) -> None:
        """Look, unless another console did so within the minute. A look that fails is missing in the graph."""
        try:
            if self._group.call(*claim_job_call(self._group.keys, _JOB, _INTERVAL_MS)):
                note_figures(self._group, self._reader.read())
        except (MQIError, DeploymentError) as error:
            _log.debug("figures were not noted: %s", error)
