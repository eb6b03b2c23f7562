"""Definitions of administrative topics. An attribute ASPARENT is that of the nearest topic above it. Pure.

The group has one tree of topics, at whose root is SYSTEM.BASE.TOPIC. Attributes about clusters, hierarchies and
multicast are kept and shown, and nothing acts on them.

Source: IBM MQ reference, "DEFINE TOPIC", "Attributes for topics".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from sharedq.logical.topic_strings import TOPIC_STRING_LENGTH, ancestors_of
from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.limits import UNLIMITED_EXPIRY
from sharedq.objects.definitions import words
from sharedq.objects.definitions.attributes import Mqsc
from sharedq.objects.definitions.base import Description, ObjectDefinition
from sharedq.objects.definitions.queues import NO_CUSTOM, Custom, Name, OptionalName, check_cap

BASE_TOPIC: Final = "SYSTEM.BASE.TOPIC"
DEFAULT_TOPIC: Final = "SYSTEM.DEFAULT.TOPIC"
DURABLE_MODEL, NON_DURABLE_MODEL = "SYSTEM.DURABLE.MODEL.QUEUE", "SYSTEM.NDURABLE.MODEL.QUEUE"
AS_PARENT: Final = "ASPARENT"


def _words(**numbers: int) -> Mapping[str, int]:
    return MappingProxyType(numbers)


_PRIORITY: Final = _words(ASPARENT=-2)
_PERSISTENCE: Final = _words(ASPARENT=-1, NO=0, YES=1)
_RESPONSE: Final = _words(ASPARENT=0, SYNC=1, ASYNC=2)
_ALLOWED: Final = _words(ASPARENT=0, DISABLED=1, ENABLED=2)
_CAP: Final = _words(ASPARENT=-2, NOLIMIT=UNLIMITED_EXPIRY)
_DURABLE: Final = _words(ASPARENT=0, YES=1, NO=2)
_DELIVERY: Final = _words(ASPARENT=0, ALL=1, ALLDUR=2, ALLAVAIL=3)
_DEAD_LETTERS: Final = _words(ASPARENT=0, NO=1, YES=2)
_WILDCARD: Final = _words(BLOCK=1, PASSTHRU=2)
_SCOPE: Final = _words(ALL=0, ASPARENT=1, QMGR=4)
_PROXY: Final = _words(FORCE=1, FIRSTUSE=2)
_MULTICAST: Final = _words(ENABLED=0, ASPARENT=1, DISABLED=2, ONLY=3)
_ROUTE: Final = _words(DIRECT=0, TOPICHOST=1, NONE=2)
_TYPE: Final = _words(LOCAL=0)
_BEYOND: Final = "publications and subscriptions stay in the group"
_TO_QUEUES: Final = "publications go to queues"
_COMPLETE: Final = "a publication is complete when the call returns"
#: The types that a command may name.
TOPIC_TYPES: Final = _words(LOCAL=0, ALL=2)


def check_topic_string(text: str) -> str:
    """Return *text* if it can be a topic string. Raises ValueError: it is longer than 10240 bytes."""
    if len(text.encode()) > TOPIC_STRING_LENGTH:
        raise ValueError(f"a topic string has at most {TOPIC_STRING_LENGTH} bytes")
    return text


def check_priority(number: int) -> int:
    """Return a priority, or a negative number that stands for one. Raises ValueError: -1, which is neither."""
    if number == -1:
        raise ValueError("a number from 0 to 9, or ASPARENT expected")
    return number


TopicString = Annotated[str, AfterValidator(check_topic_string)]
_Allowed = Literal["ASPARENT", "DISABLED", "ENABLED"]
_Delivery = Literal["ASPARENT", "ALL", "ALLDUR", "ALLAVAIL"]
_Scope = Literal["ASPARENT", "ALL", "QMGR"]


class Topic(ObjectDefinition):
    """An administrative topic: attributes of a topic string and of those below it."""

    kind: ClassVar[str] = "TOPIC"

    name: Annotated[Name, Mqsc("TOPIC", Char.TOPIC_NAME, is_output=True, length=48)]
    disposition: Annotated[Literal["GROUP"], Mqsc("QSGDISP", Int.QSG_DISP, words.DISPOSITION, is_output=True)] = "GROUP"
    topic_type: Annotated[Literal["LOCAL"], Mqsc("TYPE", Int.TOPIC_TYPE, _TYPE, is_output=True)] = "LOCAL"
    topic_string: Annotated[TopicString, Mqsc("TOPICSTR", Char.TOPIC_STRING)] = ""
    description: Annotated[Description, Mqsc("DESCR", Char.TOPIC_DESC, length=64)] = ""
    publish: Annotated[_Allowed, Mqsc("PUB", Int.INHIBIT_PUB, _ALLOWED)] = "ASPARENT"
    subscribe: Annotated[_Allowed, Mqsc("SUB", Int.INHIBIT_SUB, _ALLOWED)] = "ASPARENT"
    durable_subscriptions: Annotated[Literal["ASPARENT", "YES", "NO"], Mqsc("DURSUB", Int.DURABLE_SUB, _DURABLE)] = (
        "ASPARENT"
    )
    durable_model: Annotated[OptionalName, Mqsc("MDURMDL", Char.MODEL_DURABLE_Q, length=48)] = ""
    non_durable_model: Annotated[OptionalName, Mqsc("MNDURMDL", Char.MODEL_NON_DURABLE_Q, length=48)] = ""
    def_priority: Annotated[
        int, Field(ge=-2, le=9), AfterValidator(check_priority), Mqsc("DEFPRTY", Int.DEF_PRIORITY, _PRIORITY)
    ] = -2
    def_persistence: Annotated[
        Literal["ASPARENT", "NO", "YES"], Mqsc("DEFPSIST", Int.TOPIC_DEF_PERSISTENCE, _PERSISTENCE)
    ] = "ASPARENT"
    publish_response: Annotated[
        Literal["ASPARENT", "SYNC", "ASYNC"],
        Mqsc("DEFPRESP", Int.DEF_PUT_RESPONSE_TYPE, _RESPONSE, instead=_COMPLETE, done=("SYNC",)),
    ] = "ASPARENT"
    cap_expiry: Annotated[
        int, Field(ge=-2, le=999_999_999), AfterValidator(check_cap), Mqsc("CAPEXPRY", Int.CAP_EXPIRY, _CAP)
    ] = -2
    persistent_delivery: Annotated[_Delivery, Mqsc("PMSGDLV", Int.PM_DELIVERY, _DELIVERY)] = "ASPARENT"
    non_persistent_delivery: Annotated[_Delivery, Mqsc("NPMSGDLV", Int.NPM_DELIVERY, _DELIVERY)] = "ASPARENT"
    use_dead_letter_queue: Annotated[
        Literal["ASPARENT", "NO", "YES"], Mqsc("USEDLQ", Int.USE_DEAD_LETTER_Q, _DEAD_LETTERS)
    ] = "ASPARENT"
    wildcard: Annotated[Literal["PASSTHRU", "BLOCK"], Mqsc("WILDCARD", Int.WILDCARD_OPERATION, _WILDCARD)] = "PASSTHRU"
    publish_scope: Annotated[
        _Scope,
        Mqsc("PUBSCOPE", Int.PUB_SCOPE, _SCOPE, instead="every member of the group gets publications", done=("ALL",)),
    ] = "ASPARENT"
    subscribe_scope: Annotated[
        _Scope,
        Mqsc("SUBSCOPE", Int.SUB_SCOPE, _SCOPE, instead="publications of every member come", done=("ALL",)),
    ] = "ASPARENT"
    proxy_subscriptions: Annotated[
        Literal["FORCE", "FIRSTUSE"], Mqsc("PROXYSUB", Int.PROXY_SUB, _PROXY, instead=_BEYOND)
    ] = "FIRSTUSE"
    multicast: Annotated[
        Literal["ASPARENT", "DISABLED", "ENABLED", "ONLY"],
        Mqsc("MCAST", Int.MULTICAST, _MULTICAST, instead=_TO_QUEUES, done=("DISABLED",)),
    ] = "ASPARENT"
    communication_information: Annotated[
        OptionalName, Mqsc("COMMINFO", Char.COMM_INFO_NAME, length=48, instead=_TO_QUEUES)
    ] = ""
    cluster: Annotated[OptionalName, Mqsc("CLUSTER", Char.CLUSTER_NAME, length=48, instead=_BEYOND)] = ""
    cluster_route: Annotated[
        Literal["DIRECT", "TOPICHOST", "NONE"],
        Mqsc("CLROUTE", Int.CLUSTER_PUB_ROUTE, _ROUTE, instead=_BEYOND),
    ] = "DIRECT"
    custom: Annotated[Custom, Mqsc("CUSTOM", Char.CUSTOM, length=128, instead=NO_CUSTOM)] = ""


#: The values at the root of the tree, where nothing is above them.
ROOT_VALUES: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "publish": "ENABLED",
        "subscribe": "ENABLED",
        "durable_subscriptions": "YES",
        "durable_model": DURABLE_MODEL,
        "non_durable_model": NON_DURABLE_MODEL,
        "def_priority": 0,
        "def_persistence": "NO",
        "publish_response": "SYNC",
        "cap_expiry": UNLIMITED_EXPIRY,
        "persistent_delivery": "ALLDUR",
        "non_persistent_delivery": "ALLAVAIL",
        "use_dead_letter_queue": "YES",
        "publish_scope": "ALL",
        "subscribe_scope": "ALL",
        "multicast": "DISABLED",
    }
)
#: Fields that a node of the tree has from the nearest topic object alone.
TOPIC_NODE_FIELDS: Final = ("cluster", "cluster_route")
_OF_PARENT: Final = ("", AS_PARENT, -2)


class TopicTree:
    """The administrative topics of one moment, by their topic strings."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        self.by_name: dict[str, Topic] = {}
        self._by_string: dict[str, Topic] = {}
        for topic in topics:
            self.by_name[topic.name] = topic
            self._by_string[topic.topic_string] = topic
        # SYSTEM.DEFAULT.TOPIC has no topic string, either.
        if BASE_TOPIC in self.by_name:
            self._by_string[""] = self.by_name[BASE_TOPIC]

    def names_above(self, topic_string: str) -> list[str]:
        """Return the names of the administrative topics at a topic string and above it, the nearest first."""
        return [found.name for each in ancestors_of(topic_string) if (found := self._by_string.get(each)) is not None]

    def at(self, topic_string: str) -> Topic:
        """Return the attributes in force at a topic string. Its name is that of the nearest administrative topic."""
        above = [found for each in ancestors_of(topic_string) if (found := self._by_string.get(each)) is not None]
        values = dict(ROOT_VALUES)
        for topic in reversed(above):
            values |= {field: value for field in ROOT_VALUES if (value := getattr(topic, field)) not in _OF_PARENT}
        nearest = above[0] if above else Topic(name=BASE_TOPIC)
        return nearest.model_copy(update=values)

    def blocked_levels(self, topic_string: str) -> int:
        """Return how many levels, at least, must come before the first wildcard of a subscription that gets what is
        published to *topic_string*: those of the nearest topic with WILDCARD(BLOCK).
        """
        for each in ancestors_of(topic_string):
            found = self._by_string.get(each)
            if found is not None and found.wildcard == "BLOCK":
                return len(each.split("/")) if each else 0
        return 0
