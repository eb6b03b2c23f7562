"""Scenes in which an MQI call ends with a reason code, and where they are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sharedq import verbs
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import MQCC, MQRC, GetOption, PutOption
from sharedq.mqi.structures import MQGMO, MQMD, MQPMO
from sharedq.session.handle import Handle
from tests.support.groups import BOTH
from tests.support.members import TestGroup

G, P = GetOption, PutOption
LOGICAL, COMPLETE = G.LOGICAL_ORDER, G.COMPLETE_MSG
GROUP_ID = b"G" * 24
FAILED, WARNING = MQCC.FAILED, MQCC.WARNING
Call = Callable[[], tuple[MQCC, MQRC]]


@dataclass
class Scene:
    """A queue, and a handle that is open for everything."""

    group: TestGroup
    name: str = "Q"

    def __post_init__(self) -> None:
        self.connection = self.group.connect().connection
        self.handle = self.open()

    def open(self, name: str = "", options: int = BOTH) -> Handle:
        """A handle of this program."""
        return QueueManagerConnection(self.connection).open(name or self.name, options).handle

    def get(
        self, options: int = 0, md: MQMD | None = None, *, room: int = 100, at: Handle | None = None, **gmo: Any
    ) -> tuple[MQCC, MQRC]:
        """MQGET."""
        asked = MQGMO(**{"version": 3, "options": int(options), **gmo})
        _, _, completion, reason = verbs.mqget(self.connection, at or self.handle, md or MQMD(version=2), asked, room)
        return completion, reason

    def put(self, body: bytes = b"body", options: int = 0, *, at: Handle | None = None, **md: Any) -> tuple[MQCC, MQRC]:
        """MQPUT."""
        given = MQMD(**{"version": 2, **md})
        return verbs.mqput(self.connection, at or self.handle, given, MQPMO(options=int(options)), body)

    def has(self, *bodies: bytes, **md: Any) -> None:
        """Messages are there."""
        for body in bodies or (b"body",):
            assert self.put(body, **md) == (MQCC.OK, MQRC.NONE)

    def has_group(self, *members: tuple[int, int, int], body: bytes = b"body", **md: Any) -> None:
        """Members of one group: MsgSeqNumber, Offset, MsgFlags."""
        for seq, offset, flags in members:
            self.has(body, group_id=GROUP_ID, msg_seq_number=seq, offset=offset, msg_flags=flags, **md)

    def did(self, outcome: tuple[MQCC, MQRC]) -> None:
        """The call that leads to the scene worked."""
        assert outcome == (MQCC.OK, MQRC.NONE)


@dataclass(frozen=True)
class Case:
    """A scene; ``changes`` are the keys of the queue that a document lets the call change, by their letter."""

    reason: MQRC
    comp_code: MQCC
    scene: Callable[[Scene], Call]
    changes: str = ""
    changes_handle: bool = False

    @property
    def processes(self) -> bool:
        """Whether the call did its work."""
        return self.comp_code == WARNING and self.reason not in (MQRC.TRUNCATED_MSG_FAILED, MQRC.NO_MSG_LOCKED)


CASES: dict[str, Case] = {}
S = TypeVar("S", bound=Callable[[Scene], Call])


def provokes(reason: MQRC, comp_code: MQCC = FAILED, changes: str = "", *, handle: bool = False) -> Callable[[S], S]:
    def note(scene: S) -> S:
        CASES[f"{int(reason)}-{scene.__name__}"] = Case(reason, comp_code, scene, changes, handle)
        return scene

    return note


def limit_units(s: Scene) -> None:
    """A unit of work holds one message."""
    s.connection.max_uncommitted = 1
