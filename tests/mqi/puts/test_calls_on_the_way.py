"""How many functions of Python an ordinary call of a program runs: counts, no timings."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
ROUNDS = 50


def calls_of(call: Callable[[], object]) -> int:
    """The functions of Python that each of many equal calls runs. Now and then one looks at the clock anew."""
    found = []
    for _ in range(ROUNDS):
        events: list[str] = []
        sys.setprofile(lambda *about, noted=events: noted.append(about[1]))
        try:
            call()
        finally:
            sys.setprofile(None)
        found.append(events.count("call"))
    return min(found)


@pytest.fixture
def described(group: TestGroup) -> Callable[[str], Callable[[], object]]:
    group.define_shared("ORDERS")
    connection = group.connect()
    queue = connection.open("ORDERS", BOTH)

    def put() -> MQMD:
        return queue.put(b"order", MQMD(persistence=1))

    def put_and_get_in_units() -> None:
        queue.put(b"order", MQMD(persistence=1), options=LATER)
        queue.commit_and_get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=1000)

    calls: dict[str, Callable[[], object]] = {
        "put": put,
        "get": queue.get,
        "commit and get": lambda: queue.commit_and_get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=1000),
        "put, commit and get": put_and_get_in_units,
    }

    def warm(name: str) -> Callable[[], object]:
        for _ in range(2 * ROUNDS + 10):
            put()
        for _ in range(ROUNDS // 2):
            calls[name]()
        return calls[name]

    return warm


@pytest.mark.parametrize(
    ("name", "most"), [("put", 34), ("get", 33), ("commit and get", 65), ("put, commit and get", 84)]
)
def test_an_ordinary_call_runs_few_functions(
    described: Callable[[str], Callable[[], object]], name: str, most: int
) -> None:
    assert calls_of(described(name)) <= most
