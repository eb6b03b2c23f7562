"""The steps of drills, each a function on a `Stage`. A scenario calls it without the stage and gets a `Step`."""

from __future__ import annotations

import inspect
import signal
import time
from collections.abc import Callable
from functools import wraps
from statistics import median
from typing import Concatenate, ParamSpec

from igq.errors import CommandError
from igq.output.plural import counted
from igq.rehearsal.drills.stage import Stage, Step, StepRole, process_of
from igq.rehearsal.drills.troubles import faults
from igq.rehearsal.drills.troubles.faults import Bulk
from igq.rehearsal.drills.troubles.losses import CUTS, LostStructure
from igq.rehearsal.load import view, waits
from igq.rehearsal.load.rows.sources import QMGRS
from recovery.accounting.account import account
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.reading.journal import read_entries
from sharedq.scripts.reads import server_ms

_RETRY_TIMEOUT_S = 60.0
#: Findings of `igq fsck` that an error shows.
_SHOWN = 3
#: The share of broken links with which the packets of a machine get lost, too; for how many seconds. TCP sends them
#: again well within the tenth of a lease that a suspected manager has.
_LOSSES, _LOSS_S = 0.3, 0.1
#: Seconds until the next link is broken, at most. A manager is suspected once a second at most.
_BETWEEN_S = 2.0
#: Milliseconds from the kill of a client until its work is backed out, at most; for half of the clients.
BACKED_OUT_MS = 100
_P = ParamSpec("_P")


def step(function: Callable[Concatenate[Stage, _P], None]) -> Callable[_P, Step]:
    """Let a call without the stage return the step: *function* with these arguments, to be done later."""
    signature = inspect.signature(function)
    _, *parameters = signature.parameters.values()
    given = signature.replace(parameters=parameters)

    @wraps(function)
    def listed(*args: _P.args, **kwargs: _P.kwargs) -> Step:
        bound = given.bind(*args, **kwargs)
        # The same step is equal whether a default was written or not.
        bound.apply_defaults()
        return Step(function, tuple(bound.arguments.items()))

    return listed


@step
def start_group(stage: Stage, shared: str = "") -> None:
    """Start the managers and define the queues. *shared* names another structure, for the queue that all drain."""
    scene = stage.scene
    scene.open()
    scene.start_managers()
    for name in QMGRS:
        scene.timeline.add("started", name)
    scene.define_queues(shared)
    if shared:
        stage.lost = LostStructure(scene, shared)


@step
def start_load(stage: Stage, clients: tuple[str, ...] = ()) -> None:
    """Start a putter and two consumers on every manager. *clients* names those that connect through its channel."""
    stage.scene.start_load(clients)
    stage.tell("load_started", f"{len(clients)} programs through channels" if clients else "")


@step
def wait_for_puts(stage: Stage, part: float, pace_s: float = 0.0) -> None:
    """Let the load run until *part* (0 to 1) of the messages has been put.

    Args:
        pace_s: from then on, the pause of a putter before its next unit of work, and twice as long before each one
            after it, so that the load outlasts what follows.
    """
    stage.scene.set_pace(0.0)
    waits.wait_for_puts(stage.scene, int(stage.messages * part))
    stage.scene.set_pace(pace_s)


@step
def wait_for_putter(stage: Stage) -> None:
    """Wait until the victim's putter has committed more messages than before, or has put all it had."""
    scene, putter = stage.scene, stage.putter()
    before = putter.progress.get("put", 0)
    scene.watch.wait(
        lambda: putter.progress.get("put", 0) > before or putter.name in scene.watch.finished,
        f"the putter of {stage.victim} to go on",
        _RETRY_TIMEOUT_S,
    )


@step
def draw(stage: Stage) -> None:
    """Draw another victim for the steps that follow."""
    stage.draw()


# -- what is under way when a fault comes -----------------------------------------------------------------------------


@step
def hold(stage: Stage, managers: int = 1, who: StepRole = StepRole.PROGRAMS) -> None:
    """Make the victims' programs stop before a commit, so that their puts and gets stay uncommitted."""
    puts, gets = stage.scene.hold(stage.programs(who, managers))
    stage.tell("held", f"{puts} uncommitted puts, {gets} uncommitted gets", managers)


@step
def release(stage: Stage, who: StepRole = StepRole.PROGRAMS) -> None:
    """Let the victim's held programs try to commit."""
    stage.scene.release(stage.programs(who))
    stage.tell("released", who.value)


@step
def prepare(stage: Stage) -> None:
    """Make the victim's held programs prepare their work as for an external coordinator, so that it is in doubt."""
    # A channel has no call for it.
    programs = [program for program in stage.programs(StepRole.PROGRAMS) if not program.is_client]
    stage.in_doubt = stage.scene.prepare(programs)
    stage.tell("prepared", f"{len(stage.in_doubt)} units of work")


@step
def expect_in_doubt(stage: Stage) -> None:
    """Expect that everything prepared is in doubt, whatever has died since, and that no part of it has ended."""
    faults.expect_in_doubt(stage.scene.group, stage.victim, stage.in_doubt)
    stage.tell("in_doubt", f"{len(stage.in_doubt)} units of work")


@step
def resolve(stage: Stage, *, is_by_peer: bool = False) -> None:
    """RESOLVE INDOUBT: the seed decides whether to commit or back out each unit, which must end so everywhere.

    Args:
        is_by_peer: resolve only one unit, which the seed draws, at another manager while the victim is down.
    """
    group, at = stage.scene.group, stage.drawn[1] if is_by_peer else stage.victim
    units = faults.expect_in_doubt(group, stage.victim, stage.in_doubt)
    for unit in stage.generator.sample(units, min(1, len(units)) if is_by_peer else len(units)):
        action = stage.generator.choice((faults.COMMIT, faults.BACKOUT))
        faults.resolve(group, unit, action, at)
        stage.in_doubt.remove(unit.id)
        stage.tell("resolved", f"{action} of what {unit.appl_name} had prepared, at {at}")


@step
def hold_bulk(stage: Stage, messages: int) -> None:
    """Start a program at the victim that puts this many messages, 10,000 in each unit of work, and commits none."""
    stage.bulk = Bulk(stage.scene.group, stage.victim, stage.scene.settings.default_structure)
    stage.bulk.put(messages)
    stage.tell("held", f"{messages} uncommitted puts in bulk")


@step
def release_bulk(stage: Stage) -> None:
    """Let that program try to commit: the commit must be refused, and none of its messages may be left."""
    assert stage.bulk is not None
    stage.bulk.must_be_lost()
    stage.tell("released", "the commit of the bulk is refused, and nothing of it is left")


# -- processes --------------------------------------------------------------------------------------------------------


@step
def kill(stage: Stage, who: StepRole, managers: int = 1) -> None:
    """Send SIGKILL to all victims at once."""
    stage.wait_for_agents(who, managers)
    stage.remember(managers, is_agent_replaced=who in (StepRole.AGENT, StepRole.MANAGER, StepRole.EVERYTHING))
    children = stage.children(who, managers)
    stage.tell("killed", who.value, managers)
    if who is StepRole.AGENT:
        stage.scene.signal_agent(stage.agents[stage.victim], signal.SIGKILL)
    elif who is StepRole.CHANNEL:
        stage.note_interruptions()
        faults.kill_channel_server(stage.scene, stage.victim)
    else:
        if who is StepRole.CLIENTS:
            stage.killed_ms = server_ms(stage.scene.group, stage.scene.group.keys.group)
        # The kernel ends the agent when its manager ends.
        stage.scene.kill(children)


@step
def pause(stage: Stage, who: StepRole, managers: int = 1) -> None:
    """Send SIGSTOP to all victims at once."""
    stage.wait_for_agents(who, managers, is_with_manager=True)
    # The lease of an agent that is only stopped is renewed by its manager.
    stage.remember(managers, is_agent_replaced=who in (StepRole.MANAGER, StepRole.EVERYTHING))
    if who in (StepRole.MANAGER, StepRole.EVERYTHING):
        for qmgr in stage.drawn[:managers]:
            stage.scene.forget_ready(qmgr)
    stage.signal(who, managers, signal.SIGSTOP)
    stage.tell("paused", who.value, managers)


@step
def hang_agent(stage: Stage) -> None:
    """Send SIGSTOP to the victim's agent and never SIGCONT: only its manager can end it."""
    stage.wait_for_agents(StepRole.AGENT, 1)
    stage.remember(1, is_agent_replaced=True)
    stage.signal(StepRole.AGENT, 1, signal.SIGSTOP)
    stage.tell("hung", StepRole.AGENT.value)


@step
def resume(stage: Stage, who: StepRole) -> None:
    """Send SIGCONT."""
    stage.signal(who, 1, signal.SIGCONT)
    stage.tell("resumed", who.value)


@step
def start(stage: Stage, who: StepRole, managers: int = 1) -> None:
    """Start *who* again."""
    qmgrs = [stage.recoverer] if who is StepRole.RECOVERER else stage.drawn[:managers]
    if who in (StepRole.MANAGER, StepRole.EVERYTHING, StepRole.RECOVERER):
        # A manager that was not killed is still running.
        stage.scene.start_managers([qmgr for qmgr in qmgrs if not stage.scene.managers[qmgr].is_running])
    if who in (StepRole.PROGRAMS, StepRole.CLIENTS, StepRole.EVERYTHING):
        for qmgr in qmgrs:
            stage.scene.start_programs(qmgr)
    stage.tell("restarted", who.value, managers)


# -- the network ------------------------------------------------------------------------------------------------------


@step
def cut(stage: Stage) -> None:
    """Cut the victim's machine, with its programs, off the network: packets are lost silently."""
    scene = stage.scene
    assert scene.machines is not None
    stage.wait_for_agents(StepRole.AGENT, 1)
    stage.remember(1, is_agent_replaced=True)
    stage.note_interruptions()
    scene.forget_ready(stage.victim)
    scene.machines.cut(stage.victim)
    stage.tell("cut_off")


@step
def heal(stage: Stage) -> None:
    """Put the victim's machine back on the network."""
    assert stage.scene.machines is not None
    stage.scene.machines.heal(stage.victim)
    stage.tell("healed")


@step
def break_links(stage: Stage, seconds: float) -> None:
    """End links between managers for some seconds. The seed decides which, and when packets of a machine get lost."""
    scene, draw = stage.scene, stage.generator
    assert scene.machines is not None
    stage.wait_for_agents(StepRole.AGENT, len(QMGRS))
    stage.remember(len(QMGRS), is_agent_replaced=False)
    broken, end_s = 0, time.monotonic() + seconds
    while time.monotonic() < end_s:
        one, other = draw.sample(QMGRS, 2)
        broken += scene.machines.reset(one, other)
        if draw.random() < _LOSSES:
            scene.machines.cut(one)
            scene.watch.wait_a_while(lambda: False, _LOSS_S)
            scene.machines.heal(one)
        scene.watch.wait_a_while(lambda: False, draw.uniform(0, _BETWEEN_S))
    if not broken:
        raise CommandError("no link was broken: this kernel may not end connections for the program ss")
    stage.tell("links_broken", f"{broken} times", len(QMGRS))


@step
def expect_unharmed(stage: Stage, managers: int = 1) -> None:
    """Expect the same incarnations of the victims as before the fault, with the same agents and no recovery."""
    scene = stage.scene
    for qmgr in stage.drawn[:managers]:
        before = stage.incarnations[qmgr]
        now, agent = scene.incarnation(qmgr), view.working_agent(scene.group, qmgr)
        if now != before or agent != stage.agents[qmgr] or view.recovery_of(scene.group, before) is not None:
            raise CommandError(f"{before} was to go on, but now it is {now}, with the IGQ agent {agent}")
    stage.tell("unharmed", ", ".join(stage.incarnations[qmgr] for qmgr in stage.drawn[:managers]), managers)


@step
def expect_shut_out(stage: Stage) -> None:
    """Expect that nothing was done under the victim's old incarnation after every structure had shut it out."""
    group, owner = stage.scene.group, stage.incarnations[stage.victim]
    recovery = view.recovery_of(group, owner)
    assert recovery is not None
    fenced_ms = dict(recovery.moments)["fenced"]
    if deeds := deeds_since(group, owner, fenced_ms):
        raise CommandError(f"{owner} was shut out at {fenced_ms}, and then: {', '.join(deeds)}")
    stage.tell("nothing_done", f"by {owner}, since it was shut out")


# -- Redis and definitions --------------------------------------------------------------------------------------------


@step
def kill_redis(stage: Stage) -> None:
    """Send SIGKILL to the embedded server. It is started again and reads its append-only file."""
    pid = faults.kill_server(stage.scene)
    stage.tell("redis_killed", f"pid {pid}, and another one serves")


@step
def flush_scripts(stage: Stage, times: int) -> None:
    """SCRIPT FLUSH, this many times, while the load goes on."""
    faults.flush_scripts(stage.scene, times)
    stage.tell("scripts_flushed", f"{times} times")


@step
def alter_igq(stage: Stage, value: str) -> None:
    """``ALTER QMGR IGQ(...)`` on the victim: programs that have a queue open through it must reopen it."""
    stage.note_interruptions()
    stage.tell("altered", f"IGQ({value})")
    faults.alter_igq(stage.scene, stage.victim, value)


@step
def limit_memory(stage: Stage, *, is_lifted: bool = False) -> None:
    """Let Redis use no more memory than it uses now, or, with *is_lifted*, lift the limit."""
    stage.note_interruptions()
    limit = faults.limit_memory(stage.scene, is_lifted=is_lifted)
    stage.tell("memory_limited", f"{limit} bytes" if limit else "no more")


# -- a structure ------------------------------------------------------------------------------------------------------


@step
def back_up(stage: Stage, *, has_log: bool = False) -> None:
    """BACKUP CFSTRUCT of the shared queue's structure, which is in use. *has_log*: keep a log of it from then on."""
    position = stage.structure.keep_log() if has_log else stage.structure.back_up()
    stage.tell("backed_up", f"{stage.structure.name}, up to {position}", len(QMGRS))


@step
def lose_structure(stage: Stage) -> None:
    """Delete all keys of the structure at once."""
    stage.note_interruptions()
    stage.structure.lose()
    stage.tell("structure_lost", stage.structure.name, len(QMGRS))


@step
def cut_off_recovery(stage: Stage) -> None:
    """RECOVER CFSTRUCT by a process that dies halfway, at a place that the seed decides."""
    cut = stage.generator.choice(CUTS)
    stage.note_interruptions()
    stage.structure.recover_in_vain(cut)
    stage.tell("recovery_cut_off", f"of {stage.structure.name}, before {cut}", len(QMGRS))


@step
def recover(stage: Stage) -> None:
    """RECOVER CFSTRUCT."""
    stage.structure.recover()
    stage.tell("structure_recovered", stage.structure.name, len(QMGRS))


# -- waiting ----------------------------------------------------------------------------------------------------------


@step
def wait_for_backlog(stage: Stage, messages: int) -> None:
    """Wait until *messages*, or all that the load has for the queue, are on the transmit queue."""
    stage.tell("backlog", f"{waits.wait_for_backlog(stage.scene, messages)} messages on the transmit queue")


@step
def wait_for_recoverer(stage: Stage) -> None:
    """Wait until a peer resolves what the victim left, and catch that peer before it is done, if it is slow enough."""
    found = waits.catch_recoverer(stage.scene, stage.incarnations[stage.victim])
    stage.recoverer = found.by
    stage.incarnations[found.by] = stage.scene.incarnation(found.by)
    stage.tell("caught", f"{found.by} recovers, {found.state}, {found.messages} messages so far")


@step
def wait_until_recovered(stage: Stage, who: StepRole, managers: int = 1) -> None:
    """Wait until everything that *who* left uncommitted is resolved."""
    owners = [stage.incarnations[qmgr] for qmgr in stage.drawn[:managers]]
    if who is StepRole.PROGRAMS:
        owners = stage.owners
    elif who is StepRole.CHANNEL:
        # All its clients are one process.
        owners = sorted({process_of(token) for token in stage.clients.values()})
    elif who is StepRole.RECOVERER:
        owners = [stage.incarnations[stage.recoverer]]
    for owner in owners:
        waits.wait_until_recovered(stage.scene, owner)


@step
def wait_until_backed_out(stage: Stage) -> None:
    """Wait until the work of killed clients is backed out: their sockets tell the channel server at once."""
    scene = stage.scene
    for name in stage.held_clients:
        at_ms = waits.wait_until_backed_out(scene, stage.clients[name], stage.killed_ms)
        stage.backed_out_ms.append(at_ms - stage.killed_ms)
        detail = f"{name}, {stage.backed_out_ms[-1]} ms after the kill"
        scene.timeline.add("backed_out", stage.victim, by="channel server", detail=detail, t_ms=at_ms)
        stage.say(stage.victim, f"backed out: {detail}")


@step
def expect_backed_out_soon(stage: Stage) -> None:
    """Expect that half of the clients that this run has killed, or more, were backed out within 0.1 s.

    The others may be late because the processor was busy.
    """
    if not stage.backed_out_ms:
        raise CommandError("no client had work when it was killed")
    typical_ms = median(stage.backed_out_ms)
    if typical_ms > BACKED_OUT_MS:
        raise CommandError(f"killed clients were backed out after {typical_ms:g} ms, not within {BACKED_OUT_MS} ms")
    stage.tell("backed_out_soon", f"{len(stage.backed_out_ms)} clients, half of them within {typical_ms:g} ms")


@step
def wait_for_clients(stage: Stage) -> None:
    """Wait until every client of the victim's channel has connected again since its latest kill.

    Raises:
        CommandError: a client that held work did not get 2009.
    """
    scene = stage.scene
    clients = stage.programs(StepRole.CLIENTS)

    def are_back() -> bool:
        return all(
            client.attached > stage.attached[client.name] or client.name in scene.watch.finished for client in clients
        )

    scene.watch.wait(are_back, f"the clients of {stage.victim} to connect again", _RETRY_TIMEOUT_S)
    refused = scene.watch.interruptions[stage.known_interruptions :].count(MQRC.CONNECTION_BROKEN)
    if refused < len(stage.held_clients):
        held = ", ".join(stage.held_clients)
        raise CommandError(f"{refused} calls were refused with 2009 where the channel was killed that {held} used")
    stage.tell("connected", f"{len(clients)} clients, again; {refused} calls were refused with 2009")


@step
def wait_until_ready(stage: Stage) -> None:
    """Wait until the manager has rejoined its group by itself."""
    stage.scene.wait_until_ready([stage.victim])
    stage.tell("joined_again")


@step
def wait_for_agent(stage: Stage) -> None:
    """Wait until a new agent has its connection tag and works."""
    pid = waits.wait_for_agent(stage.scene, stage.victim, stage.replaced.get(stage.victim, 0))
    stage.tell("serialized", f"IGQ agent, pid {pid}")


@step
def wait_for_retry(stage: Stage) -> None:
    """Wait until the victim's agent is in the state of retry because its connection tag was refused."""
    scene = stage.scene
    scene.watch.wait(
        lambda: view.agent_state(scene.group, stage.victim).get("state") == "RETRY",
        f"the IGQ agent of {stage.victim} to be refused its tag",
        _RETRY_TIMEOUT_S,
        asks_group=True,
    )
    stage.tell("refused", str(view.agent_state(scene.group, stage.victim).get("last_error", "")))


@step
def let_lease_pass(stage: Stage, leases: float = 1.2) -> None:
    """Do nothing for longer than one lease, or this many *leases*."""
    stage.scene.watch.wait_a_while(lambda: False, leases * stage.scene.settings.lease_ms / 1000)


@step
def wait_for_refusal(stage: Stage, reason: int, *, is_certain: bool = False) -> None:
    """Wait until a program's call was refused with *reason* after the last fault, if the load lasts that long.

    Args:
        is_certain: programs that wait for messages are refused too, so the refusal does not depend on the load.
    """
    watch = stage.scene.watch
    watch.wait(
        lambda: (
            reason in watch.interruptions[stage.known_interruptions :] or (not is_certain and stage.scene.is_all_put())
        ),
        f"a program to be refused with {reason}",
        _RETRY_TIMEOUT_S,
        moves=stage.scene.put,
    )
    count = watch.interruptions[stage.known_interruptions :].count(reason)
    stage.tell("refused", f"{count} calls with {reason}")


@step
def expect_in_log(stage: Stage, message_id: str) -> None:
    """Expect a line with this message id in the victim's log."""
    log = stage.scene.settings.data_dir / f"{stage.victim}.log"
    if message_id not in log.read_text(encoding="utf-8"):
        raise CommandError(f"{log} has no {message_id}")


@step
def wait_for_logs(stage: Stage, message_id: str, *, least: int = len(QMGRS)) -> None:
    """Wait until the logs of *least* managers have a line with this message id: of every manager, if not said."""
    logs = [stage.scene.settings.data_dir / f"{qmgr}.log" for qmgr in QMGRS]
    stage.scene.watch.wait(
        lambda: sum(message_id in log.read_text(encoding="utf-8") for log in logs) >= least,
        f"{message_id} in the logs of {counted(least, 'manager')}",
        _RETRY_TIMEOUT_S,
    )
    stage.tell("told", message_id, least)


@step
def drain(stage: Stage) -> None:
    """Wait until everything is put and delivered, then end the programs and stop the managers in good order."""
    scene = stage.scene
    scene.set_pace(0.0)
    waits.wait_until_delivered(scene)
    scene.finish_load()
    stage.tell("drained")
    scene.stop_managers()
    # Its own key is beside those of the structure that it has lost.
    findings = [each for each in account(scene.group) if stage.lost is None or each.key != stage.lost.kept_aside]
    if findings:
        shown = "; ".join(map(str, findings[:_SHOWN]))
        raise CommandError(f"igq fsck finds {counted(len(findings), 'thing')} that nothing explains: {shown}")
    stage.tell("accounted", "igq fsck finds nothing", len(QMGRS))


def deeds_since(group: Group, incarnation: str, since_ms: int) -> list[str]:
    """List what was done under *incarnation*, or a program of it, after *since_ms* of the Redis clock: a line each."""
    client = group.client()
    found: list[str] = []
    for name in group.structure_names():
        for entry in read_entries(client, group.structure(name), f"{since_ms + 1}-0"):
            owner = entry.fields[b"o"].decode()
            if owner.startswith(f"{incarnation}."):
                found.append(f"{entry.fields[b'e'].decode()} by {owner} in {name} at {entry.stream_id}")
    return found
