"""Random programs with message properties and selectors, on real queues and on the model, must see the same."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from sharedq import MessageHandle
from sharedq.api import Queue
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.errors import NoMsgAvailable
from tests.model.examples import hold_against, in_time
from tests.model.queues import Fits, Message
from tests.model.test_against_model import PROGRAMS, STEPS, Against, correl_ids, priorities, programs, queues
from tests.support.server import Server


def _size(message: Message) -> int | str | None:
    return message.properties.get("size")


def _colour(message: Message) -> int | str | None:
    return message.properties.get("colour")


def _is_above_one(message: Message) -> bool:
    size = _size(message)
    return isinstance(size, int) and size > 1


#: A comparison with a property that a message does not have is unknown, and so is its negation. Values of different
#: kinds are not equal and not in any order.
SELECTORS: dict[str, Fits] = {
    "colour = 'red'": lambda message: _colour(message) == "red",
    "colour <> 'red'": lambda message: _colour(message) not in ("red", None),
    "colour IS NULL AND Root.MQMD.Priority < 2": lambda message: _colour(message) is None and message.priority < 2,
    "colour LIKE '%e%' OR size > 1": lambda message: "e" in str(_colour(message) or "") or _is_above_one(message),
    "NOT (size > 1)": lambda message: _size(message) is not None and not _is_above_one(message),
    "size BETWEEN 1 AND 2 AND colour IN ('blue', 'gold')": lambda message: (
        _size(message) in (1, 2) and _colour(message) in ("blue", "gold")
    ),
    f'Root.MQMD.CorrelId = "0x{b"A".hex() * 24}"': lambda message: message.correl_id == b"A" * 24,
}
properties = st.fixed_dictionaries(
    {}, optional={"colour": st.sampled_from(["red", "blue", "gold"]), "size": st.sampled_from([0, 1, 2, 3, "two"])}
)
selectors = st.sampled_from(sorted(SELECTORS))


class WithProperties(Against):
    """Messages have properties; each program has a handle with each selector."""

    attributes: ClassVar[dict[str, Any]] = {"property_control": "NONE"}

    def __init__(self) -> None:
        self.selected: list[dict[tuple[str, str], Queue]] = [{} for _ in range(PROGRAMS)]
        super().__init__()

    @staticmethod
    def _body(stored: bytes) -> bytes:
        # Bodies are numbers, and a header ends with a bracket and blanks.
        return stored[stored.rfind(b">") + 1 :].strip()

    def _replace(self, number: int) -> None:
        super()._replace(number)
        self.selected[number] = {}

    def _handle(self, number: int, queue: str, selector: str) -> Queue:
        opened = self.selected[number].get((queue, selector))
        if opened is None:
            options = OpenOption.INPUT_SHARED | OpenOption.BROWSE
            name = self.opened[number][queue].name
            opened = self.connections[number].open(name, options, selector=selector)
            self.selected[number][queue, selector] = opened
        return opened

    @rule(
        number=programs,
        queue=queues,
        priority=priorities,
        correl_id=correl_ids,
        in_unit=st.booleans(),
        values=properties,
    )
    def put_with_properties(
        self,
        number: int,
        queue: str,
        priority: int,
        correl_id: bytes,
        in_unit: bool,
        values: dict[str, str | int],
    ) -> None:
        message, md = self._new_message(queue, priority, correl_id)
        message.properties = values
        handle = MessageHandle()
        for name, value in values.items():
            handle.set(name, value)
        options = PutOption.SYNCPOINT if in_unit else PutOption.NO_SYNCPOINT
        self.opened[number][queue].put(message.body, md, options=options, properties=handle)
        self.msg_ids[message.body] = md.msg_id
        self.model.put(number, message, in_unit=in_unit)

    @rule(number=programs, queue=queues, selector=selectors, in_unit=st.booleans())
    def get_selected(self, number: int, queue: str, selector: str, in_unit: bool) -> None:
        options = GetOption.SYNCPOINT if in_unit else GetOption.NO_SYNCPOINT
        expected = self.model.get(number, queue, in_unit=in_unit, handle=selector, fits=SELECTORS[selector])
        self._see(self._handle(number, queue, selector), options, expected)

    @rule(number=programs, queue=queues, selector=selectors, is_first=st.booleans())
    def browse_selected(self, number: int, queue: str, selector: str, is_first: bool) -> None:
        options = GetOption.BROWSE_FIRST if is_first else GetOption.BROWSE_NEXT
        fits = SELECTORS[selector]
        expected = self.model.browse(number, queue, is_first=is_first, handle=selector, fits=fits)
        self._see(self._handle(number, queue, selector), options, expected)

    def _see(self, opened: Queue, options: GetOption, expected: Message | None) -> None:
        handle, got = MessageHandle(), None
        with suppress(NoMsgAvailable):
            got = opened.get(options, properties=handle)
        self._check(got, expected)
        if expected is not None:
            found = {name: handle.get(name) for name in ("colour", "size") if name in expected.properties}
            assert found == expected.properties


@pytest.mark.invariant(1, 5)
@in_time
def test_selectors_choose_as_the_model_does(redis_server: Server, tmp_path: Path) -> None:
    hold_against(WithProperties, redis_server, tmp_path, steps=STEPS)
