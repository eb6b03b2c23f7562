"""A backup and a unit of work whose list gets shorter while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from sharedq.admin.backup.image import Image, Operation

UNIT, OWNER = b"QM1.1.1.1/0", b"QM1.1.1.1"


@dataclass
class Written:
    """The queue that receives messages."""

    places: dict[bytes, int] = field(default_factory=dict)

    def message(self, queue: bytes, message_id: bytes, score: int, record: bytes) -> None:
        assert (queue, record) == (b"Q", b"record")
        self.places[message_id] = score

    def gone(self, ids: list[bytes]) -> None:
        for message_id in ids:
            del self.places[message_id]


def operation(kind: bytes, *numbers: int) -> Operation:
    return Operation(kind, b"Q", tuple((b"%d" % number, number) for number in numbers))


@pytest.mark.parametrize("is_asked_at_once", [True, False])
def test_gets_after_undone_puts_are_found(is_asked_at_once: bool) -> None:
    written = Written()
    image = Image(written)
    image.unit(UNIT, OWNER)
    image.looked_at(UNIT, b"A", [operation(b"P", 5), operation(b"P", 6), operation(b"P", 7)], is_all=True)
    assert not image.units_to_look_at(9)

    image.entry({b"e": b"undo", b"o": OWNER, b"u": UNIT, b"q": b"Q", b"i": b"7 6"})
    if is_asked_at_once:
        # Its list is now: put, get, get, get. It was asked for the part after the third operation.
        image.looked_at(UNIT, b"A", [operation(b"G", 3)], is_all=True)
    (unit,) = image.units_to_look_at(9)
    assert (unit.known, unit.puts) == (0, {b"5": b"Q"})

    there = [operation(b"P", 5), operation(b"G", 1), operation(b"G", 2), operation(b"G", 3)]
    while image.units_to_look_at(1):
        image.looked_at(UNIT, b"A", there, is_all=True)
    assert image.doubtful(9) == {b"Q": [b"3", b"2", b"1"]}
    for number in (1, 2, 3):
        image.looked_up(b"Q", b"%d" % number, None, b"record")
    assert image.is_certain
    assert written.places == {b"1": 1, b"2": 2, b"3": 3}
