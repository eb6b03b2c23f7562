"""The agent's sleep between retries, on a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from igq.agent.progress.sleep import BY_OPERATOR, IN_PASSING, WakeableSleep, movers_wake_key, wake_agent, wake_key
from tests.support.members import TestGroup
from tests.support.scenes import until

pytestmark = pytest.mark.share

LONG_S = 600
PATIENCE_S = 120


class Sleeper:
    """One long sleep of QM1's agent, in its own thread."""

    def __init__(self, group: TestGroup) -> None:
        self.client: Redis = group.group.client()
        self.sleep = WakeableSleep(group.group, wake_key(group.group, "QM1"))
        self._thread = threading.Thread(target=self.sleep, args=(LONG_S,), daemon=True)
        self._thread.start()

    def listening(self) -> str:
        """The id of its connection, as soon as it listens."""
        until(self._blocked, "it listens", PATIENCE_S)
        return self._blocked()[0]

    def _blocked(self) -> list[str]:
        return [str(each["id"]) for each in self.client.client_list() if each["cmd"] == "blpop"]

    def cut(self) -> None:
        """End the connection on which it listens."""
        self.client.execute_command("CLIENT", "KILL", "ID", self.listening())

    def has_ended(self) -> bool:
        self._thread.join(PATIENCE_S)
        return not self._thread.is_alive()


@pytest.fixture
def sleeper(group: TestGroup) -> Iterator[Sleeper]:
    sleeper = Sleeper(group)
    yield sleeper
    sleeper.sleep.end()


def test_a_wake_up_is_heard_after_connections_were_lost(group: TestGroup, sleeper: Sleeper) -> None:
    for _ in range(2):
        sleeper.cut()

    wake_agent(group.group, "QM1")

    assert sleeper.has_ended()


def test_a_sleeper_that_has_lost_its_connection_is_ended_at_once(sleeper: Sleeper) -> None:
    sleeper.cut()

    sleeper.sleep.end()

    assert sleeper.has_ended()


@pytest.mark.parametrize("begin", [WakeableSleep.begin_attempt, WakeableSleep.begin_trouble])
def test_the_next_work_begins_even_if_the_sleeper_lost_its_connection(
    group: TestGroup, sleeper: Sleeper, begin: Callable[[WakeableSleep], None]
) -> None:
    connection = sleeper.listening()
    wake_agent(group.group, "QM1")
    assert sleeper.has_ended()
    sleeper.client.execute_command("CLIENT", "KILL", "ID", connection)

    begin(sleeper.sleep)


def test_a_wake_up_from_before_the_trouble_ends_the_first_sleep_unordered(group: TestGroup) -> None:
    sleep = WakeableSleep(group.group, wake_key(group.group, "QM1"))
    wake_agent(group.group, "QM1", by_operator=True)
    sleep.begin_trouble()
    wake_agent(group.group, "QM1", by_operator=True)
    ended_by: list[bytes | None] = []
    for seconds in (LONG_S, LONG_S, 0.01):
        sleep(seconds)
        ended_by.append(sleep.woken_by)
    assert ended_by == [IN_PASSING, BY_OPERATOR, None]


def test_unneeded_wake_ups_do_not_pile_up(group: TestGroup) -> None:
    for _ in range(3):
        wake_agent(group.group, "QM1")
    client = group.group.client()
    assert [client.llen(key(group.group, "QM1")) for key in (wake_key, movers_wake_key)] == [1, 1]
