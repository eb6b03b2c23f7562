"""The status of a group, read once."""

from __future__ import annotations

from igq.operations.status import GroupStatus, StatusReader
from sharedq.settings.values import Settings


def read_status(settings: Settings) -> GroupStatus:
    """Read the group's status once."""
    with StatusReader(settings) as reader:
        return reader.read()
