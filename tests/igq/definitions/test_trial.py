"""A dry run: the answers of the real commands, and nothing changed."""

from __future__ import annotations

import io

import pytest

from igq.definitions.catalog import read_catalog
from igq.definitions.trial import TrialExecutor
from igq.mqsc import messages
from igq.mqsc.executor import run
from sharedq.admin.definitions_copy import copied_definitions
from sharedq.mqi.constants import OpenOption, PutOption
from sharedq.objects.repository import Repository
from tests.mqi.topics.scene import publish
from tests.support.members import TestGroup


def tried(group: TestGroup, text: str, qmgr: str = "QM1") -> tuple[int, list[str]]:
    """Exit status and answers of a dry run, which must leave every key of the group as it was."""
    before = everything(group)
    out = io.StringIO()
    with copied_definitions(group.group) as copy:
        repository = Repository(copy, qmgr)
        executor = TrialExecutor(repository, group.repository(qmgr))
        status = run(
            io.StringIO(text), repository, out, executor=executor, is_listed=False, completed=messages.WOULD_COMPLETE
        )
    assert everything(group) == before
    return status, out.getvalue().splitlines()[:-3]


def everything(group: TestGroup) -> dict[bytes, bytes | None]:
    client = group.group.client()
    return {key: client.dump(key) for key in client.scan_iter(f"{{{group.group.name}:*")}


def test_a_command_says_what_it_would_change(group: TestGroup) -> None:
    group.define_private("QM1", "A", max_depth=5)

    status, lines = tried(group, "ALTER QL(A) MAXDEPTH(7) PUT(DISABLED)\n")

    assert status == 0
    assert lines == [
        "IGQ1007I: Would alter QLOCAL(A) QSGDISP(QMGR) of QM1",
        "   MAXDEPTH(5) -> MAXDEPTH(7)",
        "   PUT(ENABLED) -> PUT(DISABLED)",
        "IGQ1006I: ALTER QLOCAL(A) would complete normally; nothing was changed.",
    ]


def test_later_commands_see_what_earlier_ones_would_do(group: TestGroup) -> None:
    status, lines = tried(
        group,
        "DEFINE CFSTRUCT(S2)\n"
        "DEFINE QL(B) QSGDISP(SHARED) CFSTRUCT(S2)\n"
        "DEFINE QL(C) LIKE(B) DESCR('c')\n"
        "DELETE QL(B)\n"
        "DELETE QL(B)\n",
    )

    assert status == 10
    assert "IGQ1007I: Would define QLOCAL(B) QSGDISP(SHARED)" in lines
    assert "IGQ1007I: Would delete QLOCAL(B) QSGDISP(SHARED)" in lines
    assert any("CSQM125I: QLOCAL(B) was not found" in line for line in lines)


def test_a_group_definition_shows_its_copies(group: TestGroup) -> None:
    group.add_member("QM2")

    _, lines = tried(group, "DEFINE QL(G) QSGDISP(GROUP)\n")

    assert [line for line in lines if "Would" in line or "would" in line][:3] == [
        "IGQ1007I: Would define QLOCAL(G) QSGDISP(COPY) of QM1",
        "IGQ1007I: Would define QLOCAL(G) QSGDISP(COPY) of QM2",
        "IGQ1007I: Would define QLOCAL(G) QSGDISP(GROUP)",
    ]


def test_an_open_queue_and_one_with_messages_refuse_as_they_would(group: TestGroup) -> None:
    group.define_private("QM1", "OPEN")
    group.define_private("QM1", "FULL")
    connection = group.connect()
    with connection.open("FULL", OpenOption.OUTPUT) as queue:
        queue.put(b"x")
    with connection.open("OPEN", OpenOption.OUTPUT):
        status, lines = tried(group, "DELETE QL(OPEN)\nDELETE QL(FULL)\nCLEAR QL(FULL)\nDELETE QL(FULL)\n")

    assert status == 10
    assert any("QLOCAL(OPEN) is in use, MQRC_OBJECT_IN_USE (2042)" in line for line in lines)
    assert any("QLOCAL(FULL) is not empty, MQRC_Q_NOT_EMPTY (2055)" in line for line in lines)
    assert "IGQ1009I: Would drop 1 message of QLOCAL(FULL)." in lines
    assert "IGQ1007I: Would delete QLOCAL(FULL) QSGDISP(QMGR) of QM1" in lines


@pytest.mark.parametrize(
    "command",
    [
        *("BACKUP CFSTRUCT(APPL1)", "STOP QMGR", "RECOVER CFSTRUCT(APPL1) TYPE(PURGE)", "RESOLVE INDOUBT(*)"),
        *("MOVE QLOCAL(A) TOQLOCAL(B)", "STOP CONN(QM1.1.1.1)", "ALTER QMGR IGQ(ENABLED) CMDSCOPE(*)"),
    ],
)
def test_commands_not_about_definitions_are_not_tried(group: TestGroup, command: str) -> None:
    status, lines = tried(group, command + "\n")

    assert status == 0
    assert "is not tried in a dry run" in lines[0]


def test_a_subscription_is_tried_where_a_publication_is_retained(group: TestGroup) -> None:
    group.define_private("QM1", "Q")
    connection = group.connect()
    publish(connection, "a", b"1", options=PutOption.RETAIN)

    status, lines = tried(group, "DEFINE SUB(S) TOPICSTR('a') DEST(Q)\nDIS SUB(S)\n")

    assert (status, lines[0]) == (0, "IGQ1007I: Would define SUB(S)")


def test_displays_show_the_copy_and_the_group(group: TestGroup) -> None:
    group.define_private("QM1", "A")
    connection = group.connect()
    with connection.open("A", OpenOption.OUTPUT):
        _, lines = tried(group, "ALTER QL(A) MAXDEPTH(9)\nDIS QL(A) MAXDEPTH\nDIS QS(A) OPPROCS\n")

    assert any("MAXDEPTH(9)" in line and "->" not in line for line in lines)
    assert any("OPPROCS(1)" in line for line in lines)


def test_attributes_of_a_manager_and_authorities(group: TestGroup) -> None:
    _, lines = tried(
        group,
        "ALTER QMGR DEADQ(X)\nSET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) PRINCIPAL('u') AUTHADD(PUT)\nALTER QMGR DEADQ(X)\n",
    )

    assert "IGQ1007I: Would alter QMGR QM1" in lines
    assert "   DEADQ( ) -> DEADQ(X)" in lines
    assert "IGQ1007I: Would define AUTHREC PROFILE(Q) OBJTYPE(QUEUE) PRINCIPAL(u)" in lines
    assert "IGQ1008I: Would change nothing." in lines


def test_a_copy_has_the_same_definitions(group: TestGroup) -> None:
    group.add_member("QM2")
    for number in range(250):
        group.define_shared(f"Q{number}")

    with copied_definitions(group.group) as copy:
        assert read_catalog(copy) == read_catalog(group.group)
