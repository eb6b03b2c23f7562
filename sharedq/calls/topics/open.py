"""MQOPEN and MQCLOSE of a topic.

Whether a user may publish or subscribe: the administrative topics at the topic string and above it are looked at, the
nearest first and SYSTEM.BASE.TOPIC last: at one of them the user must have the authority.

Source: IBM MQ, "Topic security model", "Profiles for topic security", "Grant access to a user to subscribe to a topic
    deeper within the tree".
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Literal

from sharedq.calls.handles.subscriptions import topics_of
from sharedq.logical.topic_strings import TOPIC_STRING_LENGTH, combined
from sharedq.members.group import Group
from sharedq.mqi.arguments import whole
from sharedq.mqi.constants import MQRC, CloseOption, OpenOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.options import PUT_CONTEXT, check_open_options
from sharedq.mqi.structures import MQOD
from sharedq.objects.definitions.base import has_controls
from sharedq.objects.store.authorities import PUBLISH, TOPIC, Authorities
from sharedq.scripts.objects import publishing_call
from sharedq.session.connection import Connection
from sharedq.session.topics import TopicHandle

_ALLOWED = (
    PUT_CONTEXT
    | int(OpenOption.OUTPUT | OpenOption.ALTERNATE_USER_AUTHORITY | OpenOption.FAIL_IF_QUIESCING)
    | int(OpenOption.BIND_ON_OPEN | OpenOption.BIND_NOT_FIXED | OpenOption.BIND_ON_GROUP)
    | int(OpenOption.RESOLVE_LOCAL_TOPIC | OpenOption.NO_MULTICAST)
)
#: An answer of admin/publishing: there are authority records to look at.
_TO_CHECK = 1


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


def topic_string_of(group: Group, verb: str, name: bytes, string: bytes) -> str:
    """Return the whole topic string that the name of a topic object and a topic string mean.

    Raises:
        MQIError: 2085, there is no such topic object; 2425, there is no topic string, or it is too long, or no UTF-8,
            or has control characters.
    """
    try:
        object_name, given = _text(name), _text(string)
    except UnicodeDecodeError as error:
        raise error_for(MQRC.TOPIC_STRING_ERROR, verb, "", "it is not UTF-8") from error
    whole = given
    if object_name:
        known = topics_of(group).tree().by_name.get(object_name)
        if known is None:
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, verb, object_name, "there is no such topic")
        whole = combined(known.topic_string, given)
    elif not given:
        raise error_for(MQRC.TOPIC_STRING_ERROR, verb, "", "neither a topic object nor a topic string is given")
    if len(whole.encode()) > TOPIC_STRING_LENGTH or has_controls(whole):
        detail = f"a topic string has at most {TOPIC_STRING_LENGTH} bytes, and no control characters"
        raise error_for(MQRC.TOPIC_STRING_ERROR, verb, "", detail)
    return whole


def open_topic(connection: Connection, od: MQOD, options: OpenOption | int, *, is_put1: bool = False) -> TopicHandle:
    """MQOPEN of a topic for publications. *od* returns the whole topic string.

    Args:
        is_put1: for one publication; the group is not told of the publisher then.

    Raises:
        MQIError: 2085, 2425 as for `topic_string_of`; 2045, an option that is not for topics; 2046; 2161, quiescing;
            2009, the connection was shut out; 2035, its user may not publish there.
    """
    options = whole(options, MQRC.OPTIONS_ERROR, "MQOPEN", "")
    topic_string = topic_string_of(connection.group, "MQOPEN", od.object_name, od.object_string)
    reason = check_open_options(options)
    if reason:
        raise error_for(reason, "MQOPEN", topic_string)
    if options & ~_ALLOWED:
        raise error_for(MQRC.OPTION_NOT_VALID_FOR_TYPE, "MQOPEN", topic_string)
    if connection.is_quiescing and options & OpenOption.FAIL_IF_QUIESCING:
        raise error_for(MQRC.Q_MGR_QUIESCING, "MQOPEN", topic_string)
    od.res_object_string = topic_string.encode()
    handle = TopicHandle(connection.next_handle_number(), options, _text(od.object_name), topic_string, replace(od))
    if options & OpenOption.OUTPUT:
        change: Literal[0, 1] = 0 if is_put1 else 1
        if _tell(connection, topic_string, change, is_authorized=False) == _TO_CHECK:
            user = user_of(
                connection,
                od.alternate_user_id,
                is_alternate=bool(options & OpenOption.ALTERNATE_USER_AUTHORITY),
            )
            check_authority(connection.group, "MQOPEN", topic_string, user, (PUBLISH,))
            _tell(connection, topic_string, change, is_authorized=True)
        handle.is_counted = bool(change)
    connection.objects[handle.number] = handle
    return handle


def _tell(connection: Connection, topic_string: str, change: Literal[1, 0, -1], *, is_authorized: bool) -> int:
    keys, token = connection.group.keys, connection.token
    reply = connection.call(*publishing_call(keys, token, topic_string, change, is_authorized=is_authorized))
    if reply[0] not in (0, _TO_CHECK):
        raise connection.error(reply[0], "MQOPEN", topic_string)
    return int(reply[0])


def close_topic(connection: Connection, handle: TopicHandle, options: CloseOption | int = 0) -> None:
    """MQCLOSE of a topic. Raises MQIError: 2019, it is closed already; 2045, options that are not for topics."""
    if handle.is_closed:
        raise error_for(MQRC.HOBJ_ERROR, "MQCLOSE", handle.topic_string)
    if whole(options, MQRC.OPTIONS_ERROR, "MQCLOSE", handle.topic_string):
        raise error_for(MQRC.OPTION_NOT_VALID_FOR_TYPE, "MQCLOSE", handle.topic_string)
    handle.is_closed = True
    connection.objects.pop(handle.number, None)
    if handle.is_counted:
        _tell(connection, handle.topic_string, -1, is_authorized=True)
    if connection.delivered.is_waiting:
        connection.tell_delivered()


def _text(name: bytes) -> str:
    return name.rstrip(b" \0").decode()
