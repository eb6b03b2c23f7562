"""Commands about topics and subscriptions.

Source: IBM MQ reference, "DEFINE TOPIC", "DEFINE SUB", "DISPLAY TPSTATUS", "DISPLAY SBSTATUS", "CLEAR TOPICSTR".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import find_parameter, read_choice, read_flag, read_values
from igq.mqsc.language.parameters import keywords
from igq.mqsc.language.parser import Command, MqscSyntaxError
from igq.mqsc.records import Shown, read_request, shown, shown_attributes, two_columns
from sharedq.admin.definitions_copy import GroupCopy
from sharedq.api import QueueManagerConnection
from sharedq.calls.handles.connect import connect_to
from sharedq.calls.handles.subscriptions import delete_orphans
from sharedq.calls.topics.retained import all_retained, clear
from sharedq.calls.topics.subscribe import define_connected_subscription, define_subscription
from sharedq.logical.topic_strings import is_matched, literal_levels, node_count, nodes_matched
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.configuration_notes import noting
from sharedq.objects.definitions.attributes import by_keyword
from sharedq.objects.definitions.base import ObjectDefinition, parse_definition
from sharedq.objects.definitions.names import is_generic, matches
from sharedq.objects.definitions.subscriptions import Subscription, end_of
from sharedq.objects.definitions.topics import ROOT_VALUES, TOPIC_NODE_FIELDS, Topic
from sharedq.objects.repository import Repository
from sharedq.objects.store.connections import publishers_of
from sharedq.objects.store.topics import Match
from sharedq.objects.system import RETAINED_QUEUE

_SCOPES = ("QSGDISP", "CMDSCOPE")
_DISPOSITIONS = ("QMGR", "COPY", "GROUP", "ALL", "LIVE")


def define_topic(command: Command, repository: Repository) -> list[str]:
    """DEFINE TOPIC. Every topic is the group's: QSGDISP is read, and makes no difference."""
    values = _topic_values(command, ("LIKE", "REPLACE", "NOREPLACE"))
    is_replace = read_flag(command, "REPLACE", "NOREPLACE")
    known = repository.topics.tree().by_name.get(command.name)
    if known is not None and is_replace:
        if values.get("topic_string", known.topic_string) != known.topic_string:
            raise ValueError(f"TOPICSTR({values['topic_string']}): it cannot be altered, it is {known.topic_string}")
        values["topic_string"] = known.topic_string
    elif "topic_string" not in values:
        raise MqscSyntaxError(command.line, command.shown, "TOPICSTR(topic string)")
    like = find_parameter(command, "LIKE")
    topic = parse_definition(Topic, values | {"name": command.name})
    with noting(repository, "create", Topic.kind, command.name):
        repository.topics.define(topic, replace=is_replace, like=like.value if like else "")
    return []


def alter_topic(command: Command, repository: Repository) -> list[str]:
    """ALTER TOPIC."""
    values = _topic_values(command, ())
    with noting(repository, "change", Topic.kind, command.name):
        repository.topics.alter(command.name, values)
    return []


def delete_topic(command: Command, repository: Repository) -> list[str]:
    """DELETE TOPIC."""
    command.check_keywords((*_SCOPES, "TYPE", "AUTHREC"))
    with noting(repository, "delete", Topic.kind, command.name):
        repository.topics.delete(command.name)
    return []


def _topic_values(command: Command, options: Iterable[str]) -> dict[str, Any]:
    read_choice(command, "QSGDISP", _DISPOSITIONS, "")
    read_choice(command, "TYPE", ("LOCAL",), "")
    return read_values(command, Topic, (*options, *_SCOPES, "TYPE"))


def define_sub(command: Command, repository: Repository) -> list[str]:
    """DEFINE SUB: an administrative subscription, which is durable."""
    values = read_values(command, Subscription, ("LIKE", "REPLACE", "NOREPLACE", *_SCOPES))
    topics = repository.topics
    like = find_parameter(command, "LIKE")
    if like is not None:
        base = topics.named(like.value)
        if base is None:
            raise error_for(MQRC.NO_SUBSCRIPTION, "", like.value, f"there is no SUB({like.value}) for it to be like")
        settable = {each.field for each in Subscription.attributes() if not each.mqsc.is_output}
        values = base.model_dump(include=settable - {"destination_correl_id"}) | values
    if read_flag(command, "REPLACE", "NOREPLACE") and topics.named(command.name) is not None:
        return _alter(command, repository, values)
    if not values.get("topic_string") and not values.get("topic_object"):
        raise MqscSyntaxError(command.line, command.shown, "TOPICSTR(topic string) or TOPICOBJ(topic)")
    managed = values.get("destination_class") == "MANAGED"
    if not managed and not values.get("destination"):
        raise MqscSyntaxError(command.line, command.shown, "DEST(queue) or DESTCLAS(MANAGED)")
    if repository.giver is not None:
        values.setdefault("user_id", repository.giver.user[:12])
    subscription = parse_definition(Subscription, values | _end(values) | {"name": command.name})
    with noting(repository, "create", Subscription.kind, command.name):
        is_copy = isinstance(repository.group, GroupCopy)
        if not managed and (is_copy or repository.locate(RETAINED_QUEUE) is None):
            # Nothing is retained, so no manager need run.
            define_subscription(repository, subscription)
            return []
        with _connected(repository, "DEFINE SUB") as connection:
            define_connected_subscription(connection.connection, subscription)
    return []


def _end(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return when a subscription ends, if EXPIRY is given: it counts from the command."""
    return {"expires_ms": end_of(values["expiry"])} if "expiry" in values else {}


def alter_sub(command: Command, repository: Repository) -> list[str]:
    """ALTER SUB."""
    return _alter(command, repository, read_values(command, Subscription, _SCOPES))


def _alter(command: Command, repository: Repository, values: dict[str, Any]) -> list[str]:
    known = _subscription(command, repository)
    fixed = ("topic_string", "topic_object", "scheme", "destination_class", "level", "selector")
    for field in fixed:
        if field in values and values[field] != getattr(known, field):
            keyword = next(each.keyword for each in Subscription.attributes() if each.field == field)
            raise ValueError(f"{keyword}({values[field]}): it cannot be altered")
    if known.is_managed and ("destination" in values or "destination_q_mgr" in values):
        raise ValueError("DEST and DESTQMGR: its queue is managed")
    changes = {name: values[name] for name in values if name not in fixed} | _end(values)
    with noting(repository, "change", Subscription.kind, known.number):
        repository.topics.alter_subscription(known.number, changes)
    return []


def delete_sub(command: Command, repository: Repository) -> list[str]:
    """DELETE SUB, with its managed queue."""
    command.check_keywords((*_SCOPES, "SUBID"))
    number = _subscription(command, repository).number
    with noting(repository, "delete", Subscription.kind, number):
        repository.topics.remove(number)
    delete_orphans(repository.group)
    return []


def _subscription(command: Command, repository: Repository) -> Subscription:
    number = find_parameter(command, "SUBID")
    topics = repository.topics
    found = topics.named(command.name) if number is None else topics.numbered(number.value.upper())
    if found is None:
        raise error_for(MQRC.NO_SUBSCRIPTION, "", command.name)
    return found


def clear_topic_string(command: Command, repository: Repository) -> list[str]:
    """CLEAR TOPICSTR CLRTYPE(RETAINED): remove the retained publication of a topic string."""
    command.check_keywords(("CLRTYPE", "SCOPE", "CMDSCOPE"))
    if not read_choice(command, "CLRTYPE", ("RETAINED",), ""):
        raise MqscSyntaxError(command.line, command.shown, "CLRTYPE(RETAINED)")
    read_choice(command, "SCOPE", ("LOCAL",), "")
    with _connected(repository, "CLEAR TOPICSTR") as connection:
        clear(connection.connection, command.name)
    return []


def _connected(repository: Repository, what: str) -> QueueManagerConnection:
    return QueueManagerConnection(connect_to(repository.group, repository.qmgr or "", appl_name=what))


# -- displays ------------------------------------------------------------------------------------------------------


def display_topic(command: Command, repository: Repository) -> list[str]:
    """DISPLAY TOPIC."""
    read_choice(command, "QSGDISP", (*_DISPOSITIONS, "PRIVATE"), "")
    read_choice(command, "TYPE", ("LOCAL", "ALL"), "")
    request = read_request(command, (*_SCOPES, "TYPE"), by_keyword(Topic), all_by_default=not is_generic(command.name))
    lines: list[str] = []
    for topic in repository.topics.tree().by_name.values():
        record = _record(topic, Topic.kind)
        if matches(command.name, topic.name) and request.where(record):
            lines += [messages.details(command), *two_columns(request.select(record, always=1))]
    if not (lines or is_generic(command.name) or command.name in repository.topics.tree().by_name):
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", command.name)
    return _found(lines, command)


def display_sub(command: Command, repository: Repository) -> list[str]:
    """DISPLAY SUB: by name, or by SUBID."""
    request = read_request(
        command,
        (*_SCOPES, "SUBID", "SUBTYPE", "DURABLE"),
        (*by_keyword(Subscription), *keywords("SUB")),
        all_by_default=not is_generic(command.name),
    )
    lines: list[str] = []
    for match in _selected(command, repository):
        record = _record(match.subscription, Subscription.kind)
        record.append(shown("SELTYPE", "STANDARD" if match.subscription.selector else "NONE"))
        if request.where(record):
            lines += [messages.details(command), *two_columns(request.select(record, always=2))]
    return _found_subscriptions(lines, command, repository)


def display_sub_status(command: Command, repository: Repository) -> list[str]:
    """DISPLAY SBSTATUS."""
    options = (*_SCOPES, "SUBID", "SUBTYPE", "DURABLE")
    request = read_request(command, options, keywords("SBSTATUS"), all_by_default=True)
    lines: list[str] = []
    delivered = repository.topics.delivered()
    for match in _selected(command, repository):
        record = [shown("SUB", match.subscription.name), *_status_of(match, delivered)]
        if request.where(record):
            lines += [messages.details(command), *two_columns(request.select(record, always=2))]
    return _found_subscriptions(lines, command, repository)


def _record(definition: ObjectDefinition, kind: str) -> list[Shown]:
    """Return the attributes of a definition, its name and its SUBID first."""
    return sorted(
        shown_attributes(definition), key=lambda each: (each.keywords[0] != kind, each.keywords[0] != "SUBID")
    )


def _selected(command: Command, repository: Repository) -> list[Match]:
    number = find_parameter(command, "SUBID")
    kind = read_choice(command, "SUBTYPE", ("ADMIN", "API", "PROXY", "USER", "ALL"), "ALL")
    durable = read_choice(command, "DURABLE", ("YES", "NO", "ALL"), "ALL")
    return [
        match
        for match in repository.topics.subscriptions()
        if matches(command.name or "*", match.subscription.name)
        and (number is None or number.values is None or number.value.upper() == match.subscription.number)
        and (kind in ("ALL", "USER") or kind == match.subscription.subscription_type)
        and durable in ("ALL", match.subscription.durable)
    ]


def _status_of(match: Match, delivered: Mapping[str, tuple[int, datetime]]) -> Iterator[Shown]:
    subscription = match.subscription
    count, last = delivered.get(subscription.number, (0, None))
    yield shown("SUBID", subscription.number)
    yield shown("ACTCONN", match.holder)
    yield shown("DURABLE", subscription.durable)
    yield shown("SUBTYPE", subscription.subscription_type)
    yield shown("SUBUSER", subscription.user_id)
    yield shown("TOPICSTR", subscription.topic_string)
    yield shown("NUMMSGS", count)
    yield shown("LMSGDATE", f"{last:%Y-%m-%d}" if last else "")
    yield shown("LMSGTIME", f"{last:%H.%M.%S}" if last else "")


def display_topic_status(command: Command, repository: Repository) -> list[str]:
    """DISPLAY TPSTATUS: each node of the tree that is known by a topic object, a subscription or a publication."""
    kind = read_choice(command, "TYPE", ("TOPIC", "SUB", "PUB"), "TOPIC")
    request = read_request(command, (*_SCOPES, "TYPE"), keywords("TPSTATUS", kind), all_by_default=True)
    records = _STATUS[kind](command, repository)
    lines: list[str] = []
    for record in records:
        if request.where(record):
            lines += [messages.details(command), *two_columns(request.select(record, always=1))]
    return _found(lines, command)


@dataclass(frozen=True, slots=True)
class _Tree:
    """Topic strings of the nodes that are known, and what is known of each."""

    named: dict[str, str]
    retained: set[str]
    publishers: Counter[str]
    subscribers: Counter[str]

    @property
    def leaves(self) -> tuple[str, ...]:
        return *self.subscribers, *self.retained, *self.named, *self.publishers


def _tree(repository: Repository) -> _Tree:
    with _connected(repository, "DISPLAY TPSTATUS") as connection:
        retained = {each.topic_string for each in all_retained(connection.connection)}
    every = (match.subscription for match in repository.topics.subscriptions())
    subscribers = Counter(each.topic_string for each in every if literal_levels(each.topic_string, each.scheme) < 0)
    named = {topic.topic_string: topic.name for topic in repository.topics.tree().by_name.values()}
    publishers = Counter(each for topics in publishers_of(repository.group).values() for each in topics.elements())
    return _Tree(named, retained, publishers, subscribers)


def _nodes(command: Command, repository: Repository) -> Iterator[list[Shown]]:
    tree, topics = _tree(repository), repository.topics.tree()
    of_tree = {each.keyword for each in Topic.attributes() if each.field in {*ROOT_VALUES, *TOPIC_NODE_FIELDS}}
    for node in nodes_matched(command.name, tree.leaves):
        yield [
            shown("TPSTATUS", node),
            shown("ADMIN", tree.named.get(node, "")),
            shown("RETAINED", "YES" if node in tree.retained else "NO"),
            shown("PUBCOUNT", tree.publishers[node]),
            shown("SUBCOUNT", tree.subscribers[node]),
            *(each for each in shown_attributes(topics.at(node)) if each.keywords[0] in of_tree),
        ]


def _subscribers(command: Command, repository: Repository) -> Iterator[list[Shown]]:
    delivered = repository.topics.delivered()
    for match in repository.topics.subscriptions():
        if is_matched(command.name, "TOPIC", match.subscription.topic_string):
            yield [shown("TPSTATUS", match.subscription.topic_string), *_status_of(match, delivered)]


def _publishers(command: Command, repository: Repository) -> Iterator[list[Shown]]:
    found = ((topic, token) for token, topics in publishers_of(repository.group).items() for topic in topics)
    for topic_string, token in sorted(found):
        if is_matched(command.name, "TOPIC", topic_string):
            yield [shown("TPSTATUS", topic_string), shown("ACTCONN", token)]


_STATUS: Final = {"TOPIC": _nodes, "SUB": _subscribers, "PUB": _publishers}


def display_publish_subscribe(command: Command, repository: Repository) -> list[str]:
    """DISPLAY PUBSUB: how many subscriptions and nodes of the topic tree there are. There are no hierarchies."""
    kind = read_choice(command, "TYPE", ("ALL", "LOCAL", "PARENT", "CHILD"), "ALL")
    request = read_request(command, ("TYPE", "CMDSCOPE"), keywords("PUBSUB"), all_by_default=True)
    if kind in ("PARENT", "CHILD"):
        return _found([], command)
    record = [
        shown("QMNAME", repository.qmgr or ""),
        shown("TYPE", "LOCAL"),
        shown("STATUS", "ACTIVE"),
        shown("SUBCOUNT", len(repository.topics.subscriptions())),
        shown("TPCOUNT", node_count(_tree(repository).leaves)),
    ]
    return [messages.details(command), *two_columns(request.select(record, always=2))]


def _found_subscriptions(lines: list[str], command: Command, repository: Repository) -> list[str]:
    if not (lines or is_generic(command.name) or find_parameter(command, "SUBID")):
        # The one that is named may be there, and not be asked for.
        _subscription(command, repository)
    return _found(lines, command)


def _found(lines: list[str], command: Command) -> list[str]:
    return lines or [messages.NOTHING_FOUND.format(command.object_type)]


#: Verb and object -> the function that does the command.
COMMANDS: dict[tuple[str, str], Callable[[Command, Repository], list[str]]] = {
    ("DEFINE", "TOPIC"): define_topic,
    ("ALTER", "TOPIC"): alter_topic,
    ("DELETE", "TOPIC"): delete_topic,
    ("DEFINE", "SUB"): define_sub,
    ("ALTER", "SUB"): alter_sub,
    ("DELETE", "SUB"): delete_sub,
    ("CLEAR", "TOPICSTR"): clear_topic_string,
}
DISPLAYS: dict[str, Callable[[Command, Repository], list[str]]] = {
    "TOPIC": display_topic,
    "SUB": display_sub,
    "SBSTATUS": display_sub_status,
    "TPSTATUS": display_topic_status,
    "PUBSUB": display_publish_subscribe,
}
