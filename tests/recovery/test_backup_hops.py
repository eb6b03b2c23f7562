"""A backup of a structure in which messages hop from a part of the transmit queue while it is made."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.restoration import recover
from sharedq.calls.unit.commit import backout, commit
from sharedq.messages.record import RECORD_PERSISTENT, record_flags
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.store.parts import Place, part_in
from tests.support.agents import AgentOfQM2
from tests.support.backups import between_calls, lose
from tests.support.members import TestGroup

PART, FAR = part_in("APPL1", "QM2"), Place("APPL1", "FAR")


class Hops:
    """QM1 sends to FAR at QM2, whose agent serves its part in APPL1."""

    def __init__(self, group: TestGroup) -> None:
        group.add_member("QM2")
        group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
        group.define_structure()
        group.repository("QM1").alter_structure("APPL1", {"recover": "YES"})
        group.define_shared("FAR")
        assert group.repository("QM2").make_transmit_parts("QM2") == [PART]
        self.group, self.agent = group, AgentOfQM2(group, PART)
        self.far = group.connect("QM1").open("FAR", OpenOption.OUTPUT, qmgr_name="QM2")
        self.getter = group.connect("QM2").open("FAR", OpenOption.INPUT_SHARED)

    def put(self, body: bytes, options: int = 0, **fields: Any) -> None:
        self.far.put(body, MQMD(**({"persistence": 1} | fields)), options=options)

    def persistent(self) -> list[list[tuple[bytes, bytes]]]:
        """The contents of the part and of FAR, in order: id, and the record without its BackoutCount."""
        keys, client = self.group.group.structure("APPL1"), self.group.group.client()
        found = []
        for place in (PART, FAR):
            ids: Any = client.zrange(keys.queue(place.queue).available, 0, -1)
            records: Any = client.hmget(keys.messages, ids) if ids else []
            pairs = zip(ids, records, strict=True)
            found.append([(each, record[3:]) for each, record in pairs if record_flags(record) & RECORD_PERSISTENT])
        return found


@pytest.fixture
def hops(group: TestGroup) -> Hops:
    return Hops(group)


@pytest.mark.parametrize("is_committed", [False, True])
@pytest.mark.parametrize("call", range(1, 12))
def test_one_that_hops_while_it_is_made_is_in_it(
    hops: Hops, monkeypatch: pytest.MonkeyPatch, call: int, is_committed: bool
) -> None:
    """Put or committed before one of its calls, moved before that or the next call, whatever was asked by then."""
    hops.put(b"0")
    hops.agent.serve()
    if is_committed:
        hops.put(b"1", int(PutOption.SYNCPOINT))
    acts: dict[int, list[Callable[[], object]]] = {
        call: [partial(commit, hops.far.connection) if is_committed else lambda: hops.put(b"1")]
    }
    acts.setdefault(call + (not is_committed), []).append(hops.agent.queue.move)
    made = 0

    def each() -> None:
        nonlocal made
        made += 1
        for act in acts.get(made, ()):
            act()

    between_calls(hops.group, monkeypatch, each)
    backup(hops.group.group, "APPL1")
    if made < call:
        return
    before = hops.persistent()
    assert sum(map(len, before)) == 2
    lose(hops.group)
    recover(hops.group.group, "APPL1")
    assert hops.persistent() == before


@pytest.mark.rule("igq/parts", "A backup of a structure has what is on its way in its part.")
@pytest.mark.parametrize("seed", range(12))
def test_under_hops_it_holds_what_was_there_at_its_end(hops: Hops, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance, acts_left = random.Random(seed), 60
    for _ in range(40):
        act(hops, chance)

    def each() -> None:
        nonlocal acts_left
        for _ in range(min(acts_left, 1)):
            acts_left -= 1
            act(hops, chance)

    between_calls(hops.group, monkeypatch, each)
    backup(hops.group.group, "APPL1")
    acts_left = 0
    backout(hops.far.connection)
    if hops.agent.queue.has_taken:
        backout(hops.agent.connection)
    before = hops.persistent()
    lose(hops.group)
    recover(hops.group.group, "APPL1")
    assert hops.persistent() == before


def act(hops: Hops, chance: random.Random) -> None:
    """Some calls of a sender, the agent and a getter."""
    for _ in range(chance.randrange(4)):
        choice = chance.random()
        if choice < 0.45:
            fields: dict[str, Any] = {"priority": chance.choice([3, 5]), "persistence": int(chance.random() < 0.7)}
            if chance.random() < 0.2:
                fields["correl_id"] = b"c" * 24
            hops.put(b"some", int(PutOption.SYNCPOINT) if chance.random() < 0.3 else 0, **fields)
            if chance.random() < 0.5:
                commit(hops.far.connection)
        elif choice < 0.7 and not hops.agent.queue.has_taken:
            hops.agent.queue.move()
        elif choice < 0.85 and hops.agent.queue.has_taken:
            backout(hops.agent.connection)
        elif choice < 0.85:
            messages = hops.agent.queue.take(3)
            if messages and chance.random() < 0.5:
                hops.agent.deliverer.deliver(messages)
        else:
            try:
                hops.getter.get(GetOption.NO_SYNCPOINT)
            except NoMsgAvailable:
                continue


def test_a_message_backed_out_before_the_backup_arrives_as_a_new_one(hops: Hops) -> None:
    hops.put(b"1")
    assert len(hops.agent.queue.take()) == 1
    backout(hops.agent.connection)
    backup(hops.group.group, "APPL1")
    lose(hops.group)
    recover(hops.group.group, "APPL1")
    AgentOfQM2(hops.group, PART).serve()
    getter = hops.group.connect("QM2").open("FAR", OpenOption.INPUT_SHARED)
    assert getter.get().md.backout_count == 0


def test_without_the_transmit_queue_messages_on_their_way_count_as_dropped(hops: Hops) -> None:
    hops.put(b"1")
    backup(hops.group.group, "APPL1")
    lose(hops.group)
    hops.group.repository("QM1").delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE)
    recovered = recover(hops.group.group, "APPL1")
    assert (recovered.messages, recovered.dropped) == (0, 1)
