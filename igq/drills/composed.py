"""Drills that are composed: several faults, as a seed draws them."""

from __future__ import annotations

import random

from igq.drills.scenario import (
    Drain,
    Draw,
    ExpectInDoubt,
    ExpectInLog,
    FlushScripts,
    HangAgent,
    Hold,
    Kill,
    LetLeasePass,
    LimitMemory,
    Pause,
    Prepare,
    Release,
    Resolve,
    Resume,
    Scenario,
    Start,
    StartGroup,
    StartLoad,
    Step,
    WaitForAgent,
    WaitForPuts,
    WaitForRefusal,
    WaitUntilReady,
    WaitUntilRecovered,
    Who,
)
from igq.drills.scenarios import (
    BACK_ON_THE_NETWORK,
    CUT_BEFORE_COMMITS,
    CUT_IN_COMMITS,
    STORAGE_MEDIUM_FULL,
    TOGGLED,
)

_CUTS: tuple[tuple[Step, ...], ...] = (
    (WaitForAgent(), *CUT_IN_COMMITS, *BACK_ON_THE_NETWORK),
    (WaitForAgent(), *CUT_BEFORE_COMMITS, *BACK_ON_THE_NETWORK),
)
#: What a random drill is made of. Each begins and ends with everybody at work.
_BLOCKS: tuple[tuple[Step, ...], ...] = (
    (
        Hold(),
        Kill(Who.MANAGER),
        WaitUntilRecovered(Who.MANAGER),
        Release(),
        Start(Who.MANAGER),
        WaitForAgent(),
    ),
    (Hold(), Kill(Who.EVERYTHING), WaitUntilRecovered(Who.MANAGER), Start(Who.EVERYTHING), WaitForAgent()),
    (Hold(), Kill(Who.EVERYTHING), Start(Who.EVERYTHING), WaitUntilRecovered(Who.MANAGER), WaitForAgent()),
    (
        Hold(managers=2),
        Kill(Who.EVERYTHING, managers=2),
        WaitUntilRecovered(Who.MANAGER, managers=2),
        Start(Who.EVERYTHING, managers=2),
        WaitForAgent(),
    ),
    (
        Hold(managers=3),
        Kill(Who.EVERYTHING, managers=3),
        Start(Who.MANAGER),
        WaitUntilRecovered(Who.MANAGER, managers=3),
        Start(Who.EVERYTHING, managers=3),
        WaitForAgent(),
    ),
    (
        Hold(),
        Prepare(),
        Kill(Who.EVERYTHING),
        WaitUntilRecovered(Who.MANAGER),
        ExpectInDoubt(),
        Resolve(is_by_peer=True),
        Start(Who.EVERYTHING),
        WaitForAgent(),
        ExpectInDoubt(),
        Resolve(),
    ),
    (WaitForAgent(), Kill(Who.AGENT), WaitForAgent(), ExpectInLog("CSQM067E")),
    (WaitForAgent(), Pause(Who.AGENT), LetLeasePass(), Resume(Who.AGENT)),
    (WaitForAgent(), HangAgent(), WaitForAgent(), ExpectInLog("CSQM067E")),
    (Hold(), Kill(Who.PROGRAMS), WaitUntilRecovered(Who.PROGRAMS), Start(Who.PROGRAMS)),
    (Hold(), Pause(Who.PROGRAMS), WaitUntilRecovered(Who.PROGRAMS), Resume(Who.PROGRAMS), Release()),
    (
        Hold(),
        Pause(Who.EVERYTHING),
        WaitUntilRecovered(Who.MANAGER),
        Resume(Who.EVERYTHING),
        Release(),
        WaitUntilReady(),
        WaitForAgent(),
    ),
    (FlushScripts(20),),
    TOGGLED,
    (LimitMemory(), WaitForRefusal(STORAGE_MEDIUM_FULL), LimitMemory(is_lifted=True)),
    *_CUTS,
)
#: Faults of a random drill.
_FAULTS = 4


def random_scenario(seed: int, *, may_cut: bool = True) -> Scenario:
    """A scenario composed from the seed: the same one for the same seed.

    Args:
        may_cut: the network can be cut here; else those faults are left out, and the others stay as they are.
    """
    generator = random.Random(seed)
    drawn = [generator.choice(_BLOCKS) for _ in range(_FAULTS)]
    steps: list[Step] = [StartGroup(), WaitForAgent(), StartLoad()]
    for number, block in enumerate(drawn):
        # The victims of those that follow are the same, with or without it.
        steps += [
            WaitForPuts((number + 0.5) / (_FAULTS + 1)),
            Draw(),
            *(block if may_cut or block not in _CUTS else ()),
        ]
    return Scenario(
        "random",
        "Faults as the seed composes them.",
        (*steps, Drain()),
        load=2,
        has_machines=may_cut and any(block in _CUTS for block in drawn),
    )
