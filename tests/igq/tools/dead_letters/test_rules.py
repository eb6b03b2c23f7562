"""The language of rules tables, by IBM's description and its example."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from igq.errors import CommandError
from igq.tools.dead_letters.letters import Letter
from igq.tools.dead_letters.rules import FOR_EVER, parse_rules
from sharedq.mqi.headers import MQDLH
from sharedq.mqi.structures import MQMD

pytestmark = pytest.mark.share

LIKE_IBMS = """\
*************************************************
*       A table with everything in it           *
*************************************************
inputqm(' ') inputq(' ') wait(yes) , retryint(30)

REASON(MQRC_Q_FULL) ACTION(RETRY) RETRY(5)
MSGTYPE(MQMT_REQUEST) REPLYQM(AAAA.*) +
   ACTION(FWD) FWDQ(DEADQ) FWDQM(&REPLYQM)
DESTQM(bbbb.1) +
* A comment within a rule
  action(fwd) fwdq(&DESTQ) fwdqm('bbbb.2') header(no)
REPLYQM('C''CC?') ACT-
ION(FWD) FWDQ(SECURE) PUTAUT(CTX)
DESTQ(' LEADING*') PERSIST(*) ACTION(IGNORE)
ACTION(DISCARD)
"""


def letter(queue: bytes = b"ORDERS", qmgr: bytes = b"QM1", reason: int = 2053, **fields: Any) -> Letter:
    md = MQMD(**fields)
    return Letter(b"token", md, MQDLH(reason=reason, dest_q_name=queue, dest_q_mgr_name=qmgr, format=b"MQSTR"), 0, 0)


def first(text: str, found: Letter) -> int:
    """The line of the first rule that fits."""
    return next((rule.line for rule in parse_rules(text).rules if rule.fits(found)), 0)


def test_a_table_is_read() -> None:
    table = parse_rules(LIKE_IBMS)
    assert (table.queue, table.qmgr, table.retry_interval_s, table.wait_s) == ("", "", 30, FOR_EVER)
    assert [(rule.line, rule.action) for rule in table.rules] == [
        (6, "RETRY"),
        (7, "FWD"),
        (9, "FWD"),
        (12, "FWD"),
        (14, "IGNORE"),
        (15, "DISCARD"),
    ]
    retry, to_reply, to_other, secure, *_ = table.rules
    assert retry.tries == 5
    assert to_reply.target(letter(reply_to_q_mgr=b"AAAA.1")) == ("DEADQ", "AAAA.1")
    assert (to_other.target(letter()), to_other.has_header) == (("ORDERS", "bbbb.2"), False)
    assert (secure.as_user, secure.has_header) == (True, True)


def test_the_first_rule_that_fits_counts() -> None:
    assert first(LIKE_IBMS, letter()) == 6
    assert first(LIKE_IBMS, letter(reason=2051, msg_type=1, reply_to_q_mgr=b"AAAA.9")) == 7
    assert first(LIKE_IBMS, letter(reason=2051, qmgr=b"BBBB.1")) == 9
    assert first(LIKE_IBMS, letter(reason=2051, qmgr=b"bbbb.1")) == 15
    assert first(LIKE_IBMS, letter(reason=2051, reply_to_q_mgr=b"C'CCX")) == 12
    assert first(LIKE_IBMS, letter(reason=2051, queue=b" LEADING.Q")) == 14


@pytest.mark.parametrize(
    ("pattern", "fields", "is_fitting"),
    [
        ("APPLIDAT(A?C*)", {"appl_identity_data": b"ABCDE"}, True),
        ("APPLIDAT(A?C)", {"appl_identity_data": b"ABCDE"}, False),
        ("APPLNAME('shop*')", {"put_appl_name": b"shop 1   "}, True),
        ("APPLNAME(shop*)", {"put_appl_name": b"shop 1"}, False),
        ("APPLTYPE(MQAT_UNIX)", {"put_appl_type": 6}, True),
        ("FEEDBACK(MQFB_COA)", {"feedback": 259}, True),
        ("FORMAT('MQSTR   ')", {}, True),
        ("MSGTYPE(8)", {"msg_type": 8}, True),
        ("MSGTYPE('*')", {"msg_type": 99_999}, True),
        ("PERSIST(MQPER_PERSISTENT)", {"persistence": 0}, False),
        ("REASON(2053)", {}, True),
        ("REPLYQ(?*)", {"reply_to_q": b"   "}, False),
        ("USERID('anna')", {"user_identifier": b"anna"}, True),
        ("DESTQ([O]RDERS)", {}, False),
    ],
)
def test_a_pattern_fits_or_not(pattern: str, fields: dict[str, Any], is_fitting: bool) -> None:
    assert bool(first(f"{pattern} ACTION(DISCARD)", letter(**fields))) is is_fitting


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the table has no rule"),
        ("WAIT(YES)", "the table has no rule"),
        ("\n\nACTION(BURN)", "line 3: ACTION(BURN): allowed: DISCARD, IGNORE, RETRY, FWD"),
        ("DESTQ(Q)", "line 1: ACTION is missing"),
        ("ACTION(FWD)", "ACTION(FWD) and FWDQ belong together"),
        ("ACTION(DISCARD) FWDQ(Q)", "ACTION(FWD) and FWDQ belong together"),
        ("ACTION(FWD) FWDQ(A*)", "FWDQ(A*): allowed: a name, or &DESTQ, &REPLYQ"),
        ("ACTION(FWD) FWDQ(&DESTQM)", "FWDQ(&DESTQM)"),
        ("ACTION(RETRY) RETRY(0)", "RETRY(0)"),
        ("ACTION(RETRY) RETRY(1?)", "RETRY(1?)"),
        ("ACTION(RETRY) ACTION(RETRY)", "ACTION is there twice"),
        ("MSGTYPE('2*') ACTION(IGNORE)", "MSGTYPE(2*)"),
        ("REASON(NO_SUCH) ACTION(IGNORE)", "REASON(NO_SUCH)"),
        ("FORMAT('') ACTION(IGNORE)", "FORMAT has no value"),
        ("FORMAT( ) ACTION(IGNORE)", "FORMAT has no value"),
        ("FORMAT(ABCDEFGHI) ACTION(IGNORE)", "at most 8 characters"),
        ("COLOUR(RED) ACTION(IGNORE)", "COLOUR is no keyword"),
        ("DESTQ('Q ACTION(IGNORE)", "no second one"),
        ("DESTQ(Q ACTION(IGNORE", "a ) is missing"),
        ("ACTION(IGNORE) +", "is to go on"),
        ("ACTION(IGNORE)\nWAIT(NO)", "belong into the first entry"),
        ("WAIT(NO) DESTQ(Q)\nACTION(IGNORE)", "DESTQ does not belong"),
        ("WAIT(SOON)\nACTION(IGNORE)", "WAIT(SOON)"),
        ("RETRYINT(0)\nACTION(IGNORE)", "RETRYINT(0)"),
        ("nonsense", "expected"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(CommandError) as refused:
        parse_rules(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


PIECES = st.sampled_from(
    [
        *("ACTION(", "DISCARD", "FWD", "FWDQ(", "&DESTQ", "REASON(", "MQRC_Q_FULL", "DESTQ(", "RETRY(", "WAIT(", "YES"),
        *(
            ")",
            "(",
            "'",
            "''",
            "*",
            "?",
            "[",
            "+\n",
            "-\n",
            "\n",
            " ",
            ",",
            "* ",
            "0",
            "999999999",
            "\x00",
            "é",
            "\u2028",
        ),
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=60))
def test_whatever_is_in_a_table_it_is_read_or_refused_in_one_line(text: str) -> None:
    said = ""
    try:
        table = parse_rules(text)
    except CommandError as error:
        said = str(error)
    else:
        assert all(rule.fits(letter()) in (True, False) for rule in table.rules)
    assert len(said.splitlines()) <= 1
