"""The log of a RECOVER(YES) structure: RECOVER then brings back what was committed after the backup, too.

A log begins with a backup and follows the journal of the structure. Each part has the messages that have come and gone,
and ends with a moment at which it is complete; it is forced to the disk. The log is late by the
time of one such step, some milliseconds: what was committed in between is lost with the structure.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from threading import Event

from sharedq.admin.backup.capture import Follower, exclusively, take
from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.file import Backup, BackupWriter, LogWriter, backup_path, log_path
from sharedq.admin.backup.retention import is_of_another_group
from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError
from sharedq.settings.directories import make_private
from sharedq.settings.values import Settings

_WAIT_MS = 250
#: Seconds before a log that has ended is begun again.
_PAUSE_S = 1.0
#: A log that is longer than this and than its backup is put into a new backup.
COMPACT_BYTES = 64 << 20


class RecoveryLog:
    """The log of one structure, kept by one process of this machine.

    Args:
        say: called with True when the log follows the structure, and with False and the reason when it does not.

    Attributes:
        position: the journal entry up to which the log has everything. Empty before it begins.
    """

    def __init__(self, settings: Settings, structure: str, say: Callable[[bool, str], None]) -> None:
        self._settings, self._structure, self._say = settings, structure, say
        self._path = backup_path(settings, structure)
        self._has_ended = Event()
        self._why = self.position = ""

    def end(self) -> None:
        """Make `run` return soon."""
        self._has_ended.set()

    def run(self) -> None:
        """Keep the log until `end`. Returns at once if another process of this machine keeps it."""
        make_private(self._path.parent)
        lock = os.open(log_path(self._path).with_suffix(".log.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._keep()
        finally:
            os.close(lock)

    def _keep(self) -> None:
        while not self._has_ended.is_set():
            group = Group(self._settings)
            try:
                group.adopt(group.read_record())
                born = group.born()
                if is_of_another_group(group, self._structure, born):
                    self._tell("the backup is of a group that Redis has lost since: recover it, then enter BACKUP")
                else:
                    self._follow(group, born)
            except (BackupError, MQIError, DeploymentError, OSError) as error:
                self._tell(str(error))
            finally:
                group.leave()
            self._has_ended.wait(_PAUSE_S)

    def _tell(self, why: str) -> None:
        if why != self._why:
            self._why = why
            self._say(False, why)

    def _follow(self, group: Group, born: str) -> None:
        """Make a backup and keep its log. Returns when another backup replaces this one."""
        taken, follower = take(group, self._structure, born)
        log, mine = LogWriter(self._path, follower.digest), self._path.stat()
        self._why, self.position = "", taken.position
        self._say(True, "")
        try:
            size = taken.bytes
            while not self._has_ended.is_set():
                follower.wait(_WAIT_MS)
                with exclusively(self._path, self._structure):
                    if not os.path.samestat(mine, self._path.stat()):
                        return
                    ending = follower.follow(log)
                    if log.frames:
                        log.end(ending)
                    self.position = str(ending["position"])
                    if log.bytes > max(COMPACT_BYTES, size):
                        log.close()
                        size, log = self._compact(group, follower)
                        mine = self._path.stat()
        finally:
            log.close()

    def _compact(self, group: Group, follower: Follower) -> tuple[int, LogWriter]:
        """Put backup and log into a new backup, and begin its log. If that is cut off, the old two are still good."""
        former = Backup(self._path, group.name, self._structure)
        writer = BackupWriter(self._path, {name: each for name, each in former.about.items() if name != "format"})
        try:
            for message in former.messages():
                writer.message(message.queue, message.id, message.score, message.record)
            follower.digest = writer.end(former.ending)
        except BaseException:
            writer.give_up()
            raise
        return writer.bytes, LogWriter(self._path, follower.digest)
