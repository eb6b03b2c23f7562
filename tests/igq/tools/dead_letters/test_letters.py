"""Letters as they are read, and the choice of them."""

from __future__ import annotations

import json

import pytest

from igq.tools.dead_letters.letters import Choice, dead_letter_queues, describe, read_letters, summarize
from sharedq.mqi.constants import MQRC, Format
from sharedq.mqi.structures import MQMD
from tests.igq.tools.dead_letters.conftest import DLQ, Send
from tests.support.members import TestGroup
from tests.support.scenes import contents


def chosen(group: TestGroup, choice: Choice) -> list[bytes]:
    return [letter.md.appl_identity_data for letter in read_letters(group.group, "QM1", DLQ, choice)]


def test_a_letter_is_decoded(mail: TestGroup, send: Send) -> None:
    sent = send(b"x" * 5000, correl_id=b"c" * 24)
    before = contents(mail)
    (letter,) = read_letters(mail.group, "QM1", DLQ)
    assert (letter.reason, letter.why, letter.queue, letter.qmgr) == (2053, "Q_FULL", "ORDERS", "QM1")
    assert (letter.by, letter.source, letter.format, letter.length) == ("CSQM AGENT", "shop", "MQSTR", 5000)
    assert (letter.md.msg_id, letter.md.correl_id) == (sent.msg_id, b"c" * 24)
    assert describe(letter)["dead_since"] == "2026-01-01T12:00:00Z"
    assert contents(mail) == before


def test_letters_come_in_the_order_of_the_queue(mail: TestGroup, send: Send) -> None:
    for priority in (1, 9, 5):
        send(appl_identity_data=b"%d" % priority, priority=priority)
    assert chosen(mail, Choice()) == [b"9", b"5", b"1"]
    assert chosen(mail, Choice(first=2)) == [b"9", b"5"]


def test_each_condition_chooses(mail: TestGroup, send: Send) -> None:
    send(appl_identity_data=b"1", correl_id=b"c" * 24)
    send(appl_identity_data=b"2", reason=MQRC.PUT_INHIBITED, queue_name=b"OTHER")
    send(appl_identity_data=b"3", put_appl_name=b"stock", format=b"MQHRF2", qmgr=b"QM2")
    assert chosen(mail, Choice(frozenset({2051}))) == [b"2"]
    assert chosen(mail, Choice(queue="ORD*")) == [b"1", b"3"]
    assert chosen(mail, Choice(qmgr="QM2")) == [b"3"]
    assert chosen(mail, Choice(source="st?ck")) == [b"3"]
    assert chosen(mail, Choice(format="MQSTR")) == [b"1", b"2"]
    assert chosen(mail, Choice(correl_id=b"c" * 24)) == [b"1"]
    assert chosen(mail, Choice(queue="[O]RDERS")) == []


def test_age_is_that_of_the_header(mail: TestGroup, send: Send) -> None:
    send(appl_identity_data=b"old", date=b"20200101")
    send(appl_identity_data=b"to come", date=b"29990101")
    assert chosen(mail, Choice(older_s=3600)) == [b"old"]
    assert chosen(mail, Choice(younger_s=3600)) == [b"to come"]


@pytest.mark.parametrize("body", [b"", b"DLH ", b"\xff" * 300])
def test_a_message_without_a_header_is_told_as_that(mail: TestGroup, body: bytes) -> None:
    mail.connect().put1(DLQ, body, MQMD(format=Format.DEAD_LETTER_HEADER))
    (letter,) = read_letters(mail.group, "QM1", DLQ)
    assert (letter.header, letter.reason, letter.queue, letter.length) == (None, 0, "", len(body))
    json.dumps(describe(letter))


def test_hostile_names_are_shown_as_text(mail: TestGroup, send: Send) -> None:
    send(queue_name=b"\x1b[31m\xff", put_appl_name=b"\r\n<b>")
    (letter,) = read_letters(mail.group, "QM1", DLQ)
    assert letter.queue == "\x1b[31m\xff"
    json.dumps(describe(letter))


def test_a_summary_counts_by_reason_and_destination(mail: TestGroup, send: Send) -> None:
    for reason in (MQRC.Q_FULL, MQRC.Q_FULL, MQRC.PUT_INHIBITED):
        send(reason=reason)
    assert summarize(list(read_letters(mail.group, "QM1", DLQ))) == [
        (2053, "Q_FULL", "ORDERS", "QM1", 2),
        (2051, "PUT_INHIBITED", "ORDERS", "QM1", 1),
    ]


def test_the_queues_of_all_members_are_known(mail: TestGroup) -> None:
    mail.add_member("QM2")
    mail.add_member("QM3")
    mail.define_shared("SHARED.DEAD")
    for name in ("QM2", "QM3"):
        mail.repository(name).alter_qmgr(name, {"dead_letter_queue": "SHARED.DEAD"})
    assert dead_letter_queues(mail.group) == [("QM1", DLQ), ("QM2", "SHARED.DEAD")]
