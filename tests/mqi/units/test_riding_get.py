"""A get that leaves with the commit of puts: one call if a plain message is there, and never a loss."""

from __future__ import annotations

from typing import Any

import pytest

from sharedq import MQIError
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, recover_lost

pytestmark = pytest.mark.share

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE


class Transactions:
    """Takes each message from SOURCE and puts it on TARGET in one unit of work."""

    def __init__(self, group: TestGroup, target: str = "TARGET") -> None:
        self.group = group
        for name in ("SOURCE", "TARGET"):
            group.define_shared(name)
        self.connection: QueueManagerConnection = group.connect()
        self.source: Queue = self.connection.open("SOURCE", BOTH)
        self.target: Queue = self.connection.open(target, BOTH)

    def begin(self) -> None:
        """Get the first message and buffer the put of its copy."""
        self.target.put(self.source.get(GetOption.SYNCPOINT).body, options=LATER)

    def go_on(self) -> bytes:
        """Commit, and get the next."""
        return self.source.commit_and_get(GetOption.SYNCPOINT).body

    def scripts(self) -> int:
        """Script calls that the server has run."""
        return int(self.group.group.client().info("commandstats")["cmdstat_evalsha"]["calls"])

    def state(self, name: str) -> tuple[int, int, int]:
        """Depth, uncommitted puts and uncommitted gets."""
        found = self.group.repository("QM1").queue_status(name)
        return found.depth, found.uncommitted_puts, found.uncommitted_gets


@pytest.fixture
def transactions(group: TestGroup) -> Transactions:
    return Transactions(group)


def test_commit_put_and_get_are_one_call(transactions: Transactions) -> None:
    for n in range(3):
        transactions.source.put(b"%d" % n)
    transactions.begin()
    before = transactions.scripts()

    assert transactions.go_on() == b"1"

    assert transactions.scripts() - before == 1
    assert (transactions.state("SOURCE"), transactions.state("TARGET")) == ((1, 0, 1), (1, 0, 0))
    transactions.connection.backout()
    assert transactions.state("SOURCE") == (2, 0, 0)
    # It is back in its place, with its count raised. Committed messages stay committed.
    assert on_queue(transactions.group, "SOURCE") == [(b"1", 1), (b"2", 0)]
    assert on_queue(transactions.group, "TARGET") == [(b"0", 0)]


def test_one_that_was_got_so_is_backed_out_by_its_recovery(transactions: Transactions) -> None:
    transactions.source.put(b"0")
    transactions.source.put(b"1", MQMD(priority=7))
    transactions.source.put(b"2", MQMD(priority=7))
    transactions.begin()
    assert transactions.go_on() == b"2"

    transactions.connection.connection.break_off()
    recover_lost(transactions.group, transactions.connection.connection.token)

    assert on_queue(transactions.group, "SOURCE") == [(b"2", 1), (b"0", 0)]
    assert on_queue(transactions.group, "TARGET") == [(b"1", 0)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    # Refused and sent again; commit and get, twice; after a plain one the get leaves with the commit again.
    [({"correl_id": b"C" * 24}, [1, 1, 1, 1]), ({"correl_id": b"C" * 24, "expiry": 60_000}, [2, 2, 2, 1])],
)
def test_a_message_that_expires_is_got_alone_and_the_next_in_one_write(
    transactions: Transactions, fields: dict[str, Any], expected: list[int]
) -> None:
    transactions.source.put(b"0")
    for n in (1, 2, 3, 4):
        transactions.source.put(b"%d" % n, MQMD(**fields) if n < 3 else MQMD())
    calls = []
    for n in (1, 2, 3, 4):
        if n == 1:
            transactions.begin()
        else:
            transactions.target.put(b"%d" % (n - 1), options=LATER)
        before = transactions.scripts()
        assert transactions.go_on() == b"%d" % n
        calls.append(transactions.scripts() - before)
        # A refused get left it in its place.
        assert transactions.state("SOURCE") == (4 - n, 0, 1)

    assert calls == expected
    client, queue = transactions.group.group.client(), transactions.source.handle.queue
    assert client.zcard(queue.index) == 0


@pytest.mark.parametrize("rides", [True, False])
def test_an_empty_queue_is_reported_after_the_commit(transactions: Transactions, rides: bool) -> None:
    transactions.source.put(b"0", MQMD() if rides else MQMD(correl_id=b"C" * 24))
    transactions.begin()
    transactions.source.handle.gets.rides = rides

    with pytest.raises(MQIError) as caught:
        transactions.go_on()

    assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
    assert (transactions.state("SOURCE"), transactions.state("TARGET")) == ((0, 0, 0), (1, 0, 0))


def test_a_message_put_back_on_the_same_queue_comes_last(group: TestGroup) -> None:
    transactions = Transactions(group, target="SOURCE")
    for n in range(2):
        transactions.source.put(b"%d" % n)
    transactions.begin()

    assert transactions.go_on() == b"1"
    transactions.target.put(b"1", options=LATER)
    assert transactions.go_on() == b"0"
    assert transactions.state("SOURCE") == (1, 0, 1)


@pytest.mark.parametrize("trouble", ["the target is full", "the target was altered"])
def test_where_the_commit_fails_nothing_is_got(transactions: Transactions, trouble: str) -> None:
    for n in range(2):
        transactions.source.put(b"%d" % n)
    transactions.begin()
    repository = transactions.group.repository("QM1")
    repository.alter("QLOCAL", "TARGET", {"max_depth": 0} if "full" in trouble else {"def_priority": 3})

    with pytest.raises(MQIError) as caught:
        transactions.go_on()

    assert caught.value.reason == MQRC.BACKED_OUT
    assert on_queue(transactions.group, "SOURCE") == [(b"0", 1), (b"1", 0)]
    assert transactions.state("TARGET") == (0, 0, 0)


@pytest.mark.parametrize("alteration", [{"get": "DISABLED"}, {"def_priority": 3}])
def test_after_an_alter_the_commit_stands_and_the_get_uses_the_new_one(
    transactions: Transactions, alteration: dict[str, object]
) -> None:
    for n in range(2):
        transactions.source.put(b"%d" % n)
    transactions.begin()
    transactions.group.repository("QM1").alter("QLOCAL", "SOURCE", alteration)

    if "get" in alteration:
        with pytest.raises(MQIError) as caught:
            transactions.go_on()
        assert caught.value.reason == MQRC.GET_INHIBITED
    else:
        assert transactions.go_on() == b"1"
    assert transactions.state("TARGET") == (1, 0, 0)
    assert transactions.state("SOURCE")[0] == int("get" in alteration)


def test_a_long_message_is_got_by_a_call_of_its_own(transactions: Transactions) -> None:
    transactions.source.put(b"0")
    transactions.source.put(b"L" * 20_000)
    transactions.begin()

    before = transactions.scripts()

    assert transactions.go_on() == b"L" * 20_000

    assert transactions.scripts() - before == 2
    transactions.connection.backout()
    assert [body for body, _ in on_queue(transactions.group, "SOURCE")] == [b"L" * 20_000]


@pytest.mark.parametrize("options", [GetOption.NO_WAIT, GetOption.WAIT])
@pytest.mark.parametrize("descriptor", [{}, {"correl_id": b"A" * 24}, {"msg_id": b"M" * 24}], ids=str)
@pytest.mark.parametrize("earlier", [[], [0], [9], [9, 0]])
def test_it_may_get_what_its_commit_has_put(
    group: TestGroup, earlier: list[int], descriptor: dict[str, Any], options: GetOption
) -> None:
    """The messages that were there before have these priorities."""
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    for priority in earlier:
        queue.put(b"%d" % priority, MQMD(priority=priority))
    queue.put(b"4", MQMD(priority=4, **descriptor), options=LATER)
    expected = sorted([*(b"%d" % priority for priority in earlier), b"4"], reverse=True)
    got = [queue.commit_and_get(GetOption.SYNCPOINT | options, wait_ms=1).body]
    while len(got) < len(expected):
        got.append(queue.get(GetOption.SYNCPOINT).body)
    assert got == expected
    with pytest.raises(MQIError) as caught:
        queue.commit_and_get(GetOption.SYNCPOINT)
    assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
