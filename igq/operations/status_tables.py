"""Prints `igq status` for people: tables that fit into 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from igq.operations.status import AgentStatus, GroupStatus, MoverStatus, QueueStatus
from igq.output.plural import counted, short_time
from igq.output.tables import new_table, widen
from sharedq.display.terminal import Terminal

#: A table of more queues is not read by anybody, and takes a millisecond a line.
_QUEUES_MAX = 200


def print_tables(status: GroupStatus, console: Terminal | None = None, *, is_whole: bool = True) -> None:
    """Print the status. Everything fits into 80 columns, folded if necessary.

    Args:
        is_whole: it is the whole group; of a part only what it has is printed.
    """
    console = console or Terminal()
    # As wide as the longest names.
    widen(console, 120)
    where = f" on {status.redis.version}" if status.redis.version else ""
    console.print(Text.assemble("Group ", (status.group, "bold"), where))
    console.print(f"Durability {status.redis.durability}")
    if not status.managers and is_whole:
        console.print("No queue manager has joined yet: start some with igq group start -m QM1 -m QM2")
        return
    console.print()
    if status.managers:
        console.print(_managers_table(status))
        console.print()
    versions = sorted({manager.version for manager in status.managers if manager.version and manager.pid is not None})
    if len(versions) > 1:
        console.print(f"Running members have several versions of igq: {', '.join(versions)}", highlight=False)
    for manager in status.managers:
        if manager.is_leaving:
            text = f"{manager.name} is being removed from the group: igq group remove {manager.name} completes that"
            console.print(text, style="yellow", highlight=False)
        if manager.in_doubt:
            units = counted(manager.in_doubt, "unit of work is", "units of work are")
            where = f"{units} in doubt at {manager.name}"
            console.print(f"{where}: DISPLAY THREAD(*) TYPE(INDOUBT)", style="yellow", highlight=False)
        for text in _troubles(manager.agent):
            console.print(f"Agent of {manager.name}: {text}", style="yellow", highlight=False)
        for mover in manager.agent.movers:
            for text in _troubles(mover):
                where = f"Mover of {mover.queue} at {manager.name}"
                console.print(f"{where}: {text}", style="yellow", highlight=False)
    for structure in status.structures:
        if structure.state != "ACTIVE":
            since = f" since {structure.failed_at:%Y-%m-%d %H:%M:%S} UTC" if structure.failed_at else ""
            what = f"Structure {structure.name}: {structure.state}{since}"
            console.print(f"{what}, DISPLAY CFSTATUS({structure.name})", style="red", highlight=False)
    if status.recoveries:
        console.print(_recoveries_table(status))
        console.print()
    _print_queues(status, console, is_whole=is_whole)


def _managers_table(status: GroupStatus) -> Table:
    hosts = {manager.host for manager in status.managers}
    # A host that they share takes no column.
    title, host = (f"Managers on {hosts.pop()}", ()) if len(hosts) == 1 else ("Managers", ("Host",))
    table = new_table(title, "Name", "State", *host, "Pid", "Start", "IGQ agent", "Delivered", "Restarts")
    for manager in status.managers:
        agent = manager.agent
        table.add_row(
            manager.name,
            manager.state,
            *([manager.host] if host else []),
            "" if manager.pid is None else str(manager.pid),
            str(manager.incarnation),
            agent.state if manager.igq == "ENABLED" else manager.igq,
            str(agent.delivered) if agent.delivered_rate is None else f"{agent.delivered}, {agent.delivered_rate:g}/s",
            str(agent.restarts),
            style={"RUNNING": "green", "FAILED": "red"}.get(manager.state, ""),
        )
    return table


def _troubles(agent: AgentStatus | MoverStatus) -> list[str]:
    troubles = [agent.last_error] if agent.last_error else []
    if agent.next_retry_s is not None:
        tries = f"{agent.short_retries} short and {agent.long_retries} long retries so far"
        troubles.append(f"next try in {agent.next_retry_s:g} s, {tries}")
    return troubles


def _recoveries_table(status: GroupStatus) -> Table:
    table = new_table(
        "Recoveries, the latest first", "At (UTC)", "Failed", "By", "State", "Units", "Messages", "Seconds"
    )
    for each in status.recoveries:
        table.add_row(
            f"{each.detected_at:%Y-%m-%d %H:%M:%S}",
            each.failed,
            each.by,
            each.state,
            str(each.units_of_work),
            str(each.messages),
            f"{each.seconds:.2f}",
        )
    return table


def _print_queues(status: GroupStatus, console: Terminal, *, is_whole: bool) -> None:
    # Of the whole group no system queues without messages: nobody has asked for these.
    queues = [queue for queue in status.queues if not queue.name.startswith("SYSTEM.") or queue.depth or not is_whole]
    left: list[QueueStatus] = []
    if is_whole and len(queues) > _QUEUES_MAX:
        fullest = sorted(range(len(queues)), key=lambda place: -queues[place].depth)
        left = [queues[place] for place in fullest[_QUEUES_MAX:]]
        queues = [queues[place] for place in sorted(fullest[:_QUEUES_MAX])]
    if queues:
        console.print(_queues_table(queues))
    if left:
        rest = f"{len(left):,} more queues have at most {counted(left[0].depth, 'message')} each"
        console.print(f"{rest}: igq status --queue NAME* shows them", highlight=False)


def _queues_table(queues: Sequence[QueueStatus]) -> Table:
    rates = ("Puts/s", "Gets/s") if any(queue.put_rate is not None for queue in queues) else ()
    table = new_table("Local queues", "Queue", "Disposition", "Where", "Depth", "Uncommitted", "Oldest", *rates)
    for queue in queues:
        where = queue.owner or queue.structure or ""
        age = "" if queue.oldest_age_s is None else short_time(queue.oldest_age_s)
        told = ("" if rate is None else f"{rate:g}" for rate in (queue.put_rate, queue.get_rate) if rates)
        table.add_row(queue.name, queue.disposition, where, str(queue.depth), str(queue.uncommitted), age, *told)
    return table
