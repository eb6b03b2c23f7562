"""Scheduled backups: each RECOVER(YES) structure by BACKUP CFSTRUCT, and the definitions of the group as MQSC.

Of the managers that have a schedule, one does it each time. Backups run in a thread of their own and over links of
their own, so neither leases nor recoveries wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from igq.definitions.catalog import read_catalog
from igq.definitions.export import ExportSelection, export
from igq.output.files import write_whole
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.retention import is_of_another_group, keep
from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.objects.repository import Repository
from sharedq.redis.deployment import DeploymentError
from sharedq.scripts.members import claim_job_call
from sharedq.settings.directories import make_private
from sharedq.settings.values import Settings, trigger_of

_JOB = "backups"
_BORN = "* Group born "
_OTHER_GROUP = "the latest one is of a group that Redis has lost since: recover it, then enter BACKUP CFSTRUCT"
_OTHER_DEFINITIONS = "{} is of a group that Redis has lost since: run it by igq mqsc, then move it away"


def definitions_path(settings: Settings) -> Path:
    """Return the path of the latest scheduled export of the definitions."""
    return settings.backups / f"{settings.group}.definitions.mqsc"


class ScheduledBackups:
    """The backups of one manager, whenever its schedule says.

    Args:
        say: called with a message id of `igq.output.messages` and its fields.
    """

    def __init__(self, settings: Settings, qmgr: str, say: Callable[..., None]) -> None:
        self._settings, self._qmgr, self._say = settings, qmgr, say
        self.trigger = trigger_of(settings.backup_schedule)
        self._is_over = False

    def end(self) -> None:
        """Begin no more backups: the manager stops, and its process must not wait for all of them."""
        self._is_over = True

    def run(self) -> None:
        """Make the backups that are due, unless another manager makes them."""
        group = Group(self._settings)
        try:
            group.adopt(group.read_record())
            if not group.call(*claim_job_call(group.keys, _JOB, self._interval_ms())):
                return
            born = group.born()
            for structure in Repository(group, self._qmgr).structures():
                if self._is_over:
                    return
                if structure.is_recoverable:
                    self._back_up(group, structure.name, born)
            self._export(group, born)
        except (MQIError, DeploymentError, OSError) as error:
            self._say("IGQ0014E", what=f"group {group.name}", error=str(error))
        finally:
            group.leave()

    def _interval_ms(self) -> int:
        """Return half the time to the next backups. The managers' clocks may differ by as much."""
        now = datetime.now(UTC)
        following = self.trigger.get_next_fire_time(None, now)
        after = following and self.trigger.get_next_fire_time(following, following)
        return int((after - following).total_seconds() * 500) if after else 0

    def _back_up(self, group: Group, structure: str, born: str) -> None:
        what = f"structure {structure}"
        try:
            if is_of_another_group(group, structure, born):
                self._say("IGQ0014E", what=what, error=_OTHER_GROUP)
                return
            made = datetime.now(UTC)
            taken = backup(group, structure, born)
            keep(taken.path, made, self._settings.backup_retention)
        except (BackupError, MQIError, OSError) as error:
            # The others may be well.
            self._say("IGQ0014E", what=what, error=str(error))
            return
        self._say("CSQE121I", structure=structure, count=taken.messages, path=str(taken.path))

    def _export(self, group: Group, born: str) -> None:
        path = definitions_path(self._settings)
        made_of = _born_of(path)
        exported = export(group, read_catalog(group), ExportSelection())
        # Asked again: if Redis has lost the group meanwhile, what was read is not all there was.
        if (made_of and made_of != born) or group.born() != born:
            self._say("IGQ0014E", what="the definitions", error=_OTHER_DEFINITIONS.format(path))
            return
        if exported.missing:
            # Queues of a failed structure: the latest export has them.
            self._say("IGQ0014E", what="the definitions", error=exported.missing[0])
            return
        lines = [exported.lines[0], _BORN + born, *exported.lines[1:]]
        make_private(path.parent)
        write_whole(path, "".join(f"{line}\n" for line in lines).encode())
        keep(path, datetime.now(UTC), self._settings.backup_retention)


def _born_of(path: Path) -> str:
    """Return the group that an export was made of; empty if there is none, or it does not say."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            head = [file.readline(), file.readline()]
    except OSError:
        return ""
    return head[1].removeprefix(_BORN).strip() if head[1].startswith(_BORN) else ""
