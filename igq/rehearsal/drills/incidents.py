"""Incidents that several drills share, as steps. Each begins and ends with all managers and programs at work.

A composed drill has several of them, which a seed draws.
"""

from __future__ import annotations

import random

from igq.rehearsal.drills import steps
from igq.rehearsal.drills.stage import Scenario, Step, StepRole
from igq.rehearsal.load.processes.children import CONSUMER, PUTTER
from igq.rehearsal.load.rows.sources import QMGRS
from igq.rehearsal.load.scene import PROGRAMS, program_name
from sharedq.mqi.constants import MQRC

Steps = tuple[Step, ...]
_CONNECTION_BROKEN = int(MQRC.CONNECTION_BROKEN)
_OBJECT_CHANGED = int(MQRC.OBJECT_CHANGED)
_STORAGE_MEDIUM_FULL = int(MQRC.STORAGE_MEDIUM_FULL)
MANAGER_KILLED: Steps = (
    steps.hold(),
    steps.kill(StepRole.MANAGER),
    steps.wait_until_recovered(StepRole.MANAGER),
    steps.release(),
    steps.start(StepRole.MANAGER),
    steps.wait_for_agent(),
)
EVERYTHING_KILLED: Steps = (
    steps.hold(),
    steps.kill(StepRole.EVERYTHING),
    steps.wait_until_recovered(StepRole.MANAGER),
    steps.start(StepRole.EVERYTHING),
    steps.wait_for_agent(),
)
TWO_MANAGERS_KILLED: Steps = (
    steps.hold(managers=2),
    steps.kill(StepRole.EVERYTHING, managers=2),
    steps.wait_until_recovered(StepRole.MANAGER, managers=2),
    steps.start(StepRole.EVERYTHING, managers=2),
    steps.wait_for_agent(),
)
ALL_MANAGERS_KILLED: Steps = (
    steps.hold(managers=3),
    steps.kill(StepRole.EVERYTHING, managers=3),
    steps.start(StepRole.MANAGER),
    steps.wait_until_recovered(StepRole.MANAGER, managers=3),
    steps.start(StepRole.EVERYTHING, managers=3),
    steps.wait_for_agent(),
)
AGENT_KILLED: Steps = (steps.kill(StepRole.AGENT), steps.wait_for_agent(), steps.expect_in_log("CSQM067E"))
AGENT_HUNG: Steps = (steps.hang_agent(), steps.wait_for_agent(), steps.expect_in_log("CSQM067E"))
AGENT_PAUSED: Steps = (steps.pause(StepRole.AGENT), steps.let_lease_pass(), steps.resume(StepRole.AGENT))
PROGRAMS_KILLED: Steps = (
    steps.hold(),
    steps.kill(StepRole.PROGRAMS),
    steps.wait_until_recovered(StepRole.PROGRAMS),
    steps.start(StepRole.PROGRAMS),
)
CHANNEL_KILLED: Steps = (
    steps.hold(),
    steps.kill(StepRole.CHANNEL),
    steps.wait_until_recovered(StepRole.CHANNEL),
    steps.release(),
    steps.expect_in_log("IGQ0110E"),
    steps.wait_for_clients(),
)
#: In the middle of any calls of its clients.
CHANNEL_KILLED_IN_CALLS: Steps = (
    steps.kill(StepRole.CHANNEL),
    steps.wait_until_recovered(StepRole.CHANNEL),
    steps.wait_for_clients(),
)
CLIENTS_KILLED: Steps = (
    steps.hold(who=StepRole.CLIENTS),
    steps.kill(StepRole.CLIENTS),
    steps.wait_until_backed_out(),
    steps.start(StepRole.CLIENTS),
)
PROGRAMS_PAUSED: Steps = (
    steps.hold(),
    steps.pause(StepRole.PROGRAMS),
    steps.wait_until_recovered(StepRole.PROGRAMS),
    steps.resume(StepRole.PROGRAMS),
    steps.release(),
)
EVERYTHING_PAUSED: Steps = (
    steps.hold(),
    steps.pause(StepRole.EVERYTHING),
    steps.wait_until_recovered(StepRole.MANAGER),
    steps.resume(StepRole.EVERYTHING),
    steps.release(),
    steps.wait_until_ready(),
    steps.wait_for_agent(),
)
#: Ends with units of work in doubt, which are still to be resolved.
KILLED_IN_DOUBT: Steps = (
    steps.hold(),
    steps.prepare(),
    steps.kill(StepRole.EVERYTHING),
    steps.wait_until_recovered(StepRole.MANAGER),
    steps.expect_in_doubt(),
    steps.resolve(is_by_peer=True),
    steps.start(StepRole.EVERYTHING),
    steps.wait_for_agent(),
    steps.expect_in_doubt(),
)
# A putter that has not opened its queue (yet, or again) would find no way to the other managers and wait for one.
IGQ_TOGGLED: Steps = (
    steps.wait_for_putter(),
    steps.alter_igq("DISABLED"),
    steps.wait_for_refusal(_OBJECT_CHANGED),
    steps.alter_igq("ENABLED"),
)
MEMORY_FULL: Steps = (
    steps.limit_memory(),
    steps.wait_for_refusal(_STORAGE_MEDIUM_FULL),
    steps.limit_memory(is_lifted=True),
)
_BACK_ON_THE_NETWORK: Steps = (
    steps.heal(),
    steps.wait_until_ready(),
    steps.wait_for_agent(),
    steps.expect_in_log("IGQ0001E"),
    steps.expect_shut_out(),
)
# Commits are sent at once: they stay in the kernel of the machine that is cut off until the network heals.
CUT_IN_COMMITS: Steps = (
    steps.hold(),
    steps.cut(),
    steps.release(),
    steps.wait_until_recovered(StepRole.MANAGER),
    steps.wait_for_refusal(_CONNECTION_BROKEN),
    *_BACK_ON_THE_NETWORK,
)
CUT_BEFORE_COMMITS: Steps = (
    steps.hold(),
    steps.cut(),
    steps.wait_until_recovered(StepRole.MANAGER),
    steps.let_lease_pass(),
    steps.release(),
    steps.wait_for_refusal(_CONNECTION_BROKEN),
    *_BACK_ON_THE_NETWORK,
)
_CUTS: tuple[Steps, ...] = (
    (steps.wait_for_agent(), *CUT_IN_COMMITS),
    (steps.wait_for_agent(), *CUT_BEFORE_COMMITS),
)
#: The parts of a random drill. Each begins and ends with all managers and programs at work.
_BLOCKS: tuple[Steps, ...] = (
    MANAGER_KILLED,
    EVERYTHING_KILLED,
    (
        steps.hold(),
        steps.kill(StepRole.EVERYTHING),
        steps.start(StepRole.EVERYTHING),
        steps.wait_until_recovered(StepRole.MANAGER),
        steps.wait_for_agent(),
    ),
    TWO_MANAGERS_KILLED,
    ALL_MANAGERS_KILLED,
    (*KILLED_IN_DOUBT, steps.resolve()),
    (steps.wait_for_agent(), *AGENT_KILLED),
    (steps.wait_for_agent(), *AGENT_PAUSED),
    (steps.wait_for_agent(), *AGENT_HUNG),
    PROGRAMS_KILLED,
    PROGRAMS_PAUSED,
    CHANNEL_KILLED,
    CHANNEL_KILLED_IN_CALLS,
    CLIENTS_KILLED,
    EVERYTHING_PAUSED,
    (steps.flush_scripts(20),),
    IGQ_TOGGLED,
    MEMORY_FULL,
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
