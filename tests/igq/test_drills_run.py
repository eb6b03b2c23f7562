"""The drills themselves: what there is, and one of them for real."""

from __future__ import annotations

import pytest

from igq.drills.run import drill
from igq.drills.scenario import Drain, StartGroup
from igq.drills.scenarios import SCENARIOS
from igq.errors import CommandError


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
