"""The group as the checks see it: settings, status, servers and backups, read once for all; and a finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum

from igq.operations.status import GroupStatus, StatusReader
from sharedq.admin.backup.glance import BackupGlance, glance_at
from sharedq.members.agreed_settings import contradictions, with_record
from sharedq.members.group import Group
from sharedq.objects.repository import Repository
from sharedq.reading.server_facts import ServerFacts, read_server_facts
from sharedq.settings.values import Settings


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """A group as it was seen.

    Attributes:
        settings: those in force: of this process, with those of the group.
        differences: settings of this process that the group does not use.
        group: to ask more; None in a test of a check that asks nothing.
        backups: of each structure with RECOVER(YES), on this machine.
    """

    settings: Settings
    status: GroupStatus
    differences: Sequence[str] = ()
    group: Group | None = None
    servers: Sequence[ServerFacts] = ()
    backups: Mapping[str, BackupGlance] = field(default_factory=dict)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))


@contextmanager
def look_at(settings: Settings) -> Iterator[GroupSeen]:
    """Look at a group. The checks run within: some ask more. Raises DeploymentError, MQIError: Redis cannot be used."""
    with StatusReader(settings) as reader:
        status = reader.read()
        if not status.redis.version and not status.managers:
            # Nothing is stored yet, and no server need be started for that.
            yield GroupSeen(settings, status)
            return
        group = reader.group
        record = group.read_record()
        recoverable = [each.name for each in Repository(group, None).structures() if each.is_recoverable]
        yield GroupSeen(
            settings=with_record(settings, record) if record else settings,
            status=status,
            differences=contradictions(settings, record) if record else (),
            group=group,
            servers=read_server_facts(group.clients()),
            backups={name: glance_at(settings, name) for name in recoverable},
        )


class Severity(IntEnum):
    """How bad it is, the worst first."""

    #: Something does not work, or messages can be lost now.
    ERROR = 1
    #: Something will go wrong some day, or already does for somebody.
    WARNING = 2
    #: The operator may mean things to be so.
    NOTE = 3

    @property
    def word(self) -> str:
        """As it is shown."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, order=True)
class Diagnosis:
    """One thing that an operator should know.

    Attributes:
        what: one line.
        todo: what to do about it, one line.
    """

    severity: Severity
    what: str
    todo: str


def error(what: str, todo: str) -> Diagnosis:
    """A finding that something does not work."""
    return Diagnosis(Severity.ERROR, what, todo)


def warning(what: str, todo: str) -> Diagnosis:
    """A finding that something will go wrong."""
    return Diagnosis(Severity.WARNING, what, todo)


def note(what: str, todo: str) -> Diagnosis:
    """A finding that may be meant so."""
    return Diagnosis(Severity.NOTE, what, todo)
