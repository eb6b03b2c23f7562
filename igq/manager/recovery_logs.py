"""The logs of RECOVER(YES) structures that this manager keeps, a thread for each."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from sharedq.admin.backup.recovery_log import RecoveryLog
from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.objects.repository import Repository
from sharedq.settings.values import Settings

#: Seconds between two looks for structures that have no log yet.
LOOK_S = 5
#: Seconds that the end of a log may take.
_PATIENCE_S = 2.0


class RecoveryLogs:
    """Keeps the logs, from `look` to `end`.

    Args:
        say: called with a message id of `igq.output.messages` and its fields.
    """

    def __init__(self, group: Group, settings: Settings, say: Callable[..., None]) -> None:
        self._group, self._say = group, say
        # It only reads, so it waits for no replica.
        self._settings = settings.model_copy(update={"wait_replicas": 0})
        self._kept: dict[str, tuple[RecoveryLog, threading.Thread]] = {}
        self._is_over = False
        #: A look may be under way in another thread when all logs end.
        self._lock = threading.Lock()

    def look(self) -> None:
        """Begin the logs of structures that have none; end those of structures that are not recoverable any more."""
        try:
            wanted = {each.name for each in Repository(self._group, None).structures() if each.is_recoverable}
        except MQIError as error:
            structlog.get_logger().warning("structures_not_looked_at", error=str(error))
            return
        with self._lock:
            if self._is_over:
                return
            for name in wanted:
                # Another process of this machine may have kept it, and have ended.
                if name not in self._kept or not self._kept[name][1].is_alive():
                    self._begin(name)
            for name in self._kept.keys() - wanted:
                self._kept.pop(name)[0].end()

    def end(self) -> None:
        """End every log. A thread that waits for Redis is not waited for, and does not keep the process."""
        with self._lock:
            self._is_over = True
        for log, _ in self._kept.values():
            log.end()
        for _, thread in self._kept.values():
            thread.join(_PATIENCE_S)

    def _begin(self, name: str) -> None:
        def say(is_kept: bool, why: str) -> None:
            if is_kept:
                self._say("IGQ0015I", structure=name)
            else:
                self._say("IGQ0016E", structure=name, error=why)

        log = RecoveryLog(self._settings, name, say)
        thread = threading.Thread(target=log.run, name=f"log of {name}", daemon=True)
        self._kept[name] = log, thread
        thread.start()
