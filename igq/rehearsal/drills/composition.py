"""Composed drills: several faults that a seed draws."""

from __future__ import annotations

import random

from igq.rehearsal.drills import incidents
from igq.rehearsal.drills.incidents import Steps
from igq.rehearsal.drills.scenario import (
    Drain,
    Draw,
    FlushScripts,
    Hold,
    Kill,
    Resolve,
    Role,
    Scenario,
    Start,
    StartGroup,
    StartLoad,
    Step,
    WaitForAgent,
    WaitForPuts,
    WaitUntilRecovered,
)

_CUTS: tuple[Steps, ...] = (
    (WaitForAgent(), *incidents.CUT_IN_COMMITS),
    (WaitForAgent(), *incidents.CUT_BEFORE_COMMITS),
)
#: The parts of a random drill. Each begins and ends with all managers and programs at work.
_BLOCKS: tuple[Steps, ...] = (
    incidents.MANAGER_KILLED,
    incidents.EVERYTHING_KILLED,
    (Hold(), Kill(Role.EVERYTHING), Start(Role.EVERYTHING), WaitUntilRecovered(Role.MANAGER), WaitForAgent()),
    incidents.TWO_MANAGERS_KILLED,
    incidents.ALL_MANAGERS_KILLED,
    (*incidents.KILLED_IN_DOUBT, Resolve()),
    (WaitForAgent(), *incidents.AGENT_KILLED),
    (WaitForAgent(), *incidents.AGENT_PAUSED),
    (WaitForAgent(), *incidents.AGENT_HUNG),
    incidents.PROGRAMS_KILLED,
    incidents.PROGRAMS_PAUSED,
    incidents.EVERYTHING_PAUSED,
    (FlushScripts(20),),
    incidents.IGQ_TOGGLED,
    incidents.MEMORY_FULL,
    *_CUTS,
)
#: Faults of a random drill. While one lasts the putters slow down, so that they still work at the next one.
_FAULTS, _PACE_S = 4, 0.5


def random_scenario(seed: int, *, may_cut: bool = True) -> Scenario:
    """Compose a scenario from the seed: the same seed makes the same scenario.

    Args:
        may_cut: the network can be cut here. If not, those faults are left out, and the others stay as they are.
    """
    generator = random.Random(seed)
    drawn = [generator.choice(_BLOCKS) for _ in range(_FAULTS)]
    steps: list[Step] = [StartGroup(), WaitForAgent(), StartLoad()]
    for number, block in enumerate(drawn):
        # The later victims are the same with or without it.
        steps += [
            WaitForPuts((number + 0.5) / (_FAULTS + 1), _PACE_S),
            Draw(),
            *(block if may_cut or block not in _CUTS else ()),
        ]
    return Scenario(
        "random",
        "Several faults, drawn by the seed.",
        (*steps, Drain()),
        load=2,
        has_machines=may_cut and any(block in _CUTS for block in drawn),
    )
