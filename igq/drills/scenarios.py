"""The drills there are."""

from __future__ import annotations

from types import MappingProxyType

from igq.drills.scenario import (
    Drain,
    ExpectInLog,
    Hold,
    Kill,
    Pause,
    Release,
    Resume,
    Scenario,
    Start,
    StartGroup,
    StartLoad,
    WaitForAgent,
    WaitForBacklog,
    WaitForPuts,
    WaitUntilReady,
    WaitUntilRecovered,
    Who,
)

_ALL = (
    Scenario(
        "kill-manager",
        "A manager is killed while programs attached to it have uncommitted puts and gets; they outlive it, and "
        "what they try to commit afterwards must come to nothing.",
        (
            StartGroup(),
            StartLoad(),
            WaitForPuts(0.4),
            Hold(),
            Kill(Who.MANAGER),
            WaitUntilRecovered(Who.MANAGER),
            Release(),
            Start(Who.MANAGER),
            WaitForAgent(),
            Drain(),
        ),
    ),
    Scenario(
        "kill-everything",
        "A manager is killed together with its agent and its programs, in the middle of their units of work, and all "
        "of them are started again.",
        (
            StartGroup(),
            StartLoad(),
            WaitForPuts(0.4),
            Hold(),
            Kill(Who.EVERYTHING),
            WaitUntilRecovered(Who.MANAGER),
            Start(Who.EVERYTHING),
            WaitForAgent(),
            Drain(),
        ),
    ),
    Scenario(
        "kill-agent",
        "An IGQ agent is killed in the middle of a backlog; its manager says CSQM067E and starts it again, and no "
        "message may be lost, doubled or overtaken.",
        (
            StartGroup(),
            # Paused before there is anything to deliver: the backlog builds up, however small the load.
            WaitForAgent(),
            Pause(Who.AGENT),
            StartLoad(),
            WaitForBacklog(200),
            Resume(Who.AGENT),
            Kill(Who.AGENT),
            WaitForAgent(),
            ExpectInLog("CSQM067E"),
            Drain(),
        ),
    ),
    Scenario(
        "kill-application",
        "The programs of one manager are killed with uncommitted puts and gets; the manager lives and backs their "
        "work out.",
        (
            StartGroup(),
            StartLoad(),
            WaitForPuts(0.4),
            Hold(),
            Kill(Who.PROGRAMS),
            WaitUntilRecovered(Who.PROGRAMS),
            Start(Who.PROGRAMS),
            Drain(),
        ),
    ),
    Scenario(
        "pause-manager",
        "A manager, its agent and its programs are stopped past their leases and then go on: the zombies must change "
        "nothing, notice that they were given up, and join again.",
        (
            StartGroup(),
            StartLoad(),
            WaitForPuts(0.4),
            Hold(),
            Pause(Who.EVERYTHING),
            WaitUntilRecovered(Who.MANAGER),
            Resume(Who.EVERYTHING),
            Release(),
            WaitUntilReady(),
            WaitForAgent(),
            Drain(),
        ),
    ),
)

#: Name -> scenario.
SCENARIOS = MappingProxyType({scenario.name: scenario for scenario in _ALL})
