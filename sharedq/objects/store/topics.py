"""The topics of the group: administrative topics, subscriptions, and which subscriptions a publication matches.

Both are in the administration structure. A program keeps what it has matched, and asks with each publication whether
that is still in force: one script answers that, and what is in force where it is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final, Protocol

from sharedq.logical.topic_strings import CHARACTERS, is_matched, levels_of
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.base import parse_definition
from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.objects.definitions.topics import DEFAULT_TOPIC, Topic, TopicTree
from sharedq.redis.keys import AdminKeys
from sharedq.redis.link import Argument, Reply, ScriptCall
from sharedq.scripts.objects import (
    define_topic_call,
    end_subscription_call,
    hold_subscription_call,
    match_call,
    subscribe_call,
)
from sharedq.scripts.reads import pairs_like

#: Levels, and places, that one call goes on with, at most.
_LEVELS: Final = 500
_PLACES: Final = 250
_CHANGED: Final = 1
#: Topic strings of which a program keeps the subscriptions.
_KEPT: Final = 1000


class Changed(Exception):
    """The subscriptions changed between two calls of a walk."""


class Walk:
    """One walk. Its calls raise `Changed` if they find several versions.

    Args:
        known: the version of the subscriptions that the caller knows; "" for none.
        call: calls a script.

    Attributes:
        version, topics_version: of the subscriptions, and of the topics.
        found: the subscriptions as JSON, each with its holder.
    """

    def __init__(self, keys: AdminKeys, known: str, call: Callable[[ScriptCall], Reply]) -> None:
        self._keys, self._known, self._call = keys, known, call
        self.version = self.topics_version = ""
        self.found: list[tuple[bytes, bytes]] = []
        # Places whose subscriptions are not read yet, and how many of the first place are.
        self._unread: list[str] = []
        self._skip = 0

    def go(self, topic_string: str) -> None:
        """Find the subscriptions to *topic_string*; nothing, if the version is the known one."""
        levels = levels_of(topic_string)
        # Places at this level, each with the nearest one above it for any levels; and those that are found at the next.
        here: dict[str, str] = {"": ""}
        after: dict[str, str] = {}
        while here or after:
            if not here:
                here, after, levels = after, {}, levels[1:]
            if not levels and len(here) > _PLACES:
                self._unread += here
                break
            given = dict(islice(here.items(), _PLACES))
            if len(given) == len(here) and not after:
                gone, here = self._step(levels[:_LEVELS], given, is_last=len(levels) <= _LEVELS)
                levels = levels[gone:]
            else:
                after |= self._step(levels[:1], given, is_last=False)[1]
                here = dict(islice(here.items(), len(given), None))
        while self._unread:
            self._step([], {}, is_last=True)

    def _step(self, levels: Sequence[str], places: Mapping[str, str], *, is_last: bool) -> tuple[int, dict[str, str]]:
        """Make one call. Returns how many levels it has gone, and the places that it has come to."""
        given = [] if places else self._unread[:_PLACES]
        reply = self._call(
            match_call(self._keys, self._known, levels, places, given, self._skip if given else 0, is_last=is_last)
        )
        topics, version, gone, reached, found, unread_from, skip, *pairs = reply
        if self.version and version.decode() != self.version:
            raise Changed
        self.topics_version, self.version = topics.decode(), version.decode()
        self.found += zip(pairs[::2], pairs[1::2], strict=True)
        names, left = [each.decode() for each in reached], [each.decode() for each in found]
        if is_last and not names:
            left, self._skip = (left[unread_from - 1 :], skip) if unread_from else ([], 0)
            self._unread = left + self._unread[len(given) :]
        else:
            self._unread += left
        return gone, dict(zip(names[::2], names[1::2], strict=True))


class Caller(Protocol):
    """Calls scripts, over the link of a connection or that of the group."""

    def call(self, name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        """Return the reply."""


@dataclass(frozen=True, slots=True)
class Match:
    """A subscription that a publication matches, and the connection that has it open ("" for none)."""

    subscription: Subscription
    holder: str


@dataclass(slots=True)
class Matches:
    """The subscriptions to one topic string.

    Attributes:
        topic: the attributes in force there.
        version: of the subscriptions, and of the topics, that this was found by.
    """

    topic: Topic
    matches: list[Match]
    version: str
    topics_version: str


class Topics:
    """Reads and changes topics and subscriptions.

    Args:
        group: the group, over whose link commands go.
        clock: returns creation and alteration times.
    """

    def __init__(self, group: Group, clock: Callable[[], datetime]) -> None:
        self._group, self._clock, self._keys = group, clock, group.keys

    # -- administrative topics ------------------------------------------------------------------------------------

    def tree(self) -> TopicTree:
        """Return the administrative topics in force."""
        return TopicTree(topic for topic, _ in self._all().values())

    def define(self, topic: Topic, *, replace: bool = False, like: str = "") -> None:
        """DEFINE TOPIC. Fields that *topic* does not set come from *like*, else from SYSTEM.DEFAULT.TOPIC.

        Raises:
            MQIError: 2100 it exists; 2425 another topic has its topic string; 2085 there is no topic to be *like*.
            ValueError: attributes do not fit together.
        """
        known = self._all()
        base = known.get(like or DEFAULT_TOPIC)
        if like and base is None:
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", like, f"there is no TOPIC({like}) for it to be like")
        if base is not None:
            own = {"name", "topic_string", *(() if like else ("description",))}
            taken = base[0].model_dump(exclude=own)
            topic = parse_definition(Topic, taken | {name: getattr(topic, name) for name in topic.model_fields_set})
        body = topic.altered_at(self._clock()).to_json()
        call = define_topic_call(self._keys, topic.name, "replace" if replace else "new", 0, body)
        self._check_topic(topic.name, self._group.call(*call))

    def alter(self, name: str, changes: Mapping[str, Any]) -> None:
        """ALTER TOPIC. Raises MQIError: 2085, there is none; 2425; ValueError: a value is out of its range."""
        while True:
            topic, version = self._existing(name)
            if changes.get("topic_string", topic.topic_string) != topic.topic_string:
                raise ValueError("TOPICSTR cannot be altered: delete the topic, and define it anew")
            body = topic.with_changes(changes).altered_at(self._clock()).to_json()
            reply = self._group.call(*define_topic_call(self._keys, name, "alter", version, body))
            if reply[0] != _CHANGED:
                return self._check_topic(name, reply)

    def delete(self, name: str) -> None:
        """DELETE TOPIC. Raises MQIError: 2085, there is none."""
        while True:
            _, version = self._existing(name)
            reply = self._group.call(*define_topic_call(self._keys, name, "delete", version, ""))
            if reply[0] != _CHANGED:
                return self._check_topic(name, reply)

    def _existing(self, name: str) -> tuple[Topic, int]:
        found = self._all().get(name)
        if found is None:
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", name)
        return found

    def _check_topic(self, name: str, reply: Reply) -> None:
        if reply[0]:
            in_the_way = reply[1].decode()
            detail = f"TOPIC({in_the_way}) has this topic string" if in_the_way != name and in_the_way else ""
            raise error_for(MQRC(reply[0]), "", name, detail)

    def _all(self) -> dict[str, tuple[Topic, int]]:
        key = self._keys.topics
        texts = self._group.command(key, "HVALS", key)
        found: dict[str, tuple[Topic, int]] = {}
        for values in map(json.loads, texts):
            version = values.pop("version")
            found[values["name"]] = (Topic.from_stored(values), version)
        return dict(sorted(found.items()))

    # -- subscriptions --------------------------------------------------------------------------------------------

    def subscriptions(self) -> list[Match]:
        """Return every subscription, by name and number."""
        key, held = self._keys.subscriptions, self._keys.subscription_holders
        holders = {number.decode(): token.decode() for number, token in pairs_like(self._group, "HSCAN", held)}
        found = dict(pairs_like(self._group, "HSCAN", key))
        all_of_them = [Subscription.from_json(text) for text in found.values()]
        all_of_them.sort(key=lambda each: (each.name, each.number))
        return [Match(each, holders.get(each.number, "")) for each in all_of_them]

    def delivered(self) -> dict[str, tuple[int, datetime]]:
        """Map the numbers of subscriptions to how many publications were put for them, and when the last one was."""
        found: dict[str, tuple[int, datetime]] = {}
        for number, text in pairs_like(self._group, "HSCAN", self._keys.delivered):
            count, last_ms = text.split()
            found[number.decode()] = int(count), datetime.fromtimestamp(int(last_ms) / 1000, self._clock().tzinfo)
        return found

    def named(self, name: str) -> Subscription | None:
        """Return the subscription of this name."""
        key = self._keys.subscription_names
        number = self._group.command(key, "HGET", key, name)
        return None if number is None else self.numbered(number.decode())

    def numbered(self, number: str) -> Subscription | None:
        """Return the subscription of this number."""
        key = self._keys.subscriptions
        text = self._group.command(key, "HGET", key, number)
        return None if text is None else Subscription.from_json(text)

    def create(self, subscription: Subscription, caller: str = "", via: Caller | None = None) -> Subscription:
        """Make a subscription: what is published after this goes to it, too.

        Args:
            caller: the connection that has it open from now on.
            via: the link that the call leaves by.

        Raises:
            MQIError: 2009, *caller* was shut out; 2432, the name is taken.
        """
        made = subscription.created_at(self._clock())
        return self._write(made, "new", caller, via or self._group) or made

    def alter_subscription(
        self, number: str, changes: Mapping[str, Any], caller: str = "", via: Caller | None = None
    ) -> Subscription:
        """Change a subscription. Raises MQIError: 2009, *caller* was shut out; 2428, there is none; ValueError."""
        while True:
            known = self.numbered(number)
            if known is None:
                raise error_for(MQRC.NO_SUBSCRIPTION, "", number)
            altered = known.with_changes(changes).altered_at(self._clock())
            written = self._write(altered, "alter", caller, via or self._group)
            if written is not None:
                return written

    def _write(self, subscription: Subscription, mode: Any, caller: str, via: Caller) -> Subscription | None:
        body = subscription.model_dump_json(exclude={"version"})
        reply = via.call(
            *subscribe_call(
                self._keys,
                *(caller, mode, subscription.number, subscription.name),
                *(subscription.version, subscription.place, body),
            )
        )
        if reply[0] == _CHANGED:
            return None
        if reply[0]:
            raise error_for(MQRC(reply[0]), "MQSUB", subscription.name)
        return subscription.model_copy(update={"version": int(reply[1])})

    def hold(self, number: str, caller: str, via: Caller) -> Subscription:
        """Open a subscription that exists. Raises MQIError: 2009, 2428, there is none; 2429, another has it open."""
        reply = via.call(*hold_subscription_call(self._keys, caller, number))
        if reply[0]:
            raise error_for(MQRC(reply[0]), "MQSUB", "")
        return Subscription.from_json(reply[1])

    def close(self, number: str, caller: str, via: Caller, holder: str = "") -> None:
        """Let nobody have a subscription open. Raises MQIError: 2009, 2428, 2429."""
        self._end(number, "close", caller, via, holder or caller)

    def remove(self, number: str, caller: str = "", via: Caller | None = None, holder: str = "") -> None:
        """Let a subscription end. Its managed queue is deleted by ``sweep``.

        Args:
            holder: the connection that may have it open; default: *caller*.

        Raises:
            MQIError: 2009, *caller* was shut out; 2428, there is none; 2429, another connection has it open.
        """
        self._end(number, "remove", caller, via or self._group, holder or caller)

    def _end(self, number: str, mode: Any, caller: str, via: Caller, holder: str) -> None:
        reply = via.call(*end_subscription_call(self._keys, caller, number, mode, holder))
        if reply[0]:
            raise error_for(MQRC(reply[0]), "MQCLOSE", "")


@dataclass(slots=True)
class Matcher:
    """The memory of a program: the subscriptions to the topic strings that it publishes to."""

    group: Group
    _tree: TopicTree | None = None
    _topics_version: str = ""
    _known: dict[str, Matches] = field(default_factory=dict)

    def match(self, topic_string: str, topics: Topics, via: Caller) -> Matches:
        """Return the subscriptions to *topic_string* that are in force now."""
        known = self._known.get(topic_string)
        topics_version, version, found = self._ask(topic_string, known.version if known else "", via)
        if known is not None and known.version == version and known.topics_version == topics_version:
            return known
        if self._tree is None or self._topics_version != topics_version:
            # Read after the version: a tree that is newer than its version is read again at the next publication.
            self._tree, self._topics_version = topics.tree(), topics_version
        if known is not None and known.version == version:
            topics_version, version, found = self._ask(topic_string, "", via)
        levels = self._tree.blocked_levels(topic_string)
        matches = [each for each in found if _is_fit(each.subscription, topic_string, levels)]
        if len(self._known) >= _KEPT:
            self._known.clear()
        result = Matches(self._tree.at(topic_string), matches, version, topics_version)
        self._known[topic_string] = result
        return result

    def forget(self, topic_string: str) -> None:
        """Ask anew at the next publication."""
        self._known.pop(topic_string, None)

    def _ask(self, topic_string: str, known: str, via: Caller) -> tuple[str, str, list[Match]]:
        while True:
            walk = Walk(self.group.keys, known, lambda script: via.call(*script))
            try:
                walk.go(topic_string)
            except Changed:
                continue
            found = [Match(Subscription.from_json(text), holder.decode()) for text, holder in walk.found]
            return walk.topics_version, walk.version, found


def _is_fit(subscription: Subscription, topic_string: str, levels: int) -> bool:
    if subscription.place.endswith(CHARACTERS) and not is_matched(subscription.topic_string, "CHAR", topic_string):
        return False
    return not subscription.is_blocked(levels)
