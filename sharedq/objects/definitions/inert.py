"""Attributes that are kept and shown, and do nothing here except with the values that say what is done anyway. Pure.

A command that gives such an attribute another value, which is not the default either, warns that it does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sharedq.objects.definitions.attributes import by_keyword
from sharedq.objects.definitions.base import ObjectDefinition
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.processes import Process
from sharedq.objects.definitions.queues import QUEUE_KINDS, QueueLocal, QueueModel
from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.objects.definitions.topics import Topic

#: Kind of object -> its model.
MODELS: Final[Mapping[str, type[ObjectDefinition]]] = {
    **QUEUE_KINDS,
    QueueManagerAttributes.kind: QueueManagerAttributes,
    CFStruct.kind: CFStruct,
    Topic.kind: Topic,
    Subscription.kind: Subscription,
    Process.kind: Process,
}


@dataclass(frozen=True, slots=True)
class Inert:
    """An attribute that does nothing.

    Attributes:
        kinds: MQSC's words for the objects that have it.
        keyword: the MQSC keyword; of bare words, that which asks for something.
        done: the values that say what is done anyway.
        instead: what is done, in one clause.
    """

    kinds: tuple[str, ...]
    keyword: str
    done: tuple[Any, ...]
    instead: str


_STORED: Final = (QueueLocal.kind, QueueModel.kind)
_ALL: Final = tuple(QUEUE_KINDS)
_QMGR: Final = (QueueManagerAttributes.kind,)
_CFSTRUCT: Final = (CFStruct.kind,)
_TOPIC: Final = (Topic.kind,)
_BEYOND: Final = "publications and subscriptions stay in the group"

INERT: Final = (
    Inert(_STORED, "DEFREADA", ("NO", "DISABLED"), "messages are never read ahead"),
    Inert(_STORED, "STATQ", ("QMGR", "OFF"), "no statistics messages are written"),
    Inert(_STORED, "ACCTQ", ("QMGR", "OFF"), "no accounting messages are written"),
    Inert(_ALL, "DEFPRESP", ("SYNC",), "a put is synchronous unless it asks for MQPMO_ASYNC_RESPONSE"),
    Inert(_ALL, "DEFBIND", ("OPEN",), "there are no clusters, in which messages could be bound"),
    Inert(_QMGR, "STATQ", ("NONE", "OFF"), "no statistics messages are written"),
    Inert(_QMGR, "ACCTQ", ("NONE", "OFF"), "no accounting messages are written"),
    Inert(_QMGR, "GROUPUR", ("ENABLED",), "units of work with GROUP disposition are always possible"),
    Inert(_QMGR, "CFCONLOS", ("TOLERATE",), "a manager that loses Redis goes on when Redis answers again"),
    Inert(_CFSTRUCT, "CFCONLOS", ("ASQMGR", "TOLERATE"), "a manager that loses Redis goes on when Redis answers again"),
    Inert(_CFSTRUCT, "RECAUTO", ("NO",), "a failed structure is recovered by RECOVER CFSTRUCT"),
    Inert(_TOPIC, "PUBSCOPE", ("ASPARENT", "ALL"), "every member of the group gets publications"),
    Inert(_TOPIC, "SUBSCOPE", ("ASPARENT", "ALL"), "publications of every member come"),
    Inert((Subscription.kind,), "SUBSCOPE", ("ALL",), "publications of every member come"),
    Inert((Subscription.kind,), "SELECTOR", ("",), "every publication comes"),
    Inert((Subscription.kind,), "PSPROP", ("MSGPROP",), "publications come as they were put"),
    Inert(_TOPIC, "PROXYSUB", ("FIRSTUSE",), _BEYOND),
    Inert(_TOPIC, "MCAST", ("ASPARENT", "DISABLED"), "publications go to queues"),
    Inert(_TOPIC, "COMMINFO", ("",), "publications go to queues"),
    Inert(_TOPIC, "CLUSTER", ("",), _BEYOND),
    Inert(_TOPIC, "CLROUTE", ("DIRECT",), _BEYOND),
    Inert(_TOPIC, "DEFPRESP", ("ASPARENT", "SYNC"), "a publication is complete when the call returns"),
    Inert(_CFSTRUCT, "OFFLOAD", ("NONE",), "bodies of messages are in Redis, whatever their length"),
)


def inert_value(kind: str, keyword: str, value: Any) -> Inert | None:
    """Return why *value* of the attribute *keyword* does nothing for an object of *kind*; None if it does."""
    attribute = by_keyword(MODELS[kind]).get(keyword)
    if attribute is None or value == MODELS[kind].model_fields[attribute.field].default:
        return None
    for each in INERT:
        if kind in each.kinds and each.keyword in attribute.keywords and value not in each.done:
            return each
    return None
