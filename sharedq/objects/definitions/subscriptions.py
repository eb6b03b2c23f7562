"""The definition of a subscription: its topic string, its destination, and what its publications look like. Pure.

Source: IBM MQ reference, "DEFINE SUB", "DISPLAY SUB", "MQSD".
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, Field

from sharedq.logical.topic_strings import literal_levels, place_of
from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants.pcf import PCFParameter as Param
from sharedq.mqi.limits import MAX_EXPIRY, UNLIMITED_EXPIRY
from sharedq.objects.definitions.attributes import Mqsc
from sharedq.objects.definitions.base import Date, ObjectDefinition, Time
from sharedq.objects.definitions.queues import OptionalName, YesNo
from sharedq.objects.definitions.topics import TopicString

#: PUBPRTY: as the publication says, or as the queue of the subscription does.
AS_PUBLISHED, AS_QUEUE = -3, -1


def _words(**numbers: int) -> Mapping[str, int]:
    return MappingProxyType(numbers)


_PRIORITY: Final = _words(ASPUB=AS_PUBLISHED, ASQDEF=AS_QUEUE)
_CLASS: Final = _words(MANAGED=1, PROVIDED=2)
DURABLE: Final = _words(YES=1, NO=2)
TYPES: Final = _words(API=1, ADMIN=2)
_PROPERTIES: Final = _words(NONE=0, COMPAT=1, RFH2=2, MSGPROP=3)
_ON_REQUEST: Final = _words(YES=1, NO=2)
_SCOPE: Final = _words(QMGR=1, ALL=2)
_USER: Final = _words(FIXED=1, ANY=2)
_SCHEME: Final = _words(CHAR=1, TOPIC=2)
_EXPIRY: Final = _words(UNLIMITED=UNLIMITED_EXPIRY)
_MS_PER_TENTH: Final = 100
_ALL_MEMBERS: Final = "publications of every member come"
_NO_PRIORITY: Final = -2
_HEX_24 = Annotated[str, Field(pattern=r"^[0-9A-F]{48}$", description="48 hexadecimal digits")]
_HEX_32 = Annotated[str, Field(pattern=r"^[0-9A-F]{64}$", description="64 hexadecimal digits")]
#: How the names of managed queues begin.
MANAGED: Final = "SYSTEM.MANAGED."
#: Of a subscription that has no correlation id of its own: publications keep that of their publisher.
NO_CORREL_ID: Final = "0" * 48


def _check_priority(number: int) -> int:
    if number == _NO_PRIORITY:
        raise ValueError("a number from 0 to 9, or ASPUB or ASQDEF expected")
    return number


def end_of(expiry: int) -> int:
    """Return when a subscription ends that is made or altered now, ms since 1970; 0: never.

    Args:
        expiry: SubExpiry, in tenths of a second.
    """
    return 0 if expiry < 0 else int(time.time() * 1000) + expiry * _MS_PER_TENTH


class Subscription(ObjectDefinition):
    """A subscription.

    Attributes:
        number: its identifier, 24 bytes in hexadecimal digits.
        version: of the subscriptions of the group, when it was made or altered.
        place: in the tree of places (`sharedq.logical.topic_strings`).
        made_at: the manager at which it was made: the names of its destination are that manager's.
        destination_q_mgr: empty: whatever queue *made_at* has by that name.
        expiry: SubExpiry as it was asked for, in tenths of a second; -1: it does not end.
        expires_ms: when it ends, ms since 1970; 0: never.
        is_on_request: MQSO_PUBLICATIONS_ON_REQUEST.
    """

    kind: ClassVar[str] = "SUB"
    dates: ClassVar[frozenset[str]] = ObjectDefinition.dates | {"creation_date", "creation_time"}

    name: Annotated[str, Field(max_length=10240), Mqsc("SUB", Param.SUB_NAME, is_output=True)] = ""
    number: Annotated[_HEX_24, Mqsc("SUBID", Param.SUB_ID, is_output=True, is_hex=True)] = NO_CORREL_ID
    version: int = 0
    place: str = ""
    made_at: str = ""
    topic_string: Annotated[TopicString, Mqsc("TOPICSTR", Char.TOPIC_STRING)] = ""
    topic_object: Annotated[OptionalName, Mqsc("TOPICOBJ", Char.TOPIC_NAME, length=48)] = ""
    destination_class: Annotated[Literal["PROVIDED", "MANAGED"], Mqsc("DESTCLAS", Param.DESTINATION_CLASS, _CLASS)] = (
        "PROVIDED"
    )
    destination: Annotated[OptionalName, Mqsc("DEST", Param.DESTINATION, length=48)] = ""
    destination_q_mgr: Annotated[OptionalName, Mqsc("DESTQMGR", Param.DESTINATION_Q_MGR, length=48)] = ""
    destination_correl_id: Annotated[_HEX_24, Mqsc("DESTCORL", Param.DESTINATION_CORREL_ID, is_hex=True)] = NO_CORREL_ID
    durable: Annotated[YesNo, Mqsc("DURABLE", Param.DURABLE_SUBSCRIPTION, DURABLE, is_output=True)] = "YES"
    subscription_type: Annotated[Literal["ADMIN", "API"], Mqsc("SUBTYPE", Param.SUB_TYPE, TYPES, is_output=True)] = (
        "ADMIN"
    )
    user_id: Annotated[str, Field(max_length=12), Mqsc("SUBUSER", Param.SUB_USER_ID, length=12)] = ""
    user_data: Annotated[str, Field(max_length=10240), Mqsc("USERDATA", Param.SUB_USER_DATA)] = ""
    accounting_token: Annotated[_HEX_32, Mqsc("PUBACCT", Param.ACCOUNTING_TOKEN, is_hex=True)] = "0" * 64
    identity_data: Annotated[str, Field(max_length=32), Mqsc("PUBAPPID", Param.APPL_IDENTITY_DATA, length=32)] = ""
    priority: Annotated[
        int, Field(ge=-3, le=9), AfterValidator(_check_priority), Mqsc("PUBPRTY", Param.PUB_PRIORITY, _PRIORITY)
    ] = AS_PUBLISHED
    properties: Annotated[
        Literal["MSGPROP", "NONE", "COMPAT", "RFH2"], Mqsc("PSPROP", Param.PUBSUB_PROPERTIES, _PROPERTIES)
    ] = "MSGPROP"
    is_on_request: Annotated[YesNo, Mqsc("REQONLY", Param.REQUEST_ONLY, _ON_REQUEST)] = "NO"
    selector: Annotated[str, Field(max_length=10240), Mqsc("SELECTOR", Param.SUB_SELECTOR)] = ""
    level: Annotated[int, Field(ge=0, le=9), Mqsc("SUBLEVEL", Param.SUB_LEVEL)] = 1
    scope: Annotated[
        Literal["ALL", "QMGR"],
        Mqsc("SUBSCOPE", Param.SUBSCRIPTION_SCOPE, _SCOPE, instead=_ALL_MEMBERS),
    ] = "ALL"
    variable_user: Annotated[Literal["ANY", "FIXED"], Mqsc("VARUSER", Param.VARIABLE_USER_ID, _USER)] = "ANY"
    scheme: Annotated[Literal["TOPIC", "CHAR"], Mqsc("WSCHEMA", Param.WILDCARD_SCHEMA, _SCHEME)] = "TOPIC"
    expiry: Annotated[int, Field(ge=UNLIMITED_EXPIRY, le=MAX_EXPIRY), Mqsc("EXPIRY", Param.EXPIRY, _EXPIRY)] = (
        UNLIMITED_EXPIRY
    )
    expires_ms: int = 0
    creation_date: Annotated[Date, Mqsc("CRDATE", Char.CREATION_DATE, is_output=True, length=12)] = ""
    creation_time: Annotated[Time, Mqsc("CRTIME", Char.CREATION_TIME, is_output=True, length=8)] = ""

    def created_at(self, now: datetime) -> Self:
        """Return this subscription, created and altered at *now*, in its place."""
        altered = self.altered_at(now)
        created = {"creation_date": altered.alteration_date, "creation_time": altered.alteration_time}
        return altered.model_copy(update=created | {"place": place_of(self.topic_string, self.scheme)})

    @property
    def is_durable(self) -> bool:
        """Whether it outlives the connection that has it open."""
        return self.durable == "YES"

    @property
    def is_managed(self) -> bool:
        """Whether its queue was made for it, and goes with it."""
        return self.destination_class == "MANAGED"

    def is_expired(self, now_ms: int) -> bool:
        """Whether its SubExpiry has run out: it gets nothing more."""
        return 0 < self.expires_ms <= now_ms

    def is_blocked(self, levels: int) -> bool:
        """Whether it has a wildcard within the first *levels* levels."""
        before = literal_levels(self.topic_string, self.scheme)
        return 0 <= before < levels
