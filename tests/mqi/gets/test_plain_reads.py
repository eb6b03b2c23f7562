"""Plain read commands of a link: many in one write, and sent again if a slot moves meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hiredis
import pytest
from redis.exceptions import MovedError

from sharedq.mqi.errors import MQIError
from sharedq.redis.link import Link, Reply, _pack_many
from tests.support.members import TestGroup

KEY = "{plain}:numbers"


@pytest.fixture
def link(group: TestGroup) -> Iterator[Link]:
    """A link, and a list of three words."""
    client = group.group.client()
    client.delete(KEY)
    client.rpush(KEY, b"one", b"", b"three")
    link = group.group.new_link()
    yield link
    link.close()
    client.delete(KEY)


LOOKS = [(b"LRANGE", KEY.encode(), b"0", b"-1"), (b"LLEN", KEY.encode())]
FOUND: list[Reply] = [[b"one", b"", b"three"], 3]


def test_all_are_answered_in_order(link: Link) -> None:
    assert link.commands(KEY, LOOKS) == FOUND
    assert link.commands(KEY, LOOKS[1:]) == FOUND[1:]


@pytest.mark.parametrize("moved", [0, 1])
def test_a_read_that_met_a_moving_slot_is_sent_again(link: Link, monkeypatch: pytest.MonkeyPatch, moved: int) -> None:
    send, calls = Link._exchange_all, []

    def exchange(self: Link, exchanges: Any) -> list[list[Reply]]:
        calls.append(exchanges[0][2])
        found = send(self, exchanges)
        if len(calls) == 1:
            found[0][moved] = MovedError("1 127.0.0.1:1")
        return found

    link.commands(KEY, LOOKS)
    monkeypatch.setattr(Link, "_exchange_all", exchange)
    assert link.commands(KEY, LOOKS) == FOUND
    assert calls == [2, 1, 1]


def test_a_refusal_by_redis_is_reported(link: Link) -> None:
    with pytest.raises(MQIError, match="WRONGTYPE"):
        link.commands(KEY, [*LOOKS, (b"HMGET", KEY.encode(), b"field")])
    assert link.commands(KEY, LOOKS) == FOUND


@pytest.mark.parametrize("words", [[b"A"], [b"HMGET", b"k", b"12", b"34", b"", b"", b"5\r\n6", b"789"]])
def test_packed_as_any_command_is(words: list[bytes]) -> None:
    assert _pack_many(words) == hiredis.pack_command(tuple(words))  # type: ignore[arg-type]
