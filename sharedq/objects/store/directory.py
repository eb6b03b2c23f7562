"""The object directory: which objects the group has, and where (the job of the Db2 repository on z/OS).

Process definitions, namelists, channels and listeners have no parts elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar

from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.base import NamedObject, later_version, parse_definition
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QUEUE_KINDS, AnyQueue, Disposition, QueueLocal
from sharedq.scripts.objects import define_named_call, define_object_call, lookup_call, remove_object_call
from sharedq.scripts.reads import pairs_like

_CHANGED = 1
Mode = Literal["new", "adopt", "replace", "alter"]
_D = TypeVar("_D", bound=NamedObject)


@dataclass(frozen=True, slots=True)
class Entry:
    """The directory's record of an object.

    Attributes:
        qmgr: the manager that a private object belongs to. Empty for shared and group objects.
        structure: where a local queue is. Empty for objects that are in the directory only.
        version: grows with every change of the entry and never repeats, even after a delete.
        definition: None for a local queue, which its structure defines.
    """

    name: str
    kind: str
    disposition: Disposition
    qmgr: str = ""
    structure: str = ""
    version: int = 0
    definition: AnyQueue | None = None

    @property
    def scope(self) -> str:
        """S shared, G group, P private: the first letter of the field."""
        return self.disposition[0] if self.disposition in ("SHARED", "GROUP") else "P"

    @property
    def field(self) -> str:
        """The entry's field in the directory."""
        return _field(self.scope, self.name, self.qmgr)

    @property
    def is_partitioned(self) -> bool:
        """Whether this queue has parts (``sharedq.objects.store.parts``) and its definition is in the directory."""
        return self.name == SYSTEM_QSG_TRANSMIT_QUEUE and self.scope == "S"

    @property
    def is_in_structure(self) -> bool:
        """Whether the structure, not the directory, defines it."""
        return self.kind == QueueLocal.kind and self.definition is None

    def body(self) -> str:
        """Return the entry as it is stored, without its version."""
        values: dict[str, object] = {"kind": self.kind, "disposition": self.disposition}
        if self.structure:
            values["structure"] = self.structure
        if self.definition is not None:
            values["definition"] = self.definition.model_dump()
        return json.dumps(values)


#: The private and the shared entry of a name.
Pair = tuple[Entry | None, Entry | None]


class Directory:
    """Reads and writes the directory, one entry at a time."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._keys = group.keys

    def find(self, name: str, qmgr: str) -> Pair:
        """Return the private entry of *name* at *qmgr* and the shared one, in one round trip."""
        private, shared, _ = self._group.call(*lookup_call(self._keys, qmgr, name))
        return _pair(name, qmgr, private, shared)

    def find_each(self, wanted: Sequence[tuple[str, str]], structure: str = "") -> tuple[list[Pair], bool]:
        """Do the same for several names, each with its manager, in one round trip.

        Returns:
            The entries, and whether *structure* is defined.
        """
        keys = self._keys
        commands: list[Sequence[bytes]] = [
            (b"HMGET", keys.directory.encode(), _field("P", name, qmgr).encode(), _field("S", name).encode())
            for name, qmgr in wanted
        ]
        commands.append((b"HEXISTS", keys.structures.encode(), structure.encode()))
        *replies, is_defined = self._group.commands(keys.directory, commands)
        found = [_pair(*each, *reply) for each, reply in zip(wanted, replies, strict=True)]
        return found, bool(is_defined)

    def find_with_attributes(
        self, name: str, qmgr: str
    ) -> tuple[Entry | None, Entry | None, QueueManagerAttributes | None]:
        """Do the same as `find`, and return the manager's attributes, still in one round trip."""
        private, shared, attributes = self._group.call(*lookup_call(self._keys, qmgr, name))
        return *_pair(name, qmgr, private, shared), parse_attributes(attributes) if attributes else None

    def read(self, scope: Literal["S", "G", "P"], name: str, qmgr: str = "") -> Entry | None:
        """Return one entry, or None."""
        field = _field(scope, name, qmgr)
        text = self._group.command(self._keys.directory, "HGET", self._keys.directory, field)
        return None if text is None else parse_entry(field, text)

    def scan(self) -> Iterator[Entry]:
        """Yield every entry in no order. An entry that changes meanwhile may come twice."""
        for field, text in pairs_like(self._group, "HSCAN", self._keys.directory):
            yield parse_entry(field.decode(), text)

    def write(self, entry: Entry, mode: Mode, *, caller: str = "") -> Entry | None:
        """Store *entry*. Returns it with its new version, or None if ``alter`` found another version.

        Args:
            caller: the connection whose MQOPEN of a model this is.

        Raises:
            MQIError: 2009, *caller* was shut out; 2100, the name is taken; 2343, it is taken in the other disposition;
                2057, it is taken by another kind; 2349, there is no such structure; 2085, there is nothing to alter.
        """
        reply = self._group.call(
            *define_object_call(
                self._keys,
                *(entry.scope, entry.qmgr, entry.name, entry.kind, entry.structure),
                *(mode, str(entry.version), entry.body()),
                caller=caller,
            )
        )
        if reply[0] == _CHANGED:
            return None
        if reply[0]:
            raise refusal(MQRC(reply[0]), entry, reply[1])
        return replace(entry, version=int(reply[1]))

    def remove(self, entry: Entry) -> tuple[bool, int]:
        """Delete *entry*, unless another entry took its place.

        Returns:
            Whether it was deleted, and a version later than any that the entry had.
        """
        removed, version = self._group.call(*remove_object_call(self._keys, entry.field, str(entry.version)))
        return bool(removed), int(version)


@lru_cache(maxsize=256)
def parse_attributes(text: bytes) -> QueueManagerAttributes:
    """Parse a manager's attributes as they are stored."""
    kept = json.loads(text)
    return QueueManagerAttributes.from_stored(kept["attributes"] | {"igq_version": kept["igq_version"]})


def _field(scope: str, name: str, qmgr: str = "") -> str:
    return f"P {qmgr} {name}" if scope == "P" else f"{scope} {name}"


def _pair(name: str, qmgr: str, private: bytes | None, shared: bytes | None) -> Pair:
    """Parse the private and the shared entry of a name. Empty: there is none."""
    return (
        parse_entry(_field("P", name, qmgr), private) if private else None,
        parse_entry(_field("S", name), shared) if shared else None,
    )


def parse_entry(field: str, text: bytes) -> Entry:
    """Parse an entry as it is stored."""
    values = json.loads(text)
    parts = field.split(" ")
    definition, model = values.get("definition"), QUEUE_KINDS.get(values["kind"])
    if model is None:
        raise later_version(str(values["kind"]), parts[-1], "this kind of object")
    return Entry(
        name=parts[-1],
        kind=values["kind"],
        disposition=values["disposition"],
        qmgr=parts[1] if parts[0] == "P" else "",
        structure=values.get("structure", ""),
        version=values["version"],
        definition=None if definition is None else model.from_stored(definition),
    )


def refusal(reason: MQRC, entry: Entry, in_the_way: bytes = b"") -> Exception:
    """Return why an entry is not written. *in_the_way*: the entry that is there, as it is stored."""
    detail = ""
    if reason == MQRC.CF_STRUC_ERROR:
        detail = f"structure {entry.structure} is not defined"
    elif in_the_way:
        other = json.loads(in_the_way)
        where = f" in {other['structure']}" if "structure" in other else ""
        detail = f"it is a {other['kind']} with QSGDISP({other['disposition']}){where}"
    return error_for(reason, "", entry.name, detail)


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
