"""The audit trail of a group: who signed in to a console, gave a command, added a user or a token.

It is for people, and bounded: the latest five thousand or so are there. A deed that cannot be noted is passed over, for
no command fails for that; the logs have it, too.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import Final, Literal

from sharedq.display.text import visible
from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError
from sharedq.redis.link import ScriptCall
from sharedq.scripts.trails import deeds_before, note_deed_call

Way = Literal["command line", "console", "REST", "PCF"]
#: Characters of each field.
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True)
class Deed:
    """A deed.

    Attributes:
        host: of the user.
        way: how it came.
        qmgr: the manager that it was given to; empty: none.
        what: a command, or ``sign in``.
        result: in one line.
    """

    user: str
    host: str
    way: Way
    what: str
    result: str = "done"
    qmgr: str = ""


@dataclass(frozen=True, slots=True)
class NotedDeed:
    """A deed of the trail, with its id and when it was noted: ms since 1970, by Redis' clock."""

    id: str
    at_ms: int
    fields: dict[str, str]


def note_deed(group: Group, deed: Deed) -> None:
    """Note a deed, if Redis can be reached."""
    with suppress(MQIError, DeploymentError):
        group.call(*deed_call(group, deed))


def deed_call(group: Group, deed: Deed) -> ScriptCall:
    """Make the call that notes a deed."""
    return note_deed_call(group.keys, {name: visible(str(value))[:_LONGEST] for name, value in asdict(deed).items()})


def read_deeds(group: Group, before: str, count: int) -> list[NotedDeed]:
    """Return deeds, the latest first.

    Args:
        before: the id of the deed that came last on the page before; empty: the first page.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    found = []
    for id_, flat in deeds_before(group, group.keys, before, count):
        words = [part.decode("utf-8", "backslashreplace") for part in flat]
        values = dict(zip(words[::2], words[1::2], strict=True))
        told = {each.name: values.get(each.name, "") for each in fields(Deed)}
        found.append(NotedDeed(id_.decode(), int(id_.partition(b"-")[0]), told))
    return found
