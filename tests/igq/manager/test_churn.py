"""A group that was used much has the keys and fields that it began with: anything that grows with history is a leak."""

from __future__ import annotations

import pytest

from recovery.resolution import recover
from recovery.target import Target
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueModel
from tests.recovery.scene import register_wait
from tests.support.accounts import assert_accounted
from tests.support.agents import AgentOfQM2
from tests.support.groups import LMIG, MIG, put_member
from tests.support.members import TestGroup
from tests.support.topologies import until

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
#: Keys with a bounded size: the journal is trimmed, and only the latest recoveries are kept.
BOUNDED = ("journal", "recoveries")


def sizes(group: TestGroup) -> dict[str, int]:
    """Every key, with its number of entries."""
    client = group.group.client()
    count = {b"hash": client.hlen, b"zset": client.zcard, b"list": client.llen, b"set": client.scard}
    found = {}
    for key in client.scan_iter(match=f"{{{group.group.name}:*", count=1000):
        kind = client.type(key)
        # A key with a time to live is no leak.
        if not key.decode().endswith(BOUNDED) and client.ttl(key) < 0:
            found[key.decode()] = count[kind](key) if kind in count else 1
    return found


class Churn:
    """Every kind of use that leaves nothing, again and again."""

    def __init__(self, group: TestGroup) -> None:
        self.group = group
        self.agent = AgentOfQM2(group)
        self.recoverer = group.connect("QM1").connection
        self.process = group.process("QM1")
        self.requester = group.connect("QM2")

    def live(self, n: int) -> None:
        """One connection: handles, a unit of work, a group, a lock, a mark, a wait, a tag."""
        with self.group.connect("QM1", self.process, tag=f"G{n}") as connection, connection.open("Q", BOTH) as queue:
            queue.put(b"1", MQMD(correl_id=b"%024d" % n))
            queue.put(b"2", options=PutOption.SYNCPOINT)
            connection.backout()
            queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK)
            queue.get(GetOption.BROWSE_FIRST | GetOption.MARK_BROWSE_HANDLE)
            queue.get(GetOption.SYNCPOINT)
            connection.commit()
            put_member(queue, b"%024d" % n, 1, b"1", MIG)
            put_member(queue, b"%024d" % n, 2, b"2", LMIG)
            queue.get()
            queue.get()

    def ask(self) -> None:
        """A request and its reply by intra-group queuing, to a dynamic queue."""
        with self.requester.open("MODEL", OpenOption.INPUT_SHARED, dynamic_name="REPLY.*") as replies:
            with self.group.connect("QM1", self.process) as server:
                server.put1(replies.resolved_name, b"reply", qmgr_name="QM2")
            self.agent.serve()
            assert replies.get().body == b"reply"

    def die(self) -> None:
        """A program dies with a unit of work, a lock and a wait; a connection of a living one is lost."""
        victim = self.group.connect("QM1", tag="GDIES")
        queue = victim.open("Q", BOTH)
        queue.put(b"never", options=PutOption.SYNCPOINT)
        register_wait(victim.open("EMPTY", BOTH), b"A")
        process = victim.connection.process
        client, leases = self.group.group.client(), self.group.group.keys.leases
        process.stop_renewing()
        client.zadd(leases, {process.token: 1})
        assert recover(self.group.group, self.recoverer, Target.parse(process.token)).is_resolved
        lost = self.group.connect("QM1", self.process)
        lost.open("Q", BOTH).put(b"never", options=PutOption.SYNCPOINT)
        lost.connection.break_off()
        until(lambda: client.zscore(leases, lost.connection.token) is not None, "its lease has run out")
        assert recover(self.group.group, self.recoverer, Target.parse(lost.connection.token)).is_resolved


@pytest.fixture
def churn(group: TestGroup) -> Churn:
    """QM1 and QM2, with a model queue at QM2, and everything that a first use leaves permanently."""
    group.add_member("QM2")
    for name in ("QM1", "QM2"):
        group.repository(name).alter_qmgr(name, {"igq": "ENABLED"})
    group.repository("QM2").define(QueueModel(name="MODEL", definition_type="TEMPDYN"))
    group.define_structure("APPL2")
    for name, structure in (("Q", "APPL1"), ("EMPTY", "APPL2")):
        group.define_shared(name, structure)
    return Churn(group)


def use(churn: Churn, times: int) -> None:
    for n in range(times):
        churn.live(n)
        churn.ask()
        churn.die()
    churn.agent.queue.forget_destinations()


@pytest.mark.parametrize("times", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_a_group_ends_with_the_keys_and_fields_that_it_began_with(churn: Churn, times: int) -> None:
    """Each round: connections, handles, units, a group, a lock, a mark, a wait, a dynamic queue, a reply, deaths."""
    use(churn, 1)
    before = sizes(churn.group)
    use(churn, times)
    assert sizes(churn.group) == before
    assert_accounted(churn.group.group)
