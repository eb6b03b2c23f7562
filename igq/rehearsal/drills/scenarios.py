"""All drills."""

from __future__ import annotations

from types import MappingProxyType

from igq.rehearsal.drills import steps
from igq.rehearsal.drills.incidents import (
    AGENT_HUNG,
    AGENT_KILLED,
    AGENT_PAUSED,
    ALL_MANAGERS_KILLED,
    CHANNEL_KILLED,
    CHANNEL_KILLED_IN_CALLS,
    CLIENTS_KILLED,
    CUT_BEFORE_COMMITS,
    CUT_IN_COMMITS,
    EVERYTHING_KILLED,
    EVERYTHING_PAUSED,
    IGQ_TOGGLED,
    KILLED_IN_DOUBT,
    MANAGER_KILLED,
    MEMORY_FULL,
    PROGRAMS_KILLED,
    PROGRAMS_PAUSED,
    TWO_MANAGERS_KILLED,
)
from igq.rehearsal.drills.stage import Scenario, Step, StepRole
from igq.rehearsal.load.rows.sources import QMGRS
from igq.rehearsal.load.scene import PROGRAMS, program_name
from sharedq.mqi.constants import MQRC

#: The names of all load programs.
EVERY_PROGRAM = tuple(program_name(qmgr, kind, queue) for qmgr in QMGRS for kind, queue in PROGRAMS)
#: While a fault lasts the putters slow down, so that they still work at the next one.
_PACE_S = 0.5
#: Links are broken that long.
_LINKS_S = 40.0
#: Uncommitted messages whose recovery takes long enough to be interrupted.
_BULK = 30_000
#: A manager dies with units of work so large that its peer is still at work when the next step comes.
_KILLED_WITH_BULK = (
    steps.start_group(),
    steps.start_load(),
    steps.wait_for_puts(0.3),
    steps.hold(),
    steps.hold_bulk(_BULK),
    steps.kill(StepRole.EVERYTHING),
    steps.wait_for_recoverer(),
)
_CF_STRUC_FAILED = int(MQRC.CF_STRUC_FAILED)
_CF_STRUC_IN_USE = int(MQRC.CF_STRUC_IN_USE)

#: The structure that is lost. The programs' status messages are in another one.
_LOST = "LOST1"

#: The agent is paused before there is anything to deliver, so that even a small load builds up a backlog.
_BACKLOG = (
    steps.wait_for_agent(),
    steps.pause(StepRole.AGENT),
    steps.start_load(),
    steps.wait_for_backlog(200),
    steps.resume(StepRole.AGENT),
)


def _lost(*, has_log: bool) -> tuple[Step, ...]:
    return (
        steps.start_group(shared=_LOST),
        steps.start_load(),
        # Its puts come after the backup, and no program commits to have got them.
        steps.hold(who=StepRole.PUTTER),
        steps.wait_for_puts(0.15),
        steps.hold(who=StepRole.DRAINERS),
        steps.wait_for_puts(0.3),
        steps.back_up(has_log=has_log),
        steps.release(StepRole.DRAINERS),
        steps.wait_for_puts(0.45),
        steps.hold(who=StepRole.DRAINERS),
        steps.release(StepRole.PUTTER),
        steps.wait_for_putter(),
        steps.hold(),
        steps.lose_structure(),
        # Their gets were lost with the structure.
        steps.release(StepRole.DRAINERS),
        steps.wait_for_refusal(_CF_STRUC_FAILED, is_certain=True),
        steps.wait_for_logs("CSQE035E"),
        steps.cut_off_recovery(),
        steps.wait_for_refusal(_CF_STRUC_IN_USE, is_certain=True),
        steps.recover(),
        steps.wait_for_logs("CSQE131I"),
        # Work from before the loss must be refused, even after the recovery.
        steps.release(),
        steps.drain(),
    )


_ALL = (
    Scenario(
        "kill-manager",
        "A manager is killed while programs attached to it have uncommitted puts and gets. They outlive it, and "
        "their later commits must be refused.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.4),
            *MANAGER_KILLED,
            steps.drain(),
        ),
    ),
    Scenario(
        "kill-remote-manager",
        "The same, with each manager on a machine of its own. Its peers lose their links to it, and recover it when it "
        "gives no sign of life: long before its lease ends.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.4),
            *MANAGER_KILLED,
            steps.wait_for_logs("IGQ0034I", least=1),
            steps.drain(),
        ),
        lease_ms=20_000,
        has_machines=True,
    ),
    Scenario(
        "break-links",
        "The links between managers on machines of their own end again and again, and packets get lost, but Redis "
        "stays in reach. Managers that are suspected give a sign of life: nobody is recovered.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.1, _PACE_S),
            steps.break_links(_LINKS_S),
            steps.wait_for_logs("IGQ0034I"),
            steps.expect_unharmed(len(QMGRS)),
            steps.drain(),
        ),
        has_machines=True,
    ),
    Scenario(
        "kill-everything",
        "A manager is killed together with its agent and its programs, in the middle of their units of work, and all "
        "of them are started again.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.4),
            *EVERYTHING_KILLED,
            steps.drain(),
        ),
    ),
    Scenario(
        "kill-agent",
        "An IGQ agent is killed in the middle of a backlog. Its manager reports CSQM067E and starts it again, and no "
        "message may be lost, doubled or overtaken.",
        (
            steps.start_group(),
            *_BACKLOG,
            *AGENT_KILLED,
            steps.drain(),
        ),
    ),
    Scenario(
        "hang-agent",
        "An IGQ agent hangs in the middle of a backlog while its lease is renewed. Its manager notices "
        "that it makes no progress, ends it, reports CSQM067E and starts it again, and no message may be lost, "
        "doubled or overtaken.",
        (
            steps.start_group(),
            *_BACKLOG,
            *AGENT_HUNG,
            steps.drain(),
        ),
    ),
    Scenario(
        "in-doubt",
        "A manager and its programs are killed after the programs have prepared their work for an external "
        "coordinator. The peers leave it in doubt, the tags stay in use, and an operator commits or backs out each "
        "unit of work, one at a peer and the others after the manager is back.",
        (
            steps.start_group(),
            steps.start_load(),
            # From the beginning, while there is work for all: one unit of work ends at a peer, and others are still in
            # doubt when the manager is back.
            steps.hold(),
            steps.wait_for_puts(0.4),
            *KILLED_IN_DOUBT,
            steps.expect_in_log("CSQR004I"),
            steps.resolve(),
            steps.drain(),
        ),
    ),
    Scenario(
        "kill-application",
        "The programs of one manager are killed with uncommitted puts and gets. The manager lives and backs their "
        "work out.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.4),
            *PROGRAMS_KILLED,
            steps.drain(),
        ),
    ),
    Scenario(
        "kill-channel",
        "All programs are clients of channels. The channel server of a manager is killed again and again, in the "
        "middle of their units of work and of their calls. The manager starts it again, and its clients get 2009, "
        "connect again and go on.",
        (
            steps.start_group(),
            steps.start_load(EVERY_PROGRAM),
            steps.wait_for_puts(0.2, _PACE_S),
            *CHANNEL_KILLED,
            steps.draw(),
            steps.wait_for_puts(0.4, _PACE_S),
            *CHANNEL_KILLED_IN_CALLS,
            steps.draw(),
            steps.wait_for_puts(0.6, _PACE_S),
            *CHANNEL_KILLED,
            *CHANNEL_KILLED_IN_CALLS,
            steps.drain(),
        ),
    ),
    Scenario(
        "kill-channel-client",
        "All programs are clients of channels. Those of one manager are killed with uncommitted puts and gets, again "
        "and again. The channel server backs their work out at once, because their sockets close.",
        (
            steps.start_group(),
            steps.start_load(EVERY_PROGRAM),
            steps.wait_for_puts(0.2, _PACE_S),
            *CLIENTS_KILLED,
            steps.draw(),
            steps.wait_for_puts(0.4, _PACE_S),
            *CLIENTS_KILLED,
            steps.draw(),
            steps.wait_for_puts(0.6, _PACE_S),
            *CLIENTS_KILLED,
            steps.expect_backed_out_soon(),
            steps.drain(),
        ),
    ),
    Scenario(
        "pause-manager",
        "A manager, its agent and its programs are stopped past their leases and then go on. These zombies must change "
        "nothing, notice that they were declared dead, and join again.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.4),
            *EVERYTHING_PAUSED,
            steps.expect_shut_out(),
            steps.drain(),
        ),
    ),
    Scenario(
        "kill-several-managers",
        "Two managers die at the same moment with everything attached to them, in the middle of their units of work. "
        "The third one recovers both.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.4),
            *TWO_MANAGERS_KILLED,
            steps.drain(),
        ),
    ),
    Scenario(
        "kill-recoverer",
        "A manager dies with large units of work open, and the peer that recovers them dies halfway. "
        "Another peer takes over, and nothing is undone twice.",
        (
            *_KILLED_WITH_BULK,
            steps.kill(StepRole.RECOVERER),
            steps.wait_until_recovered(StepRole.MANAGER),
            steps.wait_until_recovered(StepRole.RECOVERER),
            steps.release_bulk(),
            steps.start(StepRole.EVERYTHING),
            steps.start(StepRole.RECOVERER),
            steps.wait_for_agent(),
            steps.drain(),
        ),
    ),
    Scenario(
        "last-manager",
        "All managers die with everything attached to them. One of them is started again, recovers itself and the "
        "others.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.4),
            *ALL_MANAGERS_KILLED,
            steps.drain(),
        ),
    ),
    Scenario(
        "slow-recovery",
        "A failed manager restarts before its peer, stopped halfway, has recovered it. Its agent and programs "
        "are refused their connection tags until that is done, so nothing committed overtakes what is recovered.",
        (
            *_KILLED_WITH_BULK,
            steps.pause(StepRole.RECOVERER),
            steps.start(StepRole.EVERYTHING),
            steps.wait_for_retry(),
            steps.expect_in_log("CSQM065E"),
            steps.resume(StepRole.RECOVERER),
            steps.wait_until_recovered(StepRole.MANAGER),
            steps.release_bulk(),
            steps.wait_for_agent(),
            steps.drain(),
        ),
        # The claim of the stopped peer must last until the failed manager is back.
        lease_ms=30_000,
    ),
    Scenario(
        "pause-agent",
        "An IGQ agent is stopped for longer than a lease while messages for its manager arrive, and then goes on.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.2),
            *AGENT_PAUSED,
            steps.drain(),
        ),
    ),
    Scenario(
        "pause-application",
        "The programs of one manager are stopped past their leases with uncommitted puts and gets. Their later commits "
        "must be refused.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.4),
            *PROGRAMS_PAUSED,
            steps.drain(),
        ),
    ),
    Scenario(
        "kill-redis",
        "The embedded server is killed under load, twice, and comes back with everything it acknowledged.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.2),
            steps.kill_redis(),
            steps.wait_for_puts(0.5),
            steps.kill_redis(),
            steps.drain(),
        ),
    ),
    Scenario(
        "script-flush",
        "Redis forgets its scripts again and again while all programs call them.",
        (steps.start_group(), steps.start_load(), steps.wait_for_puts(0.1), steps.flush_scripts(100), steps.drain()),
        load=2,
    ),
    Scenario(
        "igq-toggle",
        "Intra-group queuing is disabled and enabled again while programs put through it. Their handles become invalid "
        "(2041), and messages put before, or afterwards, arrive once and in order.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.1),
            *IGQ_TOGGLED,
            steps.draw(),
            *IGQ_TOGGLED,
            steps.draw(),
            *IGQ_TOGGLED,
            steps.drain(),
        ),
        load=2,
    ),
    Scenario(
        "memory-full",
        "Redis may use no more memory. Puts are refused (2192), nothing is done by half, and gets go on.",
        (
            steps.start_group(),
            steps.start_load(),
            steps.wait_for_puts(0.1),
            *MEMORY_FULL,
            steps.wait_for_puts(0.5),
            *MEMORY_FULL,
            steps.drain(),
        ),
        load=2,
    ),
    Scenario(
        "lose-structure",
        "The structure of the shared queue is backed up under load, as by a schedule, and loses its keys. Programs are "
        "refused (2373), and again while it is recovered (2346) by a process that dies halfway. A second RECOVER "
        "CFSTRUCT restores exactly what was there when the backup ended, and the group goes on.",
        _lost(has_log=False),
        load=2,
    ),
    Scenario(
        "lose-logged-structure",
        "The same, with a log of the structure. RECOVER CFSTRUCT restores everything that was committed before the "
        "loss, and nothing comes again. Only what a commit said is lost (2123).",
        _lost(has_log=True),
        load=2,
    ),
    Scenario(
        "partition",
        "A manager's machine, with its programs, is cut off from Redis for longer than its lease, with commits on "
        "their way. They arrive when the network heals, and change nothing. Those cut off get 2009, and come back "
        "by themselves.",
        (
            steps.start_group(),
            steps.wait_for_agent(),
            steps.start_load(),
            steps.wait_for_puts(0.3),
            *CUT_IN_COMMITS,
            steps.drain(),
        ),
        load=2,
        has_machines=True,
    ),
    Scenario(
        "late-partition",
        "The same, but the programs try to commit long after their work was recovered.",
        (
            steps.start_group(),
            steps.wait_for_agent(),
            steps.start_load(),
            steps.wait_for_puts(0.3),
            *CUT_BEFORE_COMMITS,
            steps.drain(),
        ),
        load=2,
        has_machines=True,
    ),
    Scenario(
        "short-partition",
        "A manager's machine, with its programs, is cut off from Redis for less than its lease, with calls on their "
        "way. Everything goes on as if Redis had only been slow.",
        (
            steps.start_group(),
            steps.wait_for_agent(),
            steps.start_load(),
            steps.wait_for_puts(0.3),
            steps.hold(),
            steps.cut(),
            steps.release(),
            steps.let_lease_pass(0.1),
            steps.heal(),
            steps.wait_for_putter(),
            steps.expect_unharmed(),
            steps.drain(),
        ),
        # TCP resends at doubling intervals, so a packet may arrive later than the cut ends by as long as the cut
        # lasted.
        lease_ms=30_000,
        load=2,
        has_machines=True,
    ),
)

#: Name -> scenario.
SCENARIOS = MappingProxyType({scenario.name: scenario for scenario in _ALL})
