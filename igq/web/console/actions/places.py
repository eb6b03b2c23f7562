"""The managers and queues that an action is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from igq.errors import CommandError
from igq.mqsc.language.parser import Parameter
from igq.mqsc.language.writing import parameter
from igq.operations.shutdown import UP, state_now
from igq.web.console.actions.action import Asked
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.settings.values import Settings


@contextmanager
def opened(settings: Settings) -> Iterator[Group]:
    """The group, for as long as it is looked at."""
    group = Group(settings)
    try:
        yield group
    finally:
        group.leave()


def running_managers(group: Group) -> list[str]:
    """Return the managers that run, by name."""
    return sorted(each.name for each in group.members() if state_now(group, each) in UP)


def manager_for(group: Group, asked: Asked) -> str:
    """Return the manager that a request names, or else one that runs.

    Raises:
        CommandError: none runs.
    """
    if named := asked.optional("qmgr"):
        return named
    running = running_managers(group)
    if not running:
        raise CommandError("no queue manager of the group is running")
    return running[0]


def local_queue(group: Group, qmgr: str, name: str) -> QueueLocal:
    """Return the definition of a local queue. Raises MQIError: 2085, there is none."""
    found = Repository(group, qmgr).lookup(name)
    if found is None or not isinstance(found.definition, QueueLocal):
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", name, "no such local queue")
    return found.definition


def depth_of(group: Group, qmgr: str, name: str) -> int | None:
    """Return how many messages a queue has. None: nobody can tell now."""
    try:
        return Repository(group, qmgr).queue_status(name).depth
    except MQIError:
        return None


def private_or_shared(definition: QueueLocal) -> list[Parameter]:
    """Return QSGDISP(SHARED) for a shared queue: commands mean a private one otherwise."""
    return [parameter("QSGDISP", "SHARED")] if definition.disposition == "SHARED" else []


def own_disposition(definition: QueueLocal) -> list[Parameter]:
    """Return QSGDISP as ALTER and DELETE need it; nothing for a private queue."""
    disposition = definition.disposition
    return [] if disposition == "QMGR" else [parameter("QSGDISP", disposition)]
