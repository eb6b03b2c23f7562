"""Incidents that several drills share, as steps. Each begins and ends with all managers and programs at work."""

from __future__ import annotations

from igq.rehearsal.drills import steps
from igq.rehearsal.drills.scenario import Role, Step
from sharedq.mqi.constants import MQRC

Steps = tuple[Step, ...]

_CONNECTION_BROKEN = int(MQRC.CONNECTION_BROKEN)
_OBJECT_CHANGED = int(MQRC.OBJECT_CHANGED)
_STORAGE_MEDIUM_FULL = int(MQRC.STORAGE_MEDIUM_FULL)

MANAGER_KILLED: Steps = (
    steps.hold(),
    steps.kill(Role.MANAGER),
    steps.wait_until_recovered(Role.MANAGER),
    steps.release(),
    steps.start(Role.MANAGER),
    steps.wait_for_agent(),
)
EVERYTHING_KILLED: Steps = (
    steps.hold(),
    steps.kill(Role.EVERYTHING),
    steps.wait_until_recovered(Role.MANAGER),
    steps.start(Role.EVERYTHING),
    steps.wait_for_agent(),
)
TWO_MANAGERS_KILLED: Steps = (
    steps.hold(managers=2),
    steps.kill(Role.EVERYTHING, managers=2),
    steps.wait_until_recovered(Role.MANAGER, managers=2),
    steps.start(Role.EVERYTHING, managers=2),
    steps.wait_for_agent(),
)
ALL_MANAGERS_KILLED: Steps = (
    steps.hold(managers=3),
    steps.kill(Role.EVERYTHING, managers=3),
    steps.start(Role.MANAGER),
    steps.wait_until_recovered(Role.MANAGER, managers=3),
    steps.start(Role.EVERYTHING, managers=3),
    steps.wait_for_agent(),
)
AGENT_KILLED: Steps = (steps.kill(Role.AGENT), steps.wait_for_agent(), steps.expect_in_log("CSQM067E"))
AGENT_HUNG: Steps = (steps.hang_agent(), steps.wait_for_agent(), steps.expect_in_log("CSQM067E"))
AGENT_PAUSED: Steps = (steps.pause(Role.AGENT), steps.let_lease_pass(), steps.resume(Role.AGENT))
PROGRAMS_KILLED: Steps = (
    steps.hold(),
    steps.kill(Role.PROGRAMS),
    steps.wait_until_recovered(Role.PROGRAMS),
    steps.start(Role.PROGRAMS),
)
CHANNEL_KILLED: Steps = (
    steps.hold(),
    steps.kill(Role.CHANNEL),
    steps.wait_until_recovered(Role.CHANNEL),
    steps.release(),
    steps.expect_in_log("IGQ0110E"),
    steps.wait_for_clients(),
)
#: In the middle of any calls of its clients.
CHANNEL_KILLED_IN_CALLS: Steps = (
    steps.kill(Role.CHANNEL),
    steps.wait_until_recovered(Role.CHANNEL),
    steps.wait_for_clients(),
)
CLIENTS_KILLED: Steps = (
    steps.hold(who=Role.CLIENTS),
    steps.kill(Role.CLIENTS),
    steps.wait_until_backed_out(),
    steps.start(Role.CLIENTS),
)
PROGRAMS_PAUSED: Steps = (
    steps.hold(),
    steps.pause(Role.PROGRAMS),
    steps.wait_until_recovered(Role.PROGRAMS),
    steps.resume(Role.PROGRAMS),
    steps.release(),
)
EVERYTHING_PAUSED: Steps = (
    steps.hold(),
    steps.pause(Role.EVERYTHING),
    steps.wait_until_recovered(Role.MANAGER),
    steps.resume(Role.EVERYTHING),
    steps.release(),
    steps.wait_until_ready(),
    steps.wait_for_agent(),
)
#: Ends with units of work in doubt, which are still to be resolved.
KILLED_IN_DOUBT: Steps = (
    steps.hold(),
    steps.prepare(),
    steps.kill(Role.EVERYTHING),
    steps.wait_until_recovered(Role.MANAGER),
    steps.expect_in_doubt(),
    steps.resolve(is_by_peer=True),
    steps.start(Role.EVERYTHING),
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
    steps.wait_until_recovered(Role.MANAGER),
    steps.wait_for_refusal(_CONNECTION_BROKEN),
    *_BACK_ON_THE_NETWORK,
)
CUT_BEFORE_COMMITS: Steps = (
    steps.hold(),
    steps.cut(),
    steps.wait_until_recovered(Role.MANAGER),
    steps.let_lease_pass(),
    steps.release(),
    steps.wait_for_refusal(_CONNECTION_BROKEN),
    *_BACK_ON_THE_NETWORK,
)
