"""The properties of one message, in their order. A change costs the same however many there are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sharedq.properties.folders import Property
from sharedq.properties.names import full_name


@dataclass(slots=True, eq=False)
class Place:
    """The place of a property among the others. A property that is set anew keeps the place of the old one."""

    property: Property
    before: Place | None = None
    after: Place | None = None
    is_listed: bool = False


@dataclass(slots=True)
class _Element:
    """An element of a folder: how many properties of each name are its value, and the elements in it."""

    names: dict[str, int] = field(default_factory=dict)
    elements: dict[str, _Element] = field(default_factory=dict)


class OrderedProperties:
    """A list of properties that knows the first one of each name, and the elements that their names stand for."""

    def __init__(self, properties: Iterable[Property] = ()) -> None:
        self._head: Place | None = None
        self.last: Place | None = None
        self._first: dict[str, Place] = {}
        self._elements = _Element()
        self._count = 0
        for each in properties:
            self.insert(each, self.last)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Property]:
        return (place.property for place in self.places())

    def places(self, after: Place | None = None) -> Iterator[Place]:
        """Yield the places after *after*, by default all, in order."""
        place = self._head if after is None else after.after
        while place is not None:
            yield place
            place = place.after

    def first_of(self, name: str) -> Place | None:
        """Return the place of the first property of a name."""
        return self._first.get(name)

    def insert(self, made: Property, before: Place | None) -> None:
        """Put a property after *before*. None: at the beginning."""
        place = Place(made, is_listed=True)
        self._join(place, self._head if before is None else before.after)
        self._join(before, place)
        self._count += 1
        self._note(place)

    def replace(self, place: Place, made: Property) -> None:
        """Put another property at *place*."""
        if made.name == place.property.name:
            place.property = made
            return
        self._forget(place)
        place.property = made
        self._note(place)

    def remove(self, place: Place) -> None:
        """Take a property away."""
        self._forget(place)
        self._join(place.before, place.after)
        self._count -= 1
        place.is_listed = False

    def mixed_with(self, name: str, replaced: Place | None) -> str | None:
        """Return the name of a property by which an element would have a value and elements in it, once *name* is set.

        Args:
            replaced: the property of this place goes when that of *name* comes.
        """
        gone = None if replaced is None or replaced.property.name == name else replaced.property.name
        if gone is None:
            return self._mixed_with(name)
        self._tell(gone, -1)
        try:
            return self._mixed_with(name)
        finally:
            self._tell(gone, 1)

    def _mixed_with(self, name: str) -> str | None:
        element = self._elements
        for part in full_name(name).split("."):
            if element.names:
                return next(iter(element.names))
            inner = element.elements.get(part)
            if inner is None:
                return None
            element = inner
        if not element.elements:
            return None
        element = next(iter(element.elements.values()))
        while not element.names:
            element = next(iter(element.elements.values()))
        return next(iter(element.names))

    def _join(self, before: Place | None, after: Place | None) -> None:
        if before is None:
            self._head = after
        else:
            before.after = after
        if after is None:
            self.last = before
        else:
            after.before = before

    def _note(self, place: Place) -> None:
        name = place.property.name
        self._tell(name, 1)
        # Only a property that came between others can be before the first one of its name.
        if name not in self._first or (place.after is not None and not self._has_before(place)):
            self._first[name] = place

    def _has_before(self, place: Place) -> bool:
        name, earlier = place.property.name, place.before
        while earlier is not None and earlier.property.name != name:
            earlier = earlier.before
        return earlier is not None

    def _forget(self, place: Place) -> None:
        name = place.property.name
        is_left = self._tell(name, -1)
        if self._first[name] is not place:
            return
        del self._first[name]
        if is_left:
            self._first[name] = next(each for each in self.places(place) if each.property.name == name)

    def _tell(self, name: str, change: int) -> bool:
        """Tell the elements of *name* that a property of it came or went. Returns whether there is one."""
        parts = full_name(name).split(".")
        way = [self._elements]
        for part in parts:
            way.append(way[-1].elements.setdefault(part, _Element()))
        count = way[-1].names.get(name, 0) + change
        if count:
            way[-1].names[name] = count
            return True
        del way[-1].names[name]
        while parts and not (way[-1].names or way[-1].elements):
            way.pop()
            del way[-1].elements[parts.pop()]
        return False
