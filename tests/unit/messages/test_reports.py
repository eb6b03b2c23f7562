"""Reports with data: 100 bytes of application data, after all MQ headers, whatever the report is about."""

from __future__ import annotations

import struct

import pytest

from sharedq.messages.dead_letter import dead_lettered
from sharedq.messages.reports import length_of_headers, report_about
from sharedq.messages.transmission import as_transmitted
from sharedq.mqi.constants import MQRC, Feedback, Format, PropertyType, Report
from sharedq.mqi.structures import MQMD, copied
from sharedq.properties.folders import Property
from sharedq.properties.headers import properties_in, read_chain, with_properties

DATA = b"d" * 300
KINDS = [
    (Feedback.COA, Report.COA, Report.COA_WITH_DATA, Report.COA_WITH_FULL_DATA),
    (Feedback.COD, Report.COD, Report.COD_WITH_DATA, Report.COD_WITH_FULL_DATA),
    (Feedback.EXPIRATION, Report.EXPIRATION, Report.EXPIRATION_WITH_DATA, Report.EXPIRATION_WITH_FULL_DATA),
    (MQRC.Q_FULL, Report.EXCEPTION, Report.EXCEPTION_WITH_DATA, Report.EXCEPTION_WITH_FULL_DATA),
]
Made = tuple[MQMD, bytes]


def plain() -> Made:
    return MQMD(format=Format.STRING, reply_to_q=b"R"), DATA


def chained(identifier: bytes, format_: bytes, version: int, fixed: bytes, made: Made) -> Made:
    """A message with a header that says its own length and what comes after it."""
    md, body = made
    fields = (version, 32 + len(fixed), md.encoding, md.coded_char_set_id, md.format.ljust(8), 0)
    front = struct.pack("<4siiii8si", identifier, *fields) + fixed
    return copied(md, format=format_), front + body


def with_property(made: Made, length: int = 200) -> Made:
    md = copied(made[0])
    return md, with_properties(md, made[1], [Property("colour", PropertyType.STRING, "r" * length)])


def dead(made: Made) -> Made:
    return dead_lettered(made[0], made[1], b"Q", b"QM1", 2053, b"test", b"20261128", b"01020300")


def on_its_way(made: Made) -> Made:
    return copied(made[0], format=Format.XMIT_Q_HEADER), as_transmitted(made[0], made[1], b"Q", b"QM2")


def with_rules(made: Made) -> Made:
    return chained(b"RFH ", Format.RF_HEADER_1, 1, b"A B ", made)


def with_work(made: Made) -> Made:
    return chained(b"WIH ", Format.WORK_INFO_HEADER, 1, bytes(88), made)


def for_ims(made: Made) -> Made:
    return chained(b"IIH ", Format.IMS, 1, bytes(52), made)


CHAINS = {
    "none": plain(),
    "MQRFH2": with_property(plain()),
    "short MQRFH2": with_property(plain(), 1),
    "two MQRFH2": with_property(with_property(plain())),
    "MQRFH": with_rules(plain()),
    "MQWIH": with_work(plain()),
    "MQIIH": for_ims(plain()),
    "MQWIH, MQRFH2": with_work(with_property(plain())),
    "MQRFH2, MQWIH, MQRFH2": with_property(with_work(with_property(plain()))),
    "MQDLH, MQRFH2": dead(with_property(plain())),
    "MQXQH, MQRFH2": on_its_way(with_property(plain())),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_headers_end_where_the_application_data_begin(chain: str) -> None:
    md, body = CHAINS[chain]
    assert body[length_of_headers(md, body) :] == DATA


@pytest.mark.rule("mqi/reports", "A report with data has 100 bytes of application data, after all MQ headers.")
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize(("feedback", "without", "some", "everything"), KINDS)
def test_reports_carry_all_headers_and_some_data(
    chain: str, feedback: int, without: Report, some: Report, everything: Report
) -> None:
    md, body = CHAINS[chain]
    front = body.removesuffix(DATA)
    for option, expected in ((some, front + DATA[:100]), (everything, body)):
        report = report_about(copied(md, report=int(option), reply_to_q=b"R"), body, feedback, "QM1")
        assert report is not None
        assert (report.body, report.md.format) == (expected, md.format)
    report = report_about(copied(md, report=int(without), reply_to_q=b"R"), body, feedback, "QM1")
    assert report is not None
    assert report.body == b""
    assert report.md.format.rstrip() != Format.RF_HEADER_2


def test_properties_can_be_read_in_a_report() -> None:
    md, body = CHAINS["MQRFH2"]
    report = report_about(copied(md, report=int(Report.COD_WITH_DATA)), body, Feedback.COD, "QM1")
    assert report is not None
    assert [each.value for each in properties_in(read_chain(report.md, report.body))] == ["r" * 200]


@pytest.mark.parametrize("length", [0, 1, 35, 36, 80])
@pytest.mark.parametrize("chain", ["MQRFH2", "MQWIH", "MQDLH, MQRFH2"])
def test_a_header_that_is_not_whole_is_data(chain: str, length: int) -> None:
    md, body = CHAINS[chain]
    assert length_of_headers(md, body[:length]) == 0


def test_short_data_are_reported_whole() -> None:
    md, body = with_property((MQMD(format=Format.STRING, reply_to_q=b"R"), b"short"))
    report = report_about(copied(md, report=int(Report.COA_WITH_DATA)), body, Feedback.COA, "QM1")
    assert report is not None
    assert report.body == body
