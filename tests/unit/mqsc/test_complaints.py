"""Errors about an unknown keyword, and about a value that its keyword cannot have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import read_values
from igq.mqsc.language.lines import split_commands
from igq.mqsc.language.parser import MqscSyntaxError, parse_command
from igq.mqsc.records import read_request
from sharedq.objects.definitions.attributes import by_keyword
from sharedq.objects.definitions.base import parse_definition
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.queues import QUEUE_KINDS, QueueLocal

MODELS: dict[str, type[BaseModel]] = {**QUEUE_KINDS, "CFSTRUCT": CFStruct, "QMGR": QueueManagerAttributes}


def understand(text: str) -> None:
    (source,) = split_commands([text])
    command = parse_command(source)
    if command.verb == "DISPLAY":
        read_request(command, ("TYPE",), ("CURDEPTH", "IPPROCS"), all_by_default=True)
    else:
        read_values(command, MODELS[command.object_type], ("REPLACE", "LIKE"))


def complaint(text: str) -> str:
    """The second line of a command's answer."""
    with pytest.raises(MqscSyntaxError) as caught:
        understand(text)
    where, why = messages.syntax_failure(caught.value)
    assert where.startswith("CSQ9031E: Syntax error in line 1, at or near the end of: ")
    return why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "DEF QL(A) MAXDEPHT(5)",
            "'MAXDEPHT' is invalid, expected: an attribute that DEFINE QLOCAL sets, perhaps MAXDEPTH",
        ),
        ("DEF QL(A) RPLACE", "'RPLACE' is invalid, expected: an attribute that DEFINE QLOCAL sets, perhaps REPLACE"),
        ("DEF QA(A) TARGE(B)", "'TARGE' is invalid, expected: an attribute that DEFINE QALIAS sets, perhaps TARGET"),
        ("DEF QL(A) XYZZY(RED)", "'XYZZY' is invalid, expected: an attribute that DEFINE QLOCAL sets"),
        ("DEF QL(A) CRDATE('2026-01-01')", "'CRDATE' is invalid, expected: an attribute that DEFINE QLOCAL sets"),
        (
            "DEF QLOKAL(A)",
            (
                "'QLOKAL' is invalid, expected: one of QLOCAL, QREMOTE, QALIAS, QMODEL, CFSTRUCT, TOPIC, SUB, PROCESS, "
                "NAMELIST, CHANNEL, LISTENER, perhaps QLOCAL"
            ),
        ),
        (
            "DIS QL(A) CURDPETH",
            "'CURDPETH' is invalid, expected: an attribute of QLOCAL, ALL or WHERE, perhaps CURDEPTH",
        ),
        ("DIS QL(A) WHERE(IPROCS GT 0)", "'IPROCS' is invalid, expected: an attribute of QLOCAL, perhaps IPPROCS"),
    ],
)
def test_a_keyword_that_there_is_not_is_named_and_one_that_is_like_it(text: str, why: str) -> None:
    assert complaint(text) == f"CSQ9001E: {why}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DEF QL(A) GET(MAYBE)", "GET parameter 'MAYBE' is unacceptable, expected: GET(ENABLED or DISABLED)"),
        (
            "DEF QL(A) MAXDEPTH(MANY)",
            "MAXDEPTH parameter 'MANY' is unacceptable, expected: MAXDEPTH(a number from 0 to 999999999)",
        ),
        ("DEF QL(A) SHARE(YES)", "SHARE parameter 'YES' is unacceptable, expected: SHARE without a value"),
        ("DIS QL(A) CURDEPTH(5)", "CURDEPTH parameter '5' is unacceptable, expected: CURDEPTH without a value"),
        (
            "ALTER QMGR MARKINT(NEVER)",
            "MARKINT parameter 'NEVER' is unacceptable, expected: MARKINT(a number from -1 to 999999999 or NOLIMIT)",
        ),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_keyword_and_what_can(text: str, why: str) -> None:
    assert complaint(text) == f"CSQ9015E: {why}"


def test_the_refusal_of_a_number_names_its_range() -> None:
    with pytest.raises(ValueError, match=r"^MAXDEPTH\(-1\): a number from 0 to 999999999 expected$"):
        parse_definition(QueueLocal, {"name": "A", "max_depth": -1})


def slips() -> Iterator[tuple[str, str, str]]:
    """Each keyword that a command sets, with two letters in its middle swapped."""
    for kind, model in MODELS.items():
        for keyword, attribute in by_keyword(model).items():
            at = len(keyword) // 2
            slip = keyword[: at - 1] + keyword[at] + keyword[at - 1] + keyword[at + 1 :]
            if len(keyword) > 4 and not attribute.mqsc.is_output and slip not in by_keyword(model):
                yield kind, slip, keyword


@pytest.mark.parametrize(("kind", "slip", "keyword"), list(slips()))
def test_a_slip_of_the_fingers_is_understood(kind: str, slip: str, keyword: str) -> None:
    assert complaint(f"ALTER {kind}{'' if kind == 'QMGR' else '(A)'} {slip}(X)").endswith(f", perhaps {keyword}")
