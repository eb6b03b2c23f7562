"""Whether a user may publish or subscribe to a topic string.

The administrative topics at the topic string and above it are looked at, the nearest first and SYSTEM.BASE.TOPIC last:
at one of them the user must have the authority.

Source: IBM MQ, "Topic security model", "Profiles for topic security", "Grant access to a user to subscribe to a topic
    deeper within the tree".
"""

from __future__ import annotations

from collections.abc import Collection

from sharedq.calls.handles.subscriptions import topics_of
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.store.authorities import TOPIC, Authorities
from sharedq.session.connection import Connection


def check_authority(group: Group, verb: str, topic_string: str, user: str, wanted: Collection[str]) -> None:
    """Check that a user has one of the authorities *wanted*. While there are no records for topics, each user has.

    Raises:
        MQIError: 2035, it has not.
    """
    table = Authorities(group, TOPIC).table()
    if not table:
        return
    names = topics_of(group).tree().names_above(topic_string)
    if not any(set(wanted) & set(table.authorities(user, name)) for name in names):
        detail = f"{user} has not {next(iter(wanted))} for {', '.join(names)}"
        raise error_for(MQRC.NOT_AUTHORIZED, verb, topic_string, detail)


def user_of(connection: Connection, alternate: bytes, *, is_alternate: bool) -> str:
    """Return the user whose authority a call needs: the AlternateUserId that it gives, or that of the program."""
    given = alternate.rstrip(b" \0")[:12] if is_alternate else b""
    return given.decode(errors="replace") if given else connection.user
