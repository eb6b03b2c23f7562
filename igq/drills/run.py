"""`igq drill`: lists the drills, or runs one as often as asked."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from config.settings import Settings
from igq.drills.check import Position, Verdict, check
from igq.drills.scenario import Scenario
from igq.drills.scenarios import SCENARIOS
from igq.drills.stage import Stage
from igq.errors import CommandError
from igq.load.departures import QMGRS
from igq.load.interrupts import interrupt_on_termination
from igq.load.plan import Copy, units_of_work
from igq.load.records import EXPECTED, read_lines, read_timeline, write_expected
from igq.load.run_settings import settings_of_run
from igq.load.scene import Scene
from igq.load.sources import Source
from sharedq.group import Group
from sharedq.journal import read_entries

#: Departures of a drill's load; each is two messages.
DEPARTURES = 1_500
INTERRUPTED = 130
_SHOWN = 20


def drill(name: str | None, repeat: int = 1, seed: int | None = None) -> int:
    """List the drills, or run one; 0 when nothing was lost, duplicated, reordered or unexpected.

    Args:
        name: of the drill; None lists them.
        repeat: how many runs, each with the next seed.
        seed: of the load and of the choice of the victim; default: drawn, and printed.

    Raises:
        CommandError: there is no such drill, or a step failed.
        ConfigError, DeploymentError, MQIError: the settings or Redis cannot be used.
    """
    console = Console(highlight=False, soft_wrap=True)
    if name is None:
        console.print(_listing())
        return 0
    scenario = SCENARIOS.get(name)
    if scenario is None:
        raise CommandError(f"there is no drill {name}; there are {', '.join(SCENARIOS)}", 2)
    if repeat < 1:
        raise CommandError(f"--repeat {repeat}: at least 1", 2)
    first = secrets.randbelow(1_000_000) if seed is None else seed
    try:
        with interrupt_on_termination():
            good = sum(_run(scenario, each, console) for each in range(first, first + repeat))
    except KeyboardInterrupt:
        console.print("Ended by the user; every process of the drill has been stopped.")
        return INTERRUPTED
    if repeat > 1:
        console.print(f"{good} of {repeat} runs were good")
    return 0 if good == repeat else 1


def run_once(
    scenario: Scenario, settings: Settings, seed: int, console: Console, departures: int = DEPARTURES
) -> Verdict:
    """Run a scenario in the data directory of *settings*, which must be new to it; returns what the checker found.

    Raises:
        CommandError: a step failed.
    """
    generator = random.Random(seed)
    victim = generator.choice(QMGRS)
    source = Source("made-up", departures, seed)
    directory = settings.data_dir
    begun_s = time.monotonic()

    def say(text: str) -> None:
        console.print(Text(f"{time.monotonic() - begun_s:6.1f} s  {victim}  {text}"))

    messages = write_expected(source.days(), directory / EXPECTED)
    with Scene(settings, source, is_history_kept=True) as scene:
        stage = Stage(scene, victim, messages, say)
        for step in scenario.steps:
            try:
                stage.do(step)
            except CommandError as error:
                raise CommandError(f"drill {scenario.name}, seed {seed}, step {step}: {error}") from error
        return check(_copies(source), _history(directory), commit_positions(scene.group))


def commit_positions(group: Group) -> dict[str, Position]:
    """Every committed unit of work with the place of its commit in the journal of a structure it touched.

    A consumer's touches one structure only. A large one is applied in chunks: the first counts.
    """
    found: dict[str, Position] = {}
    client = group.client()
    for name in group.structure_names():
        for entry in read_entries(client, group.structure(name)):
            if entry.fields.get(b"e") == b"commit":
                at_ms, _, sequence = entry.stream_id.partition("-")
                found.setdefault(entry.fields[b"u"].decode(), (int(at_ms), int(sequence)))
    return found


def _run(scenario: Scenario, seed: int, console: Console) -> bool:
    settings = settings_of_run(f"drill-{scenario.name}-{seed}")
    console.print(Text(f"Drill {scenario.name}, seed {seed}: {scenario.summary}", style="bold"))
    verdict = run_once(scenario, settings, seed, console)
    console.print(_timeline(settings.data_dir))
    _report(verdict, console)
    console.print(f"Records: {settings.data_dir}")
    return verdict.is_good


def _copies(source: Source) -> Iterator[Copy]:
    for qmgr in QMGRS:
        for unit in units_of_work(source.days(), qmgr):
            for planned in unit:
                yield from planned.copies()


def _history(directory: Path) -> Iterator[Mapping[str, Any]]:
    return chain.from_iterable(read_lines(path) for path in sorted(directory.glob("history-*.jsonl")))


def _listing() -> Table:
    table = Table("Drill", "What happens", title="igq drill NAME [--repeat N] [--seed S]")
    for scenario in SCENARIOS.values():
        table.add_row(scenario.name, scenario.summary)
    return table


def _timeline(directory: Path) -> Table:
    events = read_timeline(directory)
    table = Table("Seconds", "Event", "Manager", "By", "Detail", title="Timeline")
    for event in events:
        at_s = (int(event["t_ms"]) - int(events[0]["t_ms"])) / 1000
        table.add_row(f"{at_s:.3f}", event["event"], event["qmgr"], event["by"], event["detail"])
    return table


def _report(verdict: Verdict, console: Console) -> None:
    console.print(
        f"{verdict.expected} messages expected, {verdict.delivered} delivered; {verdict.unknown_calls} calls of "
        f"unknown outcome, decided by the journal"
    )
    for kind, wrong in verdict.problems.items():
        style = "bold red" if wrong else "green"
        console.print(Text(f"  {kind}: {len(wrong)}", style=style))
        for line in wrong[:_SHOWN]:
            console.print(Text(f"    {line}"))
