"""A runner's waits beyond its own children: for the load's progress, for recoveries, for agents.

Each raises `CommandError` with one line if what it waits for does not happen, or cannot happen any more.
"""

from __future__ import annotations

import time

from igq.errors import CommandError
from igq.rehearsal.load.scene import Scene
from igq.rehearsal.load.view import backouts_of, has_work, recovery_of, working_agent
from recovery.claim import Recovery
from sharedq.redis.keys import qmgr_of

_RECOVERY_TIMEOUT_S = 120.0
_CATCH_S = 0.002
#: A load that does not move for this long has stopped. Slowness is no error; a loss shows in the end.
_STALLED_S = 120.0


def wait_for_puts(scene: Scene, count: int) -> None:
    """Wait until *count* messages have been put."""
    scene.watch.wait(
        lambda: scene.put() >= count,
        f"{count} messages to be put",
        _STALLED_S,
        moves=scene.put,
        why_never=lambda: f"the load has ended with {scene.put()}" if scene.is_all_put() else "",
    )


def wait_for_backlog(scene: Scene, count: int) -> int:
    """Wait until *count* messages, or all there will be, are on the transmit queue. Returns how many are."""
    found: list[int] = []

    def is_there() -> bool:
        # In this order: after everything is put, the messages found are all there will be.
        wanted = 1 if scene.is_all_put() else count
        found.append(scene.backlog().transmit)
        return found[-1] >= wanted

    scene.watch.wait(
        is_there,
        f"{count} messages on the transmit queue",
        _STALLED_S,
        asks_group=True,
        moves=scene.put,
        why_never=lambda: "everything was put, and nothing is left there" if scene.is_all_put() else "",
    )
    return found[-1]


def wait_until_delivered(scene: Scene) -> None:
    """Wait until everything is put and got."""
    scene.watch.wait(scene.is_all_put, "everything to be put", _STALLED_S, moves=scene.progress)
    scene.watch.wait(
        lambda: scene.backlog().is_empty,
        "the queues to be drained",
        _STALLED_S,
        asks_group=True,
        moves=scene.progress,
    )


def wait_until_recovered(scene: Scene, owner: str) -> Recovery:
    """Wait until everything that *owner* left is resolved. Adds the recovery's moments to the timeline."""
    found: list[Recovery] = []

    def is_resolved() -> bool:
        recovery = recovery_of(scene.group, owner)
        if recovery is not None and recovery.state == "RESOLVED":
            found.append(recovery)
        return bool(found)

    scene.watch.wait(is_resolved, f"the recovery of {owner}", _RECOVERY_TIMEOUT_S, asks_group=True)
    recovery = found[-1]
    qmgr = qmgr_of(owner)
    for name, at_ms in recovery.moments:
        detail = f"{recovery.units_of_work} units of work, {recovery.messages} messages"
        is_end = name == "resolved"
        scene.timeline.add(
            name.replace(" ", "_"), qmgr, by=recovery.by, detail=detail if is_end else recovery.failed, t_ms=at_ms
        )
    return recovery


def wait_until_backed_out(scene: Scene, token: str, since_ms: int) -> int:
    """Wait until what a connection has done is backed out everywhere. Returns when that was, by Redis' clock, in ms."""
    found: list[int] = []

    def is_backed_out() -> bool:
        found[:] = backouts_of(scene.group, token, since_ms)
        return bool(found) and not has_work(scene.group, token)

    scene.watch.wait(is_backed_out, f"the backout of {token}", _RECOVERY_TIMEOUT_S, asks_group=True)
    return max(found)


def catch_recoverer(scene: Scene, owner: str) -> Recovery:
    """Return the recovery of *owner* as soon as it resolves units of work, or after its end if it was too quick."""
    until_s = time.monotonic() + _RECOVERY_TIMEOUT_S
    while time.monotonic() < until_s:
        recovery = recovery_of(scene.group, owner)
        if recovery is not None and recovery.state in ("RESOLVING", "RESOLVED"):
            return recovery
        # Look more often than a wait does, to catch the recovery halfway.
        time.sleep(_CATCH_S)
    raise CommandError(f"waited {_RECOVERY_TIMEOUT_S:g} s in vain for the recovery of {owner}")


def wait_for_agent(scene: Scene, qmgr: str, not_pid: int) -> int:
    """Wait until the manager's agent works and is another process than *not_pid*. Returns its process id."""
    found: list[int] = []

    def is_working() -> bool:
        found.append(working_agent(scene.group, qmgr))
        return found[-1] not in (0, not_pid)

    scene.watch.wait(is_working, f"the IGQ agent of {qmgr} to work", _RECOVERY_TIMEOUT_S, asks_group=True)
    return found[-1]
