"""The findings of an account, and their kinds. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class FaultKind(StrEnum):
    """The kind of a fault of a key or an entry, in the words that an operator reads."""

    AGENT = "agent without a member"
    COUNTER = "wrong counter"
    DEAD = "dead owner that nobody recovers"
    DECISION = "decision without a unit of work"
    DESTINATION = "destination code without a queue"
    DIRECTORY = "definition without its queue"
    EXPIRY = "expiry time without a message"
    FENCE = "fence that is not needed"
    GROUP = "counts without a message group"
    HANDLE = "handle without an owner"
    HOLDING = "holding without a handle"
    INDEX = "index entry without a message"
    LEASE = "lease without a holder"
    LOCK = "lock without a handle"
    MAKER = "record of made queues without an owner"
    MARK = "mark without a handle"
    MEMBER = "entry without a member"
    MESSAGE = "message on no queue"
    MISSING = "message without its record"
    OWNER = "registration without a connection"
    PROCESS = "process without a lease"
    QUEUE = "keys without a queue"
    RECOVERY = "recovery without a claim"
    SUBSCRIPTION = "entry of no subscription"
    TAG = "connection tag without a user"
    TEMPORARY = "temporary queue without an owner"
    TRASH = "trash that is not recorded"
    TWICE = "message in two places"
    UNIT = "unit of work without an owner"
    UNKNOWN = "unknown key"
    VERSION = "version without an object"
    WAITER = "waiting get without an owner"
    WAKE = "wake list without an owner"


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that nothing explains.

    Attributes:
        key: the Redis key.
        name: the field, member or id in the key; empty if the finding is about the whole key.
        detail: figures and words for a person; two looks at the same finding may differ in it.
    """

    kind: FaultKind
    structure: str
    key: str
    name: str = ""
    detail: str = field(default="", compare=False)

    def __str__(self) -> str:
        where = f"{self.key} {self.name}" if self.name else self.key
        return f"{self.kind.value}: {where}" + (f" ({self.detail})" if self.detail else "")
