"""Incidents that several drills share, as steps. Each begins and ends with all managers and programs at work."""

from __future__ import annotations

from igq.rehearsal.drills.scenario import (
    AlterIgq,
    Cut,
    ExpectInDoubt,
    ExpectInLog,
    ExpectShutOut,
    HangAgent,
    Heal,
    Hold,
    Kill,
    LetLeasePass,
    LimitMemory,
    Pause,
    Prepare,
    Release,
    Resolve,
    Resume,
    Role,
    Start,
    Step,
    WaitForAgent,
    WaitForPutter,
    WaitForRefusal,
    WaitUntilReady,
    WaitUntilRecovered,
)
from sharedq.mqi.constants import MQRC

Steps = tuple[Step, ...]

_CONNECTION_BROKEN = int(MQRC.CONNECTION_BROKEN)
_OBJECT_CHANGED = int(MQRC.OBJECT_CHANGED)
_STORAGE_MEDIUM_FULL = int(MQRC.STORAGE_MEDIUM_FULL)

MANAGER_KILLED: Steps = (
    Hold(),
    Kill(Role.MANAGER),
    WaitUntilRecovered(Role.MANAGER),
    Release(),
    Start(Role.MANAGER),
    WaitForAgent(),
)
EVERYTHING_KILLED: Steps = (
    Hold(),
    Kill(Role.EVERYTHING),
    WaitUntilRecovered(Role.MANAGER),
    Start(Role.EVERYTHING),
    WaitForAgent(),
)
TWO_MANAGERS_KILLED: Steps = (
    Hold(managers=2),
    Kill(Role.EVERYTHING, managers=2),
    WaitUntilRecovered(Role.MANAGER, managers=2),
    Start(Role.EVERYTHING, managers=2),
    WaitForAgent(),
)
ALL_MANAGERS_KILLED: Steps = (
    Hold(managers=3),
    Kill(Role.EVERYTHING, managers=3),
    Start(Role.MANAGER),
    WaitUntilRecovered(Role.MANAGER, managers=3),
    Start(Role.EVERYTHING, managers=3),
    WaitForAgent(),
)
AGENT_KILLED: Steps = (Kill(Role.AGENT), WaitForAgent(), ExpectInLog("CSQM067E"))
AGENT_HUNG: Steps = (HangAgent(), WaitForAgent(), ExpectInLog("CSQM067E"))
AGENT_PAUSED: Steps = (Pause(Role.AGENT), LetLeasePass(), Resume(Role.AGENT))
PROGRAMS_KILLED: Steps = (Hold(), Kill(Role.PROGRAMS), WaitUntilRecovered(Role.PROGRAMS), Start(Role.PROGRAMS))
PROGRAMS_PAUSED: Steps = (
    Hold(),
    Pause(Role.PROGRAMS),
    WaitUntilRecovered(Role.PROGRAMS),
    Resume(Role.PROGRAMS),
    Release(),
)
EVERYTHING_PAUSED: Steps = (
    Hold(),
    Pause(Role.EVERYTHING),
    WaitUntilRecovered(Role.MANAGER),
    Resume(Role.EVERYTHING),
    Release(),
    WaitUntilReady(),
    WaitForAgent(),
)
#: Ends with units of work in doubt, which are still to be resolved.
KILLED_IN_DOUBT: Steps = (
    Hold(),
    Prepare(),
    Kill(Role.EVERYTHING),
    WaitUntilRecovered(Role.MANAGER),
    ExpectInDoubt(),
    Resolve(is_by_peer=True),
    Start(Role.EVERYTHING),
    WaitForAgent(),
    ExpectInDoubt(),
)

# A putter that has not opened its queue (yet, or again) would find no way to the other managers and wait for one.
IGQ_TOGGLED: Steps = (
    WaitForPutter(),
    AlterIgq("DISABLED"),
    WaitForRefusal(_OBJECT_CHANGED),
    AlterIgq("ENABLED"),
)
MEMORY_FULL: Steps = (LimitMemory(), WaitForRefusal(_STORAGE_MEDIUM_FULL), LimitMemory(is_lifted=True))

_BACK_ON_THE_NETWORK: Steps = (
    Heal(),
    WaitUntilReady(),
    WaitForAgent(),
    ExpectInLog("IGQ0001E"),
    ExpectShutOut(),
)
# Commits are sent at once: they stay in the kernel of the machine that is cut off until the network heals.
CUT_IN_COMMITS: Steps = (
    Hold(),
    Cut(),
    Release(),
    WaitUntilRecovered(Role.MANAGER),
    WaitForRefusal(_CONNECTION_BROKEN),
    *_BACK_ON_THE_NETWORK,
)
CUT_BEFORE_COMMITS: Steps = (
    Hold(),
    Cut(),
    WaitUntilRecovered(Role.MANAGER),
    LetLeasePass(),
    Release(),
    WaitForRefusal(_CONNECTION_BROKEN),
    *_BACK_ON_THE_NETWORK,
)
