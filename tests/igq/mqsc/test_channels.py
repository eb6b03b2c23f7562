"""Server-connection channels and listeners in MQSC, in PCF and in exports."""

from __future__ import annotations

import io
from typing import Any

import pytest

from igq.definitions.catalog import read_catalog
from igq.definitions.export import ExportSelection, export
from igq.definitions.trial import compare
from igq.mqsc.executor import run
from igq.mqsc.session import SessionRepository
from sharedq.mqi.constants.pcf import MQRCCF, PCFCommand
from sharedq.mqi.constants.pcf import PCFParameter as Param
from tests.support.members import TestGroup
from tests.support.pcf import Asked

pytestmark = pytest.mark.share

CHANNEL = "DEFINE CHANNEL(APP.SVRCONN) CHLTYPE(SVRCONN) DESCR('some') MAXINST(20) MAXINSTC(5) HBINT(30) MCAUSER('app')"
LISTENER = "DEFINE LISTENER(TCP.1) TRPTYPE(TCP) PORT(14140) IPADDR('127.0.0.1') CONTROL(QMGR) BACKLOG(50)"


def mqsc(group: TestGroup, *commands: str, status: int = 0, qmgr: str = "QM1") -> str:
    out = io.StringIO()
    assert run(commands, SessionRepository(group.group, qmgr), out, is_listed=False) == status, out.getvalue()
    return out.getvalue()


def test_a_channel_is_made_altered_shown_and_deleted(group: TestGroup) -> None:
    mqsc(group, CHANNEL)
    assert "already exists" in mqsc(group, CHANNEL, status=10)
    shown = mqsc(group, "DISPLAY CHANNEL(APP.*) ALL")
    for text in ("CHLTYPE(SVRCONN)", "TRPTYPE(TCP)", "MAXINST(20)", "MAXINSTC(5)", "HBINT(30)", "MCAUSER(app)"):
        assert text in shown
    mqsc(group, "ALTER CHL(APP.SVRCONN) CHLTYPE(SVRCONN) HBINT(60)", "DEF CHL(B) LIKE(APP.SVRCONN)")
    assert "HBINT(60)" in mqsc(group, "DISPLAY CHANNEL(B) HBINT")
    mqsc(group, "DELETE CHANNEL(APP.SVRCONN)")
    assert "was not found" in mqsc(group, "DIS CHL(APP.SVRCONN)", status=10)


def test_a_listener_is_made_altered_shown_and_deleted(group: TestGroup) -> None:
    mqsc(group, LISTENER)
    shown = mqsc(group, "DISPLAY LISTENER(TCP.1) ALL")
    for text in ("TRPTYPE(TCP)", "PORT(14140)", "IPADDR(127.0.0.1)", "CONTROL(QMGR)", "BACKLOG(50)"):
        assert text in shown
    mqsc(group, "ALTER LSTR(TCP.1) TRPTYPE(TCP) PORT(1415)", "DELETE LISTENER(TCP.1)")
    assert "was not found" in mqsc(group, "DIS LSTR(TCP.1)", status=10)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("DEFINE CHANNEL(A) CHLTYPE(SDR)", "expected: CHLTYPE(SVRCONN)"),
        (f"DEFINE CHANNEL({'A' * 21}) CHLTYPE(SVRCONN)", "more than 20 characters"),
        ("DEFINE CHANNEL(A) CHLTYPE(SVRCONN) TRPTYPE(LU62)", "expected: TRPTYPE(TCP)"),
        ("DEFINE CHANNEL(A) CHLTYPE(SVRCONN) HBINT(1000000)", "0 to 999999"),
        ("DEFINE LISTENER(A) TRPTYPE(TCP) PORT(65536)", "0 to 65535"),
        ("DEFINE LISTENER(A) TRPTYPE(TCP) IPADDR('10.0.0.1')", "no loopback address"),
        ("DEFINE LISTENER(A) TRPTYPE(TCP) IPADDR('somewhere')", "no IP address"),
        ("DEFINE LISTENER(A) TRPTYPE(NETBIOS)", "expected: TRPTYPE(TCP)"),
    ],
)
def test_what_a_channel_or_listener_cannot_be_is_refused(group: TestGroup, command: str, why: str) -> None:
    assert why in mqsc(group, command, status=10)
    assert group.repository("QM1").channels.all() == []
    assert group.repository("QM1").listeners.all() == []


def test_an_export_makes_the_same_definitions(group: TestGroup) -> None:
    mqsc(group, CHANNEL, LISTENER, "DEFINE CHANNEL(PLAIN) CHLTYPE(SVRCONN)")
    lines = export(group.group, read_catalog(group.group), ExportSelection(kinds=("CHANNEL", "LISTENER"))).lines
    assert compare(group.group, "QM1", lines, is_lenient=False, is_pruned=True).changes == []
    repository = group.repository("QM1")
    before = [*repository.channels.all(), *repository.listeners.all()]
    mqsc(group, "DELETE CHANNEL(APP.SVRCONN)", "DELETE CHANNEL(PLAIN)", "DELETE LISTENER(TCP.1)")
    mqsc(group, *lines)
    after = [*repository.channels.all(), *repository.listeners.all()]
    assert [each.is_same_as(other) for each, other in zip(before, after, strict=True)] == [True] * 3


INERT = (
    "CERTLABL(SOME)", "COMPHDR(SYSTEM)", "COMPMSG(RLE,LZ4FAST)", "DEFCDISP(SHARED)", "DISCINT(60)", "KAINT(10)",
    "MONCHL(HIGH)", "PUTAUT(CTX)", "RCVDATA(A,B)", "SCYDATA(C)", "SENDDATA(D)", "SSLCAUTH(OPTIONAL)",
)  # fmt: skip


def test_attributes_that_do_nothing_are_kept_shown_and_exported(group: TestGroup) -> None:
    said = mqsc(group, f"DEFINE CHANNEL(C) CHLTYPE(SVRCONN) {' '.join(INERT)}")
    assert [each for each in INERT if f"{each} is kept" not in said] == []
    shown = mqsc(group, "DISPLAY CHANNEL(C) ALL")
    blank = ("RCVEXIT( )", "SCYEXIT( )", "SENDEXIT( )", "SSLCIPH( )", "SSLPEER( )")
    assert [each for each in (*INERT, *blank) if each not in shown] == []
    (before,) = group.repository("QM1").channels.all()
    lines = export(group.group, read_catalog(group.group), ExportSelection(kinds=("CHANNEL",))).lines
    mqsc(group, "DELETE CHANNEL(C)")
    mqsc(group, *lines)
    (after,) = group.repository("QM1").channels.all()
    assert after.is_same_as(before)


def test_pcf_has_attributes_that_do_nothing_and_refuses_others(group: TestGroup) -> None:
    asked = Asked(group)
    name: dict[int, Any] = {Param.CHANNEL_NAME: "C"}
    values = {Param.MSG_COMPRESSION: [1, 2], Param.KEEP_ALIVE_INTERVAL: -1, Param.SEND_EXIT_USER_DATA: ["A", "B"]}
    blank = {Param.SSL_CIPHER_SPEC: "", Param.RCV_EXIT_NAME: "", Param.SEC_EXIT_NAME: ""}
    asked.items(PCFCommand.CREATE_CHANNEL, name | {Param.CHANNEL_TYPE: 7} | values | blank)
    (shown,) = asked.items(PCFCommand.INQUIRE_CHANNEL, name)
    assert {key: shown[key] for key in values} == values
    assert (shown[Param.SSL_CIPHER_SPEC], shown[Param.RCV_EXIT_NAME]) == ("", [])
    wanted = name | {Param.CHANNEL_TYPE: 7, Param.SSL_CIPHER_SPEC: "ANY_TLS12"}
    reason, about = asked.reason(PCFCommand.CHANGE_CHANNEL, wanted)
    assert (reason, about) == (MQRCCF.PARM_VALUE_ERROR, Param.SSL_CIPHER_SPEC)


@pytest.mark.parametrize(
    "wrong",
    [
        *("COMPMSG(GZIP)", "COMPHDR(RLE)", "KAINT(-2)", "KAINT(100000)", "DISCINT(1000000)", "SSLCAUTH(YES)"),
        *("DEFCDISP(ALL)", "PUTAUT(ALL)", "MONCHL(YES)", f"SCYDATA({'A' * 33})", f"CERTLABL({'A' * 65})"),
        *(f"SENDDATA(A,{'B' * 33})", "RCVDATA(1,2,3,4,5,6,7,8,9)"),
    ],
)
def test_attributes_that_do_nothing_are_checked(group: TestGroup, wrong: str) -> None:
    mqsc(group, f"DEFINE CHANNEL(A) CHLTYPE(SVRCONN) {wrong}", status=10)
    assert group.repository("QM1").channels.all() == []


def test_pcf_has_the_same_commands(group: TestGroup) -> None:
    asked = Asked(group)
    name: dict[int, Any] = {Param.CHANNEL_NAME: "C"}
    asked.items(PCFCommand.CREATE_CHANNEL, name | {Param.CHANNEL_TYPE: 7, Param.MAX_INSTANCES: 3})
    (shown,) = asked.items(PCFCommand.INQUIRE_CHANNEL, name)
    assert (shown[Param.CHANNEL_TYPE], shown[Param.MAX_INSTANCES], shown[Param.XMIT_PROTOCOL_TYPE]) == (7, 3, 2)
    (found,) = asked.items(PCFCommand.INQUIRE_CHANNEL_NAMES, {Param.CHANNEL_NAME: "*"})
    assert found[Param.CHANNEL_NAMES] == ["C"]
    asked.items(PCFCommand.CREATE_LISTENER, {Param.LISTENER_NAME: "L", Param.XMIT_PROTOCOL_TYPE: 2, Param.PORT: 1500})
    (listener,) = asked.items(PCFCommand.INQUIRE_LISTENER, {Param.LISTENER_NAME: "L"})
    assert listener[Param.PORT] == 1500
    asked.items(PCFCommand.DELETE_CHANNEL, name)
    assert group.repository("QM1").channels.all() == []
