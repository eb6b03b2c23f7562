"""Composed drills: several faults that a seed draws."""

from __future__ import annotations

import random

from igq.rehearsal.drills import incidents, steps
from igq.rehearsal.drills.incidents import Steps
from igq.rehearsal.drills.scenario import Scenario, Step, StepRole
from igq.rehearsal.load.processes.children import CONSUMER, PUTTER
from igq.rehearsal.load.rows.departures import QMGRS
from igq.rehearsal.load.scene import PROGRAMS, program_name

_CUTS: tuple[Steps, ...] = (
    (steps.wait_for_agent(), *incidents.CUT_IN_COMMITS),
    (steps.wait_for_agent(), *incidents.CUT_BEFORE_COMMITS),
)
#: The parts of a random drill. Each begins and ends with all managers and programs at work.
_BLOCKS: tuple[Steps, ...] = (
    incidents.MANAGER_KILLED,
    incidents.EVERYTHING_KILLED,
    (
        steps.hold(),
        steps.kill(StepRole.EVERYTHING),
        steps.start(StepRole.EVERYTHING),
        steps.wait_until_recovered(StepRole.MANAGER),
        steps.wait_for_agent(),
    ),
    incidents.TWO_MANAGERS_KILLED,
    incidents.ALL_MANAGERS_KILLED,
    (*incidents.KILLED_IN_DOUBT, steps.resolve()),
    (steps.wait_for_agent(), *incidents.AGENT_KILLED),
    (steps.wait_for_agent(), *incidents.AGENT_PAUSED),
    (steps.wait_for_agent(), *incidents.AGENT_HUNG),
    incidents.PROGRAMS_KILLED,
    incidents.PROGRAMS_PAUSED,
    incidents.CHANNEL_KILLED,
    incidents.CHANNEL_KILLED_IN_CALLS,
    incidents.CLIENTS_KILLED,
    incidents.EVERYTHING_PAUSED,
    (steps.flush_scripts(20),),
    incidents.IGQ_TOGGLED,
    incidents.MEMORY_FULL,
    *_CUTS,
)
#: Faults of a random drill. While one lasts the putters slow down, so that they still work at the next one.
_FAULTS, _PACE_S = 4, 0.5
#: The part of the putters that connect through channels.
_PUTS_THROUGH_CHANNEL = 0.5


def _clients(generator: random.Random) -> tuple[str, ...]:
    """Draw the programs that connect through channels: a consumer of each manager, and perhaps its putter."""
    drawn: list[str] = []
    for qmgr in QMGRS:
        consumers = [program_name(qmgr, kind, queue) for kind, queue in PROGRAMS if kind == CONSUMER]
        drawn.append(generator.choice(consumers))
        if generator.random() < _PUTS_THROUGH_CHANNEL:
            drawn.append(program_name(qmgr, PUTTER, ""))
    return tuple(drawn)


def random_scenario(seed: int, *, may_cut: bool = True) -> Scenario:
    """Compose a scenario from the seed: the same seed makes the same scenario.

    Args:
        may_cut: the network can be cut here. If not, those faults are left out, and the others stay as they are.
    """
    generator = random.Random(seed)
    drawn = [generator.choice(_BLOCKS) for _ in range(_FAULTS)]
    load = steps.start_load(_clients(generator))
    drawn_steps: list[Step] = [steps.start_group(), steps.wait_for_agent(), load]
    for number, block in enumerate(drawn):
        # The later victims are the same with or without it.
        drawn_steps += [
            steps.wait_for_puts((number + 0.5) / (_FAULTS + 1), _PACE_S),
            steps.draw(),
            *(block if may_cut or block not in _CUTS else ()),
        ]
    return Scenario(
        "random",
        "Several faults, drawn by the seed.",
        (*drawn_steps, steps.drain()),
        load=2,
        has_machines=may_cut and any(block in _CUTS for block in drawn),
    )
