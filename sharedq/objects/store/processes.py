"""The process definitions of the group, in the administration structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.processes import Process
from sharedq.scripts.objects import define_process_call

#: The definition from which DEFINE takes the attributes that it does not set, if it exists.
DEFAULT_PROCESS = "SYSTEM.DEFAULT.PROCESS"


class Processes:
    """Reads and changes process definitions.

    Args:
        clock: returns alteration times.
    """

    def __init__(self, group: Group, clock: Callable[[], datetime]) -> None:
        self._group, self._clock, self._key = group, clock, group.keys.process_definitions

    def all(self) -> list[Process]:
        """Return every definition, by name."""
        texts = self._group.command(self._key, "HVALS", self._key)
        return sorted(map(Process.from_json, texts), key=lambda process: process.name)

    def named(self, name: str) -> Process | None:
        """Return the definition of this name."""
        text = self._text(name)
        return Process.from_json(text) if text else None

    def define(self, process: Process, *, replace: bool = False, like: str = "") -> None:
        """DEFINE PROCESS. Attributes that *process* does not set come from *like*, else SYSTEM.DEFAULT.PROCESS.

        Raises:
            MQIError: 2100, it exists, without *replace*; 2085, there is none to be *like*.
        """
        base = self.named(like or DEFAULT_PROCESS)
        if like and base is None:
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", like, f"there is no PROCESS({like}) for it to be like")
        if base is not None:
            own = {"name", *Process.dates, *(() if like else ("description",))}
            taken = base.model_dump(exclude=own)
            process = Process.model_validate(
                taken | {each: getattr(process, each) for each in process.model_fields_set}
            )
        text = process.altered_at(self._clock()).to_json()
        while True:
            known = self._text(process.name)
            if known and not replace:
                raise error_for(MQRC.OBJECT_ALREADY_EXISTS, "", process.name)
            if self._write(process.name, known, text):
                return

    def alter(self, name: str, changes: Mapping[str, Any]) -> None:
        """ALTER PROCESS. Raises MQIError: 2085, there is none; ValueError: a value is out of its range."""
        while True:
            known = self._existing(name)
            altered = Process.from_json(known).with_changes(changes).altered_at(self._clock())
            if self._write(name, known, altered.to_json()):
                return

    def delete(self, name: str) -> None:
        """DELETE PROCESS. Raises MQIError: 2085, there is none."""
        while not self._write(name, self._existing(name), ""):
            continue

    def _existing(self, name: str) -> bytes:
        text = self._text(name)
        if not text:
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", name)
        return text

    def _text(self, name: str) -> bytes:
        text: bytes | None = self._group.command(self._key, "HGET", self._key, name)
        return text or b""

    def _write(self, name: str, known: bytes, text: str) -> bool:
        return bool(self._group.call(*define_process_call(self._group.keys, name, known, text)))
