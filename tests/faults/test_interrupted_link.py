"""Another thread interrupts or closes a link at any moment, also while the link connects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import Deployment
from sharedq.redis.link import Link
from sharedq.redis.wire import Wire
from tests.support.server import Server

#: A call that misses its interruption ends after so many seconds, with another outcome.
BLOCK_S = 0.2
WAKE_KEY = "{IGQ:INTERRUPTED}wake:nobody"
#: The steps of a call, one after the other, and when the interruption comes.
WHILE_IT_CONNECTS = [(Deployment, step, when) for step in ("locate", "open") for when in ("before", "after")]
WHILE_IT_CALLS = [
    (Wire, "send", "before"),
    (Wire, "send", "after"),
    (Wire, "receive", "before"),
]


@pytest.fixture
def link(redis_server: Server) -> Iterator[Link]:
    made = Link(Deployment(redis_server.url))
    yield made
    made.close()


@pytest.mark.parametrize("end", [Link.interrupt, Link.close])
@pytest.mark.parametrize(
    ("has_connected", "part", "step", "when"),
    [(False, *moment) for moment in WHILE_IT_CONNECTS + WHILE_IT_CALLS]
    + [(True, *moment) for moment in WHILE_IT_CALLS],
)
def test_an_interruption_is_never_missed(
    link: Link,
    has_connected: bool,
    part: Any,
    step: str,
    when: str,
    end: Callable[[Link], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = getattr(part, step)

    def interrupted(*args: Any, **options: Any) -> Any:
        if when == "before":
            end(link)
        found = original(*args, **options)
        if when == "after":
            end(link)
        return found

    if has_connected:
        link.command(WAKE_KEY, "PING")
    monkeypatch.setattr(part, step, interrupted)
    with pytest.raises(MQIError) as caught:
        link.block(WAKE_KEY, BLOCK_S)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert link.is_broken
    assert all(each.is_closed for each in link._by_endpoint.values())


@pytest.mark.parametrize("end", [Link.interrupt, Link.close])
def test_a_link_that_was_ended_is_kept_alive_in_vain(link: Link, end: Callable[[Link], None]) -> None:
    link.command(WAKE_KEY, "PING")
    end(link)
    link.keep_alive()
    assert link.is_broken
