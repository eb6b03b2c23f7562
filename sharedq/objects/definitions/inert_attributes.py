"""Attributes that are kept and shown, and do nothing here except with the values that say what is done anyway. Pure.

A command that gives such an attribute another value, which is not the default either, warns that it does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sharedq.objects.definitions.attributes import attributes_of, by_keyword
from sharedq.objects.definitions.base import ObjectDefinition
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.namelists import Namelist
from sharedq.objects.definitions.processes import ProcessDefinition
from sharedq.objects.definitions.queues import QUEUE_KINDS
from sharedq.objects.definitions.server_channels import Channel, Listener
from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.objects.definitions.topics import Topic

#: Kind of object -> its model.
MODELS: Final[Mapping[str, type[ObjectDefinition]]] = {
    **QUEUE_KINDS,
    QueueManagerAttributes.kind: QueueManagerAttributes,
    CFStruct.kind: CFStruct,
    Topic.kind: Topic,
    Subscription.kind: Subscription,
    **{each.kind: each for each in (ProcessDefinition, Namelist, Channel, Listener)},
}


@dataclass(frozen=True, slots=True)
class Inert:
    """An attribute that does nothing, as some kinds of objects state it.

    Attributes:
        kinds: MQSC's words for the objects that have it.
        keyword: the MQSC keyword.
        done: the values that say what is done anyway: first the default.
        instead: what is done, in one clause.
    """

    kinds: tuple[str, ...]
    keyword: str
    done: tuple[Any, ...]
    instead: str


def _stated() -> tuple[Inert, ...]:
    found: dict[tuple[str, tuple[Any, ...], str], list[str]] = {}
    for kind, model in MODELS.items():
        for attribute in attributes_of(model):
            if attribute.mqsc.instead:
                done = (model.model_fields[attribute.field].default, *attribute.mqsc.done)
                found.setdefault((attribute.keyword, done, attribute.mqsc.instead), []).append(kind)
    return tuple(Inert(tuple(kinds), *stated) for stated, kinds in found.items())


#: Every such attribute, from the statements of the models.
INERT: Final = _stated()


def inert_value(kind: str, keyword: str, value: Any) -> Inert | None:
    """Return why *value* of the attribute *keyword* does nothing for an object of *kind*; None if it does."""
    attribute = by_keyword(MODELS[kind]).get(keyword)
    if attribute is None or not attribute.mqsc.instead:
        return None
    stated = next(each for each in INERT if kind in each.kinds and each.keyword == attribute.keyword)
    return None if value in stated.done else stated
