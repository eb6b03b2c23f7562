"""A verb says 2009 because another link than its connection's own was lost: the connection ends all the same.

Names, versions, authorities and dynamic queues are looked up over the group's links. Each such call of each verb fails
once here: before it was sent, after it was done, and so that it is done much later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from sharedq import verbs
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import (
    MQCC,
    MQRC,
    CharSelector,
    CloseOption,
    GetOption,
    IntSelector,
    ObjectType,
    OpenOption,
    PutOption,
)
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQPMO, MQSTS
from sharedq.objects.definitions.queues import QueueAlias, QueueModel, QueueRemote
from sharedq.session.connection import Connection
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, recover_lost

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
INQUIRES = BOTH | OpenOption.INQUIRE | OpenOption.SET
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
TAG = "GTAG"
XID = b"xid"
#: Reasons that verbs give for a lost connection; the last one is for a handle that was closed before.
GONE = (MQRC.CONNECTION_BROKEN, MQRC.HCONN_ERROR, MQRC.HOBJ_ERROR)
FAILURES = ("not sent", "reply lost", "done late")

Outcome = tuple[MQCC, MQRC]


class FaultyLinks:
    """Stands before the links of a group, and fails one call of the thread that made it."""

    def __init__(self, group: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self._thread = threading.get_ident()
        self._left, self._failure = -1, ""
        self.late: list[Callable[[], object]] = []
        self.has_failed = False
        for name in ("call", "command"):
            monkeypatch.setattr(group, name, self._before(getattr(group, name)))

    def fail(self, number: int, failure: str) -> None:
        """Let the *number*th call from now on fail like this."""
        self._left, self._failure, self.has_failed = number, failure, False

    def heal(self) -> None:
        """Let no more calls fail. A call that was held back arrives now."""
        self._left = -1
        for call in self.late:
            call()
        self.late.clear()

    def _before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def tried(*args: Any) -> Any:
            if threading.get_ident() != self._thread or self._left < 0:
                return call(*args)
            self._left -= 1
            if self._left >= 0:
                return call(*args)
            self.has_failed = True
            if self._failure == "reply lost":
                call(*args)
            elif self._failure == "done late":
                self.late.append(lambda: call(*args))
            raise error_for(MQRC.CONNECTION_BROKEN, "", "", f"the group's link: {self._failure}")

        return tried


@dataclass
class Scene:
    """A connection with a tag and a unit of work: a message got from PRIVATE, one put to SHARED."""

    group: TestGroup
    connection: Connection
    handles: dict[str, verbs.AnyHandle] = field(default_factory=dict)

    def open(self, name: str, options: OpenOption | int = BOTH, qmgr: bytes = b"") -> verbs.AnyHandle:
        """An open that works."""
        handle, _, reason = verbs.mqopen(self.connection, od(name, qmgr), int(options))
        assert handle is not None, reason
        self.handles[name] = handle
        return handle

    def alter(self, kind: str, name: str, **changes: Any) -> None:
        """Make handles find that a definition has another version."""
        self.group.repository("QM1").alter(kind, name, changes)


def od(name: str, qmgr: bytes = b"") -> MQOD:
    """The attributes of a queue."""
    return MQOD(object_name=name.encode(), object_q_mgr_name=qmgr, dynamic_q_name=b"DYN.*")


def raised(call: Callable[[], object]) -> Outcome:
    """The result of a call of the native API, as a verb gives it."""
    try:
        call()
    except MQIError as error:
        return error.comp_code, error.reason
    return MQCC.OK, MQRC.NONE


def opens(name: str, options: OpenOption | int = BOTH, qmgr: bytes = b"") -> Callable[[Scene], Outcome]:
    """MQOPEN."""
    return lambda scene: verbs.mqopen(scene.connection, od(name, qmgr), int(options))[1:]


def puts1(name: str, qmgr: bytes = b"") -> Callable[[Scene], Outcome]:
    """MQPUT1."""
    return lambda scene: verbs.mqput1(
        scene.connection, od(name, qmgr), MQMD(), MQPMO(options=int(PutOption.SYNCPOINT)), b"one"
    )


def puts(
    name: str, options: PutOption = PutOption.SYNCPOINT, body: bytes = b"put", **md: Any
) -> Callable[[Scene], Outcome]:
    """MQPUT."""
    return lambda scene: verbs.mqput(
        scene.connection, scene.handles[name], MQMD(**md), MQPMO(options=int(options)), body
    )


def gets(name: str, options: GetOption = GetOption.SYNCPOINT, wait_ms: int = 0) -> Callable[[Scene], Outcome]:
    """MQGET."""
    return lambda scene: verbs.mqget(
        scene.connection, scene.handles[name], MQMD(), MQGMO(options=int(options), wait_interval=wait_ms), 100
    )[2:]


def closes(name: str, options: int = 0) -> Callable[[Scene], Outcome]:
    """MQCLOSE."""
    return lambda scene: verbs.mqclose(scene.connection, scene.handles[name], options)


def inquires(name: str, *selectors: int) -> Callable[[Scene], Outcome]:
    """MQINQ."""
    return lambda scene: verbs.mqinq(scene.connection, scene.handles[name], selectors)[1:]


def altered(name: str, kind: str = "QLOCAL", *, has_alias: str = "") -> Callable[[Scene], None]:
    """Open a queue, and alter it, or the alias that it was opened by."""

    def before(scene: Scene) -> None:
        scene.open(has_alias or name)
        scene.alter(kind, name, description=str(id(scene)))

    return before


def opened(name: str, options: OpenOption | int = BOTH, qmgr: bytes = b"") -> Callable[[Scene], None]:
    """Open the queue before."""

    def before(scene: Scene) -> None:
        scene.open(name, options, qmgr)

    return before


def open_qmgr(scene: Scene) -> None:
    """Open the manager's attributes."""
    handle, _, reason = verbs.mqopen(scene.connection, MQOD(object_type=int(ObjectType.Q_MGR)), int(OpenOption.INQUIRE))
    assert handle is not None, reason
    scene.handles["QMGR"] = handle


def sets(scene: Scene) -> Outcome:
    """MQSET."""
    return verbs.mqset(scene.connection, scene.handles["SHARED"], {int(IntSelector.INHIBIT_GET): 0})


def prepares(scene: Scene) -> Outcome:
    """The first call of an external coordinator."""
    return raised(lambda: QueueManagerConnection(scene.connection).prepare(XID))


def recovers(scene: Scene) -> Outcome:
    """An external coordinator asks for the units of work in doubt."""
    return raised(QueueManagerConnection(scene.connection).recover)


def nothing(_scene: Scene) -> None:
    """No call before."""


@dataclass(frozen=True)
class Case:
    """A verb, and what was done before it.

    Attributes:
        has_committed: it commits before it needs the group's link.
    """

    call: Callable[[Scene], Outcome]
    before: Callable[[Scene], object] = nothing
    has_committed: bool = False


CASES = {
    "MQOPEN": Case(opens("SHARED")),
    "MQOPEN of an alias": Case(opens("ALIAS")),
    "MQOPEN at another member": Case(opens("THERE", OpenOption.OUTPUT, b"QM2")),
    "MQOPEN of a remote definition": Case(opens("REMOTE", OpenOption.OUTPUT)),
    "MQOPEN of a model": Case(opens("PERMANENT")),
    "MQOPEN of a temporary model": Case(opens("TEMPORARY")),
    "MQOPEN with CO_OP": Case(opens("SHARED", OpenOption.BROWSE | OpenOption.CO_OP)),
    "MQOPEN of nothing": Case(opens("NOWHERE")),
    "MQPUT1": Case(puts1("SHARED")),
    "MQPUT1 at another member": Case(puts1("THERE", b"QM2")),
    "MQPUT after ALTER": Case(puts("SHARED"), altered("SHARED")),
    "MQPUT by an altered alias": Case(puts("ALIAS"), altered("ALIAS", "QALIAS", has_alias="ALIAS")),
    "MQPUT later by an altered alias": Case(puts("ALIAS", LATER), altered("ALIAS", "QALIAS", has_alias="ALIAS")),
    "MQPUT, too long for intra-group queuing": Case(
        puts("THERE", body=b"x" * 100_000), opened("THERE", OpenOption.OUTPUT, b"QM2")
    ),
    "MQPUT with a report of its arrival": Case(puts("SHARED", report=256, reply_to_q=b"ALIAS"), opened("SHARED")),
    "MQPUT with a report to nowhere": Case(puts("SHARED", report=256, reply_to_q=b"NOWHERE"), opened("SHARED")),
    "MQGET after ALTER": Case(gets("SHARED"), altered("SHARED")),
    "MQGET by an altered alias": Case(gets("ALIAS"), altered("ALIAS", "QALIAS", has_alias="ALIAS")),
    "MQGET that waits": Case(
        gets("ALIAS", GetOption.SYNCPOINT | GetOption.WAIT, 1), altered("ALIAS", "QALIAS", has_alias="ALIAS")
    ),
    "MQINQ": Case(inquires("SHARED", int(IntSelector.CURRENT_Q_DEPTH)), opened("SHARED", INQUIRES)),
    "MQINQ of a remote definition": Case(
        inquires("REMOTE", int(CharSelector.REMOTE_Q_NAME)), opened("REMOTE", OpenOption.OUTPUT | OpenOption.INQUIRE)
    ),
    "MQINQ of the manager": Case(inquires("QMGR", int(CharSelector.DEAD_LETTER_Q_NAME)), open_qmgr),
    "MQSET": Case(sets, opened("SHARED", INQUIRES)),
    "MQCLOSE": Case(closes("SHARED"), opened("SHARED")),
    "MQCLOSE that deletes": Case(closes("PERMANENT", int(CloseOption.DELETE_PURGE)), opened("PERMANENT")),
    "MQCLOSE of a temporary queue": Case(closes("TEMPORARY"), opened("TEMPORARY")),
    "MQCMIT": Case(lambda scene: verbs.mqcmit(scene.connection)),
    "MQBACK": Case(lambda scene: verbs.mqback(scene.connection)),
    "MQDISC": Case(lambda scene: verbs.mqdisc(scene.connection)),
    "MQDISC with a temporary queue": Case(
        lambda scene: verbs.mqdisc(scene.connection), opened("TEMPORARY"), has_committed=True
    ),
    "prepare": Case(prepares),
    "recover": Case(recovers),
}


@pytest.fixture
def scenery(group: TestGroup) -> TestGroup:
    """Queues of every kind."""
    group.add_member("QM2")
    group.define_shared("SHARED")
    group.define_private("QM1", "PRIVATE")
    group.define_private("QM2", "THERE")
    group.define("QM1", QueueAlias(name="ALIAS", target="SHARED"))
    group.define("QM1", QueueRemote(name="REMOTE", remote_queue="THERE", remote_qmgr="QM2"))
    group.repository("QM1").define(QueueModel(name="PERMANENT", definition_type="PERMDYN"))
    group.repository("QM1").define(QueueModel(name="TEMPORARY", definition_type="TEMPDYN"))
    return group


def begin(group: TestGroup, number: int) -> Scene:
    """A connection with a tag and a unit of work."""
    asked = b"asked %d" % number
    group.connect().put1("PRIVATE", asked)
    scene = Scene(group, group.connect(tag=TAG).connection)
    scene.open("PRIVATE")
    scene.open("SHARED", BOTH)
    body, _, _, reason = verbs.mqget(
        scene.connection, scene.handles["PRIVATE"], MQMD(), MQGMO(options=int(GetOption.SYNCPOINT)), 100
    )
    assert (body, reason) == (asked, MQRC.NONE)
    assert puts("SHARED", body=b"half")(scene) == (MQCC.OK, MQRC.NONE)
    return scene


def is_over(scene: Scene) -> None:
    """Nothing works on a lost connection. MQDISC commits nothing."""
    shared = scene.handles["SHARED"]
    after = [
        opens("SHARED")(scene)[1],
        puts1("SHARED")(scene)[1],
        puts("SHARED")(scene)[1],
        gets("SHARED")(scene)[1],
        verbs.mqinq(scene.connection, shared, [int(IntSelector.CURRENT_Q_DEPTH)])[2],
        verbs.mqcmit(scene.connection)[1],
        verbs.mqback(scene.connection)[1],
        verbs.mqbegin(scene.connection)[1],
        verbs.mqstat(scene.connection, MQSTS())[1],
        verbs.mqclose(scene.connection, shared)[1],
    ]
    assert all(reason in GONE for reason in after), after
    verbs.mqdisc(scene.connection)
    assert scene.connection.is_ended


@pytest.mark.rule("mqi/reasons", "Reason 2009 from any call ends the connection; the group backs out its unit of work.")
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("name", CASES)
def test_2009_ends_the_connection_whichever_link_was_lost(
    scenery: TestGroup, monkeypatch: pytest.MonkeyPatch, name: str, failure: str
) -> None:
    case, links = CASES[name], FaultyLinks(scenery.group, monkeypatch)
    for number in count():
        scene = begin(scenery, number)
        case.before(scene)
        links.fail(number, failure)
        reason = case.call(scene)[1]
        if not links.has_failed:
            # Every call of the verb has failed once.
            links.heal()
            return
        if reason == MQRC.CONNECTION_BROKEN:
            is_over(scene)
            links.heal()
            recover_lost(scenery, scene.connection.token)
            if not case.has_committed:
                assert (b"asked %d" % number, 1) in on_queue(scenery, "PRIVATE", "@QM1")
                assert not [body for body, _ in on_queue(scenery, "SHARED") if body == b"half"]
        else:
            # The verb continues without it: the unit of work goes on.
            links.heal()
            assert not scene.connection.is_ended
            assert verbs.mqback(scene.connection) == (MQCC.OK, MQRC.NONE)
            assert verbs.mqdisc(scene.connection) == (MQCC.OK, MQRC.NONE)
        scenery.connect(tag=TAG).disconnect()
        for queue in ("PRIVATE", "SHARED"):
            scenery.repository("QM1").clear(queue)
