"""Objects that go while something lists them: between any two calls to Redis each of them may be deleted.

Each reader runs again and again; before its first, its second, ... call to Redis all the objects are deleted.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from igq.definitions.catalog import read_catalog
from igq.definitions.export import ExportSelection, export
from igq.monitoring.collector import GroupCollector
from igq.mqsc.executor import _DISPLAYS
from igq.tools.dead_letters.letters import dead_letter_queues
from igq.web.console.views.structures import read_structures
from recovery.accounting.account import account
from sharedq.admin.backup.capture import backup
from sharedq.mqi.constants import OpenOption
from sharedq.objects.definitions.queues import QueueModel
from tests.support.backups import Countdown, mqsc
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.status import read_status

#: How often calls may be added to a reader before this test goes through no more of them.
CALLS_MOST = 400
NOTHING_WRONG = 0
#: Commands that name all objects of their kind, with each of their forms that reads something else.
FORMS = {
    "QSTATUS": ("QSTATUS(*) TYPE(QUEUE)", "QSTATUS(*) TYPE(HANDLE)"),
    "CONN": ("CONN(*) TYPE(ALL)",),
    "THREAD": ("THREAD(*) TYPE(ACTIVE)", "THREAD(*) TYPE(INDOUBT)"),
    "CFSTATUS": ("CFSTATUS(*) TYPE(SUMMARY)", "CFSTATUS(*) TYPE(CONNECT)", "CFSTATUS(*) TYPE(BACKUP)"),
    "TPSTATUS": ("TPSTATUS('#') TYPE(TOPIC)", "TPSTATUS('#') TYPE(SUB)", "TPSTATUS('#') TYPE(PUB)"),
    "AUTHREC": ("AUTHREC",),
}
WITHOUT_NAME = ("QMGR", "GROUP", "QMSTATUS", "CMDSERV", "PUBSUB")


def commands() -> list[str]:
    found = list[str]()
    for kind in _DISPLAYS:
        found += FORMS.get(kind, (kind if kind in WITHOUT_NAME else f"{kind}(*)",))
    return [f"DISPLAY {each}" for each in found] + ["DISPLAY CONN(*) TYPE(HANDLE)", "RESET QSTATS(*)"]


class Scene:
    """Objects of each kind, which come and go together."""

    def __init__(self, group: TestGroup) -> None:
        self.group = group
        group.define_structure()
        group.repository("QM1").alter_structure("APPL1", {"recover": "YES"})
        group.define_shared("STAYS")
        group.repository("QM1").define(QueueModel(name="MODEL"))
        group.repository("QM1").alter_qmgr("QM1", {"performance_event": "ENABLED", "monitoring": "HIGH"})

    def come(self) -> None:
        group = self.group
        self._do(
            "DEFINE CFSTRUCT(GOES) CFLEVEL(5) RECOVER(YES)",
            "DEFINE QLOCAL(SHARED) QSGDISP(SHARED) CFSTRUCT(GOES)",
            "DEFINE QLOCAL(OTHER) QSGDISP(SHARED) CFSTRUCT(APPL1)",
            "DEFINE QLOCAL(PRIVATE)",
            "DEFINE QLOCAL(LETTERS)",
            "ALTER QMGR DEADQ(LETTERS)",
            "DEFINE QALIAS(ALIAS) TARGET(PRIVATE)",
            "DEFINE QREMOTE(REMOTE) RNAME(R) RQMNAME(QM2)",
            "DEFINE TOPIC(TOPIC) TOPICSTR('a/b')",
            "DEFINE SUB(SUB) TOPICSTR('a/b') DEST(PRIVATE)",
            "DEFINE NAMELIST(LIST) NAMES(A)",
            "DEFINE PROCESS(PROCESS) APPLICID(A)",
            "SET AUTHREC PROFILE(PRIVATE) OBJTYPE(QUEUE) PRINCIPAL('u') AUTHADD(PUT)",
        )
        self._connection = group.connect()
        self._open = [
            self._connection.open("MODEL", OpenOption.INPUT_SHARED, dynamic_name="REPLY.*"),
            self._connection.open("SHARED", BOTH),
            self._connection.open("PRIVATE", BOTH),
        ]

    def go(self) -> None:
        for queue in self._open:
            queue.close()
        self._connection.disconnect()
        self._do(
            "SET AUTHREC PROFILE(PRIVATE) OBJTYPE(QUEUE) PRINCIPAL('u') AUTHRMV(PUT)",
            "DELETE SUB(SUB)",
            "DELETE TOPIC(TOPIC)",
            "DELETE NAMELIST(LIST)",
            "DELETE PROCESS(PROCESS)",
            "DELETE QALIAS(ALIAS)",
            "DELETE QREMOTE(REMOTE)",
            "DELETE QLOCAL(PRIVATE)",
            "DELETE QLOCAL(OTHER)",
            "DELETE QLOCAL(LETTERS)",
            "DELETE QLOCAL(SHARED)",
            "DELETE CFSTRUCT(GOES)",
        )

    def _do(self, *lines: str) -> None:
        status, said = mqsc(self.group, "\n".join(lines))
        assert status == NOTHING_WRONG, "\n".join(line for line in said.splitlines() if "E:" in line)


def while_they_go(group: TestGroup, monkeypatch: pytest.MonkeyPatch, read: Callable[[], object]) -> None:
    """Read while the objects go before the first call, the second, and so on until the reader makes no more calls."""
    scene, countdown = Scene(group), Countdown(monkeypatch)
    for calls in range(1, CALLS_MOST):
        scene.come()
        countdown.begin(calls, scene.go)
        read()
        if not countdown.end():
            scene.go()
            return
    pytest.fail("it makes ever more calls")


@pytest.mark.rule("igq/routes", "A display leaves out an object that is deleted while it runs, and shows the others.")
@pytest.mark.parametrize("command", commands())
def test_a_display_goes_on_when_an_object_goes(group: TestGroup, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    def read() -> None:
        status, said = mqsc(group, command)
        assert status == NOTHING_WRONG, "\n".join(line for line in said.splitlines() if "E:" in line)

    while_they_go(group, monkeypatch, read)


READERS: dict[str, Callable[[TestGroup], object]] = {
    "status": lambda group: read_status(group.settings),
    "metrics": lambda group: _has_collected(group),  # noqa: PLW0108 - it is defined below
    "export": lambda group: export(group.group, read_catalog(group.group), ExportSelection()),
    "backup": lambda group: backup(group.group, "APPL1"),
    "fsck": lambda group: account(group.group),
    "dead letters": lambda group: dead_letter_queues(group.group),
    "console's structures": lambda group: read_structures(group.settings),
}


def _has_collected(group: TestGroup) -> None:
    assert f'igq_redis_up{{group="{group.group.name}"}} 1.0\n'.encode() in GroupCollector(group.group).text()


@pytest.mark.parametrize("name", READERS)
def test_a_reader_of_the_group_goes_on_when_an_object_goes(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    while_they_go(group, monkeypatch, lambda: READERS[name](group))
