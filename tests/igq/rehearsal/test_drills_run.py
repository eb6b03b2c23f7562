"""The drills themselves: the list, and one of them for real."""

from __future__ import annotations

import json
import os
import random
import re
import signal
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from igq.cli.drill import drill as drill_command
from igq.errors import CommandError
from igq.rehearsal.drills import steps
from igq.rehearsal.drills.check import AGAIN, LOST, DrillVerdict
from igq.rehearsal.drills.incidents import random_scenario
from igq.rehearsal.drills.run import RANDOM, drill, run_once
from igq.rehearsal.drills.scenarios import EVERY_PROGRAM, SCENARIOS
from igq.rehearsal.drills.stage import Scenario, Stage, Step, StepRole
from igq.rehearsal.drills.troubles.faults import alter_igq
from igq.rehearsal.load.records import read_timeline
from igq.rehearsal.load.rows.sources import QMGRS
from igq.rehearsal.load.scene import Scene
from sharedq.display.terminal import Terminal
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.settings.values import Settings
from tests.support.partitions import network_or_skip

#: Drills that restart no manager: each takes some seconds, most of it for the group's start.
QUICK = ("script-flush", "igq-toggle", "memory-full", "kill-redis", "kill-channel")
#: Drills that need their own machines.
PARTED = [name for name, scenario in SCENARIOS.items() if scenario.has_machines]


def test_the_drills_that_are_promised_are_there() -> None:
    wanted = "kill-manager kill-several-managers kill-recoverer last-manager slow-recovery pause-manager kill-agent "
    wanted += "hang-agent pause-agent kill-application pause-application kill-redis script-flush igq-toggle memory-full"
    wanted += " kill-channel kill-channel-client"
    wanted += " in-doubt lose-structure lose-logged-structure partition late-partition short-partition"
    wanted += " kill-remote-manager break-links"
    assert set(wanted.split()) <= SCENARIOS.keys()


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_drill_starts_its_group_and_drains_it(name: str) -> None:
    listed = SCENARIOS[name].steps
    assert listed[0].name == "start_group"
    assert listed[-1].name == "drain"


@pytest.mark.parametrize("name", [None, "list"])
def test_without_a_name_the_drills_are_listed(name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert drill_command(name) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in [*SCENARIOS, RANDOM])


def test_an_unknown_drill_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(CommandError, match="there is no drill kill-time; the drills are kill-manager"):
        drill("kill-time")


def test_all_and_a_name_contradict_each_other() -> None:
    with pytest.raises(CommandError, match="--all and kill-agent: give only one of them"):
        drill("kill-agent", runs_all=True)


@pytest.mark.parametrize("name", [RANDOM, "kill-agent", None])
def test_a_seed_is_no_negative_number(name: str | None) -> None:
    with pytest.raises(CommandError, match=r"^--seed -1: give 0 or more$") as caught:
        drill(name, seed=-1, runs_all=name is None)
    assert caught.value.status == 2


@pytest.mark.parametrize(
    ("status", "histories", "is_audited", "answer"),
    [
        (0, DrillVerdict(), True, 0),
        (1, DrillVerdict(), True, 1),
        (2, DrillVerdict(), True, 1),
        # The programs' histories must agree.
        (0, DrillVerdict(lost=["CorrelId 01"]), True, 1),
        (1, DrillVerdict(), False, 0),
    ],
)
def test_the_audit_gives_the_verdict_and_the_histories_must_agree(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    status: int,
    histories: DrillVerdict,
    is_audited: bool,
    answer: int,
) -> None:
    monkeypatch.setenv("IGQ_DATA_DIR", str(tmp_path))
    asked: list[Path] = []

    def run(_: Scenario, settings: Settings, *__: object, at_end: Callable[[Settings], None]) -> DrillVerdict:
        at_end(settings.model_copy(update={"redis_url": "redis://of-the-drill:1"}))
        return histories

    def audit(directory: Path, environment: Mapping[str, str], *options: str) -> int:
        assert options == ("--engine", "duckdb")
        assert environment["IGQ_DATA_DIR"] == str(directory)
        assert environment["IGQ_REDIS_URL"] == "redis://of-the-drill:1"
        asked.append(directory)
        return status

    monkeypatch.setattr("igq.rehearsal.drills.run.run_once", run)
    monkeypatch.setattr("igq.rehearsal.drills.run.audit_run", audit)

    name = next(iter(SCENARIOS))
    assert drill(name, seed=1, is_audited=is_audited) == answer
    assert len(asked) == is_audited
    said = capsys.readouterr().out
    assert f"{'Failed' if answer else 'Passed'}: drill {name}, seed 1." in said


def test_without_spark_the_run_says_that_only_histories_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IGQ_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("igq.rehearsal.drills.run.find_spec", lambda _: None)

    def run(_: Scenario, settings: Settings, *__: object, at_end: Callable[[Settings], None]) -> DrillVerdict:
        at_end(settings)
        return DrillVerdict(promised={LOST: ["CorrelId 01"]})

    monkeypatch.setattr("igq.rehearsal.drills.run.run_once", run)
    monkeypatch.setattr("igq.rehearsal.drills.run.audit_run", lambda *_: pytest.fail("it was asked"))

    assert drill("lose-structure", seed=1) == 0
    said = capsys.readouterr().out
    assert "DuckDB is not installed" in said
    assert f"as the backup promises, {LOST}: 1\n    CorrelId 01" in said


def test_a_random_drill_is_the_same_for_the_same_seed() -> None:
    assert random_scenario(7) == random_scenario(7)
    assert len({random_scenario(seed).steps for seed in range(20)}) > 10


def test_an_alter_whose_outcome_is_unknown_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: list[Exception | None] = [error_for(MQRC.CONNECTION_BROKEN, "", "EWR"), None, CommandError("refused")]

    def alter(*_: object) -> None:
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome

    def wait(is_done: Callable[[], bool], *_: object, **__: object) -> None:
        while not is_done():
            pass

    monkeypatch.setattr("igq.rehearsal.drills.troubles.faults.do_mqsc", alter)
    scene = MagicMock()
    scene.watch.wait = wait
    alter_igq(scene, "EWR", "DISABLED")
    assert len(outcomes) == 1
    with pytest.raises(CommandError, match="refused"):
        alter_igq(scene, "EWR", "DISABLED")


@pytest.mark.parametrize("pid", [0, -1])
def test_an_agent_that_is_not_there_gets_no_signal(pid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system takes 0 for the drill's whole process group, and -1 for all processes."""
    monkeypatch.setattr("os.kill", lambda *_: pytest.fail("a signal was sent"))
    with pytest.raises(CommandError, match="no IGQ agent"):
        Scene.signal_agent(object.__new__(Scene), pid, signal.SIGSTOP)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        # Its manager renews the lease of an agent that is only stopped, so the agent goes on.
        (steps.pause(StepRole.AGENT), 0),
        (steps.kill(StepRole.PROGRAMS), 0),
        (steps.pause(StepRole.PROGRAMS), 0),
        (steps.kill(StepRole.AGENT), 7),
        (steps.hang_agent(), 7),
        (steps.kill(StepRole.MANAGER), 7),
        (steps.pause(StepRole.EVERYTHING), 7),
    ],
)
def test_another_agent_is_waited_for_only_where_there_will_be_one(
    step: Step, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    not_pids: list[int] = []
    scene = MagicMock()
    scene.programs_of.return_value = []
    monkeypatch.setattr("igq.rehearsal.load.view.working_agent", lambda *_: 7)

    def wait(_scene: object, _qmgr: str, not_pid: int) -> int:
        not_pids.append(not_pid)
        return 7

    monkeypatch.setattr("igq.rehearsal.load.waits.wait_for_agent", wait)
    stage = Stage(scene, random.Random(1), 100, lambda *_: None)
    for each in (step, steps.wait_for_agent()):
        each.perform(stage)
    assert not_pids[-1] == expected


def test_a_random_drill_cuts_the_network_on_machines_of_its_own() -> None:
    drills = [random_scenario(seed) for seed in range(30)]
    for each in drills:
        assert each.has_machines == any(step.name == "cut" for step in each.steps)
    assert {each.has_machines for each in drills} == {True, False}


@pytest.mark.parametrize("seed", range(30))
def test_where_that_cannot_be_its_other_faults_are_the_same(seed: int) -> None:
    """Also their victims: each one is drawn."""
    whole, rest = random_scenario(seed), random_scenario(seed, may_cut=False)
    assert not rest.has_machines
    assert not any(step.name == "cut" for step in rest.steps)
    if not whole.has_machines:
        assert rest == whole
    assert [step for step in rest.steps if step.name == "draw"] == [steps.draw()] * 4
    blocks = [_faults_of(scenario) for scenario in (whole, rest)]
    assert blocks[1] == [() if steps.cut() in block else block for block in blocks[0]]


def _faults_of(scenario: Scenario) -> list[tuple[Step, ...]]:
    """The steps between one draw and the wait for the next fault's time."""
    found: list[tuple[Step, ...]] = []
    for step in scenario.steps[:-1]:
        if step.name == "wait_for_puts":
            found.append(())
        elif found:
            found[-1] += (step,)
    return [block[1:] for block in found]


@pytest.mark.usefixtures("unprivileged")
def test_a_random_drill_says_that_it_goes_without_cuts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[Scenario] = []

    def run(scenario: Scenario, *_: object, **__: object) -> bool:
        done.append(scenario)
        return True

    monkeypatch.setattr("igq.rehearsal.drills.run._run", run)
    assert drill(RANDOM, repeat=20, seed=1) == 0
    assert done == [random_scenario(seed, may_cut=False) for seed in range(1, 21)]
    assert capsys.readouterr().out.count("random: without cuts of the network, because network namespaces cannot") == 1


def test_a_random_drill_has_a_client_at_each_manager_and_kills_channels() -> None:
    drills = [random_scenario(seed) for seed in range(30)]
    kills = {dict(step.arguments)["who"] for each in drills for step in each.steps if step.name == "kill"}
    assert kills >= {StepRole.CHANNEL, StepRole.CLIENTS}
    for each in drills:
        (load,) = (step for step in each.steps if step.name == "start_load")
        clients = dict(load.arguments)["clients"]
        assert set(clients) < set(EVERY_PROGRAM)
        for qmgr in QMGRS:
            # A consumer works until the end: a putter may be done before.
            assert any(name.startswith(f"{qmgr}-") and not name.endswith("putter") for name in clients)


@pytest.mark.parametrize("seed", range(30))
def test_a_random_drill_leaves_everything_at_work(seed: int) -> None:
    listed = random_scenario(seed).steps
    assert listed[0].name == "start_group"
    assert listed[-1].name == "drain"
    assert sum(step.name == "pause" for step in listed) == sum(step.name == "resume" for step in listed)
    cuts = [step.name for step in listed if step.name in ("cut", "heal")]
    assert cuts == ["cut", "heal"] * (len(cuts) // 2)
    limits = [dict(step.arguments)["is_lifted"] for step in listed if step.name == "limit_memory"]
    assert limits == [False, True] * (len(limits) // 2)
    for position, step in enumerate(listed):
        # A manager starts its agent and its channel server again.
        if step.name == "kill" and dict(step.arguments)["who"].name not in ("AGENT", "CHANNEL"):
            assert steps.start(dict(step.arguments)["who"], dict(step.arguments)["managers"]) in listed[position:]


@pytest.fixture
def unprivileged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every request for a namespace is refused."""
    for tool, says in (("unshare", "unshare: unshare failed: Operation not permitted"), ("nsenter", ""), ("ip", "")):
        program = tmp_path / tool
        program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)


@pytest.mark.usefixtures("unprivileged")
@pytest.mark.parametrize("name", PARTED)
def test_a_drill_of_machines_says_in_one_line_what_it_needs(name: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError) as caught:
        run_once(SCENARIOS[name], Settings(data_dir=tmp_path), seed=1, console=Terminal(quiet=True))
    assert str(caught.value) == (
        "network namespaces cannot be made here (unshare: unshare failed: Operation not permitted): run it as root, or "
        "as `unshare --map-root-user --net ...`"
    )


def test_an_impossible_step_fails_with_one_line(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, redis_url="redis://127.0.0.1:1")
    with pytest.raises(CommandError, match=r"^drill kill-agent, seed 1, step 1 of \d+ \(start group\): .*2009"):
        run_once(SCENARIOS["kill-agent"], settings, seed=1, console=Terminal(quiet=True))


def test_without_the_tools_it_names_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match="there is no program unshare"):
        run_once(SCENARIOS["partition"], Settings(data_dir=tmp_path), seed=1, console=Terminal(quiet=True))


@pytest.mark.usefixtures("unprivileged")
def test_all_leaves_out_what_cannot_be_had_here_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []

    def run(scenario: Scenario, *_: object, **__: object) -> bool:
        done.append(scenario.name)
        return True

    monkeypatch.setattr("igq.rehearsal.drills.run._run", run)
    assert drill(None, seed=1, runs_all=True) == 0
    assert done == [name for name in SCENARIOS if name not in PARTED]
    said = capsys.readouterr().out
    assert f"{', '.join(PARTED)}: not run, because network namespaces cannot be made here" in said


@pytest.mark.invariant(3)
@pytest.mark.faults
def test_work_in_doubt_outlives_its_manager_and_ends_once(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    verdict = run_once(SCENARIOS["in-doubt"], settings, seed=1, console=Terminal(quiet=True), departures=300)
    assert verdict.problems == {kind: [] for kind in verdict.problems}
    assert verdict.delivered == verdict.expected > 0
    told = [row for row in read_timeline(tmp_path) if row["event"] == "resolved" and row["by"] == "drill"]
    prepared = next(row["detail"] for row in read_timeline(tmp_path) if row["event"] == "prepared")
    # At least the putter's: it holds its work from the beginning.
    assert prepared == f"{len(told)} units of work"
    assert told


@pytest.mark.faults
def test_a_structure_that_is_lost_comes_back_as_its_backup_promises(tmp_path: Path) -> None:
    verdict = run_once(
        SCENARIOS["lose-structure"], Settings(data_dir=tmp_path), seed=1, console=Terminal(quiet=True), departures=400
    )
    assert verdict.problems == {kind: [] for kind in verdict.problems}
    told = {kind: len(verdict.promised.get(kind, ())) for kind in (LOST, AGAIN)}
    assert verdict.delivered == verdict.expected - told[LOST] + told[AGAIN]
    # One putter was stopped until the backup was made, and the consumers when it went on.
    assert told[LOST] > 0


@pytest.mark.spark
@pytest.mark.parametrize("name", ["lose-structure", "late-partition"])
def test_the_audit_judges_what_it_could_not_without_the_records(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A structure that was lost, which its backup brings back in part; a Redis that is gone with its machine."""
    if name in PARTED:
        with network_or_skip("trial"):
            pass
    monkeypatch.setenv("IGQ_DATA_DIR", str(tmp_path))
    assert drill(name, seed=1) == 0, capfd.readouterr().err
    (directory,) = tmp_path.glob("drill-*")
    verdict = json.loads((directory / "verdict.json").read_text())
    assert verdict["verdict"] == "passed"
    if name == "lose-structure":
        told = re.findall(r"as the backup promises, .*: (\d+)", capfd.readouterr().out)
        assert sum(verdict["counts"][f"promised_{what}"] for what in ("gone", "again")) == sum(map(int, told)) > 0


@pytest.mark.invariant(1, 8)
@pytest.mark.faults
def test_the_work_of_killed_clients_is_backed_out_by_their_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The machine of the test may be busy.
    monkeypatch.setattr(steps, "BACKED_OUT_MS", 60_000)
    settings = Settings(data_dir=tmp_path)
    verdict = run_once(SCENARIOS["kill-channel-client"], settings, seed=1, console=Terminal(quiet=True), departures=300)
    assert verdict.problems == {kind: [] for kind in verdict.problems}
    assert verdict.delivered == verdict.expected > 0
    told = [row for row in read_timeline(tmp_path) if row["event"] == "backed_out"]
    # At least the putters': they have work in hand whenever they are held.
    assert len(told) >= 3
    assert {row["by"] for row in told} == {"channel server"}
    # Nobody has to recover a client, because its channel server lives.
    assert not [row for row in read_timeline(tmp_path) if row["event"] == "resolved"]


@pytest.mark.parametrize(
    ("times_ms", "why"),
    [((20, 30, 500), ""), ((20, 101, 500), "after 101 ms, not within 100 ms"), ((), "no client had work")],
)
def test_clients_that_are_backed_out_late_fail_the_drill(times_ms: tuple[int, ...], why: str) -> None:
    stage = Stage(MagicMock(), random.Random(1), 100, lambda *_: None)
    stage.backed_out_ms += times_ms
    with pytest.raises(CommandError, match=why) if why else nullcontext():
        steps.expect_backed_out_soon().perform(stage)


@pytest.mark.parametrize(("interruptions", "is_right"), [([2041, 2009], True), ([2041], False), ([], False)])
def test_a_held_client_of_a_killed_channel_has_to_get_2009(interruptions: list[int], is_right: bool) -> None:
    scene = MagicMock()
    scene.watch.interruptions = [2009, *interruptions]
    stage = Stage(scene, random.Random(1), 100, lambda *_: None)
    stage.known_interruptions, stage.held_clients = 1, ["EWR-putter"]
    with nullcontext() if is_right else pytest.raises(CommandError, match="calls were refused with 2009 where"):
        steps.wait_for_clients().perform(stage)


def test_a_drill_that_leaves_what_nothing_explains_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "account", lambda _: ["a lock of nobody's"])
    monkeypatch.setattr("igq.rehearsal.load.waits.wait_until_delivered", lambda _: None)
    stage = Stage(MagicMock(), random.Random(1), 100, lambda *_: None)
    with pytest.raises(CommandError, match="igq fsck finds 1 thing that nothing explains: a lock of nobody's"):
        steps.drain().perform(stage)


@pytest.mark.invariant(1, 8, 9)
@pytest.mark.faults
@pytest.mark.parametrize("name", QUICK)
def test_a_drill_loses_doubles_and_reorders_nothing(name: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    verdict = run_once(SCENARIOS[name], settings, seed=1, console=Terminal(quiet=True), departures=150)
    assert verdict.problems == {kind: [] for kind in verdict.problems}
    assert verdict.delivered == verdict.expected > 0


def test_drills_are_listed_as_json_and_json_runs_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert drill_command(None, as_json=True) == 0
    assert {each["name"] for each in json.loads(capsys.readouterr().out)} == {*SCENARIOS, "random"}
    for name, runs_all in (("kill-agent", False), (None, True)):
        with pytest.raises(CommandError, match="--json lists the drills"):
            drill_command(name, runs_all=runs_all, as_json=True)
