"""`igq drill`: lists the drills, or runs one or all of them, as often as requested."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from itertools import count as count_from
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from igq.errors import CommandError
from igq.output.tables import new_table
from igq.rehearsal.drills.check import DrillVerdict, Position, check, check_promise, with_units
from igq.rehearsal.drills.incidents import random_scenario
from igq.rehearsal.drills.scenarios import SCENARIOS
from igq.rehearsal.drills.stage import Scenario, Stage
from igq.rehearsal.drills.troubles.network import Network, RedisNetwork
from igq.rehearsal.load.audit import audit_run
from igq.rehearsal.load.programs.interrupts import interrupt_on_termination
from igq.rehearsal.load.records import EXPECTED, read_lines, read_timeline, write_expected
from igq.rehearsal.load.rows.plan import Copy, units_of_work
from igq.rehearsal.load.rows.sources import QMGRS, RowSource
from igq.rehearsal.load.run_settings import settings_of_run
from igq.rehearsal.load.scene import Scene, environment_of
from sharedq.display.terminal import Terminal
from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.reading.journal import expand, read_entries
from sharedq.settings.values import Settings

#: Departures in a drill's load. Each is two messages.
DEPARTURES = 1_500
INTERRUPTED = 130
#: The name of a composed drill on the command line.
RANDOM = "random"
#: Messages to name on the terminal for each problem, and for each promised difference.
_SHOWN, _PROMISED_SHOWN = 20, 3


def drill(
    name: str | None,
    repeat: int = 1,
    seed: int | None = None,
    *,
    runs_all: bool = False,
    minutes: float | None = None,
    is_audited: bool = True,
) -> int:
    """List the drills, or run some. Returns 0 if nothing was lost, duplicated, reordered or unexpected.

    The verdict is that of the audit over the records and the journal. The programs' histories must agree with it.

    Args:
        name: of the drill, or ``random`` for one composed from the seed. None lists them.
        repeat: number of runs, each with the next seed.
        seed: of the load and of the victims. Default: drawn, and printed.
        runs_all: run every drill.
        minutes: start new runs, each with the next seed, for this time.
        is_audited: let the audit judge. If not, the histories alone judge, within a second.

    Raises:
        CommandError: there is no such drill, or a step failed.
        ConfigError, DeploymentError, MQIError: the settings or Redis cannot be used.
    """
    console = Terminal(highlight=False, soft_wrap=True)
    if name is None and not runs_all:
        console.print(_listing())
        return 0
    if name is not None and runs_all:
        raise CommandError(f"--all and {name}: give only one of them", 2)
    if name not in (None, RANDOM, *SCENARIOS):
        raise CommandError(f"there is no drill {name}; the drills are {', '.join([*SCENARIOS, RANDOM])}", 2)
    if repeat < 1:
        raise CommandError(f"--repeat {repeat}: give at least 1", 2)
    if seed is not None and seed < 0:
        raise CommandError(f"--seed {seed}: give 0 or more", 2)
    first = secrets.randbelow(1_000_000) if seed is None else seed
    names = [name] if name is not None else _possible(console)
    until_s = None if minutes is None else time.monotonic() + 60 * minutes
    if is_audited and find_spec("sqlframe") is None:
        console.print("No audit: DuckDB is not installed (pip install 'igq[spark]'). The programs' histories judge.")
        is_audited = False
    bad: list[str] = []
    count = 0
    try:
        with interrupt_on_termination():
            for each, scenario in _runs(names, first, repeat, until_s, console):
                count += 1
                if not _run(scenario, each, console, is_audited=is_audited):
                    bad.append(f"{scenario.name} --seed {each}")
    except KeyboardInterrupt:
        console.print("Ended by the user; all processes of the drill are stopped.")
        return INTERRUPTED
    if count > 1:
        console.print(f"{count - len(bad)} of {count} runs were good")
    for which in bad:
        console.print(f"not good: igq drill {which}")
    return 1 if bad else 0


def _possible(console: Terminal) -> list[str]:
    """Return all drills that this machine permits, and name the others."""
    left_out = [each.name for each in SCENARIOS.values() if each.has_machines]
    if _may_cut(console, f"{', '.join(left_out)}: not run"):
        return list(SCENARIOS)
    return [name for name in SCENARIOS if name not in left_out]


def _may_cut(console: Terminal, otherwise: str) -> bool:
    """Whether the network can be cut here. If not, print the reason and what is done *otherwise*."""
    try:
        Network(["trial"]).close()
    except CommandError as error:
        console.print(Text(f"{otherwise}, because {error}"))
        return False
    return True


def _runs(
    names: Sequence[str], first: int, repeat: int, until_s: float | None, console: Terminal
) -> Iterator[tuple[int, Scenario]]:
    """Yield seeds and scenarios: *repeat* times every name, or until the time is over."""
    may_cut = RANDOM in names and _may_cut(console, f"{RANDOM}: without cuts of the network")
    for seed in count_from(first):
        if until_s is None and seed >= first + repeat:
            return
        for name in names:
            if until_s is not None and time.monotonic() >= until_s:
                return
            yield seed, random_scenario(seed, may_cut=may_cut) if name == RANDOM else SCENARIOS[name]


def run_once(
    scenario: Scenario,
    settings: Settings,
    seed: int,
    console: Terminal,
    departures: int = DEPARTURES,
    at_end: Callable[[Settings], None] = lambda _: None,
) -> DrillVerdict:
    """Run a scenario in the data directory of *settings*, which must be unused. Returns the verdict of the check.

    Args:
        at_end: called while Redis is still running, with settings for it.

    Raises:
        CommandError: a step failed.
    """
    if scenario.has_machines:
        with RedisNetwork(settings.data_dir) as machines:
            there = settings.model_copy(update={"redis_url": machines.runner_url})
            verdict = _run_on(scenario, there, seed, console, departures, machines)
            at_end(there)
    else:
        verdict = _run_on(scenario, settings, seed, console, departures, None)
        at_end(settings)
    return verdict


def _run_on(
    scenario: Scenario, settings: Settings, seed: int, console: Terminal, departures: int, machines: RedisNetwork | None
) -> DrillVerdict:
    source = RowSource("made-up", departures * scenario.load, seed)
    directory = settings.data_dir
    begun_s = time.monotonic()

    def say(who: str, text: str) -> None:
        console.print(Text(f"{time.monotonic() - begun_s:6.1f} s  {who}  {text}"))

    messages = write_expected(source.days(), directory / EXPECTED)
    with Scene(settings, source, is_history_kept=True, machines=machines) as scene:
        scene.timeline.add("begun", "", by="drill", detail=f"{scenario.name}, seed {seed}")
        stage = Stage(scene, random.Random(seed), messages, say)
        for number, step in enumerate(scenario.steps, 1):
            try:
                step.perform(stage)
            except (CommandError, MQIError) as error:
                where = f"step {number} of {len(scenario.steps)} ({step.name.replace('_', ' ')})"
                raise CommandError(f"drill {scenario.name}, seed {seed}, {where}: {error}") from error
        commits = commit_positions(scene.group)
        history = list(_history(directory))
        if any(program.is_client for program in scene.programs.values()):
            got = messages_got(scene.group)
            history = with_units(history, {unit: correls for unit, correls in got.items() if unit in commits})
        if not scenario.loses_structure:
            return check(_copies(source), history, commits)
        stage.structure.record(directory)
        return check_promise(_copies(source), history, commits, stage.structure.told())


def commit_positions(group: Group) -> dict[str, Position]:
    """Return every committed unit of work with the position of its commit in the journal of a structure it touched.

    A consumer's unit of work touches one structure only. A large one is applied in chunks: the first chunk counts.
    """
    found: dict[str, Position] = {}
    client = group.client()
    for name in group.structure_names():
        for entry in read_entries(client, group.structure(name)):
            if entry.fields.get(b"e") == b"commit":
                at_ms, _, sequence = entry.stream_id.partition("-")
                found.setdefault(entry.fields[b"u"].decode(), (int(at_ms), int(sequence)))
    return found


def messages_got(group: Group) -> dict[str, set[str]]:
    """Return every unit of work that got messages, with their CorrelIds."""
    found: dict[str, set[str]] = {}
    client = group.client()
    for name in group.structure_names():
        number = group.structure_number(name)
        correls: dict[str | None, str | None] = {}
        for entry in read_entries(client, group.structure(name)):
            for row in expand(entry, name, number):
                if row.event == "put":
                    correls[row.message_id] = row.correl_id
                elif row.event == "get" and row.unit_of_work:
                    found.setdefault(row.unit_of_work, set()).add(correls.get(row.message_id) or "")
    return found


def _run(scenario: Scenario, seed: int, console: Terminal, *, is_audited: bool) -> bool:
    changes = {} if scenario.lease_ms is None else {"lease_ms": scenario.lease_ms}
    settings = settings_of_run(f"drill-{scenario.name}-{seed}", None, **changes)
    console.print(Text(f"Drill {scenario.name}, seed {seed}: {scenario.summary}", style="bold"))
    status = 0

    def judge(there: Settings) -> None:
        nonlocal status
        console.print(_timeline(settings.data_dir))
        if is_audited:
            # Some ten thousand events: Java would take longer to start than DuckDB to judge.
            status = audit_run(settings.data_dir, environment_of(there), "--engine", "duckdb")

    verdict = run_once(scenario, settings, seed, console, at_end=judge)
    _report(verdict, console)
    is_good = verdict.is_good and status == 0
    if status:
        console.print(Text(f"The audit ended with status {status}.", style="bold red"))
    said = "Passed" if is_good else "Failed"
    style = "bold green" if is_good else "bold red"
    console.print(Text(f"{said}: drill {scenario.name}, seed {seed}. Records: {settings.data_dir}", style=style))
    return is_good


def _copies(source: RowSource) -> Iterator[Copy]:
    for qmgr in QMGRS:
        for unit in units_of_work(source.days(), qmgr):
            for planned in unit:
                yield from planned.copies()


def _history(directory: Path) -> Iterator[Mapping[str, Any]]:
    return chain.from_iterable(read_lines(path) for path in sorted(directory.glob("history-*.jsonl")))


def listed() -> list[dict[str, str]]:
    """The drills: ``name`` and ``summary`` of each."""
    composed = {
        "name": RANDOM,
        "summary": "Several of these faults, drawn by the seed; --minutes goes on with the next seeds.",
    }
    return [*({"name": each.name, "summary": each.summary} for each in SCENARIOS.values()), composed]


def _listing() -> Table:
    usage = "igq drill NAME | --all [--repeat N | --minutes M] [--seed S] [--no-audit]"
    table = new_table(usage, "Drill", "Summary")
    for each in listed():
        table.add_row(each["name"], each["summary"])
    return table


def _timeline(directory: Path) -> Table:
    events = read_timeline(directory)
    table = new_table("Timeline", "Seconds", "Event", "Manager", "By", "Detail")
    for event in events:
        at_s = (int(event["t_ms"]) - int(events[0]["t_ms"])) / 1000
        table.add_row(f"{at_s:.3f}", event["event"], event["qmgr"], event["by"], event["detail"])
    return table


def _report(verdict: DrillVerdict, console: Terminal) -> None:
    console.print(
        f"By the programs' own histories: {verdict.expected} messages expected, {verdict.delivered} delivered; "
        f"{verdict.unknown_calls} calls of unknown outcome, decided by the journal"
    )
    for kind, wrong in verdict.problems.items():
        style = "bold red" if wrong else "green"
        console.print(Text(f"  {kind}: {len(wrong)}", style=style))
        for line in wrong[:_SHOWN]:
            console.print(Text(f"    {line}"))
    for kind, told in verdict.promised.items():
        console.print(Text(f"  as the backup promises, {kind}: {len(told)}"))
        for line in told[:_PROMISED_SHOWN]:
            console.print(Text(f"    {line}"))
