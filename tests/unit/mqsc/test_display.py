"""The output of DISPLAY."""

from __future__ import annotations

import pytest

from igq.mqsc.language.lines import CommandText
from igq.mqsc.language.parameters import REPORTS, shown_by
from igq.mqsc.language.parser import Command, MqscSyntaxError, parse_command
from igq.mqsc.records import DisplayRequest, Shown, read_request, shown, two_columns
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import MQCFH, PCFMessage
from sharedq.mqi.pcf.writing import write
from sharedq.objects.definitions.parameters import as_parameter

KNOWN = ("MAXDEPTH", "CURDEPTH", "DESCR", "SHARE", "NOSHARE")


def request(parameters: str, *, all_by_default: bool = False) -> DisplayRequest:
    return read_request(command(parameters), (), KNOWN, all_by_default=all_by_default)


def command(parameters: str) -> Command:
    text = f"DISPLAY QUEUE(*) {parameters}"
    return parse_command(CommandText(1, text, (text,)))


RECORD = [
    shown("QUEUE", "ORDERS"),
    shown("TYPE", "QLOCAL"),
    shown("MAXDEPTH", 500),
    Shown(("SHARE", "NOSHARE"), "NOSHARE", "NOSHARE"),
    shown("CURDEPTH", 7),
    shown("DESCR", "All orders"),
]


@pytest.mark.parametrize("kind", sorted(REPORTS))
def test_a_count_of_any_length_fits_into_pcf(kind: str) -> None:
    counts = [each for each in shown_by(kind).values() if each.is_integer and not each.mqsc.words]
    parameters = [as_parameter(each, shown(each.keyword, 1 << 40).value) for each in counts]
    assert read(write(PCFMessage(MQCFH(), tuple(parameters)))).parameters == tuple(parameters)


def test_the_second_column_begins_at_column_44() -> None:
    (line,) = two_columns([shown("QUEUE", "ORDERS"), shown("TYPE", "QUEUE")])

    assert line == "   QUEUE(ORDERS)                           TYPE(QUEUE)"
    assert line.index("TYPE") == 43


def test_a_value_too_wide_for_a_column_has_its_own_line() -> None:
    long = shown("DESCR", "x" * 50)

    assert two_columns([shown("A", 1), long, shown("B", 2), shown("C", 3)]) == [
        "   A(1)",
        f"   {long.text}",
        f"   {'B(2)':<40}C(3)",
    ]


def test_only_the_attributes_that_were_asked_for_are_written() -> None:
    selected = request("CURDEPTH NOSHARE").select(RECORD, always=2)

    assert [each.text for each in selected] == ["QUEUE(ORDERS)", "TYPE(QLOCAL)", "CURDEPTH(7)", "NOSHARE"]


def test_all_and_the_default_for_one_name_write_everything_in_order() -> None:
    expected = [
        "QUEUE(ORDERS)",
        "TYPE(QLOCAL)",
        "CURDEPTH(7)",
        "DESCR(All orders)",
        "MAXDEPTH(500)",
        "NOSHARE",
    ]

    for asked in (request("ALL"), request("", all_by_default=True)):
        assert [each.text for each in asked.select(RECORD, always=2)] == expected


@pytest.mark.parametrize(
    ("where", "fits"),
    [
        ("CURDEPTH GT 6", True),
        ("CURDEPTH GT 7", False),
        ("CURDEPTH GE 7", True),
        ("CURDEPTH LT 10", True),
        ("MAXDEPTH EQ 500", True),
        ("MAXDEPTH NE 500", False),
        ("CURDEPTH LE 6", False),
        ("DESCR LK 'All*'", True),
        ("DESCR NL 'All*'", False),
        ("DESCR EQ 'All orders'", True),
    ],
)
def test_where_compares_numbers_as_numbers_and_text_as_text(where: str, fits: bool) -> None:
    assert request(f"WHERE({where})").where(RECORD) is fits


@pytest.mark.parametrize(
    ("value", "where", "fits"),
    [
        ("", "BOQNAME NE ' '", False),
        ("", "BOQNAME EQ ' '", True),
        ("", "BOQNAME EQ ''", True),
        ("BO", "BOQNAME NE ' '", True),
        ("", "SPREAD NE ' '", False),
        ("Q2", "SPREAD NE ' '", True),
        (-1, "CAPEXPRY EQ NOLIMIT", True),
        (100, "CAPEXPRY NE NOLIMIT", True),
        (-1, "CAPEXPRY NE NOLIMIT", False),
        ("Q1", "TARGQ EQ Q1", True),
    ],
)
def test_where_knows_blanks_words_and_synonyms(value: str | int, where: str, fits: bool) -> None:
    keyword = where.split(maxsplit=1)[0].replace("TARGQ", "TARGET")
    asked = read_request(command(f"WHERE({where})"), (), (keyword,), all_by_default=False)

    assert asked.where([shown(keyword, value)]) is fits
    assert asked.keywords == (keyword,)


@pytest.mark.parametrize(
    ("value", "where", "fits"),
    [
        ("TRIGGER", "TRIGGER EQ YES", True),
        ("NOTRIGGER", "TRIGGER EQ YES", False),
        ("NOTRIGGER", "TRIGGER EQ NO", True),
        ("NOTRIGGER", "NOTRIGGER NE TRIGGER", True),
    ],
)
def test_where_knows_words_without_parentheses(value: str, where: str, fits: bool) -> None:
    known = ("TRIGGER", "NOTRIGGER")

    assert (
        read_request(command(f"WHERE({where})"), (), known, all_by_default=False).where([Shown(known, value, value)])
        is fits
    )


@pytest.mark.parametrize("where", ["PUT EQ ENABELD", "TRIGGER NE MAYBE", "DEFSOPT EQ 1"])
def test_a_word_that_no_object_can_have_is_refused(where: str) -> None:
    with pytest.raises(MqscSyntaxError, match=r"ENABLED|TRIGGER|SHARED"):
        read_request(command(f"WHERE({where})"), (), ("PUT", "TRIGGER", "DEFSOPT"), all_by_default=False)


def test_a_synonym_asks_for_its_attribute() -> None:
    assert read_request(command("TARGQ"), (), ("TARGET",), all_by_default=False).keywords == ("TARGET",)


def test_a_word_that_a_number_does_not_know_is_refused_before_anything_is_compared() -> None:
    with pytest.raises(MqscSyntaxError, match="a number or NOLIMIT"):
        read_request(command("WHERE(CAPEXPRY EQ NEVER)"), (), ("CAPEXPRY",), all_by_default=False)


def test_an_object_without_the_attribute_does_not_fit() -> None:
    assert not request("WHERE(CURDEPTH GE 0)").where(RECORD[:2])


@pytest.mark.parametrize("parameters", ["WHERE(CURDEPTH ABOVE 6)", "WHERE(COLOUR EQ 1)", "COLOUR", "CURDEPTH(1)"])
def test_a_request_for_what_does_not_exist_is_refused(parameters: str) -> None:
    with pytest.raises(MqscSyntaxError):
        request(parameters)


def test_a_number_is_compared_with_a_number_only() -> None:
    with pytest.raises(MqscSyntaxError):
        request("WHERE(CURDEPTH GT many)").where(RECORD)
