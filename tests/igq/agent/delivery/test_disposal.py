"""The agent's decisions about messages that it cannot deliver."""

from __future__ import annotations

from dataclasses import replace

import pytest

from igq.agent.delivery.disposal import Disposal, Transmitted, dead_letter, dispose, is_about_the_message, unwrap
from sharedq.messages.reports import ReportMessage, report_about
from sharedq.messages.transmission import as_transmitted
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, Format, MsgFlag, MsgType, Report
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD

pytestmark = pytest.mark.share

BODY = bytes(range(250))


def message(**fields: object) -> Transmitted:
    md = replace(MQMD(priority=4, persistence=1, msg_id=b"m" * 24, format=b"MQSTR"), **fields)  # type: ignore[arg-type]
    return Transmitted(md, BODY, b"ORDERS", b"QM2")


@pytest.mark.parametrize(
    ("report", "persistence", "can_dead_letter", "expected"),
    [
        (0, 1, True, Disposal.DEAD_LETTER),
        (0, 0, True, Disposal.DEAD_LETTER),
        (0, 1, False, Disposal.BACK_OUT),
        (0, 0, False, Disposal.DISCARD),
        (Report.DISCARD_MSG, 1, True, Disposal.DISCARD),
        (Report.DISCARD_MSG, 1, False, Disposal.DISCARD),
        (Report.EXCEPTION, 1, False, Disposal.BACK_OUT),
    ],
)
def test_disposal(report: int, persistence: int, can_dead_letter: bool, expected: Disposal) -> None:
    md = message(report=int(report), persistence=persistence).md
    assert dispose(md, can_dead_letter=can_dead_letter) is expected


@pytest.mark.rule(
    "igq/undelivered", "A dead letter describes its header, and the header the message, so that CONVERT works."
)
@pytest.mark.parametrize(("encoding", "ccsid"), [(546, 1208), (785, 500), (546, 500), (273, 1208), (546, 1200)])
def test_a_dead_letter_has_a_header_in_front_and_keeps_its_identity(encoding: int, ccsid: int) -> None:
    original = message(
        correl_id=b"c" * 24,
        user_identifier=b"ALICE",
        put_appl_name=b"shop",
        put_appl_type=6,
        encoding=encoding,
        coded_char_set_id=ccsid,
    )

    md, data = dead_letter(original, MQRC.Q_FULL, b"IGQ agent", b"20261121", b"03160631")

    # The letter's descriptor describes the header, and the header the message.
    assert md == replace(original.md, format=Format.DEAD_LETTER_HEADER, encoding=546, coded_char_set_id=1208)
    header = wire.DLH.unpack(data)
    assert (header.encoding, header.coded_char_set_id) == (encoding, ccsid)
    assert (header.reason, header.dest_q_name, header.dest_q_mgr_name) == (2053, b"ORDERS", b"QM2")
    assert (header.format, header.put_appl_type, header.put_appl_name) == (b"MQSTR", 7, b"IGQ agent")
    assert data[wire.DLH.length(1) :] == BODY


def exception_report(about: Transmitted) -> ReportMessage | None:
    return report_about(about.md, about.body, 2085, "QM2")


@pytest.mark.rule("igq/undelivered", "An exception report carries what was asked for.")
@pytest.mark.parametrize(
    ("option", "length"),
    [(Report.EXCEPTION, 0), (Report.EXCEPTION_WITH_DATA, 100), (Report.EXCEPTION_WITH_FULL_DATA, len(BODY))],
)
def test_an_exception_report_carries_what_was_asked_for(option: Report, length: int) -> None:
    report = exception_report(message(report=int(option), reply_to_q=b"REPLIES", reply_to_q_mgr=b"QM1"))

    assert report is not None
    assert (report.queue, report.qmgr, report.body) == (b"REPLIES", b"QM1", BODY[:length])
    assert (report.md.msg_type, report.md.feedback) == (MsgType.REPORT, 2085)
    assert (report.md.persistence, report.md.priority) == (1, 4)


def test_a_report_is_correlated_by_the_message_id_unless_asked_otherwise() -> None:
    asked = int(Report.EXCEPTION)
    given = {"reply_to_q": b"R", "correl_id": b"c" * 24}
    plain = exception_report(message(report=asked, **given))
    passed = exception_report(message(report=asked | Report.PASS_MSG_ID | Report.PASS_CORREL_ID, **given))

    assert plain is not None
    assert passed is not None
    assert (plain.md.msg_id, plain.md.correl_id) == (bytes(24), b"m" * 24)
    assert (passed.md.msg_id, passed.md.correl_id) == (b"m" * 24, b"c" * 24)


@pytest.mark.parametrize("fields", [{"report": 0}, {"report": int(Report.EXCEPTION)}, {"report": int(Report.COA)}])
def test_no_report_is_made_without_a_request_or_a_receiver(fields: dict[str, int]) -> None:
    assert exception_report(message(**fields)) is None


@pytest.mark.rule(
    "igq/undelivered", "Transmission headers describe what follows them, so a message comes out as it went in."
)
@pytest.mark.parametrize(("encoding", "ccsid"), [(546, 1208), (785, 500)])
@pytest.mark.parametrize("is_member", [True, False])
def test_a_message_comes_out_of_its_wrapping_as_it_went_in(is_member: bool, encoding: int, ccsid: int) -> None:
    group: dict[str, object] = {"version": 1}
    if is_member:
        group = {"group_id": b"g" * 24, "msg_seq_number": 3, "msg_flags": int(MsgFlag.MSG_IN_GROUP), "version": 2}
    original = message(expiry=500, encoding=encoding, coded_char_set_id=ccsid, **group)
    outer = replace(original.md)

    data = as_transmitted(outer, BODY, b"ORDERS", b"QM2")
    outer.expiry = 100

    assert (outer.format, outer.encoding, outer.coded_char_set_id) == (Format.XMIT_Q_HEADER, 546, 1208)
    inner = wire.unpack_xqh(data).msg_desc
    told = (Format.MD_EXTENSION, 546, 1208) if is_member else (b"MQSTR", encoding, ccsid)
    assert (inner.format, inner.encoding, inner.coded_char_set_id) == told
    assert unwrap(outer, data) == replace(original, md=replace(original.md, expiry=100))


def test_a_message_without_a_transmission_header_is_refused() -> None:
    with pytest.raises(MQIError) as caught:
        unwrap(MQMD(), b"put there by a program")
    assert caught.value.reason == MQRC.XQH_ERROR


def test_a_broken_connection_is_no_ground_to_dispose_of_a_message() -> None:
    assert is_about_the_message(MQRC.Q_FULL)
    assert is_about_the_message(MQRC.PUT_INHIBITED)
    assert not is_about_the_message(MQRC.CONNECTION_BROKEN)
    assert not is_about_the_message(MQRC.STORAGE_MEDIUM_FULL)
