"""``igq status``, ``igq health`` and ``igq metrics``: for people and scripts, for probes, for Prometheus."""

from __future__ import annotations

from typing import Annotated

import typer

from igq.cli.help import show_help_alone

_HERE = typer.Argument(metavar="[QMGR]", help="Default: each one that runs with this data directory.")
#: The shortest and the longest time between two looks, seconds.
_LEAST_S, _MOST_S = 0.1, 86_400.0


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("status", short_help="Show managers, agents, recoveries and structures.")(status)
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
) -> int:
    """Serve the metrics of the group to Prometheus, at /metrics, until Ctrl-C.

    A queue manager does the same if its setting metrics_port is set.
    """
    from igq.monitoring.endpoint import serve
    from sharedq.display.lines import say
    from sharedq.settings.loader import load_settings

    serve(load_settings(), listen, say)
    return 0
