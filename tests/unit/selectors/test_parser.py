"""Selection strings: what is understood, what is refused and with which reason, and what they are worth."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.selectors.evaluation import Subject, evaluate
from sharedq.selectors.parser import SelectorError, parse
from sharedq.selectors.selector import needles, selector_for
from tests.support.examples import examples

PROPERTIES: dict[str, Any] = {
    "colour": "red",
    "n": 5,
    "half": 0.5,
    "yes": True,
    "no": False,
    "nil": None,
    "data": b"\x0a\xfc",
    "g.x": "in a folder",
    "mcd.Type": "letter",
    "quote": "it's",
    "percent": "10%_of",
    "big": 9223372036854775807,
}
MD = MQMD(msg_id=b"M" * 24, correl_id=b"C" * 24, format=b"MQSTR", priority=7, persistence=1, backout_count=2)


@pytest.mark.rule("mqi/selectors", "A selector has SQL's three-valued logic: what is not there is unknown.")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("colour = 'red'", True),
        ("colour <> 'red'", False),
        ("usr.colour = 'red'", True),
        ("colour = 'RED'", False),
        ("'red' = colour", True),
        ("quote = 'it''s'", True),
        ("colour > 'a'", False),
        ("colour = 5", False),
        ("colour <> 5", False),
        ("n = 5 AND n = 5.0 AND n = 0x5 AND n = 05 AND n = 5L AND n = 50e-1 AND n = +5 AND n = 5.", True),
        ("n between 4 and 6", True),
        ("n not between 4 and 6", False),
        ("n + 1 * 2 = 7 and (n + 1) * 2 = 12 and n / 2 = 2.5 and -n = -5 and n - -1 = 6", True),
        ("n / 0 = 1", None),
        ("colour + 1 = 1", None),
        ("big = 9223372036854775807", True),
        ("half = .5", True),
        ("yes", True),
        ("no", False),
        ("not no", True),
        ("yes = TRUE and no = false", True),
        ("colour", False),
        ("nil", None),
        ("nil is null", True),
        ("absent IS NULL", True),
        ("colour is not null", True),
        ("absent = 1", None),
        ("absent = 1 or n = 5", True),
        ("absent = 1 and n = 6", False),
        ("absent = 1 and n = 5", None),
        ("not (absent = 1)", None),
        ("absent in ('a')", None),
        ("absent like 'a'", None),
        ("colour in ('blue', 'red')", True),
        ("colour not in ('blue')", True),
        ("n in ('5')", False),
        ("colour like 'r_d' and colour like '%' and colour like 'r%' and colour like '%e%'", True),
        ("colour like 'e%'", False),
        ("percent like '10!%!_%' escape '!'", True),
        ("percent not like '10!%x%' escape '!'", True),
        ("g.x = 'in a folder'", True),
        ('data = "0x0aFC"', True),
        ('data = "0x0AFC00"', False),
        ("Root.MQMD.Format = 'MQSTR   ' and Root.MQMD.Priority > 6 and Root.MQMD.Persistence = 1", True),
        (f'Root.MQMD.MsgId = "0x{"4d" * 24}"', True),
        ("Root.MQMD.ReplyToQ = ''", True),
        ("JMSType = 'letter' and JMSPriority = 7 and JMSDeliveryMode = 'PERSISTENT' and JMSXDeliveryCount = 3", True),
        (f"JMSMessageID = 'ID:{'4d' * 24}' and JMSCorrelationID = 'ID:{'43' * 24}'", True),
        ("JMSXGroupID is null and JMSTimestamp is null", True),
        ("not not n = 5", True),
        ("n = 6 or n = 7 or n = 5 and colour = 'red'", True),
    ],
)
def test_a_selector_is_evaluated(text: str, expected: bool | None) -> None:
    assert evaluate(parse(text), Subject(MD, PROPERTIES)) is expected


@pytest.mark.rule("mqi/selectors", "A selection string that is not in the syntax is 2459, in the extended one 2551.")
@pytest.mark.parametrize(
    "text",
    [
        *("a", "a =", "= 1", "a = 1 b", "a == 1", "a = 'x", 'a = "x"', 'a = "0xABC"', "a = 09", "a = 0xg", "(a = 1"),
        *(
            "a = 1)",
            "a > > 1",
            "a like b",
            "a like 'x' escape 'ab'",
            "a like 'x!' escape '!'",
            "a like 'x!y' escape '!'",
        ),
        *("a in ()", "a in (1)", "a in ('x'", "a in ('x',)", "5 in ('x')", "5 is null", "'x' like 'x'", "a is 1"),
        *("a not = 1", "a between 1", "a between 1 or 2", "not", "a and", "1", "'x'", "a + 1", "(a = 1) + 1 = 2"),
        *("a = NULL", "AND = 1", "a. = 1", "a..b = 1", "1a = 1", "a = 1e", "a = 1e999", "a = 1;", "a != 1", "?"),
        *("Root.MQMD.Nothing = 1", "JMSNothing = 1", "usr.JMSx = 1", "usr.not = 1", "a = " + "(" * 99 + "1" + ")" * 99),
        *("a = " + "9" * 400, "a = 0x" + "f" * 400, "not " * 99 + "a = 1", "a = " + "-" * 99 + "1"),
    ],
)
def test_a_selection_string_is_refused(text: str) -> None:
    if text == "a":
        # A property may be a truth value.
        assert parse(text) == ("true", ("property", "usr", "a"))
        return
    with pytest.raises(MQIError) as caught:
        selector_for(text)
    assert caught.value.reason == MQRC.SELECTOR_SYNTAX_ERROR


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Root.XMLNSC.a = 1", MQRC.SELECTION_NOT_AVAILABLE),
        ("Body.a = 1", MQRC.SELECTION_NOT_AVAILABLE),
        ("1 = 2", MQRC.SELECTOR_ALWAYS_FALSE),
        ("FALSE", MQRC.SELECTOR_ALWAYS_FALSE),
        ("TRUE <> TRUE or 'a' > 'b'", MQRC.SELECTOR_ALWAYS_FALSE),
        ("a = '" + "x" * 10240 + "'", MQRC.SELECTION_STRING_ERROR),
        ("a = '\ud800'", MQRC.SELECTION_STRING_ERROR),
    ],
)
def test_what_cannot_select_has_its_own_reason(text: str, reason: MQRC) -> None:
    with pytest.raises(MQIError) as caught:
        selector_for(text)
    assert caught.value.reason == reason


@pytest.mark.parametrize("text", ["", "   ", "TRUE", "1 < 2", "not FALSE"])
def test_what_every_message_fits_is_no_selector(text: str) -> None:
    assert selector_for(text) is None


def test_identifiers_are_looked_up() -> None:
    first, second = "41" * 24, "42" * 24
    found = selector_for(f'a = 1 and Root.MQMD.CorrelId = "0x{first}" and "0x{second}" = Root.MQMD.MsgId')
    assert found is not None
    assert (found.correl_id, found.msg_id, found.group_id) == (b"A" * 24, b"B" * 24, b"")
    for text in (
        f'a = 1 or Root.MQMD.CorrelId = "0x{first}"',
        f'not Root.MQMD.CorrelId = "0x{first}"',
        f'Root.MQMD.CorrelId <> "0x{first}"',
        'Root.MQMD.CorrelId = "0x41"',
        f'Root.MQMD.CorrelId = "0x{"00" * 24}"',
    ):
        found = selector_for(text)
        assert found is not None
        assert found.correl_id == b""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 'red'", [">red<"]),
        ("a = 'red' and b = 'longer'", [">longer<"]),
        ("a = 'red' or b = 'blue'", [">red<", ">blue<"]),
        ("a = 'red' or n = 1", []),
        ("a in ('x', 'y')", [">x<", ">y<"]),
        ("a like 'ab_cde%f'", ["cde"]),
        ("a like '%x%'", []),
        ("a = ''", []),
        ("a = 'é'", []),
        ("not a = 'x'", []),
        ("a <> 'x'", []),
        ("Root.MQMD.Format = 'MQSTR'", []),
    ],
)
def test_texts_that_a_message_must_have_are_known(text: str, expected: list[str]) -> None:
    assert needles(parse(text)) == expected


WORDS = [
    *("a", "Root.MQMD.MsgId", "1", "'x'", '"0x41"', "=", "<>", ">=", "+", "-", "*", "/", "(", ")", ",", "'", '"', "."),
    *("AND", "OR", "NOT", "BETWEEN", "LIKE", "ESCAPE", "IN", "IS", "NULL", "TRUE", "0x", "1e5", "%", "\0", "é"),
]


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))
def test_no_selection_string_brings_anything_down(text: str) -> None:
    try:
        tree = parse(text)
    except SelectorError:
        return
    assert evaluate(tree, Subject(MD, PROPERTIES)) in (True, False, None)
