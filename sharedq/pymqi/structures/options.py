"""``MQOpts``: a structure of the MQI, set and read by IBM's names, packed as a C program would have it."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from sharedq.mqi.types import reader
from sharedq.mqi.wire import StructureLayout
from sharedq.pymqi.boundary import checked, ensure_bytes, ensure_not_unicode
from sharedq.pymqi.errors import UnknownMemberError, WrongMemberError

#: Format of an MQLONG, which has 32 bits everywhere.
MQLONG_TYPE = "i"
INTEGER64_TYPE = "q"

#: Variable-length strings that may also be given as text.
_TEXT_STRINGS = ("SubName", "ObjectString")

_compiled = lru_cache(maxsize=256)(struct.Struct)

#: Name, initial value, format (as in ``struct``) and, for an array, the number of elements.
Members = Sequence[Sequence[Any]]


class _Definition:
    """The members of a structure, and what is worked out from them: for the structures here only once.

    Attributes:
        read: the members' values; None where only ``_flat_values`` can read them.
    """

    read: Callable[[Any], tuple[Any, ...]] | None = None

    def __init__(self, memlist: Members) -> None:
        self.members = tuple((str(member[0]), *member[1:]) for member in memlist)
        self.struct = _compiled("".join(member[2] * _count(member) for member in self.members))
        self.initial = {member[0]: member[1] for member in self.members}
        self.lists = [name for name, value in self.initial.items() if isinstance(value, list)]


@checked
class MQOpts:
    """The base of all structures.

    Members can be set and read as attributes (``md.Priority``), as items (``md["Priority"]``), by keyword at
    construction and with ``set``. Character and byte members are bytes.

    Args:
        memlist: its ``Members``.
        kw: members that shall not have their initial value.

    Raises:
        UnknownMemberError: no such member.
        WrongTypeError: text where bytes are needed.
    """

    def __init__(self, memlist: Members, **kw: Any) -> None:
        # Strings that a pointer member points to must live as long as the pointer.
        self._strings: dict[str, Any] = {}
        self._define(memlist)
        self.set(**kw)

    def _define(self, memlist: Members) -> None:
        """Be a structure of these members, with their initial values."""
        try:
            self._be(_Definition(memlist))
        except (struct.error, TypeError, ValueError, IndexError, MemoryError) as error:
            raise WrongMemberError(f"{type(self).__name__}: {error}") from error

    def _be(self, definition: _Definition) -> None:
        self._definition = definition
        vars(self).update(definition.initial)
        for name in definition.lists:
            setattr(self, name, list(definition.initial[name]))

    @property
    def _members(self) -> tuple[Sequence[Any], ...]:
        return self._definition.members

    if TYPE_CHECKING:
        # The members are known at run time only.
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def pack(self) -> bytes:
        """The structure's bytes, all versions' members included.

        Raises:
            WrongTypeError: a member is text.
            WrongMemberError: a member's value does not go with its type.
        """
        return self._packed(self._definition.struct)

    def _packed(self, layout: struct.Struct) -> bytes:
        read = self._definition.read
        try:
            if read is not None:
                return layout.pack(*read(self))
        except (struct.error, OverflowError):
            # The reason is below.
            pass
        try:
            return layout.pack(*self._flat_values())
        except struct.error as error:
            raise WrongMemberError(f"{type(self).__name__}: {error}") from error

    def _flat_values(self) -> Iterator[Any]:
        for name, initial, *_ in self._members:
            value = getattr(self, name)
            # A list in the place of one value is wrong, and struct says so.
            for element in value if isinstance(value, list) and isinstance(initial, list) else (value,):
                ensure_not_unicode(element)
                yield element

    def unpack(self, buff: bytes) -> None:
        """Set every member from bytes; what is missing at the end counts as nulls.

        Raises:
            WrongMemberError: there are more bytes than the structure has.
        """
        ensure_not_unicode(buff)
        definition = self._definition
        size = definition.struct.size
        if len(buff) > size:
            raise WrongMemberError(f"{type(self).__name__}: {len(buff)} bytes, it has {size}")
        found = definition.struct.unpack(buff.ljust(size, b"\0"))
        if definition.read is not None:
            vars(self).update(zip(definition.initial, found, strict=True))
            return
        values = iter(found)
        for member in definition.members:
            if isinstance(member[1], list):
                setattr(self, member[0], [next(values) for _ in range(_count(member))])
            else:
                setattr(self, member[0], next(values))

    def set(self, **kw: Any) -> None:
        """Set members by keyword."""
        for name, value in kw.items():
            self[name] = value

    def get(self) -> dict[str, Any]:
        """The members' values by name."""
        return {member[0]: getattr(self, member[0]) for member in self._members}

    def __setitem__(self, key: str, value: Any) -> None:
        self[key]
        ensure_not_unicode(value)
        setattr(self, key, value)

    def __getitem__(self, key: str) -> Any:
        try:
            return getattr(self, key)
        except AttributeError as error:
            raise UnknownMemberError(f"{type(self).__name__} has no member {key}") from error

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.get().items())

    def __repr__(self) -> str:
        return str(self.pack())

    def get_length(self) -> int:
        """Length of the packed structure, bytes."""
        return self._definition.struct.size

    def set_vs(
        self,
        vs_name: str,
        vs_value: bytes | str | None = None,
        vs_offset: int = 0,
        vs_buffer_size: int = 0,
        vs_ccsid: int = 0,
    ) -> None:
        """Point a variable-length string (MQCHARV) at a copy of *vs_value*.

        Args:
            vs_name: such as ``ObjectString``, with or without the ending ``VSPtr``.
        """
        name = vs_name.removesuffix("VSPtr")
        if name in _TEXT_STRINGS:
            vs_value = ensure_bytes(vs_value)
        if isinstance(vs_value, str):
            ensure_not_unicode(vs_value)
            return
        text = None if vs_value is None else ctypes.create_string_buffer(vs_value)
        self._strings[name] = text
        self[name + "VSPtr"] = 0 if text is None else ctypes.addressof(text)
        self[name + "VSOffset"] = vs_offset
        self[name + "VSBufSize"] = vs_buffer_size
        self[name + "VSLength"] = len(vs_value or b"")
        self[name + "VSCCSID"] = vs_ccsid

    def get_vs(self, vs_name: str) -> bytes | None:
        """The variable-length string that a structure points to, up to its first null; None for no string."""
        pointer = self[vs_name.removesuffix("VSPtr") + "VSPtr"]
        return ctypes.string_at(pointer) if pointer else None

    def return_vs(self, vs_name: str, value: bytes) -> None:
        """Let a call return a variable-length string: the whole length, and in the buffer as much as it holds."""
        room, pointer = self[vs_name + "VSBufSize"], self[vs_name + "VSPtr"]
        own = self._strings.get(vs_name)
        if own is not None and pointer == ctypes.addressof(own):
            # A buffer that is shorter than it says must not be written past its end.
            room = min(room, len(own) - 1)
        self[vs_name + "VSLength"] = len(value)
        if pointer and room > 0:
            data = value if len(value) >= room else value + b"\0"
            ctypes.memmove(pointer, data, min(len(data), room))


class Declared(MQOpts):
    """A structure of the MQI, of the *members* that its class names."""

    _declared: ClassVar[_Definition]

    def __init_subclass__(cls, members: Members = (), **kw: Any) -> None:
        super().__init_subclass__(**kw)
        if members:
            cls._declared = _Definition(members)
            if not cls._declared.lists:
                cls._declared.read = reader(cls._declared.initial)

    def __init__(self, **kw: Any) -> None:
        self._strings = {}
        self._be(self._declared)
        self.set(**kw)


def declared_members(layout: StructureLayout[Any], **initial: int | bytes) -> Members:
    """The members of a structure that the MQI declares.

    Args:
        initial: initial values that are not those of the native structure. Bytes are empty there.
    """
    native: Any = layout.structure()
    found = []
    for field in layout.fields:
        value = getattr(native, field.name) if field.kind == "i" and field.name else 0
        value = layout.identifier if field.name == "struc_id" else value
        found.append(member(field.ibm_name, field.kind, initial.get(field.ibm_name, value)))
    return tuple(found)


def member(name: str, kind: str, value: int | bytes) -> tuple[str, int | bytes, str]:
    """A member of a *kind* that ``sharedq.mqi.types`` knows. A number for characters: none of them."""
    if kind in ("i", "q", "P"):
        return name, value, kind
    if kind == "c1":
        # One character is a number, but where it is reserved.
        return name, value, "b" if isinstance(value, int) else "c"
    return name, value or b"", f"{kind[1:]}s"


def _count(member: Sequence[Any]) -> int:
    return int(member[3]) if len(member) > 3 else 1
