"""Aliases with TARGTYPE(TOPIC): what is put through their name is published.

Source: IBM MQ, "DEFINE QALIAS", "Working with alias queues", MQRC 2001, 2045, 2082, 2480.
"""

from __future__ import annotations

from dataclasses import replace

from sharedq.calls.handles import open as opening
from sharedq.calls.routes.resolution import path_to_topic
from sharedq.calls.topics.open import open_topic
from sharedq.mqi.constants import MQRC, ObjectType, OpenOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQOD
from sharedq.objects.definitions.topics import Topic
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.refusals import note_refusal
from sharedq.session.route import _Path, lowest_cap
from sharedq.session.topics import TopicHandle


def open_named(
    connection: Connection, od: MQOD, options: OpenOption | int, *, opened_at: str = "", is_put1: bool = False
) -> Handle | TopicHandle:
    """MQOPEN of what a queue's name stands for: a queue, or the topic of an alias with TARGTYPE(TOPIC).

    Args:
        opened_at: open it as this manager would; empty: the one connected to.
        is_put1: for one message: a model queue's name makes no queue, and the group is not told of a publisher.

    Raises:
        MQIError: as for `open_queue`; of an alias with TARGTYPE(TOPIC): 2082 there is no such topic object, 2045 an
            option that is not for topics, 2035 its user may not publish there.
    """
    try:
        return opening.open_queue(connection, od, options, opened_at=opened_at, may_create=not is_put1)
    except MQIError as error:
        if error.reason != MQRC.ALIAS_BASE_Q_TYPE_ERROR:
            raise
        name, qmgr_name = _text(od.object_name), _text(od.object_q_mgr_name)
        path = path_to_topic(connection, name, qmgr_name, opened_at)
        if not path:
            raise
    asked = replace(od)
    handle = _open_topic_of(connection, path, od, options, is_put1=is_put1)
    handle.object_name, handle.object_q_mgr_name, handle.opened_at = name, qmgr_name, opened_at
    handle.path, handle.asked = path, asked
    return handle


def _open_topic_of(
    connection: Connection, path: _Path, od: MQOD, options: OpenOption | int, *, is_put1: bool
) -> TopicHandle:
    target = _target_of(path)
    topic = MQOD(
        version=4,
        object_type=int(ObjectType.TOPIC),
        object_name=target.encode(),
        alternate_user_id=od.alternate_user_id,
    )
    try:
        handle = open_topic(connection, topic, options, is_put1=is_put1)
    except MQIError as error:
        if error.reason != MQRC.UNKNOWN_OBJECT_NAME:
            raise
        unknown = error_for(MQRC.UNKNOWN_ALIAS_BASE_Q, "MQOPEN", path[-1].name, f"there is no topic {target}")
        note_refusal(connection, unknown, _text(od.object_name), _text(od.object_q_mgr_name), int(options))
        raise unknown from error
    od.resolved_q_name = od.resolved_q_mgr_name = b""
    od.res_object_string, od.resolved_type = topic.res_object_string, int(ObjectType.TOPIC)
    return handle


def check_alias(connection: Connection, handle: TopicHandle) -> None:
    """Learn the definitions in force that the name of a handle leads through.

    Raises:
        MQIError: 2051, one of them inhibits puts; 2041, the name leads somewhere else now, or nowhere.
    """
    if not handle.path:
        return
    try:
        path = path_to_topic(connection, handle.object_name, handle.object_q_mgr_name, handle.opened_at)
    except MQIError as error:
        if error.reason == MQRC.CONNECTION_BROKEN:
            raise
        raise error_for(MQRC.OBJECT_CHANGED, "MQPUT", handle.object_name, str(error)) from error
    if not path or _names(path) != _names(handle.path):
        raise error_for(MQRC.OBJECT_CHANGED, "MQPUT", handle.object_name, "its name leads elsewhere now")
    handle.path = path
    if any(definition.put == "DISABLED" for definition in path):
        inhibited = error_for(MQRC.PUT_INHIBITED, "MQPUT", handle.object_name)
        note_refusal(connection, inhibited, handle.object_name)
        raise inhibited


def as_put_through(handle: TopicHandle, topic: Topic) -> Topic:
    """The topic with the defaults of what the program named: those of the first definition count, as for queues."""
    if not handle.path:
        return topic
    first, caps = handle.path[0], (each.cap_expiry for each in handle.path)
    return topic.model_copy(
        update={
            "def_priority": first.def_priority,
            "def_persistence": first.def_persistence,
            "cap_expiry": lowest_cap(topic.cap_expiry, *caps),
        }
    )


def _names(path: _Path) -> tuple[str, ...]:
    return (*(definition.name for definition in path), _target_of(path))


def _target_of(path: _Path) -> str:
    return str(getattr(path[-1], "target", ""))


def _text(name: bytes) -> str:
    return name.partition(b"\0")[0].decode("utf-8", "replace").rstrip(" ")
