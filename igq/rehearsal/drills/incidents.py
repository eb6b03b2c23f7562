"""Incidents that several drills share, as steps. Each begins and ends with all managers and programs at work."""

from __future__ import annotations

from igq.rehearsal.drills import steps
from igq.rehearsal.drills.scenario import Step, StepRole
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
