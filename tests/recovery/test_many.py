"""Many dead at once: each search is made once for all, and none waits for the trouble of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from recovery.claim import recoveries
from recovery.resolution import Outcome, Phase, RecoveryReport, recover_all
from recovery.target import Target
from sharedq.mqi.constants import MQRC, GetOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.redis.link import Argument, Reply, ScriptCall
from sharedq.session.connection import Connection
from tests.recovery.scene import BOTH, LARGE, Died, Scene, die_after_call

GOT = [b"%d" % number for number in range(60)]


class Dead:
    """A program of QM1, some of whose connections are lost. Each has got its own message, uncommitted."""

    def __init__(self, scene: Scene, connections: int, *, tags: bool = False) -> None:
        self.scene, self.process = scene, scene.test.process("QM1")
        self.tokens: list[str] = []
        for number in range(connections):
            tag = f"G{number:02d}" if tags else ""
            lost = scene.test.connect("QM1", self.process, tag=tag)
            lost.open("ORDERS", BOTH).get(GetOption.SYNCPOINT)
            self.tokens.append(lost.connection.token)

    def lose(self) -> list[Target]:
        """Its connections are given up, but the program lives."""
        for token in self.tokens:
            self.process.abandon(token)
        self.process._tell_abandoned()
        return [Target.parse(token) for token in self.tokens]


@pytest.fixture
def filled(scene: Scene) -> Scene:
    with scene.test.connect("QM1") as connection, connection.open("ORDERS", BOTH) as queue:
        for body in GOT:
            queue.put(body)
    return scene


def counted(connection: Connection) -> Counter[str]:
    """Writes of *connection* from now on, by the first command or script in them."""
    calls: Counter[str] = Counter()
    call_many, command, commands = connection.call_many, connection.command, connection.commands

    def count_scripts(scripts: Sequence[ScriptCall]) -> list[Reply]:
        calls[scripts[0][0]] += 1
        return call_many(scripts)

    def count_command(key: str, *args: Any) -> Reply:
        calls[args[0]] += 1
        return command(key, *args)

    def count_commands(key: str, several: Sequence[Sequence[bytes]]) -> list[Reply]:
        calls[several[0][0].decode()] += 1
        return commands(key, several)

    for name, counting in (("call_many", count_scripts), ("command", count_command), ("commands", count_commands)):
        setattr(connection, name, counting)
    return calls


def recovered(scene: Scene, targets: Sequence[Target], **options: Any) -> list[RecoveryReport]:
    return recover_all(scene.test.group, scene.recoverer("QM1"), targets, **options)


def writes(scene: Scene, targets: Sequence[Target]) -> Counter[str]:
    """The calls of a recovery of *targets* to Redis, over a connection that has entered every structure."""
    recoverer = scene.recoverer("QM1")
    for name in scene.test.group.structure_names():
        recoverer.access(name)
    calls = counted(recoverer)
    assert all(report.is_resolved for report in recover_all(scene.test.group, recoverer, targets))
    return calls


def test_fifty_lost_connections_cost_no_more_round_trips_than_one(filled: Scene) -> None:
    one = writes(filled, Dead(filled, 1).lose())
    assert writes(filled, Dead(filled, 50).lose()) == one
    assert filled.messages("APPL1", "ORDERS") == [(body, int(int(body) < 50) + int(body == b"0")) for body in GOT]


def test_the_group_learns_of_lost_connections_in_one_call(filled: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    dead, calls = Dead(filled, 20), list[str]()
    call = dead.process.lease.links.call

    def counting(name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        calls.append(name)
        return call(name, keys, args)

    monkeypatch.setattr(dead.process.lease.links, "call", counting)
    for token in dead.tokens:
        with dead.process._lock:
            dead.process._abandoned.add(token)
    dead.process._tell_abandoned()
    assert calls.count("admin/abandon") == 1
    client, leases = filled.test.group.client(), filled.test.group.keys.leases
    assert None not in client.zmscore(leases, dead.tokens)


@pytest.mark.unaccounted("what others hold is written by hand")
def test_others_work_costs_the_recovery_of_a_lost_connection_nothing(filled: Scene) -> None:
    """It is asked for by name. Only decisions, which are few, are searched."""
    before = writes(filled, Dead(filled, 1).lose())
    client, keys = filled.test.group.client(), filled.test.group.keys
    others: dict[Any, Any] = {f"QM1.1.{number}.1": "" for number in range(5_000)}
    for name in filled.test.group.structure_names():
        client.hset(filled.structure(name).owners, mapping=others)
        client.hset(filled.structure(name).fence, mapping=dict.fromkeys(others, "1"))
    client.hset(keys.owners, mapping=dict.fromkeys(others, "{}"))
    client.hset(keys.tags, mapping=dict.fromkeys(others, "GQM1.1.5.1"))
    client.zadd(keys.leases, dict.fromkeys(others, 10**15))
    assert writes(filled, Dead(filled, 1).lose()) == before


def test_dead_programs_are_looked_for_with_one_scan(filled: Scene) -> None:
    def die(number: int) -> list[Target]:
        processes = [Dead(filled, 2).process for _ in range(number)]
        for process in processes:
            filled.expire(process.token)
        return [Target.parse(process.token) for process in processes]

    one = writes(filled, die(1))
    assert writes(filled, die(20)) == one


def test_lost_connections_give_back_all_they_had(filled: Scene) -> None:
    dead = Dead(filled, 20, tags=True)
    other = filled.test.connect("QM1", dead.process)
    targets = dead.lose()
    told: dict[Phase, set[int]] = {}

    def on_phase(phase: Phase, reports: Sequence[RecoveryReport]) -> None:
        told.setdefault(phase, set()).add(len(reports))

    reports = recovered(filled, targets, on_phase=on_phase)

    assert [report.failed for report in reports] == dead.tokens
    assert {(report.outcome, report.units_of_work, report.messages) for report in reports} == {(Outcome.RESOLVED, 1, 1)}
    assert told == {phase: {20} for phase in Phase if phase is not Phase.DELAYED}
    assert [left for token in dead.tokens for left in filled.left_of(token)] == []
    assert {recovery.failed for recovery in recoveries(filled.test.group)} == set(dead.tokens)
    assert filled.messages("APPL1", "ORDERS") == [(body, int(int(body) < 20)) for body in GOT]
    # The program goes on, and the tags are free.
    assert other.open("ORDERS", BOTH).get().body == b"0"
    filled.test.connect("QM2", tag="G00")


def test_one_that_cannot_be_resolved_keeps_no_other_from_it(filled: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = Dead(filled, 5)
    targets, recoverer = dead.lose(), filled.recoverer("QM1")
    call_many = recoverer.call_many

    def refuse(calls: Sequence[ScriptCall]) -> list[Reply]:
        is_second = [name == "structure/backout" and args[1] == dead.tokens[1] for name, _, args in calls]
        replies = call_many([call for call, is_it in zip(calls, is_second, strict=True) if not is_it] or calls)
        return [[int(MQRC.STORAGE_MEDIUM_FULL)] if is_it else replies.pop(0) for is_it in is_second]

    monkeypatch.setattr(recoverer, "call_many", refuse)
    reports = recover_all(filled.test.group, recoverer, targets)

    assert [report.is_resolved for report in reports] == [True, False, True, True, True]
    assert reports[1].error is not None
    assert reports[1].error.reason == MQRC.STORAGE_MEDIUM_FULL
    states = {recovery.failed: recovery.state for recovery in recoveries(filled.test.group)}
    assert [states[token] for token in dead.tokens] == ["RESOLVED", "DELAYED", "RESOLVED", "RESOLVED", "RESOLVED"]
    assert filled.messages("APPL1", "ORDERS")[0] == (b"0", 1)

    filled.expire(f"!{dead.tokens[1]}")
    assert recovered(filled, [targets[1]])[0].is_resolved
    assert filled.messages("APPL1", "ORDERS") == [(body, int(int(body) < 5)) for body in GOT]


def test_a_unit_of_work_that_cannot_be_ended_delays_no_other(filled: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = Dead(filled, 3)
    targets, recoverer = dead.lose(), filled.recoverer("QM1")
    call_many = recoverer.call_many

    def do_nothing(calls: Sequence[ScriptCall]) -> list[Reply]:
        is_first = [name == "structure/backout" and args[1] == dead.tokens[0] for name, _, args in calls]
        some = [call for call, is_it in zip(calls, is_first, strict=True) if not is_it]
        replies = call_many(some) if some else []
        return [[0, 0, 0] if is_it else replies.pop(0) for is_it in is_first]

    monkeypatch.setattr(recoverer, "call_many", do_nothing)
    reports = recover_all(filled.test.group, recoverer, targets)
    assert [report.is_resolved for report in reports] == [False, True, True]
    assert reports[0].error is not None
    assert reports[0].error.reason == MQRC.UNEXPECTED_ERROR


def test_no_claim_runs_out_while_the_work_of_others_is_resolved(filled: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is a lease later."""
    clock = count(step=filled.test.settings.lease_ms)
    monkeypatch.setattr("recovery.resolution.time", SimpleNamespace(monotonic=lambda: next(clock)))
    large, idle = filled.test.connect("QM1"), filled.test.connect("QM1")
    with large.open("BULK", BOTH) as bulk:
        bulk.put_many([(MQMD(), b"never") for _ in range(LARGE)], options=PutOption.SYNCPOINT)
    idle.open("ORDERS", BOTH)
    processes = [each.connection.process.token for each in (large, idle)]
    for token in processes:
        filled.expire(token)
    client, leases = filled.test.group.client(), filled.test.group.keys.leases
    ends: list[float | None] = []

    def note(phase: Phase, _reports: Sequence[RecoveryReport]) -> None:
        if phase is Phase.RESOLVING:
            ends.append(client.zscore(leases, f"!{processes[1]}"))
            filled.expire_all(f"!{processes[1]}")

    reports = recovered(filled, [Target.parse(token) for token in processes], on_phase=note)
    assert all(report.is_resolved for report in reports)
    # The phase begins, and then two chunks are reported, each after a renewal of all claims.
    assert len(ends) == 3
    assert all(end is not None and end > 1 for end in ends)


def test_targets_that_others_have_or_are_not_due_are_left_out(filled: Scene) -> None:
    processes = [Dead(filled, 1).process for _ in range(4)]
    held, overtaken, *lapsed = (Target.parse(process.token) for process in processes)
    for target in (overtaken, *lapsed):
        filled.expire(target.token)
    second: list[Outcome | None] = []

    def overtake(phase: Phase, _reports: Sequence[RecoveryReport]) -> None:
        if phase is Phase.FENCED:
            filled.expire(f"!{overtaken.token}")
            second.append(filled.recover("QM1", overtaken.token).outcome)

    reports = recovered(filled, [held, overtaken, *lapsed, Target.parse("QM1.1.1")], on_phase=overtake)
    outcomes = [Outcome.NOT_YET, Outcome.TAKEN_OVER, Outcome.RESOLVED, Outcome.RESOLVED, Outcome.NOTHING]
    assert [report.outcome for report in reports] == outcomes
    assert second == [Outcome.RESOLVED]
    assert filled.messages("APPL1", "ORDERS") == [(body, 1) for body in GOT[1:4]] + [(body, 0) for body in GOT[4:]]


def test_killed_after_any_script_another_one_does_the_rest(filled: Scene) -> None:
    """Also between scripts of one write: the first of them may have arrived, and the rest not."""
    dead = Dead(filled, 3, tags=True)
    other = filled.test.connect("QM1", dead.process)
    other.open("BILLS", BOTH).put(b"never", options=PutOption.SYNCPOINT)
    dead.tokens.append(other.connection.token)
    targets = dead.lose()
    dumped = filled.dump()
    for number in count(1):
        recoverer = filled.recoverer("QM1")
        die_after_call(recoverer, number)
        try:
            assert all(report.is_resolved for report in recover_all(filled.test.group, recoverer, targets))
            break
        except Died:
            reports = recovered(filled, targets)
            assert all(report.outcome in (Outcome.RESOLVED, Outcome.NOTHING) for report in reports)
            check_all_is_back(filled, dead)
            filled.restore(dumped)
    assert number > 20
    check_all_is_back(filled, dead)


def check_all_is_back(scene: Scene, dead: Dead) -> None:
    assert scene.messages("APPL1", "ORDERS") == [(body, int(int(body) < 3)) for body in GOT]
    assert scene.messages("APPL2", "BILLS") == []
    assert [left for token in dead.tokens for left in scene.left_of(token)] == []
