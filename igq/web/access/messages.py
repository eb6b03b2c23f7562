"""Decides which users may put, get and browse the messages of a queue.

A user of the role messaging may do that on the queues that the authority records of the group name for that user: PUT,
GET and BROWSE. While the group has no record for queues, nothing is checked, and such a user may use every queue but
those whose names begin with SYSTEM: commands come by these. Other users may do what their role may, on every queue.
"""

from __future__ import annotations

from igq.web.access.gate import Identity, Refused
from igq.web.access.users import Role
from sharedq.members.group import Group
from sharedq.objects.definitions.names import check_object_name
from sharedq.objects.store.authorities import BROWSE, GET, PUT, Authorities, AuthorityTable, fits

#: Authority -> the least role that has it for every queue.
_LEAST = {PUT: Role.OPERATOR, GET: Role.OPERATOR, BROWSE: Role.VIEWER}
_SYSTEM = "SYSTEM."


def check_role(identity: Identity, authority: str, queue: str) -> None:
    """Refuse what role and token alone refuse.

    Raises:
        Refused: 403.
    """
    least = _LEAST[authority]
    if Role.MESSAGING < identity.role < least:
        raise Refused(403, f"{identity.user} is {identity.role.word}; this needs {least.word}")
    if identity.queues and not any(fits(profile, queue) for profile in identity.queues):
        raise Refused(403, f"this token of {identity.user} is not for messages on {queue}")


def check_authority(group: Group, identity: Identity, authority: str, queue: str) -> None:
    """Refuse a user of the role messaging that has not the *authority* for a queue. This call blocks.

    Raises:
        Refused: 403.
        MQIError, DeploymentError: Redis cannot be asked.
    """
    if not is_allowed(Authorities(group).table(), identity.user, authority, queue):
        raise Refused(403, f"{identity.user} has not the authority {authority} for {queue}")


def is_allowed(table: AuthorityTable, user: str, authority: str, queue: str) -> bool:
    """Whether a user of the role messaging may use a queue. A name that no queue can have is nobody's."""
    try:
        check_object_name(queue)
    except ValueError:
        return False
    if table:
        return authority in table.authorities(user, queue)
    return not queue.startswith(_SYSTEM)
