"""Letters that are put back, moved and discarded, by calls and by the command, also one that is killed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from igq.tools.dead_letters import removal
from igq.tools.dead_letters.letters import read_letters
from igq.tools.dead_letters.removal import DONE, GONE, NO_HEADER, Put, remove_letters, to_destination
from sharedq.members.event_notes import take_notes
from sharedq.mqi.constants import Format, MsgFlag
from sharedq.mqi.structures import MQMD
from tests.igq.tools.dead_letters.conftest import DLQ, Send
from tests.support.agents import drain
from tests.support.killed import igq, igq_killed
from tests.support.members import TestGroup


def on(group: TestGroup, queue: str) -> list[bytes]:
    return [message.body for message in drain(group.connect(), queue)]


def test_a_letter_goes_back_as_it_was(mail: TestGroup, send: Send) -> None:
    flags = int(MsgFlag.MSG_IN_GROUP)
    sent = send(b"\x00order\xff", correl_id=b"c" * 24, group_id=b"g" * 24, msg_seq_number=3, msg_flags=flags)
    letters = list(read_letters(mail.group, "QM1", DLQ))
    assert remove_letters(mail.connect(), DLQ, letters, to_destination) == {(DONE, "ORDERS", "QM1"): 1}
    (message,) = drain(mail.connect(), "ORDERS")
    assert message.body == b"\x00order\xff"
    assert replace(message.md, encoding=0, coded_char_set_id=0) == replace(
        sent, format=b"MQSTR", encoding=0, coded_char_set_id=0
    )
    assert on(mail, DLQ) == []


def test_a_moved_letter_keeps_its_header(mail: TestGroup, send: Send) -> None:
    send()
    letters = list(read_letters(mail.group, "QM1", DLQ))
    remove_letters(mail.connect(), DLQ, letters, lambda _: Put("OTHER", has_header=True))
    (message,) = drain(mail.connect(), "OTHER")
    assert (message.md.format, message.md.user_identifier, message.md.put_time) == (
        Format.DEAD_LETTER_HEADER,
        b"ANNA",
        b"23595999",
    )


def test_a_refused_letter_holds_up_no_other(mail: TestGroup, send: Send) -> None:
    mail.define_shared("SMALL", max_depth=1)
    for queue in (b"SMALL", b"ORDERS", b"SMALL", b"NOWHERE"):
        send(queue_name=queue)
    mail.connect().put1(DLQ, b"no header", MQMD(priority=0))
    letters = list(read_letters(mail.group, "QM1", DLQ))
    assert remove_letters(mail.connect(), DLQ, letters, to_destination) == {
        (DONE, "SMALL", "QM1"): 1,
        (DONE, "ORDERS", "QM1"): 1,
        ("MQRC_Q_FULL (2053)", "SMALL", "QM1"): 1,
        ("MQRC_UNKNOWN_OBJECT_NAME (2085)", "NOWHERE", "QM1"): 1,
        (NO_HEADER, "", ""): 1,
    }
    assert len(on(mail, DLQ)) == 3


def test_a_letter_that_somebody_took_is_passed_over(mail: TestGroup, send: Send) -> None:
    send()
    letters = list(read_letters(mail.group, "QM1", DLQ))
    on(mail, DLQ)
    assert remove_letters(mail.connect(), DLQ, letters, to_destination) == {(GONE, "ORDERS", "QM1"): 1}


def test_a_unit_of_work_is_bounded(mail: TestGroup, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "UNIT_BYTES", 100)
    for _ in range(60):
        send(b"x" * 10)
    told: list[int] = []
    remove_letters(mail.connect(), DLQ, list(read_letters(mail.group, "QM1", DLQ)), lambda _: None, told.append)
    assert sum(told) == 60
    assert max(told) == 11


def test_the_commands_list_and_put_back(mail: TestGroup, send: Send) -> None:
    send(queue_name=b"\x1b[31mRED")
    send()
    listed = igq(mail, "dlq", "list")
    assert "2053 Q_FULL" in listed.stdout
    assert "\\x1b[31mRED" in listed.stdout
    refused = igq(mail, "dlq", "discard", "QM1")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    done = igq(mail, "dlq", "requeue", "QM1", "--destination", "ORD*", "--reason", "q_full", "--older-than", "1h")
    assert (done.returncode, done.stdout) == (0, f"1 message of {DLQ} at QM1 put back\n")
    assert igq(mail, "dlq", "requeue", "QM1", "--all").returncode == 1
    assert igq(mail, "dlq", "move", "QM1", "--to", "OTHER", "--all").returncode == 0
    assert (len(on(mail, "ORDERS")), len(on(mail, "OTHER")), on(mail, DLQ)) == (1, 1, [])
    send()
    assert igq(mail, "dlq", "discard", "QM1", "--all", "--max", "5").returncode == 0
    logged = [(note.fields["command"], note.fields["result"]) for note in take_notes(mail.group, "@QM1", 10)]
    chosen = "--reason 2053 --destination ORD* --older-than 3600"
    assert logged == [
        (f"dlq requeue QM1 --queue {DLQ} {chosen}", "1 of 1 message done"),
        (f"dlq requeue QM1 --queue {DLQ}", "0 of 1 message done"),
        (f"dlq move --to OTHER QM1 --queue {DLQ}", "1 of 1 message done"),
        (f"dlq discard QM1 --queue {DLQ} --max 5", "1 of 1 message done"),
    ]


@pytest.mark.invariant(1, 8)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_loses_and_doubles_nothing(mail: TestGroup, send: Send, when: str) -> None:
    sent = [b"%03d" % number for number in range(120)]
    for body in sent:
        send(body)
    at = 2
    assert igq_killed(mail, "dlq", "requeue", "QM1", "--all", when=when, at=at)
    done = {"before": 50, "after": 100}[when]
    assert [letter.length for letter in read_letters(mail.group, "QM1", DLQ)] == [3] * (120 - done)
    assert not igq_killed(mail, "dlq", "requeue", "QM1", "--all", when=when, at=100)
    assert on(mail, "ORDERS") == sent
