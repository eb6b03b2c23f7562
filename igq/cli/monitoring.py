"""``igq status``, ``doctor``, ``health`` and ``metrics``: for people and scripts, for probes, for Prometheus."""

from __future__ import annotations

from typing import Annotated

import typer

from igq.cli.help import show_help_alone

_HERE = typer.Argument(metavar="[QMGR]", help="Default: each one that runs with this data directory.")
#: The shortest and the longest time between two looks, seconds.
_LEAST_S, _MOST_S = 0.1, 86_400.0


def add_to(app: typer.Typer) -> None:
    app.command("status", short_help="Show managers, agents, recoveries and structures.")(status)
    app.command("doctor", short_help="Look at everything an operator would, and say what to do.")(doctor)
    health = typer.Typer(
        help="Probes: whether a queue manager on this machine lives, and whether it serves programs.",
        callback=show_help_alone,
        invoke_without_command=True,
    )
    app.command("metrics", short_help="Serve the metrics of the group to Prometheus.")(metrics)
    health.command("live", short_help="Say whether a queue manager on this machine is alive.")(live)
    health.command("ready", short_help="Say whether a queue manager here serves programs.")(ready)
    app.add_typer(health, name="health", short_help="Tell a probe whether a manager lives, or is ready.")


def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say what is wrong, one line each; the exit status is the answer.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again, until Ctrl-C.")] = False,
    every: Annotated[
        float, typer.Option("--every", min=_LEAST_S, max=_MOST_S, metavar="S", help="Seconds between two looks.")
    ] = 2.0,
    queue: Annotated[
        str, typer.Option("--queue", metavar="NAME", help="Only this queue; NAME* shows those that begin with NAME.")
    ] = "",
    manager: Annotated[
        str, typer.Option("--manager", metavar="QMGR", help="Only this queue manager and what is its own.")
    ] = "",
) -> int:
    """Show the group: managers, agents, recoveries, structures and queues.

    With --watch, a terminal shows the latest look; into a pipe each look is printed, with --json as one line.

    Exit status: 0; with --check 1 if something is wrong, and 2 if the group cannot be read.
    """
    from igq.operations.look import StatusRequest, look
    from sharedq.settings.loader import load_settings

    wanted = StatusRequest(queue=queue, manager=manager, is_json=as_json, is_check=check)
    return look(load_settings(), wanted, every_s=every if watch else None)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out what reads every key: igq fsck.")] = False,
) -> int:
    """Look at everything that an operator of the group would, and say for each finding what to do.

    Looked at are: settings, what the network can read, persistence, replicas and eviction of Redis, its memory,
    connections and clock, open files, disks, permissions, certificates, backups, managers, structures, units of work in
    doubt, queues without a reader, full queues, dead letters, versions, and keys that nothing explains. Files and
    limits are those of this machine. Nothing is changed.

    Exit status: 0, there is nothing to do, or only notes; 1, there are errors or warnings; 2, the group cannot be read.
    """
    from igq.operations.doctor.visit import visit
    from sharedq.settings.loader import load_settings

    return visit(load_settings(), is_json=as_json, is_quick=quick)


def live(name: Annotated[str, _HERE] = "") -> int:
    """Say whether a queue manager on this machine lives, also while Redis is away. It asks only this machine.

    Exit status: 0, it lives; 1, it has no process, or hangs: start it again.
    """
    from igq.operations.health import answer

    return answer("live", name)


def ready(name: Annotated[str, _HERE] = "") -> int:
    """Say whether a queue manager on this machine serves programs: it is RUNNING and holds its lease.

    Exit status: 0, it does; 1, it starts, stops, or cannot reach Redis.
    """
    from igq.operations.health import answer

    return answer("ready", name)


def metrics(
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where Prometheus scrapes; PORT alone is on loopback.")
    ] = "127.0.0.1:9157",
    parent: Annotated[int, typer.Option("--parent", hidden=True, help="End with this process, which logs.")] = 0,
) -> int:
    """Serve the metrics of the group to Prometheus, at /metrics, until Ctrl-C.

    A queue manager does the same, in a process of its own, if its setting metrics_port is set. metrics_queues limits
    them to some queues; with metrics_token_file they are only for those who send the token in that file. With
    metrics_certificate they are served by TLS.
    """
    from igq.monitoring.endpoint import serve
    from igq.processes.child import die_with_parent
    from sharedq.display.lines import say, say_json
    from sharedq.settings.loader import load_settings

    if parent:
        die_with_parent(parent)
    settings = load_settings()

    def tell(host: str, port: int, url: str) -> None:
        if parent:
            say_json({"id": "IGQ0032I", "fields": {"host": host, "port": port}})
        else:
            say(f"metrics of group {settings.group} at {url}")

    serve(settings, listen, tell)
    return 0
