"""Marks that scripts and managers leave in a structure: a manager has to look there for trigger messages.

A mark stands in a hash until it is done, and counts how often it came, so no mark is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: The conditions of FIRST or DEPTH may hold. Of: the only manager that is meant, or `ALL`, and a former trigger message
#: does not count; "": all managers, and that message counts.
LOOK: Final = "L"
#: As `LOOK`, by an ALTER or MQSET, whose time stands in the place of the count.
ALTERED: Final = "A"
#: The trigger message of FIRST or DEPTH is owed: the conditions were claimed, and nothing undoes that.
WRITE: Final = "W"
#: The first message came to a shared queue that some managers have open.
OTHERS: Final = "N"
#: So many messages came to a queue of EVERY.
EVERY: Final = "E"
#: An initiation queue was opened.
OPENED: Final = "O"
#: The manager whose structure this is writes for its own initiation queue. Of: the structure of the queue.
HERE: Final = "H"
#: Every manager is meant.
ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class Mark:
    """Something to look at.

    Attributes:
        kind: one of the letters above.
        queue: the queue with TRIGGER; of `OPENED` the initiation queue.
        of: more, by the kind.
        count: how often it came.
    """

    kind: str
    queue: str
    of: str = ""
    count: int = 1

    @property
    def field(self) -> str:
        """Return its name in the hash."""
        return f"{self.kind} {self.queue}" + (f"\n{self.of}" if self.of else "")


def parsed(field: bytes, count: bytes) -> Mark:
    """Read an entry of the hash."""
    kind, _, rest = field.decode("utf-8", "backslashreplace").partition(" ")
    queue, _, of = rest.partition("\n")
    return Mark(kind, queue, of, int(count))
