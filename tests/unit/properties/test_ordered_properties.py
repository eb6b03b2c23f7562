"""Properties in their order, compared with a list; and how much a change looks at."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from sharedq.mqi.constants import InquirePropertyOption, SetPropertyOption
from sharedq.mqi.errors import MQIError
from sharedq.properties import ordered_properties
from sharedq.properties.handle import MessageHandle
from sharedq.properties.names import full_name

_NAMES = ("a", "b", "c", "a.b", "a.c", "x.y", "x.y.z", "usr.a.b", "usr.b.c.d")
_UNDER, _AFTER = SetPropertyOption.SET_PROP_UNDER_CURSOR, SetPropertyOption.SET_PROP_AFTER_CURSOR
_BEFORE, _APPEND = SetPropertyOption.SET_PROP_BEFORE_CURSOR, SetPropertyOption.APPEND_PROPERTY
_NEXT = InquirePropertyOption.INQ_NEXT


class Listed:
    """A message handle as a list that is looked through."""

    def __init__(self) -> None:
        self.all: list[list[object]] = []
        self.cursor: list[object] | None = None

    def set(self, name: str, value: int, options: int) -> bool:
        at = next((at for at, each in enumerate(self.all) if each[0] == name), len(self.all))
        if options & (_UNDER | _AFTER | _BEFORE):
            if self.cursor is None:
                return False
            at = next(at for at, each in enumerate(self.all) if each is self.cursor) + bool(options & _AFTER)
        elif options & _APPEND:
            at = len(self.all)
        replaced = at if options & _UNDER or (not options and at < len(self.all)) else None
        full = full_name(name)
        for place, each in enumerate(self.all):
            other = full_name(str(each[0]))
            if place != replaced and (other.startswith(full + ".") or full.startswith(other + ".")):
                return False
        if replaced is None:
            self.all.insert(at, [name, value])
        else:
            self.all[at][:] = [name, value]
        return True

    def delete(self, name: str) -> bool:
        found = next((each for each in self.all if each[0] == name), None)
        if found is not None:
            self.all = [each for each in self.all if each is not found]
            self.cursor = None if found is self.cursor else self.cursor
        return found is not None

    def inquire(self, name: str, *, is_next: bool) -> object:
        at = next((at for at, each in enumerate(self.all) if is_next and each is self.cursor), -1)
        found = next((each for each in self.all[at + 1 :] if name in ("%", each[0])), None)
        self.cursor = found or self.cursor
        return found and found[1]


def _is_done(call: object, *arguments: object, **named: object) -> bool:
    try:
        call(*arguments, **named)  # type: ignore[operator]
    except MQIError:
        return False
    return True


@pytest.mark.parametrize("seed", range(30))
def test_random_calls_do_the_same_to_a_list(seed: int) -> None:
    choose = random.Random(seed)
    handle, model = MessageHandle(), Listed()
    for number in range(400):
        name = choose.choice(_NAMES)
        kind = choose.randrange(8)
        if kind < 4:
            options = choose.choice((0, 0, _UNDER, _AFTER, _BEFORE, _APPEND))
            assert _is_done(handle.set, name, number, options=options) == model.set(name, number, options)
        elif kind == 4:
            assert _is_done(handle.delete, name) == model.delete(name)
        else:
            name, is_next = choose.choice((name, "%")), choose.random() < 0.5
            try:
                found: object = handle.inquire(name, options=_NEXT if is_next else 0).value
            except MQIError:
                found = None
            assert found == model.inquire(name, is_next=is_next)
        assert [(each.name, each.value) for each in handle.properties()] == [tuple(each) for each in model.all]


def test_a_call_looks_at_no_other_property(monkeypatch: pytest.MonkeyPatch) -> None:
    """Setting and inquiring 2,000 properties one by one takes as many steps a property as setting ten does."""
    steps = 0
    walk = ordered_properties.OrderedProperties.nodes

    def full(name: str) -> str:
        nonlocal steps
        steps += 1
        return full_name(name)

    def nodes(
        properties: ordered_properties.OrderedProperties, after: ordered_properties.PropertyNode | None = None
    ) -> Iterator[ordered_properties.PropertyNode]:
        nonlocal steps
        for each in walk(properties, after):
            steps += 1
            yield each

    monkeypatch.setattr(ordered_properties, "full_name", full)
    monkeypatch.setattr(ordered_properties.OrderedProperties, "nodes", nodes)

    def steps_of(count: int) -> float:
        nonlocal steps
        steps, handle = 0, MessageHandle()
        for number in range(count):
            handle.set(f"p.n{number}", number)
            handle.set(f"p.n{number}", str(number))
        for number in range(count):
            handle.inquire("%", options=_NEXT)
            handle.set(f"p.after{number}", number, options=_AFTER)
            handle.inquire("%", options=_NEXT)
        for number in range(count):
            handle.delete(f"p.n{number}")
        return steps / count

    assert steps_of(2_000) == steps_of(10)
