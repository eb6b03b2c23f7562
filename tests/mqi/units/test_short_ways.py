"""Plain messages outside a unit of work have a script of their own, with the result of structure/put."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.requests import put as put_calls
from sharedq.mqi.constants import MQRC, GetOption, MsgFlag, PutOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.session.connection import Connection
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import contents

#: Without context there is no put time, in which the two ways would differ.
SYNCPOINT = int(PutOption.SYNCPOINT | PutOption.NO_CONTEXT)
OUTSIDE = int(PutOption.NO_SYNCPOINT | PutOption.NO_CONTEXT)
STRUCTURES = ("APPLA", "APPLB")
#: The two queues are defined one after the other, sometimes in two different seconds.
_DEFINED_AT = re.compile(r'"(alteration|creation)_(date|time)":"[^"]*",')

Way = tuple[QueueManagerConnection, Queue]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The scripts that were called."""
    names: list[str] = []
    call_many = Connection.call_many

    def noted(self: Connection, calls: Any) -> list[Any]:
        names.extend(name for name, *_ in calls)
        return call_many(self, calls)

    monkeypatch.setattr(Connection, "call_many", noted)
    return names


def ways(group: TestGroup, **attributes: Any) -> tuple[Way, Way]:
    """The same queue in two structures, each with its own connection."""
    for structure in STRUCTURES:
        group.define_structure(structure)
    found = []
    for structure in STRUCTURES:
        group.define_shared(f"{structure}.Q", structure, **attributes)
        connection = group.connect()
        found.append((connection, connection.open(f"{structure}.Q", BOTH)))
    return found[0], found[1]


def by_the_long_way(monkeypatch: pytest.MonkeyPatch, call: Callable[[], object]) -> object:
    """The result of *call* if no message counts as plain."""
    with monkeypatch.context() as context:
        context.setattr(put_calls, "are_plain", lambda _: False)
        return call()


def in_order(value: object) -> str:
    """The text of a value. Redis tells the fields of a hash in an order that depends on when it has made room."""
    if isinstance(value, dict):
        return repr(sorted(value.items()))
    return repr(sorted(value) if isinstance(value, set) else value)


def of(group: TestGroup, structure: str, way: Way) -> dict[str, str]:
    """The contents of a structure, independent of its name, its user's and the time of definition."""
    token, mark = way[0].connection.token, f"{group.group.name}:{structure}"
    return {
        repr(key).replace(mark, "S").replace(structure, "S").replace(token, "T"): (
            _DEFINED_AT.sub("", in_order(value)).replace(structure, "S").replace(token, "T")
        )
        for key, value in contents(group).items()
        if mark.encode() in key and not key.endswith((b":journal", b":ver"))
    }


def journal_of(group: TestGroup, structure: str, way: Way) -> list[str]:
    keys = group.group.structure(structure)
    entries: Any = group.group.client().xrange(keys.journal)
    return [repr(fields).replace(structure, "S").replace(way[0].connection.token, "T") for _, fields in entries]


@pytest.mark.invariant(1)
@pytest.mark.parametrize("seed", range(40))
def test_both_scripts_leave_the_same(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, called: list[str], seed: int
) -> None:
    random = Random(seed)
    short, long = ways(group, def_priority=random.randrange(10))
    has_put_at_once = False
    for _ in range(random.randrange(1, 5)):
        count = random.choice((1, 1, 2, 50, 130))
        bodies = [random.randbytes(random.choice((0, 1, 300, 10_300))) for _ in range(count)]
        priority, options = random.choice((-1, 3, 12)), random.choice((SYNCPOINT, SYNCPOINT, OUTSIDE))
        is_later = random.random() < 0.3 and options == SYNCPOINT

        def put(queue: Queue) -> None:
            mds = [MQMD(priority=priority) for _ in bodies]  # noqa: B023 - called at once
            later = int(PutOption.ASYNC_RESPONSE) if is_later else 0  # noqa: B023
            queue.put_many(list(zip(mds, bodies, strict=True)), options=options | later)  # noqa: B023

        has_put_at_once |= options == OUTSIDE
        put(short[1])
        by_the_long_way(monkeypatch, lambda: put(long[1]))
        if random.random() < 0.3:
            end = random.choice(("commit", "backout"))
            getattr(short[0], end)()
            by_the_long_way(monkeypatch, getattr(long[0], end))
        assert of(group, "APPLA", short) == of(group, "APPLB", long)
    short[0].commit()
    long[0].commit()
    assert of(group, "APPLA", short) == of(group, "APPLB", long)
    assert journal_of(group, "APPLA", short) == journal_of(group, "APPLB", long)
    assert has_put_at_once <= ("structure/put_plain" in called)


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "with a CorrelId": {"correl_id": b"C" * 24},
    "in a group": {"version": 2, "group_id": b"G" * 24, "msg_flags": int(MsgFlag.LAST_MSG_IN_GROUP)},
}


@pytest.mark.invariant(3)
@pytest.mark.parametrize("seed", range(20))
def test_a_unit_of_work_ends_in_each_of_several_structures_as_in_one_alone(group: TestGroup, seed: int) -> None:
    random = Random(seed)
    alone, among = ways(group)
    group.define_structure("APPLC")
    group.define_shared("OTHER", "APPLC")
    other = among[0].open("OTHER", BOTH)

    def take(queue: Queue, count: int) -> list[bytes]:
        try:
            return [message.body for message in queue.get_many(count, GetOption.SYNCPOINT)]
        except NoMsgAvailable:
            return []

    for _ in range(random.randrange(1, 4)):
        for _ in range(random.randrange(1, 5)):
            count, fields = random.choice((3, 6, 50, 300)), random.choice(list(KINDS.values()))
            options = random.choice((SYNCPOINT, SYNCPOINT, OUTSIDE))
            for _, queue in (alone, among):
                queue.put_many([(MQMD(**fields), b"%d" % number) for number in range(count)], options=options)
            assert take(alone[1], count // 3) == take(among[1], count // 3)
        other.put(b"", options=SYNCPOINT)
        alone[0].commit()
        among[0].commit()
        assert of(group, "APPLA", alone) == of(group, "APPLB", among)
    assert journal_of(group, "APPLA", alone) == journal_of(group, "APPLB", among)


def test_messages_that_need_a_look_or_several_places_take_the_long_way(group: TestGroup, called: list[str]) -> None:
    (_, queue), _ = ways(group)
    queue.put(b"1", MQMD(correl_id=b"C" * 24), options=OUTSIDE)
    queue.put_many([(MQMD(priority=1), b"2"), (MQMD(priority=2), b"3")], options=OUTSIDE)
    assert [name for name in called if name.startswith("structure/put")] == ["structure/put"] * 2
    called.clear()
    queue.put_many([(MQMD(priority=1), b"4"), (MQMD(priority=1), b"5")], options=OUTSIDE)
    assert called == ["structure/put_plain"]


REFUSALS: dict[str, tuple[MQRC, Callable[[TestGroup, str], object]]] = {
    "full": (MQRC.Q_FULL, lambda group, name: group.repository("QM1").alter("QLOCAL", name, {"max_depth": 2})),
    "inhibited": (
        MQRC.PUT_INHIBITED,
        lambda group, name: group.repository("QM1").alter("QLOCAL", name, {"put": "DISABLED"}),
    ),
}


@pytest.mark.parametrize("why", sorted(REFUSALS))
@pytest.mark.parametrize("options", [OUTSIDE, SYNCPOINT], ids=["put_plain", "put"])
def test_a_refused_put_changes_nothing(group: TestGroup, why: str, options: int) -> None:
    reason, act = REFUSALS[why]
    way, _ = ways(group)
    connection, queue = way
    queue.put_many([(MQMD(), b"1"), (MQMD(), b"2")], options=SYNCPOINT)
    act(group, "APPLA.Q")
    before = of(group, "APPLA", way)

    def put() -> object:
        return reason_of(lambda: queue.put_many([(MQMD(), b"3"), (MQMD(), b"4")], options=options))

    assert put() == reason
    assert of(group, "APPLA", way) == before
    connection.commit()
    assert [queue.get().body for _ in range(2)] == [b"1", b"2"]


def test_an_alter_since_the_open_counts(group: TestGroup) -> None:
    (connection, queue), _ = ways(group)
    group.repository("QM1").alter("QLOCAL", "APPLA.Q", {"def_priority": 7, "def_persistence": "YES"})
    md = queue.put(b"1", options=SYNCPOINT)
    connection.commit()
    got = queue.get()
    assert (md.priority, md.persistence) == (got.md.priority, got.md.persistence) == (7, 1)
