"""The dead-letter queue handler: what it does with letters, and when it tries again."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from igq.tools.dead_letters.handler import Handled, Handler
from igq.tools.dead_letters.letters import read_letters
from igq.tools.dead_letters.removal import DONE, NO_HEADER
from igq.tools.dead_letters.rules import parse_rules
from sharedq.members.event_notes import take_notes
from sharedq.mqi.constants import MQRC, Format
from sharedq.mqi.structures import MQMD
from tests.igq.tools.dead_letters.conftest import DLQ, Send
from tests.support.agents import drain
from tests.support.killed import environment, igq, igq_killed
from tests.support.members import TestGroup
from tests.support.scenes import until


def handled(group: TestGroup, rules: str, clock: Callable[[], float] = time.monotonic) -> list[tuple[int, str, bool]]:
    """Run a table once: the line, the outcome, and whether it was the last try."""
    told: list[Handled] = []
    Handler(group.settings, parse_rules(rules), told.append, clock=clock).run("QM1")
    return [(each.rule.line if each.rule else 0, each.outcome, each.is_last) for each in told]


def on(group: TestGroup, queue: str) -> list[bytes]:
    return [message.body for message in drain(group.connect(), queue)]


def left(group: TestGroup) -> int:
    return len(list(read_letters(group.group, "QM1", DLQ)))


class Clock:
    """Time that goes on by itself, a minute each time that somebody looks."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 60.0
        return self.now_s


def test_each_action_is_done(mail: TestGroup, send: Send) -> None:
    send(b"retry")
    send(b"forward", reason=MQRC.NOT_AUTHORIZED)
    send(b"reply", reason=MQRC.MSG_TOO_BIG_FOR_Q, reply_to_q=b"OTHER")
    send(b"discard", queue_name=b"JUNK")
    send(b"ignore", queue_name=b"KEEP")
    rules = (
        "DESTQ(JUNK) ACTION(DISCARD)\nDESTQ(KEEP) ACTION(IGNORE)\nREASON(2053) ACTION(RETRY)\n"
        "REASON(MQRC_NOT_AUTHORIZED) ACTION(FWD) FWDQ(OTHER) HEADER(YES)\nACTION(FWD) FWDQ(&REPLYQ) HEADER(NO)"
    )
    assert sorted(handled(mail, rules)) == [(1, DONE, True), (3, DONE, True), (4, DONE, True), (5, DONE, True)]
    assert on(mail, "ORDERS") == [b"retry"]
    forwarded, replied = drain(mail.connect(), "OTHER")
    assert (forwarded.md.format, forwarded.md.user_identifier) == (Format.DEAD_LETTER_HEADER, b"ANNA")
    assert (replied.body, replied.md.put_appl_name) == (b"reply", b"shop")
    assert left(mail) == 1


def test_what_fails_for_good_goes_on_to_the_next_rule(mail: TestGroup, send: Send) -> None:
    mail.define_shared("SHUT", put="DISABLED")
    send(queue_name=b"SHUT")
    rules = "DESTQ(SHUT) ACTION(RETRY) RETRY(3)\nDESTQ(NEVER) ACTION(DISCARD)\nACTION(FWD) FWDQ(OTHER)"
    refused = "MQRC_PUT_INHIBITED (2051)"
    assert handled(mail, rules, Clock()) == [
        (1, refused, False),
        (1, refused, False),
        (1, refused, True),
        (3, DONE, True),
    ]
    assert left(mail) == 0


def test_a_letter_for_which_nothing_is_left_stays(mail: TestGroup, send: Send) -> None:
    send(queue_name=b"NOWHERE")
    mail.connect().put1(DLQ, b"no header", MQMD(priority=0))
    assert sorted(handled(mail, "ACTION(RETRY)\nACTION(FWD) FWDQ(&REPLYQ)")) == [
        (0, NO_HEADER, True),
        (1, "MQRC_UNKNOWN_OBJECT_NAME (2085)", True),
        (2, "the rule names no queue for it", True),
    ]
    assert left(mail) == 2


def test_a_try_is_repeated_when_there_is_room(mail: TestGroup, send: Send) -> None:
    mail.define_shared("SMALL", max_depth=1)
    mail.connect().put1("SMALL", b"in the way")
    send(b"late", queue_name=b"SMALL")
    told: list[str] = []

    def tell(each: Handled) -> None:
        told.append(each.outcome)
        if len(told) == 1:
            on(mail, "SMALL")

    Handler(mail.settings, parse_rules("ACTION(RETRY) RETRY(2)"), tell, clock=Clock()).run("QM1")
    assert told == ["MQRC_Q_FULL (2053)", DONE]
    assert on(mail, "SMALL") == [b"late"]


def test_the_user_of_the_context_must_be_allowed(mail: TestGroup, send: Send) -> None:
    from sharedq.objects.store.authorities import Authorities

    Authorities(mail.group).change("ORDERS", "BERTA", add=("PUT",))
    send(b"anna")
    send(b"berta", user_identifier=b"BERTA")
    rules = "ACTION(RETRY) PUTAUT(CTX)"
    assert sorted(handled(mail, rules)) == [(1, "MQRC_NOT_AUTHORIZED (2035)", True), (1, DONE, True)]
    assert on(mail, "ORDERS") == [b"berta"]


def test_a_service_handles_what_comes_and_ends_in_good_order(mail: TestGroup, send: Send) -> None:
    ended, told = threading.Event(), list[str]()
    handler = Handler(
        mail.settings,
        parse_rules("WAIT(YES)\nACTION(RETRY)"),
        lambda each: told.append(each.outcome),
        is_ended=ended.is_set,
    )
    thread = threading.Thread(target=handler.run, args=("QM1",))
    thread.start()
    try:
        for count in (1, 2, 3):
            send(b"%d" % count)
            until(lambda: len(told) == count, "the letter is handled")  # noqa: B023 - asked at once
    finally:
        ended.set()
        thread.join()
    assert on(mail, "ORDERS") == [b"1", b"2", b"3"]


def test_the_service_ends_in_good_order_with_sigterm(mail: TestGroup, send: Send) -> None:
    table = mail.settings.data_dir / "rules"
    table.write_text("WAIT(YES)\nACTION(RETRY)\n")
    command = [sys.executable, "-m", "igq", "dlq", "handle", str(table), "-m", "QM1"]
    send(b"1")
    service = subprocess.Popen(
        command, env=environment(mail), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: not left(mail), "the letter is handled")
        send(b"2")
        until(lambda: not left(mail), "the next letter is handled")
    finally:
        service.terminate()
        said, told = service.communicate()
    assert (service.returncode, said, told) == (0, "RETRY: 2 messages\n", "")
    assert on(mail, "ORDERS") == [b"1", b"2"]


def test_the_command_says_what_was_done(mail: TestGroup, send: Send) -> None:
    send()
    send(queue_name=b"NOWHERE")
    table = mail.settings.data_dir / "rules"
    table.write_text("INPUTQM(QM1)\nACTION(RETRY)\n")
    done = igq(mail, "dlq", "handle", str(table))
    assert (done.returncode, done.stdout) == (1, "RETRY: 1 message\n")
    assert "line 2, RETRY: MQRC_UNKNOWN_OBJECT_NAME (2085)" in done.stderr
    logged = [(note.fields["command"], note.fields["result"]) for note in take_notes(mail.group, "@QM1", 10)]
    command = f"dlq handle {table} -m QM1 --queue {DLQ}"
    assert logged == [(command, "begun"), (command, "RETRY: 1 message")]
    table.write_text("ACTION(BURN)\n")
    wrong = igq(mail, "dlq", "handle", str(table), "-m", "QM1")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)


def test_a_handler_of_no_manager_leaves_no_line_for_it(mail: TestGroup) -> None:
    table = mail.settings.data_dir / "rules"
    table.write_text("ACTION(RETRY)\n")
    refused = igq(mail, "dlq", "handle", str(table), "-m", "QM9")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert take_notes(mail.group, "@QM9", 10) == []


@pytest.mark.invariant(1, 8)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_handler_loses_and_doubles_nothing(mail: TestGroup, send: Send, when: str) -> None:
    sent = [b"%03d" % number for number in range(120)]
    for body in sent:
        send(body)
    table = mail.settings.data_dir / "rules"
    table.write_text("ACTION(RETRY)\n")
    assert igq_killed(mail, "dlq", "handle", str(table), "-m", "QM1", when=when, at=2)
    assert left(mail) == {"before": 70, "after": 20}[when]
    assert not igq_killed(mail, "dlq", "handle", str(table), "-m", "QM1", when=when, at=100)
    assert on(mail, "ORDERS") == sent
