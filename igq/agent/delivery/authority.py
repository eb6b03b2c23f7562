"""Checks whether a message may be put on its destination, by IGQAUT and IGQUSER of the manager that it is for.

While the group has no authority records, every message may be put on every queue.

Source: IBM MQ for z/OS, "Intra-group queuing security".
"""

from __future__ import annotations

from functools import cache

from igq.agent.delivery.disposal import Transmitted
from sharedq.members.group import Group
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.repository import Repository
from sharedq.objects.store.authorities import Authorities, AuthorityTable, users_of_members


def users_to_check(attributes: QueueManagerAttributes, sender: str, context: str) -> tuple[str, ...]:
    """Return the user ids that need the authority to put. Pure.

    Args:
        attributes: those of the receiving manager.
        sender: user id of the manager where the message was put. Empty if it is not known.
        context: UserIdentifier of the message's descriptor.

    Returns:
        User ids. An empty one has no authority. A blank IGQUSER means the receiving manager itself, which needs none.
    """
    own = (attributes.igq_user_id,) if attributes.igq_user_id else ()
    match attributes.igq_put_authority:
        case "DEF":
            return (sender,)
        case "CTX":
            return (sender, context)
        case "ONLYIGQ":
            return own
        case "ALTIGQ":
            return (*own, context)


class PutAuthority:
    """The authorities that are in force for one batch of messages."""

    def __init__(self, group: Group, table: AuthorityTable) -> None:
        self._group, self._table = group, table
        self._attributes = cache(lambda qmgr: Repository(group, qmgr).qmgr_attributes(qmgr))
        self._users = cache(lambda: users_of_members({member.name: member.details for member in group.members()}))

    @classmethod
    def of(cls, group: Group) -> PutAuthority:
        """Read the authorities as they are now."""
        return cls(group, Authorities(group).table())

    def allows(self, at: str, message: Transmitted) -> bool:
        """Whether *message*, opened at the manager *at*, may be put on the queue that it names.

        If the message only passes through on its way to another manager, that manager checks it.
        """
        if not self._table:
            return True
        queue, qmgr = _text(message.queue), _text(message.qmgr)
        if qmgr not in ("", at, self._group.name):
            return True
        sender = self._users().get(message.sender, "")
        users = users_to_check(self._attributes(at), sender, _text(message.md.user_identifier))
        return all(self._table.may_put(user, queue) for user in users)


def _text(name: bytes) -> str:
    return name.decode(errors="replace").rstrip(" \0")
