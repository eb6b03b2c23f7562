"""From a command's text to its meaning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from igq.mqsc.language.lines import CommandText, split_commands
from igq.mqsc.language.parser import Command, MqscSyntaxError, parse_command


def parse(text: str) -> Command:
    return parse_command(CommandText(1, text, (text,)))


def refusal(text: str) -> MqscSyntaxError:
    with pytest.raises(MqscSyntaxError) as caught:
        parse(text)
    return caught.value


def test_verb_object_name_and_parameters_are_distinguished() -> None:
    command = parse("DEFINE QLOCAL(ORDERS) REPLACE MAXDEPTH(5000) DESCR('All orders')")

    assert (command.verb, command.object_type, command.name) == ("DEFINE", "QLOCAL", "ORDERS")
    assert [(p.keyword, p.values) for p in command.parameters] == [
        ("REPLACE", None),
        ("MAXDEPTH", ("5000",)),
        ("DESCR", ("All orders",)),
    ]


@pytest.mark.parametrize(
    ("text", "verb", "object_type"),
    [
        ("def ql(a)", "DEFINE", "QLOCAL"),
        ("alt qr(a)", "ALTER", "QREMOTE"),
        ("del qa(a)", "DELETE", "QALIAS"),
        ("dis qm(a)", "DISPLAY", "QMODEL"),
        ("dis qmgr", "DISPLAY", "QMGR"),
        ("dis q(a)", "DISPLAY", "QUEUE"),
        ("dis qs(a)", "DISPLAY", "QSTATUS"),
        ("disp qstat(a)", "DISPLAY", "QSTATUS"),
        ("cle ql(a)", "CLEAR", "QLOCAL"),
        ("def cfstr(a)", "DEFINE", "CFSTRUCT"),
        ("dis group", "DISPLAY", "GROUP"),
        ("dis conn(*)", "DISPLAY", "CONN"),
        ("stop qmgr mode(force)", "STOP", "QMGR"),
        ("end", "END", ""),
    ],
)
def test_words_may_be_shortened_as_ibm_allows(text: str, verb: str, object_type: str) -> None:
    command = parse(text)

    assert (command.verb, command.object_type) == (verb, object_type)


def test_unquoted_text_is_folded_and_quoted_text_is_not() -> None:
    assert parse("define qlocal(orders)").name == "ORDERS"
    assert parse("define qlocal('orders.In')").name == "orders.In"


def test_two_quotes_inside_quotes_are_one() -> None:
    assert parse("def ql(a) descr('Bob''s; (queue)')").parameters[0].value == "Bob's; (queue)"


def test_where_gives_its_three_parts() -> None:
    assert parse("dis ql(*) where(curdepth gt 0)").parameters[0].values == ("CURDEPTH", "GT", "0")


@pytest.mark.parametrize(
    ("text", "segment", "expected"),
    [
        ("MAKE QLOCAL(A)", "MAKE", "DEFINE"),
        ("DE QLOCAL(A)", "DE", "DEFINE"),
        ("DEFINE QSTATUS(A)", "DEFINE QSTATUS", "QLOCAL"),
        ("DEFINE", "DEFINE", "QLOCAL"),
        ("DEFINE QLOCAL", "DEFINE QLOCAL", "a name"),
        ("DEFINE QLOCAL(A", "DEFINE QLOCAL(A", "closing parenthesis"),
        ("DEFINE QLOCAL()", "DEFINE QLOCAL()", "a value"),
        ("DEFINE QLOCAL(A,B)", "DEFINE QLOCAL(A,B)", "one name"),
        ("DEFINE QLOCAL(A) DESCR('x) PUT", "DEFINE QLOCAL(A) DESCR('x) PUT", "closing quote"),
        ("DEFINE QLOCAL(A) 'x'", "DEFINE QLOCAL(A) 'x'", "a keyword"),
        ("DEFINE QLOCAL(A) MAXDEPTH((5)", "DEFINE QLOCAL(A) MAXDEPTH((", "a value"),
        (
            "DEFINE QLOCAL(A) GET(ENABLED) GET(DISABLED) PUT",
            "DEFINE QLOCAL(A) GET(ENABLED) GET(DISABLED)",
            "once",
        ),
        ("DISPLAY QMGR(QM1)", "DISPLAY QMGR(QM1)", "no operand"),
    ],
)
def test_a_command_that_is_not_mqsc_says_where_and_what_was_expected(text: str, segment: str, expected: str) -> None:
    error = refusal(text)

    assert error.segment == segment
    assert expected in error.expected


def test_the_message_names_the_line_in_the_file() -> None:
    (source,) = split_commands(["* comment\n", "\n", "DEFINE QLOKAL(A)\n"])

    with pytest.raises(MqscSyntaxError, match="line 3"):
        parse_command(source)


@given(st.text(alphabet="DEFINE QLOCAL()',;+-*'abc .%/_1", max_size=60))
def test_any_text_is_understood_or_refused_and_nothing_else(text: str) -> None:
    expected = []
    for source in split_commands(text.splitlines(keepends=True)):
        try:
            expected.append(parse_command(source).verb)
        except MqscSyntaxError as error:
            expected.append(error.expected)

    assert all(expected)


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=40))
def test_any_quoted_text_comes_out_unchanged(text: str) -> None:
    quoted = "'" + text.replace("'", "''") + "'"

    assert parse(f"DEF QL(A) DESCR({quoted})").parameters[0].values == (text,)
