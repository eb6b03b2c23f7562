"""The properties of one message, in their order. A change costs the same however many there are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sharedq.properties.folders import Property
from sharedq.properties.names import full_name


@dataclass(slots=True, eq=False)
class PropertyNode:
    """A property and its neighbours in the order. A property that is set anew takes the position of the old one."""

    property: Property
    before: PropertyNode | None = None
    after: PropertyNode | None = None
    is_listed: bool = False


@dataclass(slots=True)
class _Element:
    """An element of a folder: how many properties of each name are its value, and the elements in it."""

    names: dict[str, int] = field(default_factory=dict)
    elements: dict[str, _Element] = field(default_factory=dict)


class OrderedProperties:
    """A list of properties that knows the first one of each name, and the elements that their names stand for."""

    def __init__(self, properties: Iterable[Property] = ()) -> None:
        self._head: PropertyNode | None = None
        self.last: PropertyNode | None = None
        self._first: dict[str, PropertyNode] = {}
        self._elements = _Element()
        self._count = 0
        for each in properties:
            self.insert(each, self.last)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Property]:
        return (node.property for node in self.nodes())

    def nodes(self, after: PropertyNode | None = None) -> Iterator[PropertyNode]:
        """Yield the nodes after *after*, by default all, in order."""
        node = self._head if after is None else after.after
        while node is not None:
            yield node
            node = node.after

    def first_of(self, name: str) -> PropertyNode | None:
        """Return the node of the first property of a name."""
        return self._first.get(name)

    def insert(self, made: Property, before: PropertyNode | None) -> None:
        """Put a property after *before*. None: at the beginning."""
        node = PropertyNode(made, is_listed=True)
        self._join(node, self._head if before is None else before.after)
        self._join(before, node)
        self._count += 1
        self._note(node)

    def replace(self, node: PropertyNode, made: Property) -> None:
        """Put another property in the position of *node*."""
        if made.name == node.property.name:
            node.property = made
            return
        self._forget(node)
        node.property = made
        self._note(node)

    def remove(self, node: PropertyNode) -> None:
        """Take a property away."""
        self._forget(node)
        self._join(node.before, node.after)
        self._count -= 1
        node.is_listed = False

    def mixed_with(self, name: str, replaced: PropertyNode | None) -> str | None:
        """Return the name of a property by which an element would have a value and elements in it, once *name* is set.

        Args:
            replaced: the property of this node goes when that of *name* comes.
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

    def _join(self, before: PropertyNode | None, after: PropertyNode | None) -> None:
        if before is None:
            self._head = after
        else:
            before.after = after
        if after is None:
            self.last = before
        else:
            after.before = before

    def _note(self, node: PropertyNode) -> None:
        name = node.property.name
        self._tell(name, 1)
        # Only a property that came between others can be before the first one of its name.
        if name not in self._first or (node.after is not None and not self._has_before(node)):
            self._first[name] = node

    def _has_before(self, node: PropertyNode) -> bool:
        name, earlier = node.property.name, node.before
        while earlier is not None and earlier.property.name != name:
            earlier = earlier.before
        return earlier is not None

    def _forget(self, node: PropertyNode) -> None:
        name = node.property.name
        is_left = self._tell(name, -1)
        if self._first[name] is not node:
            return
        del self._first[name]
        if is_left:
            self._first[name] = next(each for each in self.nodes(node) if each.property.name == name)

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
