"""Objects that the group has by name, without parts elsewhere: process definitions, namelists, channels, listeners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.base import NamedObject, parse_definition
from sharedq.scripts.objects import define_named_call

_D = TypeVar("_D", bound=NamedObject)


class NamedObjects(Generic[_D]):
    """Reads and changes the objects of one kind, which are in the administration structure.

    Args:
        key: of the hash of their definitions.
        clock: returns alteration times.
    """

    def __init__(self, group: Group, model: type[_D], key: str, clock: Callable[[], datetime]) -> None:
        self._group, self._model, self._key, self._clock = group, model, key, clock
        #: The object from which DEFINE takes the attributes that it does not set, if it exists.
        self._template = f"SYSTEM.DEFAULT.{model.kind}"

    def all(self) -> list[_D]:
        """Return every object, by name."""
        texts = self._group.command(self._key, "HVALS", self._key)
        return sorted(map(self._model.from_json, texts), key=lambda each: each.name)

    def named(self, name: str) -> _D | None:
        """Return the object of this name."""
        text = self._text(name)
        return self._model.from_json(text) if text else None

    def define(self, definition: _D, *, replace: bool = False, like: str = "") -> None:
        """DEFINE. Attributes that *definition* does not set come from *like*, else from the default object.

        Raises:
            MQIError: 2100, it exists, without *replace*; 2085, there is none to be *like*.
        """
        base = self.named(like or self._template)
        if like and base is None:
            detail = f"there is no {self._model.kind}({like}) for it to be like"
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", like, detail)
        if base is not None:
            own = {"name", *self._model.dates, *(() if like else ("description",))}
            taken = base.model_dump(exclude=own)
            definition = parse_definition(
                self._model, taken | {each: getattr(definition, each) for each in definition.model_fields_set}
            )
        text = definition.altered_at(self._clock()).to_json()
        while True:
            known = self._text(definition.name)
            if known and not replace:
                raise error_for(MQRC.OBJECT_ALREADY_EXISTS, "", definition.name)
            if self._write(definition.name, known, text):
                return

    def alter(self, name: str, changes: Mapping[str, Any]) -> None:
        """ALTER. Raises MQIError: 2085, there is none; ValueError: a value is out of its range."""
        while True:
            known = self._existing(name)
            altered = self._model.from_json(known).with_changes(changes).altered_at(self._clock())
            if self._write(name, known, altered.to_json()):
                return

    def delete(self, name: str) -> None:
        """DELETE. Raises MQIError: 2085, there is none."""
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
        return bool(self._group.call(*define_named_call(self._key, name, known, text)))
