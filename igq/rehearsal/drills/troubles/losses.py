"""The structure that a drill loses, and its journals from before the loss and after the recovery."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from igq.errors import CommandError
from igq.manager.scheduled_backups import ScheduledBackups
from igq.rehearsal.drills.check import Loss, Position
from igq.rehearsal.load.queues import do_mqsc
from igq.rehearsal.load.records import LOSSES, LineFile
from igq.rehearsal.load.rows.plan import SHARED_QUEUE
from igq.rehearsal.load.rows.sources import QMGRS
from igq.rehearsal.load.scene import Scene
from sharedq.admin.backup.file import Backup, backup_path
from sharedq.admin.backup.recovery_log import RecoveryLog
from sharedq.admin.backup.restoration import recover
from sharedq.members.group import Group
from sharedq.reading.journal import JournalRow, expand, position_order, read_entries
from sharedq.redis.keys import StructureKeys
from sharedq.redis.link import Argument, Reply
from sharedq.scripts.backup import RESTORE, RESTORE_END
from sharedq.settings.values import Settings

#: Deletes all keys at once, whatever programs do meanwhile. The journal is kept aside for the judge of the drill.
_LOSE = """
redis.call("RENAME", KEYS[1], KEYS[2])
for _, key in ipairs(redis.call("KEYS", ARGV[1])) do redis.call("UNLINK", key) end
"""
#: Only its interval matters: the drill says when.
_SCHEDULE = "* * * * *"
_LOG_TIMEOUT_S, _LOOK_S = 120.0, 0.01
#: The process that recovers dies before one of these scripts.
CUTS = (RESTORE, RESTORE_END)


class LostStructure:
    """The application structure *name* of a drill's group: backed up, lost and recovered."""

    def __init__(self, scene: Scene, name: str) -> None:
        self.name = name
        self._scene, self._group = scene, scene.group
        self._keys = scene.group.structure(name)
        self._backup: Position = (0, 0)
        self._log: RecoveryLog | None = None

    def back_up(self) -> str:
        """Make the backups that a schedule makes. Returns the journal entry at which that of the structure ends.

        Raises:
            CommandError: a backup was refused.
        """
        settings = self._group.settings.model_copy(update={"backup_schedule": _SCHEDULE})
        said: list[str] = []

        def say(message: str, **fields: Any) -> None:
            if message.endswith("E"):
                said.append(f"{message} {fields}")

        ScheduledBackups(settings, QMGRS[0], say).run()
        if said:
            raise CommandError(said[0])
        ending = Backup(backup_path(settings, self.name), self._group.name, self.name).ending
        self._backup = position_order(ending["position"], is_end=False)
        return str(ending["position"])

    def keep_log(self) -> str:
        """Keep a log of the structure from now on. Returns the journal entry at which its backup ends.

        Raises:
            CommandError: the log was not begun.
        """
        self._log = RecoveryLog(self._group.settings, self.name, lambda *_: None)
        threading.Thread(target=self._log.run, name=f"log of {self.name}", daemon=True).start()
        self._wait_for_log(lambda log: bool(log.position))
        return self._log.position

    def _wait_for_log(self, is_there: Callable[[RecoveryLog], bool]) -> None:
        deadline_s = time.monotonic() + _LOG_TIMEOUT_S
        while self._log is not None and not is_there(self._log):
            if time.monotonic() > deadline_s:
                raise CommandError(f"the log of {self.name} does not come to where it should be")
            time.sleep(_LOOK_S)

    def lose(self) -> None:
        """Delete the structure's keys, as if its server had lost them. A log has come to the journal's end by then.

        Raises:
            CommandError: the log has not come there.
        """
        keys = self._keys
        if self._log is not None:
            # The programs that use the structure are held, but a call that one of them had begun may end after that.
            self._wait_for_log(lambda log: log.position == self._latest_entry())
            self._backup = position_order(self._log.position, is_end=False)
        self._group.command(keys.journal, "EVAL", _LOSE, 2, keys.journal, self._before.journal, f"{keys.tag}:*")

    def _latest_entry(self) -> str:
        key = self._keys.journal
        reply = self._group.command(key, "XREVRANGE", key, "+", "-", "COUNT", 1)
        return str(reply[0][0].decode())

    def recover_in_vain(self, cut: str) -> None:
        """Run RECOVER CFSTRUCT in a process that dies before the script *cut*, or before the last step."""
        group = _DyingGroup(self._scene.settings, cut)
        try:
            recover(group, self.name)
        except _DiedError:
            return
        finally:
            group.leave()
        raise CommandError(f"the recovery of {self.name} was to be cut off")

    def recover(self) -> None:
        """Enter RECOVER CFSTRUCT. Raises CommandError: the command was refused."""
        do_mqsc(self._group, QMGRS[0], f"RECOVER CFSTRUCT({self.name})")
        if self._log is not None:
            self._log.end()

    def record(self, directory: Path) -> None:
        """Write what the audit must know of the loss: the end of the backup, and the journal until the loss."""
        with LineFile(directory / LOSSES) as losses, LineFile(directory / f"lost-{self.name}.jsonl") as journal:
            journal.write(_as_json(row) for row in self._rows(self._before))
            losses.write([{"structure": self.name, "backup": "{}-{}".format(*self._backup)}])

    def told(self) -> Loss:
        """Return what the journals tell of the queue that all managers drain."""
        return Loss(self._rows(self._before), self._backup, self._rows(self._keys))

    @property
    def kept_aside(self) -> str:
        """The key of the journal from before the loss."""
        return self._before.journal

    @property
    def _before(self) -> StructureKeys:
        # In the slot of the structure, but not one of its keys.
        return replace(self._keys, journal=f"{self._keys.tag}lost:journal")

    def _rows(self, keys: StructureKeys) -> Sequence[JournalRow]:
        number = self._group.structure_number(self.name)
        rows: list[JournalRow] = []
        for entry in read_entries(self._group.client(keys.journal), keys):
            rows += (row for row in expand(entry, self.name, number) if row.queue in (SHARED_QUEUE, None))
        return rows


def _as_json(row: JournalRow) -> dict[str, Any]:
    values = row._asdict()
    at = datetime.fromtimestamp(values.pop("time_us") / 1e6, UTC)
    return {"time": at.isoformat(), **values}


class _DiedError(Exception):
    pass


class _DyingGroup(Group):
    """The group of a process that dies before one of the calls of a recovery."""

    def __init__(self, settings: Settings, cut: str) -> None:
        super().__init__(settings)
        self._cuts = (cut, RESTORE_END)

    def call(self, name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        if name in self._cuts:
            raise _DiedError
        return super().call(name, keys, args)
