"""The drills themselves: what there is, and one of them for real."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from config.settings import Settings
from igq.drills.run import drill, run_once
from igq.drills.scenario import Drain, StartGroup
from igq.drills.scenarios import SCENARIOS
from igq.errors import CommandError
from igq.load.records import read_timeline
from tests.support.server import Server


def test_the_drills_that_are_promised_are_there() -> None:
    assert {"kill-manager", "kill-agent", "kill-application", "pause-manager"} <= SCENARIOS.keys()


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_drill_starts_its_group_and_drains_it(name: str) -> None:
    steps = SCENARIOS[name].steps
    assert isinstance(steps[0], StartGroup)
    assert isinstance(steps[-1], Drain)


def test_without_a_name_the_drills_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert drill(None) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in SCENARIOS)


def test_an_unknown_drill_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(CommandError, match="there is no drill kill-time; there are kill-manager"):
        drill("kill-time")


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.timeout(280)
def test_a_killed_agent_loses_doubles_and_reorders_nothing(tmp_path: Path) -> None:
    server = Server()
    try:
        settings = Settings(group="DRL", redis_url=server.url, data_dir=tmp_path, lease_ms=5_000)
        out = io.StringIO()
        verdict = run_once(SCENARIOS["kill-agent"], settings, 1, Console(file=out), departures=600)
    finally:
        server.close()

    assert verdict.problems == {kind: [] for kind in verdict.problems}, out.getvalue()
    assert verdict.delivered == verdict.expected == 1_200
    events = [event["event"] for event in read_timeline(tmp_path)]
    told = ["killed", "serialized", "drained"]
    assert [event for event in events if event in told] == told
