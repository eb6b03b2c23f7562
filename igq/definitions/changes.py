"""Differences between two states of definitions. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from igq.definitions.catalog import Item
from sharedq.objects.definitions.base import ObjectDefinition

_INDENT = "   "


@dataclass(frozen=True, slots=True)
class Change:
    """An object before and after a change. None: it was not there, or is no longer."""

    before: Item | None
    after: Item | None

    @property
    def lines(self) -> list[str]:
        """The change as text: the object, then a line for each attribute."""
        if self.after is None:
            return [] if self.before is None else [f"delete {self.before.title}"]
        attributes = self.after.shown()
        if self.before is None:
            usual = _defaults(self.after)
            new = [text for keyword, text in attributes.items() if usual.get(keyword) != text]
            return [f"define {self.after.title}", *(f"{_INDENT}{text}" for text in new)]
        former = self.before.shown()
        return [
            f"alter {self.after.title}",
            *(
                f"{_INDENT}{former.get(keyword, '(none)')} -> {text}"
                for keyword, text in attributes.items()
                if former.get(keyword) != text
            ),
        ]


def differences(before: Iterable[Item], after: Iterable[Item]) -> list[Change]:
    """Return the changes from one state to the other: first what is new or changed, then what is gone."""
    former = {item.identity: item for item in before}
    found = []
    for item in after:
        known = former.pop(item.identity, None)
        if known is None or not known.is_same_as(item):
            found.append(Change(known, item))
    return [*found, *(Change(item, None) for item in former.values())]


def _defaults(item: Item) -> dict[str, str]:
    if not isinstance(item.definition, ObjectDefinition):
        return {}
    default = type(item.definition).model_construct(name=item.name)
    return Item(item.kind, item.name, default).shown()
