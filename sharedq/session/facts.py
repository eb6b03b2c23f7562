"""The part of a local queue's definition that the hot paths need, ready to use."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from sharedq.mqi.limits import UNLIMITED_EXPIRY


def lowest_cap(*caps: int) -> int:
    """Return the expiry that caps an unlimited one, or UNLIMITED_EXPIRY."""
    return min((cap for cap in caps if cap != UNLIMITED_EXPIRY), default=UNLIMITED_EXPIRY)


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """Attributes that decide a put or a get; those of one version of a definition.

    ``max_msg_length`` is in bytes, ``default_persistence`` 0 or 1. ``is_group_indexed``: what begins a group is never
    placed with the priorities 0 and 1, which the queue manager keeps for itself. ``is_permanent_dynamic``: MQCLOSE may
    delete the queue, whichever handle it closes. ``is_temporary``: no persistent message is put on it.
    ``property_control`` is PROPCTL, ``cap_expiry`` is CAPEXPRY, in tenths of a second; ``is_asynchronous``:
    DEFPRESP(ASYNC).
    """

    is_put_inhibited: bool = False
    is_get_inhibited: bool = False
    is_fifo: bool = False
    is_group_indexed: bool = False
    is_transmission: bool = False
    is_permanent_dynamic: bool = False
    is_temporary: bool = False
    default_priority: int = 0
    default_persistence: int = 0
    max_depth: int = 0
    max_msg_length: int = 0
    property_control: str = "COMPAT"
    cap_expiry: int = UNLIMITED_EXPIRY
    is_asynchronous: bool = False

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(definition: bytes) -> QueueFacts:
        """From a queue's definition as it stands in Redis (JSON of ``QueueLocal``)."""
        fields = json.loads(definition)
        return QueueFacts(
            is_put_inhibited=fields["put"] == "DISABLED",
            is_get_inhibited=fields["get"] == "DISABLED",
            is_fifo=fields["msg_delivery_sequence"] == "FIFO",
            is_group_indexed=fields["index_type"] == "GROUPID" and fields["msg_delivery_sequence"] == "PRIORITY",
            is_transmission=fields["usage"] == "XMITQ",
            is_permanent_dynamic=fields["definition_type"] in ("PERMDYN", "SHAREDYN"),
            is_temporary=fields["definition_type"] == "TEMPDYN",
            default_priority=fields["def_priority"],
            default_persistence=int(fields["def_persistence"] == "YES"),
            max_depth=fields["max_depth"],
            max_msg_length=fields["max_msg_length"],
            # Queues that were defined before there were properties and caps do not have them.
            property_control=fields.get("property_control", "COMPAT"),
            cap_expiry=fields.get("cap_expiry", UNLIMITED_EXPIRY),
            is_asynchronous=fields.get("def_put_response") == "ASYNC",
        )
