"""A primary that is cut off from its replica and the Sentinels, with a program on either side of the cut.

``west`` stays beside the old primary, whom it goes on asking; ``east`` is with the replica, which is promoted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from igq.rehearsal.drills.troubles.network import Network
from sharedq import MQIError
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import NoMsgAvailable
from tests.support.accounts import assert_accounted
from tests.support.members import TestGroup
from tests.support.partitions import RemotePair, inside, network_or_skip, rejoin, split
from tests.support.topologies import until

pytestmark = pytest.mark.faults
OLD_SIDE, NEW_SIDE = ("old", "west"), ("new", "watch", "east")
BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
PATIENCE_S = 120


@pytest.fixture
def network() -> Iterator[Network]:
    with network_or_skip(*OLD_SIDE, *NEW_SIDE) as network:
        yield network


@pytest.fixture
def pair(network: Network, tmp_path: Path) -> Iterator[RemotePair]:
    pair = RemotePair(tmp_path, network)
    yield pair
    pair.close()


class Sides:
    """The group from programs on either machine. Careful programs wait for a replica."""

    def __init__(self, network: Network, pair: RemotePair, data_dir: Path) -> None:
        self.network, self.pair = network, pair
        self._data_dir = data_dir
        self._groups: list[TestGroup] = []
        with inside(network, "west"):
            first = self.group(pair.url)
            self.name = first.group.name
            first.add_member("QM1")
            first.define_structure()
            first.define_shared("Q")

    def group(self, url: str, *, is_careful: bool = False, **settings: int) -> TestGroup:
        """The group, in a program on the machine that this thread is on."""
        careful = {"wait_replicas": 1, "wait_replicas_timeout_ms": 1_000} if is_careful else {}
        same = {"group": self.name} if self._groups else {}
        group = TestGroup(url, self._data_dir, **careful, **same, **settings)
        group.is_accounted = False
        self._groups.append(group)
        return group

    @property
    def old_url(self) -> str:
        """The URL of the old primary, for a program that asks no Sentinel."""
        return f"redis://{self.pair.old.address}"

    def cut(self) -> None:
        """Part the sides. Returns when the replica has been promoted."""
        split(self.network, OLD_SIDE, NEW_SIDE)

    def wait_for_promotion(self) -> None:
        until(self.pair.is_promoted, "the replica is promoted", PATIENCE_S)

    def heal(self) -> None:
        """Let the sides hear each other. Returns when the old primary follows the new one."""
        rejoin(self.network, OLD_SIDE, NEW_SIDE)
        until(self.pair.is_demoted, "the old primary follows the new one", PATIENCE_S)

    def close(self) -> None:
        """End all. Raises AssertionError: on the side that goes on something is left that nothing explains."""
        try:
            with inside(self.network, "east"):
                assert_accounted(self.group(self.pair.url).group)
        finally:
            for group in self._groups:
                group.close()


@pytest.fixture
def sides(network: Network, pair: RemotePair, tmp_path: Path) -> Iterator[Sides]:
    sides = Sides(network, pair, tmp_path)
    yield sides
    sides.close()


def put(group: TestGroup, body: bytes) -> int:
    """Put over a new connection. Returns the reason code, 0 if it was acknowledged."""
    try:
        with group.connect().open("Q", OpenOption.OUTPUT) as queue:
            queue.put(body)
    except MQIError as error:
        return int(error.reason)
    return 0


def on_queue(group: TestGroup) -> list[bytes]:
    """All messages on the queue, by browsing."""
    found: list[bytes] = []
    with group.connect().open("Q", OpenOption.BROWSE) as queue:
        while True:
            try:
                found.append(queue.get(GetOption.BROWSE_NEXT if found else GetOption.BROWSE_FIRST).body)
            except NoMsgAvailable:
                return found


@pytest.mark.invariant(7)
def test_with_wait_nothing_is_acknowledged_that_is_not_kept(sides: Sides) -> None:
    network = sides.network
    with inside(network, "west"):
        careful = sides.group(sides.old_url, is_careful=True)
        kept = [b"%d" % number for number in range(20)]
        connection = careful.connect()
        queue = connection.open("Q", BOTH)
        for body in kept:
            queue.put(body)
        queue.put(b"uncommitted", options=PutOption.SYNCPOINT)
    sides.cut()
    with inside(network, "west"):
        # The old primary does all of this. It is only never acknowledged.
        with pytest.raises(MQIError) as caught:
            connection.commit()
        assert caught.value.reason == MQRC.CONNECTION_BROKEN
        assert [put(careful, b"unknown %d" % number) for number in range(3)] == [MQRC.CONNECTION_BROKEN] * 3
    sides.wait_for_promotion()
    with inside(network, "east"):
        group = sides.group(sides.pair.url)
        until(lambda: put(group, b"east") == 0, "the new primary takes puts", PATIENCE_S)
        assert on_queue(group) == [*kept, b"east"]
    with inside(network, "west"):
        assert put(careful, b"unknown still") == MQRC.CONNECTION_BROKEN
    sides.heal()
    with inside(network, "west"):
        # A program at the address of the old primary is refused by it now. A program that asks the Sentinels goes on.
        assert put(careful, b"to a replica") == MQRC.CONNECTION_BROKEN
        back = sides.group(sides.pair.url, is_careful=True)
        until(lambda: put(back, b"west") == 0, "the old primary acknowledges as a replica", PATIENCE_S)
        found = on_queue(back)
        assert found[: len(kept) + 1] == [*kept, b"east"]
        # A failed call may have been done, after the new primary had its replica.
        assert set(found[len(kept) + 1 :]) == {b"west"}


def test_without_wait_only_what_was_not_replicated_is_lost(sides: Sides) -> None:
    """The price, as docs/how-to/operate.md states it: the old primary acknowledges messages that are lost later."""
    network = sides.network
    with inside(network, "west"):
        bold = sides.group(sides.old_url)
        kept = [b"%d" % number for number in range(20)]
        assert [put(bold, body) for body in kept] == [0] * len(kept)
    sides.pair.old.ask("WAIT", 1, 0)
    sides.cut()
    with inside(network, "west"):
        assert put(bold, b"lost") == 0
    sides.wait_for_promotion()
    sides.heal()
    with inside(network, "west"):
        back = sides.group(sides.pair.url)
        until(lambda: put(back, b"afterwards") == 0, "the new primary takes puts", PATIENCE_S)
        assert on_queue(back) == [*kept, b"afterwards"]


def test_min_replicas_bounds_what_an_old_primary_acknowledges(sides: Sides) -> None:
    """It refuses all writes after it has not heard of its replica for min-replicas-max-lag seconds."""
    network = sides.network
    for name, value in (("min-replicas-to-write", 1), ("min-replicas-max-lag", 2)):
        sides.pair.old.ask("CONFIG", "SET", name, value)
    with inside(network, "west"):
        bold = sides.group(sides.old_url)
        until(lambda: put(bold, b"kept") == 0, "it has heard of its replica", PATIENCE_S)
    sides.pair.old.ask("WAIT", 1, 0)
    sides.cut()
    with inside(network, "west"):
        until(lambda: put(bold, b"lost") == MQRC.CONNECTION_BROKEN, "it refuses", PATIENCE_S)
        assert put(bold, b"refused") == MQRC.CONNECTION_BROKEN
    there = sides.group(sides.pair.old.local_url).group.client().hvals(structure_of(bold))
    assert not any(record.endswith(b"refused") for record in cast("list[bytes]", there))
    sides.wait_for_promotion()
    sides.heal()
    with inside(network, "west"):
        back = sides.group(sides.pair.url)
        until(lambda: put(back, b"afterwards") == 0, "the new primary takes puts", PATIENCE_S)
        assert on_queue(back) == [b"kept", b"afterwards"]


def structure_of(group: TestGroup) -> str:
    """The key of the messages of APPL1."""
    return group.group.structure("APPL1").messages


def test_a_program_at_an_isolated_primary_goes_on_with_the_new_one(sides: Sides) -> None:
    """Its calls get no answer until its lease ends. Then the Sentinels tell it where to go."""
    network = sides.network
    with inside(network, "east"):
        group = sides.group(sides.pair.url, lease_ms=10_000)
        queue = group.connect().open("Q", BOTH)
        queue.put(b"kept")
    sides.pair.old.ask("WAIT", 1, 0)
    sides.cut()
    with inside(network, "east"):
        with pytest.raises(MQIError) as caught:
            queue.put(b"never acknowledged")
        assert caught.value.reason == MQRC.CONNECTION_BROKEN
        sides.wait_for_promotion()
        until(lambda: put(group, b"new") == 0, "it reaches the new primary", PATIENCE_S)
        assert on_queue(group) == [b"kept", b"new"]
