"""The format of the key space: recorded in the group, and spoken by each member and program.

The rule: a version of igq works with groups of its own format and of the one before it (``OLDEST`` to ``FORMAT``). A
group keeps its format while members are replaced one after the other, so members of neighbouring versions work
together. ``igq upgrade`` brings the group to the new format when nobody is registered who speaks only the old one. From
then on one that does is refused. A group without a record is of format 1.
"""

from __future__ import annotations

from typing import Any, Final

from sharedq.members.group import Group

#: The version of igq, as in pyproject.toml.
VERSION: Final = "0.1.0"
#: The format of groups that this version makes, and the oldest that it works with.
FORMAT: Final = 1
OLDEST: Final = 1
#: The field of the ``group`` hash.
FIELD: Final = "format"
#: The format of a group without a record.
UNRECORDED: Final = 1


def spoken() -> str:
    """Return the formats that this version works with, as scripts compare them: the oldest and the newest."""
    return f"{OLDEST} {FORMAT}"


def versions() -> dict[str, Any]:
    """Return what a member or a program registers of its version."""
    return {"version": VERSION, "formats": [OLDEST, FORMAT]}


def recorded_format(group: Group) -> int:
    """Return the format that is recorded in the group; 0 if none is. Raises MQIError: 2009, Redis cannot be reached."""
    return int(group.command(group.keys.group, "HGET", group.keys.group, FIELD) or 0)


def why_refused(group: str, found: int) -> str:
    """Return the line for a group of a format that this version does not speak."""
    known = f"format {FORMAT}" if OLDEST == FORMAT else f"formats {OLDEST} to {FORMAT}"
    remedy = "use a later igq" if found > FORMAT else "upgrade the group with the igq before this one"
    return f"IGQ0007E: group {group} has key space format {found}, igq {VERSION} speaks {known}: {remedy}"
