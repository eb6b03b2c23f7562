"""The drills see the calls of a program that was shut out."""

from __future__ import annotations

from igq.rehearsal.drills.steps import deeds_since
from sharedq.mqi.constants import OpenOption, PutOption
from tests.support.members import TestGroup


def test_deeds_of_an_incarnation_and_its_programs_are_found(group: TestGroup) -> None:
    group.define_structure()
    group.define_shared("Q")
    group.add_member("QM2")
    zombie, other = group.connect("QM1"), group.connect("QM2")
    with other.open("Q", OpenOption.OUTPUT) as queue:
        queue.put(b"1")
    zombie.put1("Q", b"before")
    seconds, microseconds = group.group.client().time()
    fenced_ms = seconds * 1000 + microseconds // 1000 + 1
    group.wait_redis_ms(20)
    assert deeds_since(group.group, "QM1.1", fenced_ms) == []
    with zombie.open("Q", OpenOption.OUTPUT) as queue:
        queue.put(b"2", options=PutOption.SYNCPOINT)
    zombie.commit()
    other.put1("Q", b"3")
    deeds = deeds_since(group.group, "QM1.1", fenced_ms)
    assert [deed.split(" at ")[0] for deed in deeds] == [
        f"{what} by {zombie.connection.token} in APPL1" for what in ("put", "commit")
    ]
    assert deeds_since(group.group, "QM1.11", 0) == []
