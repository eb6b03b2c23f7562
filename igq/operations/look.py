"""``igq status``: one look at the group, or one after the other."""

from __future__ import annotations

import time
from dataclasses import dataclass

from igq.errors import CommandError
from igq.operations.status import GroupStatus, StatusReader
from igq.operations.status_tables import print_tables
from igq.operations.troubles import troubles
from sharedq.display.lines import say, say_json, tell
from sharedq.display.terminal import Terminal
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.names import matches
from sharedq.redis.deployment import DeploymentError
from sharedq.settings.values import Settings

#: Exit statuses of a check: something is wrong; the group cannot be read.
TROUBLE, CANNOT_LOOK = 1, 2


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """A wish to see a part of the status. ``queue`` may be generic; both names empty mean everything."""

    queue: str = ""
    manager: str = ""
    is_json: bool = False
    is_check: bool = False

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not self.queue and not self.manager


def look(settings: Settings, wanted: StatusRequest, *, every_s: float | None = None) -> int:
    """Print the status, or with *every_s* again and again. Returns the exit status.

    Raises:
        CommandError: there is no such manager or queue; with ``is_check`` also: the group cannot be read (status 2).
        DeploymentError, MQIError: the group cannot be read.
    """
    try:
        with StatusReader(settings) as reader:
            if every_s is None:
                return _show(chosen(reader.read(), wanted), wanted)
            return _watch(reader, wanted, every_s)
    except (DeploymentError, MQIError) as error:
        if wanted.is_check:
            raise CommandError(f"group {settings.group} cannot be read: {error}", CANNOT_LOOK) from None
        raise


def _watch(reader: StatusReader, wanted: StatusRequest, every_s: float) -> int:
    console, rates = Terminal(), Rates()
    while True:
        begun_s = time.monotonic()
        try:
            found = chosen(rates.added(reader.read(), begun_s), wanted)
        except MQIError as error:
            # Redis may come back.
            tell(f"igq: {error}")
        else:
            if console.is_terminal and not wanted.is_json:
                console.clear()
            _show(found, wanted, console, is_line=True)
        time.sleep(max(0.0, begun_s + every_s - time.monotonic()))


def _show(found: GroupStatus, wanted: StatusRequest, console: Terminal | None = None, *, is_line: bool = False) -> int:
    wrong = troubles(found, is_whole=wanted.is_everything) if wanted.is_check else []
    if wanted.is_json:
        shown = {"troubles": wrong} if wanted.is_check else found.model_dump(mode="json")
        # Of ASCII only, so nothing in it steers a terminal.
        say_json(shown, indent=None if is_line else 2)
    elif wanted.is_check:
        for line in wrong or ["all is well"]:
            say(line)
    else:
        print_tables(found, console, is_whole=wanted.is_everything)
    return TROUBLE if wrong else 0


def chosen(status: GroupStatus, wanted: StatusRequest) -> GroupStatus:
    """Return the part of the status that somebody wants to see.

    Raises:
        CommandError: there is no such manager, or no such queue.
    """
    cannot = CANNOT_LOOK if wanted.is_check else 1
    if wanted.manager:
        managers = [each for each in status.managers if each.name == wanted.manager]
        if not managers:
            known = ", ".join(each.name for each in status.managers) or "it has none yet"
            text = f"there is no queue manager {wanted.manager} in group {status.group}: {known}"
            raise CommandError(text, cannot)
        status = status.model_copy(
            update={
                "managers": managers,
                "recoveries": [each for each in status.recoveries if _is_of(each.failed, each.by, wanted.manager)],
                "structures": [each for each in status.structures if each.name == f"@{wanted.manager}"],
                "queues": [each for each in status.queues if each.owner == wanted.manager],
            }
        )
    if wanted.queue:
        queues = [each for each in status.queues if matches(wanted.queue, each.name)]
        if not queues and not wanted.queue.endswith("*"):
            raise CommandError(f"there is no local queue {wanted.queue} that could be shown", cannot)
        status = status.model_copy(update={"queues": queues})
        if not wanted.manager:
            status = status.model_copy(update={"managers": [], "recoveries": [], "structures": []})
    return status


def _is_of(failed: str, by: str, manager: str) -> bool:
    return by == manager or failed.startswith(f"{manager}.")


class Rates:
    """Adds rates to one status after the other: what each counter gained a second since the status before."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str | None, ...], int] = {}
        self._at_s = 0.0

    def added(self, status: GroupStatus, now_s: float) -> GroupStatus:
        """Return the status with the rates of agents and queues. *now_s*: when it was read (monotonic, seconds).

        A queue has rates while something counts its puts and gets (``PERFMEV``).
        """
        passed_s, before, counts = now_s - self._at_s, self._counts, dict[tuple[str | None, ...], int]()

        def rate(count: int | None, *key: str | None) -> float | None:
            if count is None:
                return None
            counts[key] = count
            if key not in before or passed_s <= 0:
                return None
            # An agent that was started again counts from 0, and so does a queue after a reset.
            gained = count - before[key] if count >= before[key] else count
            return round(gained / passed_s, 1)

        managers, queues = [], []
        for manager in status.managers:
            delivered_rate = rate(manager.agent.delivered, manager.name)
            agent = manager.agent.model_copy(update={"delivered_rate": delivered_rate})
            managers.append(manager.model_copy(update={"agent": agent}))
        for queue in status.queues:
            place = queue.name, queue.owner, queue.structure
            rates = {"put_rate": rate(queue.puts, "puts", *place), "get_rate": rate(queue.gets, "gets", *place)}
            queues.append(queue.model_copy(update=rates))
        self._counts, self._at_s = counts, now_s
        return status.model_copy(update={"managers": managers, "queues": queues})
