"""What an account may find. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What is wrong with what was found; the words an operator reads."""

    AGENT = "agent of no member"
    COUNTER = "wrong counter"
    DEAD = "dead owner that nobody recovers"
    DECISION = "decision about nothing"
    DESTINATION = "destination code of no queue"
    DIRECTORY = "definition without its queue"
    EXPIRY = "expiry time of no message"
    FENCE = "needless fence"
    GROUP = "counts of no message group"
    HANDLE = "handle of nobody"
    HOLDING = "note of no handle"
    INDEX = "index entry of no message"
    LEASE = "lease of nobody"
    LOCK = "lock of no handle"
    MAKER = "note of no maker of queues"
    MARK = "mark of no handle"
    MEMBER = "entry of no member"
    MESSAGE = "message on no queue"
    MISSING = "message without its record"
    OWNER = "registration of no connection"
    PROCESS = "process without a lease"
    QUEUE = "keys of no queue"
    RECOVERY = "recovery without a claim"
    TAG = "connection tag of nobody"
    TEMPORARY = "temporary queue of nobody"
    TRASH = "set aside and not noted"
    TWICE = "message in two places"
    UNIT = "unit of work of nobody"
    UNKNOWN = "unknown key"
    VERSION = "version of no object"
    WAITER = "waiting get of nobody"
    WAKE = "wake list of nobody"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that nothing explains.

    Attributes:
        key: the Redis key.
        name: the field, member or id in it; empty where it is the whole key.
        detail: figures and words for a person; two looks at the same thing may differ in it.
    """

    kind: Kind
    structure: str
    key: str
    name: str = ""
    detail: str = field(default="", compare=False)

    def __str__(self) -> str:
        where = f"{self.key} {self.name}" if self.name else self.key
        return f"{self.kind.value}: {where}" + (f" ({self.detail})" if self.detail else "")
