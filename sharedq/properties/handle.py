"""A message handle: the properties of one message, and its descriptor.

Each method is a call of the MQI on message handles, which needs no queue manager.

Source: IBM MQ reference, MQSETMP, MQINQMP, MQDLTMP, MQBUFMH, MQMHBUF and their options.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, Final, NamedTuple, TypeVar, cast

from sharedq.mqi.arguments import refuse_data, refuse_structure, text, whole
from sharedq.mqi.constants import (
    MQRC,
    BufferToHandleOption,
    CreateHandleOption,
    DeletePropertyOption,
    HandleToBufferOption,
    InquirePropertyOption,
    PropertyContext,
    PropertyCopy,
    PropertyType,
    SetPropertyOption,
)
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQMD, MQPD, copied
from sharedq.properties.folders import Property
from sharedq.properties.headers import (
    check_chain,
    properties_in,
    read_chain,
    with_properties,
    without_properties,
)
from sharedq.properties.names import (
    DESCRIPTOR,
    DESCRIPTOR_FIELDS,
    SYNONYMS,
    WILDCARD,
    check_length,
    full_name,
    kept_name,
    settable_name,
)
from sharedq.properties.ordered_properties import OrderedProperties, PropertyNode
from sharedq.properties.values import Value, checked, converted, type_of

F = TypeVar("F", bound=Callable[..., Any])
_numbers = itertools.count(1)
_UNDER, _AFTER, _BEFORE = (
    int(SetPropertyOption.SET_PROP_UNDER_CURSOR),
    int(SetPropertyOption.SET_PROP_AFTER_CURSOR),
    int(SetPropertyOption.SET_PROP_BEFORE_CURSOR),
)
_APPEND: Final = int(SetPropertyOption.APPEND_PROPERTY)
#: Of these a call may have one.
_SET_CHOICES: Final = _UNDER | _AFTER | _BEFORE | _APPEND
_NEXT, _AT_CURSOR = int(InquirePropertyOption.INQ_NEXT), int(InquirePropertyOption.INQ_PROP_UNDER_CURSOR)
_CONVERT_TYPE: Final = int(InquirePropertyOption.CONVERT_TYPE)
_INQUIRE_KNOWN: Final = (
    _NEXT
    | _AT_CURSOR
    | _CONVERT_TYPE
    | int(InquirePropertyOption.QUERY_LENGTH)
    | int(InquirePropertyOption.CONVERT_VALUE)
)
_DELETE_AT_CURSOR: Final = int(DeletePropertyOption.DEL_PROP_UNDER_CURSOR)
_COPY_KNOWN: Final = int(PropertyCopy.ALL | PropertyCopy.DEFAULT | PropertyCopy.REPLY)
_CREATE_KNOWN: Final = (0, int(CreateHandleOption.NO_VALIDATION), int(CreateHandleOption.VALIDATE))
#: Fields of the descriptor that no program sets.
_NOT_SET: Final = frozenset({"BackoutCount"})


class Inquired(NamedTuple):
    """The answer of an MQINQMP. ``unknown_type``: the word of a type that nobody knows; the value is its text."""

    name: str
    type_: PropertyType
    value: Value
    descriptor: MQPD
    unknown_type: str = ""


def _alone(verb: str) -> Callable[[F], F]:
    """Refuse a call on a handle that a call of another thread uses (2499)."""

    def wrapped(call: F) -> F:
        @wraps(call)
        def alone(handle: MessageHandle, *arguments: Any, **named: Any) -> Any:
            with handle.in_use(verb):
                return call(handle, *arguments, **named)

        return cast(F, alone)

    return wrapped


class MessageHandle:
    """The properties of a message, in their order, with a cursor; made by MQCRTMH.

    Args:
        options: MQCMHO_*.

    Attributes:
        number: by which MQPMO and MQGMO name it.
        md: the descriptor that belongs to it; the properties ``Root.MQMD.*`` are its fields.

    Raises:
        MQIError: 2046 options that are unknown or exclude each other.
    """

    def __init__(self, options: int = 0) -> None:
        if whole(options, MQRC.OPTIONS_ERROR, "MQCRTMH", "") not in _CREATE_KNOWN:
            raise error_for(MQRC.OPTIONS_ERROR, "MQCRTMH", "", f"options {options:#x}")
        self.number = next(_numbers)
        self._in_use = threading.RLock()
        self.md = MQMD(version=2)
        self._is_validated = options != CreateHandleOption.NO_VALIDATION
        self._properties = OrderedProperties()
        self._cursor: PropertyNode | None = None
        #: Whether it has taken the properties of a message.
        self.is_filled = False

    def __iter__(self) -> Iterator[str]:
        """The names of its properties, without those of the descriptor."""
        return iter([each.name for each in self._properties])

    def __len__(self) -> int:
        return len(self._properties)

    def properties(self) -> list[Property]:
        """Its properties in their order."""
        return list(self._properties)

    def take(self, properties: list[Property], md: MQMD) -> None:
        """Have these properties and a copy of this descriptor instead of what it had; the cursor begins anew."""
        self._properties, self._cursor, self.md = OrderedProperties(properties), None, copied(md, version=2)
        self.is_filled = True

    @contextmanager
    def in_use(self, verb: str) -> Iterator[None]:
        """Use it in one call. Raises MQIError: 2499, a call of another thread uses it."""
        if not self._in_use.acquire(blocking=False):
            raise error_for(MQRC.MSG_HANDLE_IN_USE, verb, "", "a call of another thread uses the message handle")
        try:
            yield
        finally:
            self._in_use.release()

    # -- setting and deleting ----------------------------------------------------------------------------------

    @_alone("MQSETMP")
    def set(
        self,
        name: str,
        value: Value,
        type_: PropertyType | int | None = None,
        *,
        options: SetPropertyOption | int = 0,
        descriptor: MQPD | None = None,
    ) -> None:
        """MQSETMP.

        Args:
            type_: MQTYPE_*; by default that of the Python value, numbers with 64 bits.
            descriptor: MQPD; by default IBM's initial values.

        Raises:
            MQIError: 2442, 2513 the name; 2473 the type, 2469 the value; 2498 another property is a group of that name,
                or the reverse; 2482 the descriptor; 2046 the options; 2471 no property is under the cursor.
        """
        options = whole(options, MQRC.OPTIONS_ERROR, "MQSETMP", "")
        if options & ~_SET_CHOICES or options & (options - 1):
            raise error_for(MQRC.OPTIONS_ERROR, "MQSETMP", "", f"options {options:#x}")
        _check_descriptor(descriptor)
        kept = settable_name(name, is_validated=self._is_validated)
        wanted = type_of(value) if type_ is None else whole(type_, MQRC.PROPERTY_TYPE_ERROR, "MQSETMP", "", "the type")
        type_, value = checked(wanted, value)
        if kept.startswith(DESCRIPTOR):
            self._set_field(kept.removeprefix(DESCRIPTOR), type_, value)
            return
        made = Property(kept, type_, value, MQPD() if descriptor is None else replace(descriptor))
        same = None if options else self._properties.first_of(kept)
        cursor = self._cursor_node("MQSETMP") if options & (_UNDER | _AFTER | _BEFORE) else None
        replaced = cursor if options & _UNDER else same
        other = self._properties.mixed_with(kept, replaced)
        if other is not None:
            raise error_for(MQRC.MIXED_CONTENT_NOT_ALLOWED, "MQSETMP", "", f"{kept[:80]} and {other[:80]}")
        if replaced is not None:
            self._properties.replace(replaced, made)
        elif cursor is None:
            self._properties.insert(made, self._properties.last)
        else:
            self._properties.insert(made, cursor if options & _AFTER else cursor.before)

    @_alone("MQDLTMP")
    def delete(self, name: str, *, options: DeletePropertyOption | int = 0) -> None:
        """MQDLTMP of the first property of that name, or of the one under the cursor.

        Raises:
            MQIError: 2471 there is none, 2513 the name, 2046 the options.
        """
        options = whole(options, MQRC.OPTIONS_ERROR, "MQDLTMP", "")
        if options & ~_DELETE_AT_CURSOR:
            raise error_for(MQRC.OPTIONS_ERROR, "MQDLTMP", "", f"options {options:#x}")
        if options:
            node = self._cursor_node("MQDLTMP")
        else:
            check_length(name, "MQDLTMP")
            found = self._properties.first_of(_inquired_names(name)[0])
            if found is None:
                raise _not_available("MQDLTMP", name)
            node = found
        self._properties.remove(node)
        if node is self._cursor:
            self._cursor = None

    def clear(self) -> None:
        """Delete all properties; the descriptor stays."""
        self._properties, self._cursor = OrderedProperties(), None

    def _set_field(self, field: str, type_: PropertyType, value: Value) -> None:
        name, wanted = DESCRIPTOR_FIELDS[field]
        if type_ != wanted:
            raise error_for(MQRC.PROPERTY_TYPE_ERROR, "MQSETMP", "", f"{DESCRIPTOR}{field} is of type {wanted.name}")
        if field in _NOT_SET:
            raise error_for(MQRC.PROPERTY_NAME_ERROR, "MQSETMP", "", f"{DESCRIPTOR}{field} cannot be set")
        given = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        changed = copied(self.md)
        setattr(changed, name, given)
        if isinstance(given, bytes) and name.endswith(("_id", "token")):
            size = len(getattr(MQMD(), name))
            if len(given) > size:
                raise error_for(MQRC.PROPERTY_VALUE_TOO_BIG, "MQSETMP", "", f"{DESCRIPTOR}{field} has {size} bytes")
            setattr(changed, name, given.ljust(size, b"\0"))
        refuse_structure(MQMD, MQRC.MD_ERROR, changed, "MQSETMP")
        self.md = changed

    def _cursor_node(self, verb: str) -> PropertyNode:
        if self._cursor is None or not self._cursor.is_listed:
            raise error_for(MQRC.PROPERTY_NOT_AVAILABLE, verb, "", "no property is under the cursor")
        return self._cursor

    # -- inquiring ---------------------------------------------------------------------------------------------

    @_alone("MQINQMP")
    def inquire(
        self,
        name: str = WILDCARD,
        *,
        options: InquirePropertyOption | int = 0,
        wanted: PropertyType | int = PropertyType.AS_SET,
    ) -> Inquired:
        """MQINQMP.

        Args:
            name: of one property; with ``%`` at its end of all that begin so.
            wanted: the type to convert to, with ``InquirePropertyOption.CONVERT_TYPE``.

        Raises:
            MQIError: 2471 there is none, or no other one; 2470, 2472 the value cannot be converted; 2473 no such type;
                2442 a ``%`` in the middle; 2513 the name; 2046 the options.
        """
        options = whole(options, MQRC.OPTIONS_ERROR, "MQINQMP", "")
        if options & ~_INQUIRE_KNOWN or (options & _NEXT and options & _AT_CURSOR):
            raise error_for(MQRC.OPTIONS_ERROR, "MQINQMP", "", f"options {options:#x}")
        # Programs leave the type unset where it does not count.
        type_counts = options & _CONVERT_TYPE
        if whole(wanted, MQRC.PROPERTY_TYPE_ERROR, "MQINQMP", "", "the type") not in set(PropertyType) and type_counts:
            raise error_for(MQRC.PROPERTY_TYPE_ERROR, "MQINQMP", "", f"type {wanted}")
        check_length(name, "MQINQMP")
        if WILDCARD in name[:-1]:
            raise error_for(MQRC.PROPERTY_NAME_ERROR, "MQINQMP", "", f"{name[:80]}: % can only be the last character")
        node = self._found(name, options)
        found = node.property
        type_, value = found.type_, found.value
        if options & _CONVERT_TYPE:
            type_ = PropertyType(int(wanted)) or type_
            value = converted(found.type_, found.value, type_)
        self._cursor = node
        return Inquired(found.name, type_, value, replace(found.descriptor), found.unknown_type)

    def get(self, name: str, default: Value = None) -> Value:
        """The value of a property; *default* if there is none of that name."""
        text(name, MQRC.PROPERTY_NAME_ERROR, "MQINQMP", "the name")
        for each in _inquired_names(name):
            found = self._first_match(each, None)
            if found is not None:
                return found.property.value
        return default

    def _found(self, name: str, options: int) -> PropertyNode:
        if options & _AT_CURSOR:
            if self._cursor is None:
                raise error_for(MQRC.PROPERTY_NOT_AVAILABLE, "MQINQMP", "", "no property is under the cursor")
            return self._cursor
        for each in _inquired_names(name):
            found = self._first_match(each, self._cursor if options & _NEXT else None)
            if found is not None:
                return found
        raise _not_available("MQINQMP", name)

    def _first_match(self, name: str, after: PropertyNode | None) -> PropertyNode | None:
        """Return the first property that a kept name means. With *after*: the next one, if that is among them."""
        if name.startswith(DESCRIPTOR):
            fields = [DESCRIPTOR + field for field in DESCRIPTOR_FIELDS if _matches(name, DESCRIPTOR + field)]
            if after is not None and after.property.name in fields:
                del fields[: fields.index(after.property.name) + 1]
            return PropertyNode(self._field(fields[0].removeprefix(DESCRIPTOR))) if fields else None
        if after is None or not after.is_listed:
            if not name.endswith(WILDCARD):
                return self._properties.first_of(name)
            after = None
        return next((each for each in self._properties.nodes(after) if _matches(name, each.property.name)), None)

    def _field(self, field: str) -> Property:
        name, type_ = DESCRIPTOR_FIELDS[field]
        value: Value = getattr(self.md, name)
        if type_ == PropertyType.STRING and isinstance(value, bytes):
            value = value.decode("utf-8", "replace").rstrip(" \0")
        return Property(DESCRIPTOR + field, type_, value if isinstance(value, str | bytes) else int(value or 0))

    # -- buffers -----------------------------------------------------------------------------------------------

    @_alone("MQBUFMH")
    def from_buffer(self, md: MQMD, body: bytes, *, options: BufferToHandleOption | int = 1) -> bytes:
        """MQBUFMH: take the properties that the MQRFH2 headers of a message have, and its descriptor.

        Args:
            options: with ``BufferToHandleOption.DELETE_PROPERTIES`` (the default) they leave the message, and *md*
                becomes that of what is left.

        Returns:
            The data of the message.

        Raises:
            MQIError: 2334 a header is not valid, 2421 a folder is not, 2046 the options. Then nothing has changed.
        """
        options = whole(options, MQRC.OPTIONS_ERROR, "MQBUFMH", "")
        if options & ~int(BufferToHandleOption.DELETE_PROPERTIES):
            raise error_for(MQRC.OPTIONS_ERROR, "MQBUFMH", "", f"options {options:#x}")
        refuse_structure(MQMD, MQRC.MD_ERROR, md, "MQBUFMH")
        refuse_data("MQBUFMH", "", body)
        chain = read_chain(md, body)
        check_chain(chain)
        properties = properties_in(chain)
        if options and chain.headers:
            body = without_properties(md, body, chain)
        self.take(properties, md)
        return body

    @_alone("MQMHBUF")
    def to_buffer(self, name: str, md: MQMD, *, options: HandleToBufferOption | int = 1) -> bytes:
        """MQMHBUF: the MQRFH2 with the properties of that name, which may end in ``%``; *md* then describes it.

        Args:
            options: ``HandleToBufferOption.PROPERTIES_IN_MQRFH2`` must be there; with ``DELETE_PROPERTIES`` they leave
                the handle.

        Raises:
            MQIError: 2471 there is no such property, 2442, 2513 the name, 2046 the options.
        """
        known = int(HandleToBufferOption.PROPERTIES_IN_MQRFH2 | HandleToBufferOption.DELETE_PROPERTIES)
        options = whole(options, MQRC.OPTIONS_ERROR, "MQMHBUF", "")
        if options & ~known or not options & HandleToBufferOption.PROPERTIES_IN_MQRFH2:
            raise error_for(MQRC.OPTIONS_ERROR, "MQMHBUF", "", f"options {options:#x}")
        refuse_structure(MQMD, MQRC.MD_ERROR, md, "MQMHBUF")
        check_length(name, "MQMHBUF")
        if WILDCARD in name[:-1]:
            raise error_for(MQRC.PROPERTY_NAME_ERROR, "MQMHBUF", "", f"{name[:80]}: % can only be the last character")
        wanted = _inquired_names(name)[0]
        found = [each for each in self._properties if _matches(wanted, each.name)]
        if not found:
            raise _not_available("MQMHBUF", name)
        buffer = with_properties(md, b"", found)
        if options & HandleToBufferOption.DELETE_PROPERTIES:
            self._properties = OrderedProperties(each for each in self._properties if not _matches(wanted, each.name))
            self._cursor = None
        return buffer


def _inquired_names(name: str) -> tuple[str, ...]:
    """The kept names that a name which is inquired stands for, the best first."""
    return SYNONYMS.get(name) or (kept_name(name),)


def _matches(wanted: str, name: str) -> bool:
    """Whether a kept name is the wanted one, or begins so."""
    if not wanted.endswith(WILDCARD):
        return name == wanted
    prefix = wanted[:-1]
    return name.startswith(prefix) or full_name(name).startswith(prefix)


def _check_descriptor(descriptor: MQPD | None) -> None:
    """Raises MQIError: 2482."""
    if descriptor is None:
        return
    refuse_structure(MQPD, MQRC.PD_ERROR, descriptor, "MQSETMP")
    if (
        descriptor.version != 1
        or descriptor.options
        or descriptor.context not in set(PropertyContext)
        or descriptor.copy_options & ~_COPY_KNOWN
        or not descriptor.support
    ):
        raise error_for(MQRC.PD_ERROR, "MQSETMP", "", str(descriptor))


def _not_available(verb: str, name: str) -> Exception:
    return error_for(MQRC.PROPERTY_NOT_AVAILABLE, verb, "", f"no property {name[:80]}")
